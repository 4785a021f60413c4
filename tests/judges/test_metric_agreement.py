"""Metrics beside the labels of people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from steelyard.cli import invoke
from steelyard.core.errors import InputError
from steelyard.judges.metric_agreement import measure_agreement

ROWS = [
    {"id": str(at), "user_input": f"q{at}", "response": response, "reference": ["red"], "human": {"correct": label}}
    for at, (response, label) in enumerate(
        [
            ("red", 1),
            ("dark red", 1),
            ("blue", 0),
            ("no idea at all", 0),
            ("red or blue or green", 0),
            ("It is red.", 1),
        ]
    )
]


def pack(tmp_path: Path, rows: list[dict[str, object]]) -> Path:
    """A pack file."""
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_figures_by_hand(tmp_path: Path) -> None:
    """token_f1 is 1, 2/3, 0, 0, 1/3, 1/2: right answers above wrong ones, and at least 1/2."""
    (found,) = measure_agreement(pack(tmp_path, ROWS), metrics=["token_f1"])
    assert (found.pack, found.slice, found.label, found.n, found.good, found.without) == (
        "small",
        "all",
        "correct",
        6,
        3,
        0,
    )
    assert found.auc.value == 1.0
    assert found.balanced.value == 1.0
    assert found.rank.value == pytest.approx(spearmanr([1, 1, 0, 0, 0, 1], [1, 2 / 3, 0, 0, 1 / 3, 1 / 2]).statistic)
    (stricter,) = measure_agreement(pack(tmp_path, ROWS), metrics=["token_f1"], threshold=0.6)
    assert stricter.balanced.value == pytest.approx((2 / 3 + 1) / 2)


def test_slices(tmp_path: Path) -> None:
    """A slice for every value at a path, and all of them together."""
    rows = [{**row, "meta": {"model": "a" if at < 3 else "b"}} for at, row in enumerate(ROWS)]
    found = measure_agreement(pack(tmp_path, rows), by=["meta.model"])
    assert [(one.slice, one.n) for one in found] == [("all", 6), ("meta.model=a", 3), ("meta.model=b", 3)]
    assert {one.metric for one in found} == {"lexical.answer_correctness"}


def test_preferences(tmp_path: Path) -> None:
    """The second response is preferred above 0; ties count for the rank correlation alone."""
    rows = [
        {"id": "1", "response": "blue", "response_b": "red", "reference": ["red"], "human": {"pref_overall": 2}},
        {"id": "2", "response": "red", "response_b": "blue", "reference": ["red"], "human": {"pref_overall": -1}},
        {"id": "3", "response": "red", "response_b": "red", "reference": ["red"], "human": {"pref_overall": 0}},
    ]
    (found,) = measure_agreement(pack(tmp_path, rows))
    assert (found.label, found.n, found.good, found.threshold) == ("pref_overall", 3, 1, None)
    assert (found.auc.value, found.balanced.value, found.auc.n, found.rank.n) == (1.0, 1.0, 2, 3)


def test_samples_without_value_are_counted(tmp_path: Path) -> None:
    """A sample without a reference has no correctness: it is left out and counted."""
    rows = [*ROWS, {"id": "x", "response": "red", "human": {"correct": 1}}]
    (found,) = measure_agreement(pack(tmp_path, rows))
    assert (found.n, found.without, found.auc.n, found.auc.excluded) == (7, 1, 6, 1)


def test_a_pack_without_labels(tmp_path: Path) -> None:
    """What is missing, and what was expected."""
    with pytest.raises(InputError, match="no human labels: expected a field human with one of faithful"):
        measure_agreement(pack(tmp_path, [{"response": "red", "reference": "red"}]))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table names pack, label and metric; JSON holds the intervals; two runs print the same."""
    path = pack(tmp_path, ROWS)
    assert invoke(["agreement", str(path)]) == 0
    table = capsys.readouterr().out
    assert "answer_correctness [lexical]" in table
    assert invoke(["agreement", str(path), "--format", "json"]) == 0
    printed = capsys.readouterr().out
    (one,) = json.loads(printed)
    assert one["auc"]["value"] == 1.0
    invoke(["agreement", str(path), "--format", "json"])
    assert capsys.readouterr().out == printed
    assert invoke(["agreement", str(path), "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("| pack |")


FIGURES = {
    "wice.dev": ("faithful", 0.785),
    "summedits.dev": ("faithful", 0.6),
    "factcheck_stance.dev": ("faithful", 0.785),
}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.long
def test_packs_are_not_below_their_figures(shared: Path, name: str) -> None:
    """On labelled packs, where they are at hand, the area under the curve is what docs/agreement.md promises."""
    label, least = FIGURES[name]
    path = shared / "packs" / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"no pack {name} here")
    (found,) = measure_agreement(path, label=label)
    assert found.auc.value is not None
    assert found.auc.value >= least
