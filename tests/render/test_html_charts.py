"""Charts as files: over the whole run, in three formats, and one line where the extra is absent."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from steelyard.core.errors import InputError, MissingExtra, UnknownName
from steelyard.render.charts import plot, scatter, trend
from steelyard.render.histogram import histogram
from steelyard.reports.store import StoredReport
from steelyard.stats.pooling import Column
from tests.render.made import made

REPORT = made(80)


@pytest.mark.parametrize(("suffix", "starts"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_formats(tmp_path: Path, suffix: str, starts: bytes) -> None:
    """The suffix says the format."""
    pytest.importorskip("altair", reason="the extra report is not installed")
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    target = plot(REPORT, "faithfulness", tmp_path / "new" / f"x.{suffix}")
    assert target.read_bytes().startswith(starts)


def test_what_a_plot_says(tmp_path: Path) -> None:
    """Metric, system, estimate with interval and method, counts, slices with their n."""
    pytest.importorskip("altair", reason="the extra report is not installed")
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    root = ElementTree.fromstring(plot(REPORT, "token_f1", tmp_path / "x.svg").read_text(encoding="utf-8"))
    text = " ".join(root.itertext())
    one = REPORT.estimates["token_f1"]
    assert "token_f1 [lexical] · hybrid on handbook" in text
    assert f"{one.value:.3f} ({one.low:.3f} – {one.high:.3f}, bca) · 80 scored of 80, 0 undefined, 0 failed" in text
    assert "question_type=temporal (n 20)" in text


def test_a_scatter_has_every_pair(tmp_path: Path) -> None:
    """One point a pair."""
    pytest.importorskip("altair", reason="the extra report is not installed")
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    pairs = [(at / 100, at * at / 10_000) for at in range(100)]
    target = scatter(pairs, tmp_path / "x.svg", label="ndcg@10", baseline="a", current="b")
    root = ElementTree.fromstring(target.read_text(encoding="utf-8"))
    points = [one for one in root.iter() if one.get("aria-roledescription") == "circle"]
    assert len(points) == 100


def test_a_trend_has_every_kept_run(tmp_path: Path) -> None:
    """One point a run that has a value, in the order kept, with its interval."""
    pytest.importorskip("altair", reason="the extra report is not installed")
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    kept = [
        StoredReport(str(day), f"2026-03-0{day}T10:00:00", "bm25", "main", "", REPORT.estimates) for day in (1, 2, 3)
    ]
    kept.append(StoredReport("4", "2026-03-04T10:00:00"))
    root = ElementTree.fromstring(trend(kept, "token_f1", tmp_path / "x.svg").read_text(encoding="utf-8"))
    text = " ".join(root.itertext())
    assert "3 stored reports" in text
    assert text.index("1 · 2026-03-01 10:00 · bm25 · main") < text.index("3 · 2026-03-03 10:00 · bm25 · main")
    with pytest.raises(InputError, match="no stored report has a value"):
        trend(kept[3:], "token_f1", tmp_path / "x.svg")


def test_mistakes_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown metric, a suffix that is no format, nothing to plot, the extra missing."""
    with pytest.raises(UnknownName, match="did you mean faithfulness"):
        plot(REPORT, "faithfullness", tmp_path / "x.svg")
    with pytest.raises(InputError, match="must end in"):
        plot(REPORT, "faithfulness", tmp_path / "x.gif")
    empty = made(3)
    empty.columns["contains"] = Column.of([np.nan] * 3)
    with pytest.raises(InputError, match="has no scores"):
        plot(empty, "contains", tmp_path / "x.svg")
    with pytest.raises(InputError, match="in both reports"):
        scatter([], tmp_path / "x.svg", label="m", baseline="a", current="b")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"pip install 'steelyard\[report\]'"):
        plot(REPORT, "faithfulness", tmp_path / "x.svg")


def test_histograms_count_every_score() -> None:
    """Bars over the whole range; values beyond the bounds widen it; one value alone is still seen."""
    found = histogram(np.array([0.0, 0.5, 0.5, 1.0, np.nan]), (0.0, 1.0))
    assert found is not None
    assert found.path.count("M") == 3
    assert found.words == "from 0 to 1: 4 scores, 1 in the lowest of 24 bins, 1 in the highest, median 0.5"
    wide = histogram(np.array([-2.0, 3.0]), (0.0, 1.0))
    assert wide is not None
    assert (wide.low, wide.high) == (-2.0, 3.0)
    same = histogram(np.array([7.0, 7.0]))
    assert same is not None
    assert same.path.count("M") == 1
    assert histogram(np.array([np.nan])) is None


def test_control_characters_are_written_out(tmp_path: Path) -> None:
    """Names and tags may hold anything: what no SVG may hold is drawn as its code."""
    pytest.importorskip("altair", reason="the extra report is not installed")
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    slices = {"kind=a\x00\ufffe\ud800": REPORT.slices["question_type=temporal"]}
    odd = replace(REPORT, system="bad\x1b[2J\x08", slices=slices)
    drawn = plot(odd, "token_f1", tmp_path / "x.svg")
    text = " ".join(ElementTree.fromstring(drawn.read_text(encoding="utf-8")).itertext())
    assert "bad\\x1b[2J\\x08" in text
    assert "kind=a\\x00\\ufffe\\ud800" in text
    kept = [StoredReport("1", "2026-03-01T10:00:00", "bm25\x07", "main", "", REPORT.estimates)]
    drawn = trend(kept, "token_f1", tmp_path / "y.svg")
    assert "bm25\\x07" in " ".join(ElementTree.fromstring(drawn.read_text(encoding="utf-8")).itertext())
