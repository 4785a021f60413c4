"""What the page says, before any browser: the verdict, the states, the packed data, evidence in one shape."""

from __future__ import annotations

import base64
import json
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from steelyard import evaluate_run
from steelyard.core.records import Estimate, Sample
from steelyard.metrics.lookup import recorded_metric
from steelyard.models.ledger import Entry, Ledger
from steelyard.render.html import breakable, fragment, page
from steelyard.render.html_data import data, mean_quality, states, verdicts, worst_first
from steelyard.render.html_evidence import shaped
from steelyard.render.html_view import verdict
from steelyard.reports.estimates import pool_report
from steelyard.reports.failure_analysis import analyse_failures
from steelyard.reports.provenance import MetricNote
from steelyard.reports.report import Report
from steelyard.stats.pooling import Column
from tests.render.made import made


def small(values: list[float], *, failed: int = 0, threshold: float | None = None, gates: bool = False) -> Report:
    """One metric over so many samples, the last ``failed`` of them failed."""
    report = Report(ids=[f"s{at}" for at in range(len(values) + failed)])
    column = Column(np.array(values + [np.nan] * failed))
    column.failed = {len(values) + at: "empty: the reply has no text" for at in range(failed)}
    report.columns, report.notes = {"m": column}, {"m": MetricNote("m", "judged", threshold=threshold, gates=gates)}
    pool_report(report, by=(), clusters=None, confidence=0.95, seed=0)
    return report


def unpacked(line: str) -> object:
    """What a packed line holds."""
    return json.loads(zlib.decompress(base64.b64decode(line), -15))


def whole(lines: str) -> list[object]:
    """The items of all blocks."""
    return [item for line in lines.splitlines() for item in unpacked(line)]  # type: ignore[attr-defined]


def test_verdict_in_words() -> None:
    """Failures come first, then misses, then passes; without rules the ends of the table are told."""
    assert verdict(small([0.9, 0.8], threshold=0.7, gates=True)).sentence == "Passes: the rule holds."
    missed = verdict(small([0.2, 0.4], threshold=0.7, gates=True))
    assert (missed.kind, missed.sentence) == ("fail", "Does not pass: m ≥ 0.7 on the mean, found 0.3000 (n 2).")
    broken = verdict(small([0.9, 0.8], failed=1, threshold=0.7, gates=True))
    assert (broken.kind, broken.sentence) == ("failed", "Incomplete: m failed on 1 of 3 samples.")
    assert verdict(small([0.9, 0.8], failed=1), max_failed=0.5).kind == "pass"
    assert verdict(small([0.5])).sentence == "1 of 1 sample scored; m is 0.500."


def test_the_banner_bounds_what_failed() -> None:
    """J09: one right, one that failed: the page says so, with the value if it had been 0 and if it had been 1."""
    html = page(small([1.0], failed=1))
    assert "Incomplete: m failed on 1 of 2 samples." in html
    assert "1 of 2 failed; with failures as 0 it is <b>0.500</b>, as 1 <b>1.000</b>" in " ".join(html.split())
    assert "empty: the reply has no text" in html
    assert 'role="note"' not in page(small([1.0]))


def test_states_and_verdicts_of_samples() -> None:
    """Pass, fail, undefined, failed, scored; the gating metric decides, a failed one before all."""
    report = small([0.6, 0.4], failed=1, threshold=0.5)
    report.ids.append("s3")
    report.columns["m"] = Column(np.array([0.6, 0.4, np.nan, np.nan]), {3: "no claims"}, {2: "cut"})
    report.columns["free"] = Column(np.array([1.0, np.nan, 0.0, np.nan]), {1: "none", 3: "none"})
    report.notes["free"] = MetricNote("free", "ranking")
    assert states(report, "m") == "pfxu"
    assert states(report, "free") == "susu"
    assert verdicts(report) == "pfxu"
    assert mean_quality(report)[:3] == [0.8, 0.4, 0.0]
    assert worst_first(mean_quality(report)) == [2, 1, 0, 3]


