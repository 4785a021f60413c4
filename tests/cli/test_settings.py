"""Settings that are none: one line that names the setting, before any work."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from steelyard.cli import invoke
from steelyard.core.errors import InputError
from steelyard.evaluate.evaluate_samples import evaluate_rag
from steelyard.judges.drift import drift
from steelyard.models.embedder import Embedder
from steelyard.models.engine import Engine
from steelyard.models.judge import LLMJudge
from steelyard.models.judge_client import read_body
from steelyard.reports.gate import rules

ROW = '{"id": "a", "response": "x", "reference": "x"}\n'


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--max-failed nan", "max_failed=nan: must be in [0, 1]"),
        ("--max-failed 5", "max_failed=5: must be in [0, 1]"),
        ("--max-failed -1", "max_failed=-1: must be in [0, 1]"),
        ("--aggregate foo", "--aggregate foo: choose from mean, majority, unanimous"),
        ("--price a,b", "--price a,b: expected IN,OUT"),
        ("--price=-1,-1", "price=-1: must be at least 0"),
        ("--price nan,nan", "price=nan"),
        ("--budget nan", "budget=nan: must be at least 0"),
        ("--max-calls -1", "max_calls=-1"),
        ("--concurrency 0", "concurrency=0: must be at least 1"),
        ("--repeats 0", "repeats=0"),
        ("--tolerance nan", "tolerance=nan"),
        ("--significant", "--significant needs a --baseline"),
        ("--scale nan", "--scale nan: a scale is above 0"),
        ("--scale 0", "--scale 0"),
        ("--threshold token_f1=0.9 --threshold token_f1=0", "--threshold token_f1 is given twice"),
        ("--field response=response --field response=id", "--field response is given twice"),
    ],
)
def test_of_eval(options: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where this run would not need them."""
    (tmp_path / "a.jsonl").write_text(ROW, encoding="utf-8")
    assert invoke(["eval", str(tmp_path / "a.jsonl"), "-m", "token_f1", *options.split()]) == 1
    error = capsys.readouterr().err.strip()
    assert words in error
    assert error.count("\n") == 0


@pytest.mark.parametrize("wrong", [math.nan, -1.0, math.inf])
def test_of_python(wrong: float) -> None:
    """The same from Python."""
    with pytest.raises(InputError, match="budget"):
        Engine("http://localhost:1/v1#m&price=1,1", budget=wrong, ledger=":memory:")
    with pytest.raises(InputError, match="deadline"):
        Engine("http://localhost:1/v1#m", deadline=wrong, ledger=":memory:")
    with pytest.raises(InputError, match="price"):
        LLMJudge("m", price=(0.0, wrong))
    with pytest.raises(InputError, match="price"):
        Embedder("m", price=wrong)
    report = evaluate_rag([{"id": "a", "response": "x", "reference": "x"}], metrics=["exact_match"])
    with pytest.raises(InputError, match="max_failed"):
        rules(report, max_failed=wrong)
    with pytest.raises(InputError, match="tolerance"):
        drift(report, report, tolerance=wrong)


def test_tokens_below_nothing_are_not_counted() -> None:
    """An endpoint that counts backwards lowers no bill."""
    raw = b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": -60, "completion_tokens": 5}}'
    spoken = read_body(raw, 0.1, 40)
    assert (spoken.prompt_tokens, spoken.completion_tokens, spoken.estimated) == (40, 1, True)
