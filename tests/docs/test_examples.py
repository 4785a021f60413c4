"""The examples run without changes."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NEEDS = {"langchain_retriever.py": "langchain_core", "llamaindex_retriever.py": "llama_index"}


def run(*command: str, folder: Path) -> str:
    """Run a command, check that it succeeds, and return its output."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["rag_in_20_lines.py", "langchain_retriever.py", "llamaindex_retriever.py"])
@pytest.mark.long
def test_a_script(name: str, tmp_path: Path) -> None:
    """A script prints its report and exits with 0."""
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    assert "metric" in run(sys.executable, str(EXAMPLES / name), folder=tmp_path)


def test_rag_in_twenty_lines_has_twenty() -> None:
    """The system itself, without data and report, has at most twenty lines."""
    text = (EXAMPLES / "rag_in_20_lines.py").read_text(encoding="utf-8")
    system = text[text.index("class Rag") : text.index("questions = ")]
    assert len([line for line in system.splitlines() if line.strip()]) <= 20


@pytest.mark.long
def test_an_http_service(tmp_path: Path) -> None:
    """The example configuration compares a running service with two built-in systems."""
    for name in ("service.py", "run.yaml"):
        (tmp_path / name).write_bytes((EXAMPLES / "http_service" / name).read_bytes())
    run(sys.executable, "service.py", "data", folder=tmp_path)
    with subprocess.Popen(
        [sys.executable, "service.py", "0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as service:
        try:
            assert service.stdout is not None
            port = service.stdout.readline().split()[-1]
            config = (tmp_path / "run.yaml").read_text().replace("8765", port)
            (tmp_path / "run.yaml").write_text(config)
            printed = run(sys.executable, "-m", "steelyard", "run", "run.yaml", folder=tmp_path)
        finally:
            service.kill()
    assert "live" in printed
    assert "Holm-adjusted" in printed
    assert "may fail on" not in printed


@pytest.mark.long
def test_a_ci_gate(tmp_path: Path) -> None:
    """Two equal reports pass the gate."""
    for name in ("baseline", "current"):
        run(sys.executable, str(EXAMPLES / "ci_gate.py"), name, folder=tmp_path)
    command = [sys.executable, "-m", "steelyard", "compare", "baseline", "current", "--tolerance", "0.02"]
    assert "pass: no regression" in run(*command, folder=tmp_path)