def test_data_comes_back_as_it_went_in() -> None:
    """Every value, text and context of the report is in the packed data; a context once."""
    report = made(120)
    shared = report.samples[0].retrieved_contexts
    report.samples[1] = Sample(id=report.ids[1], retrieved_contexts=shared)
    packed = data(report, analyse_failures(report))
    core = unpacked(packed.core)
    assert isinstance(core, dict)
    assert core["ids"] == report.ids
    for at, column in enumerate(report.columns.values()):
        assert core["values"][at] == [None if np.isnan(one) else round(one, 6) for one in column.values.tolist()]
    assert whole(packed.texts)[5] == [
        report.samples[5].user_input,
        report.samples[5].response,
        [report.samples[5].reference],
    ]
    contexts, details = whole(packed.contexts), whole(packed.details)
    assert len(contexts) == len(set(map(str, contexts)))
    for sample, detail in zip(report.samples, details, strict=True):
        assert isinstance(detail, dict)
        assert [contexts[number] for number in detail["contexts"]] == sample.retrieved_contexts
    assert details[0]["contexts"] == details[1]["contexts"]  # type: ignore[index]
    assert packed.core.isascii()
    assert "<" not in packed.core + packed.texts + packed.contexts + packed.details


def test_prompts_and_replies_are_embedded_with_contexts_once(tmp_path: Path) -> None:
    """What the ledger holds is in the page, the context in a prompt as a number; what it lacks is counted."""
    context = "The bridge opened in 1932 after eight years of work. " * 8
    report = small([1.0])
    report.samples = [Sample(id="s0", response="In 1932.", retrieved_contexts=[context])]
    report.columns["m"].requests[0] = ["k1", "k2"]
    place = tmp_path / "ledger.sqlite"
    ledger = Ledger(place)
    ledger.add(Entry("k1", "judge", f"Is it so?\n{context}\nend", '{"verdict": "yes"}', "{}", prompt_tokens=7))
    ledger.close()
    report.run["ledger"] = str(place)
    packed = data(report, analyse_failures(report))
    assert whole(packed.exchanges) == [[["Is it so?\n", 0, "\nend"], '{"verdict": "yes"}', "7 + 0 tokens, 1 attempt"]]
    assert whole(packed.contexts) == [context]
    detail = whole(packed.details)[0]
    assert isinstance(detail, dict)
    assert detail["metrics"]["0"] == {"exchanges": [0], "unseen": 1}


@pytest.mark.parametrize(
    ("base", "evidence", "expected"),
    [
        (
            "context_recall",
            {"claims": [{"claim": "A.", "verdict": "no", "reason": "not there", "passages": []}]},
            {"title": "Claims of the reference", "against": "contexts", "items": [{"text": "A.", "verdict": "no", "reason": "not there"}]},
        ),
        (
            "factual_correctness",
            {"reference_claims": [{"claim": "B.", "verdict": "yes", "passages": [1]}]},
            {"title": "Claims of the reference", "against": "", "items": [{"text": "B.", "verdict": "yes", "passages": [1]}]},
        ),
        (
            "citation_recall",
            {"statements": [{"claim": "C.", "cited": [2], "verdict": "yes", "passages": [2], "reason": ""}]},
            {"title": "Statements and what they cite", "against": "contexts", "items": [{"text": "C.", "verdict": "yes", "passages": [2], "more": "cited: 2"}]},
        ),
        (
            "nugget_recall",
            {"nuggets": [{"text": "D", "importance": "vital", "support": "partial", "reason": "half"}]},
            {"title": "Facts that a good answer holds", "against": "", "items": [{"text": "D", "verdict": "partial", "reason": "half", "more": "importance: vital"}]},
        ),
        (
            "faithfulness",
            {
                "sentences": [
                    {
                        "text": "E in 1932.", "start": 0, "end": 10, "support": 0.5,
                        "flags": [{"kind": "number", "text": "1932", "start": 5, "end": 9, "instead": "1931"}],
                        "aligned": [{"start": 0, "end": 1, "passage": 2, "passage_start": 4, "passage_end": 9}],
                    }
                ]
            },
            {
                "title": "Sentences of the response", "against": "contexts",
                "items": [{"text": "E in 1932.", "verdict": "50 % found", "spans": [[2, 4, 9]], "passages": [2], "more": "number “1932”, there “1931”"}],
            },
        ),
        ("passage_recall", {"missed": ["F"]}, {"title": "Reference passages that were missed", "against": "", "items": [{"text": "F", "verdict": "no"}]}),
    ],
)  # fmt: skip
def test_claims_of_every_kind_of_metric(base: str, evidence: dict[str, object], expected: dict[str, object]) -> None:
    """Each metric's own keys become one shape: text, verdict, reason, passages."""
    metric = recorded_metric(base, "judged")
    assert shaped(metric, evidence) == {"claims": [expected]}  # type: ignore[arg-type]


