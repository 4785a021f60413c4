"""The commands of the README run one after the other on the output of the demo."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.cli import invoke
from tests.server import Server

ROOT = Path(__file__).resolve().parents[2]


def commands() -> list[str]:
    """Return the lines with a $ sign, in order."""
    return re.findall(r"^\$ (.+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.long
def test_the_commands_of_the_readme(
    serve: Callable[..., Server],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every command exits with 0, or with the exit code in its comment."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", "examples")
    assert invoke(["demo"]) == 0
    endpoint = serve().url
    given = commands()
    assert len(given) > 12
    for line in given:
        words = shlex.split(re.split(r"\s+#", line)[0])
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
            continue
        assert words.pop(0) == "steelyard", line
        wanted = re.search(r"#.*exit code (\d)", line)
        code = invoke([word.replace("http://localhost:8000/v1", endpoint) for word in words])
        assert code == (int(wanted[1]) if wanted else 0), (line, capsys.readouterr().err)
    assert all(Path(name).exists() for name in ("steelyard-out", ".steelyard/ledger.sqlite", "set/samples.jsonl"))