def test_notes_on_contexts_and_the_rest() -> None:
    """Ratings by context stand with their context; what has no shape is stored as it is."""
    found = shaped(
        "x", {"contexts": [{"context": 2, "ratings": [2, 0], "reasons": ["a", "b"]}], "f1": 0.5, "flags": ["odd"]}
    )
    assert found == {
        "contexts": [{"context": 2, "verdict": "2, 0", "reason": "a · b"}],
        "flags": ["odd"],
        "rest": {"f1": 0.5},
    }


def test_reports_of_every_shape_have_a_page() -> None:
    """Nothing at all, means alone, rankings without texts, metrics without bounds: each writes a page that reads."""
    assert "<h1>Answers</h1>" in page(Report())
    assert "0 of 0 samples scored." in page(Report())
    ranked = evaluate_run({"q1": {"d1": 1.0}, "q2": {}}, {"q1": {"d1": 1}, "q2": {"d2": 1}}, ["mrr", "num_ret"])
    html = page(ranked)
    assert "2 of 2 queries scored" in html
    assert "<h1>Rankings</h1>" in html
    counted = small([3.0, 1200.0])
    counted.notes["m"] = MetricNote("m", "custom", pool="total", bounds=None, higher_is_better=False)
    pool_report(counted, by=(), clusters=None, confidence=0.95, seed=0)
    assert "lower is better" in page(counted)


def test_slices_beyond_what_a_page_can_show_are_counted() -> None:
    """Thousands of slices do not make thousands of rows."""
    report = small([0.5] * 1000)
    report.samples = [Sample(id=one, tags={"user": one}) for one in report.ids]
    pool_report(report, by="user", clusters=None, confidence=0.95, seed=0)
    html = page(report)
    assert "(400 more in report.json)" in html


class Cells(HTMLParser):
    """The text of table cells."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.feed(html)

    def handle_data(self, data: str) -> None:
        """Keep what is not blank."""
        if data.strip():
            self.text.append(data.strip())


def test_the_fragment_is_a_small_table() -> None:
    """A notebook gets title, verdict and the estimates: no script, no style."""
    html = fragment(made(20))
    assert "<script" not in html
    assert "<style" not in html
    text = Cells(html).text
    assert "hybrid on handbook" in text
    assert "faithfulness [judged]" in text
    assert html.count("<tr>") == 8


def test_an_estimate_shows_itself_in_a_notebook() -> None:
    """Value, interval, n and what failed; the name stays text."""
    one = Estimate(metric="<b>", value=0.5, n=8, low=0.25, high=0.75, failed=2)
    assert one._repr_html_() == "<strong>&lt;b&gt;</strong> 0.5000 (0.2500 – 0.7500, 95 %), n 8, 2 failed"


def test_a_name_may_break() -> None:
    """Long names break after an underscore and before their parameters, and stay escaped."""
    assert breakable("context_<precision>") == "context_<wbr>&lt;precision&gt;"
    assert breakable("rubric(criteria=x)") == "rubric<wbr>(criteria=x)"
