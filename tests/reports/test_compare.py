"""The gate: refuse first, subtract second."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

from steelyard.core.errors import InputError
from steelyard.core.records import Sample
from steelyard.render import comparison as render
from steelyard.reports.compare import compare
from steelyard.reports.estimates import pool_report
from steelyard.reports.explain import reason_of
from steelyard.reports.gate import rules
from steelyard.reports.provenance import DatasetNote, MetricNote
from steelyard.reports.report import Report
from steelyard.stats.pooling import Column


def report(
    scores: dict[str, list[float | str | None]],
    *,
    tags: list[str] | None = None,
    way: str = "judged",
    higher: bool = True,
    threshold: float | None = 0.5,
    ids: list[str] | None = None,
) -> Report:
    """A report from plain scores: a number, None for undefined, text for the reason of a failure."""
    count = len(next(iter(scores.values())))
    names = ids or [f"q{number}" for number in range(1, count + 1)]
    made = Report(ids=names, judge="a judge", dataset=DatasetNote("d", None, "abc"), system="sys")
    made.samples = [Sample(id=name, tags={} if tags is None else {"kind": tags[row]}) for row, name in enumerate(names)]
    for label, cells in scores.items():
        column = Column(np.array([cell if isinstance(cell, float | int) else math.nan for cell in cells]))
        column.failed = {row: cell for row, cell in enumerate(cells) if isinstance(cell, str)}
        column.undefined = {row: "not applicable" for row, cell in enumerate(cells) if cell is None}
        made.columns[label] = column
        made.notes[label] = MetricNote(label, way, higher_is_better=higher, threshold=threshold)
    pool_report(made, by=(), clusters=None, confidence=0.95, seed=0)
    return made


def test_a01_failures_are_no_progress() -> None:
    """Paired on the three shared scores: no change; the failure blocks instead of raising the mean."""
    before = report({"faithfulness": [0.9, 0.1, 0.8, 0.9]})
    after = report({"faithfulness": [0.9, "http_500", 0.8, 0.9]})
    found = compare(after, before)
    assert (found.deltas[0].n, found.deltas[0].delta) == (3, 0.0)
    assert found.deltas[0].words() == "too few samples"
    assert not found.passed
    assert found.exit_code == 3
    assert "1 of 4 failed (25.0%; allowed 0.0%)" in found.blockers[0]
    assert found.notes == ["faithfulness: 4 scored before, 3 now", "faithfulness: 1 failed, first q2: http_500"]
    assert compare(after, before, max_failed=0.25).passed


FIRST = (
    [0.8, 0.55, 1.0, 0.4, 0.95, 0.7, 0.6, 0.85, 0.3, 0.75],
    [0.85, 0.45, 0.95, 0.55, 0.9, 0.6, 0.75, 0.8, 0.45, 0.7],
)
SECOND = (
    [0.9, 0.85, 0.95, 0.8, 0.9, 0.88, 0.92, 0.86, 0.94, 0.9],
    [0.8, 0.8, 0.83, 0.72, 0.8, 0.82, 0.81, 0.77, 0.84, 0.83],
)


@pytest.mark.parametrize("significant", [False, True])
def test_a04_noise_passes_and_a_drop_does_not(significant: bool) -> None:
    """The same system judged twice is no change; a real drop is a regression."""
    same = compare(*(report({"m": list(side)}) for side in reversed(FIRST)), significant=significant)
    assert same.deltas[0].delta == pytest.approx(0.01)
    assert same.deltas[0].p == pytest.approx(0.880859375)
    assert (same.deltas[0].words(), same.passed, same.exit_code) == ("no detectable change", True, 0)
    worse = compare(*(report({"m": list(side)}) for side in reversed(SECOND)), significant=significant)
    assert worse.deltas[0].delta == pytest.approx(-0.088)
    assert worse.deltas[0].p == pytest.approx(0.001953125)
    assert (worse.deltas[0].words(), worse.passed, worse.exit_code) == ("worse", False, 2)
    assert [one.sample for one in worse.deltas[0].worst[:2]] == ["q3", "q7"]
    assert (worse.deltas[0].win, worse.deltas[0].tie, worse.deltas[0].loss) == (0, 0, 10)


def test_tolerance_is_absolute_and_rounding_never_counts() -> None:
    """A drop of exactly the tolerance passes; beyond it fails; tolerances may differ by metric."""
    before, after = report({"a": [0.5] * 8, "b": [0.5] * 8}), report({"a": [0.49] * 8, "b": [0.4] * 8})
    assert [one.metric for one in compare(after, before).regressions] == ["b"]
    assert compare(after, before, tolerances={"b": 0.1}).passed
    assert compare(before, after).improvements[0].metric == "b"


def test_lower_is_better_is_signed() -> None:
    """Negative is worse, whatever the direction of the metric; the interval follows the sign."""
    before = report({"noise": [0.1, 0.2, 0.1, 0.3, 0.2, 0.1]}, higher=False)
    after = report({"noise": [0.3, 0.4, 0.5, 0.5, 0.4, 0.2]}, higher=False)
    one = compare(after, before).deltas[0]
    assert one.delta is not None
    assert one.delta < 0
    assert one.low is not None
    assert one.high is not None
    assert one.low <= one.delta <= one.high < 0
    assert one.loss == 6
    assert one.regression


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset": DatasetNote("d", None, "other")}, "different dataset"),
        ({"judge": "different judge"}, "different judge"),
        ({"embedder": "e"}, "different embedder"),
        ({"policy": {"missing": "skip"}}, "different policy: missing=none before, skip now"),
        ({"notes": {"m": MetricNote("m", "judged", revision=2)}}, "revision: 1 before, 2 now"),
        ({"notes": {"m": MetricNote("m", "lexical")}}, "way: 'judged' before, 'lexical' now"),
        ({"notes": {"m": MetricNote("m@5", "judged")}}, "name: 'm' before, 'm@5' now"),
    ],
)
def test_every_blocker(change: dict[str, object], words: str) -> None:
    """Another dataset, judge, policy, revision or way refuses the comparison, whatever the numbers say."""
    before = report({"m": [0.5] * 8})
    after = dataclasses.replace(report({"m": [0.9] * 8}), **change)
    found = compare(after, before)
    assert words in " ".join(found.blockers)
    assert (found.passed, found.exit_code) == (False, 3)


def test_seeds_and_levels_are_no_blocker() -> None:
    """How sure a number is may differ between two reports."""
    before, after = report({"m": [0.5] * 8}), report({"m": [0.5] * 8})
    before.policy, after.policy = {"seed": 0, "confidence": 0.9}, {"seed": 1, "confidence": 0.95}
    assert compare(after, before).passed


def test_a_judge_blocks_only_where_it_was_asked() -> None:
    """Lexical metrics are the same whichever judge stood by."""
    before, after = report({"m": [0.5] * 8}, way="lexical"), report({"m": [0.5] * 8}, way="lexical")
    after.judge = "another"
    assert compare(after, before).passed


def test_an_embedder_blocks_where_it_was_asked() -> None:
    """A lexical metric that took an embedder's vectors is another one with other vectors."""
    before, after = report({"m": [0.5] * 8}, way="lexical"), report({"m": [0.5] * 8}, way="lexical")
    after.embedder = "another"
    assert compare(after, before).passed
    after.columns["m"].requests = {0: ["a request"]}
    assert compare(after, before).blockers == ["different embedder: none before, another now (used by m)"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("openai:m", "openai:m#price=1,2"),
        ("http://h/v1#m&price=1,2", "http://h/v1#m&price=3,4&key_env=MY_KEY"),
        ("http://h/v1#m", "http://h/v1/#m&temperature=0"),
        ("litellm:a/m", "litellm:a/m#price=1,2"),
        ("script:a.b", "script:a.b#price=1,2"),
        ("mean of openai:m#price=1,2, openai:n", "mean of openai:n, openai:m"),
    ],
)
def test_what_changes_no_verdict_is_no_other_judge(before: str, after: str) -> None:
    """Prices, keys, defaults that are written out and a slash at the end of an address change nothing measured."""
    sides = [report({"m": [0.5] * 8}) for _ in range(2)]
    sides[0].judge, sides[1].judge = before, after
    assert sides[0].fingerprint == sides[1].fingerprint
    assert compare(sides[1], sides[0]).passed


@pytest.mark.parametrize("other", ["openai:m#temperature=0.5", "openai:m#window=900", "openai:m#top_p=0.5", "openai:n"])
def test_what_may_change_a_verdict_is_another_judge(other: str) -> None:
    """Sampling and window do; the line names what differs, without a price."""
    sides = [report({"m": [0.5] * 8}) for _ in range(2)]
    sides[0].judge, sides[1].judge = "openai:m#price=1,2", f"{other}{'&' if '#' in other else '#'}price=1,2"
    assert compare(sides[1], sides[0]).blockers == [f"different judge: openai:m before, {other} now (used by m)"]


def test_another_way_to_ask_an_embedder_is_no_other_embedder() -> None:
    """How many texts go at once, prices and a slash change no vector; dimensions do."""
    sides = [report({"m": [0.5] * 8}) for _ in range(2)]
    sides[0].embedder, sides[1].embedder = "http://h/v1#e", "http://h/v1/#e&price=0.02&batch=8"
    assert compare(sides[1], sides[0]).passed
    sides[0].embedder, sides[1].embedder = "local", "local:all-MiniLM-L6-v2-int8"
    assert compare(sides[1], sides[0]).passed
    sides[1].embedder = "http://h/v1#e&dimensions=8"
    assert not compare(sides[1], sides[0]).comparable


def named(scores: dict[str, list[float | str | None]], notes: dict[str, tuple[str, str]]) -> Report:
    """A report whose metrics are others than their keys say: canonical name and way by key."""
    made = report(scores)
    for label, (name, way) in notes.items():
        made.notes[label] = msgspec.structs.replace(made.notes[label], name=name, way=way)
    return made


@pytest.mark.parametrize(
    ("metric", "way", "asked"),
    [
        ("faithfulness", "judged", False),
        ("answer_relevancy", "judged", True),
        ("answer_correctness", "judged", True),  # it takes an embedder's similarity where there is one
        ("semantic_similarity", "lexical", True),
        ("mine", "judged", True),  # nobody knows, so it may have asked
        ("faithfulness", "MyJudge", True),
    ],
)
def test_an_embedder_is_in_the_way_of_the_metrics_that_ask_it(metric: str, way: str, asked: bool) -> None:
    """Which these are the shelf tells; of a metric that is not on it nobody knows."""
    sides = [named({metric: [0.5] * 8}, {metric: (metric, way)}) for _ in range(2)]
    sides[1].embedder = "e"
    found = compare(sides[1], sides[0]).blockers
    assert found == ([f"different embedder: none before, e now (used by {metric})"] if asked else [])


def test_a_metric_of_one_side_brings_no_blocker() -> None:
    """What only one report holds is new or lost; who was asked for it is in nobody's way."""
    before, after = report({"m": [0.5] * 8}, way="lexical"), report({"m": [0.5] * 8, "j": [0.5] * 8}, way="lexical")
    after.notes["j"] = MetricNote("answer_relevancy", "judged")
    after.judge, after.embedder = "another", "e"
    found = compare(after, before)
    assert (found.passed, [one.verdict for one in found.deltas]) == (True, ["same", "new"])


def test_a_metric_of_the_users_own_file_is_not_run_to_know_it(tmp_path: Path) -> None:
    """A name in a report is data: the file it names stays unopened."""
    mine = tmp_path / "mine.py"
    mine.write_text("raise SystemExit('run')\n")
    label = f"{mine}:tone"
    sides = [named({label: [0.5] * 8}, {label: (label, "judged")}) for _ in range(2)]
    sides[1].embedder = "e"
    assert not compare(sides[1], sides[0]).comparable


@pytest.mark.parametrize(
    ("old", "new", "name", "way"),
    [
        ("faithfulness", "Faithfulness", "faithfulness", "judged"),
        ("P@5", "precision@5", "precision@5", "ranking"),
        ("lexical.faithfulness", "faithfulness", "faithfulness", "lexical"),
    ],
)
def test_a_metric_is_found_by_what_it_is(old: str, new: str, name: str, way: str) -> None:
    """Two names of one metric are one delta, under the current name; tolerances and choices take either."""
    before = named({old: [0.9] * 8, "x": [0.5] * 8}, {old: (name, way)})
    after = named({"x": [0.5] * 8, new: [0.8] * 8}, {new: (name, way)})
    found = compare(after, before)
    assert [(one.metric, one.verdict, one.n) for one in found.deltas] == [(new, "worse", 8), ("x", "same", 8)]
    for either in (old, new):
        assert [one.metric for one in compare(after, before, metrics=[either]).deltas] == [new]
        assert compare(after, before, tolerances={either: 0.2}).passed
        assert rules(after, thresholds={either: 0.7})[0].passed
    assert old in before.columns


def test_keys_that_changed_hands() -> None:
    """A key that means another metric now takes no other metric's place, and none is lost on the way."""
    before = named({"f": [0.1] * 8, "g": [0.2] * 8}, {"f": ("a", "judged"), "g": ("b", "judged")})
    after = named({"g": [0.1] * 8}, {"g": ("a", "judged")})
    found = compare(after, before)
    assert [(one.metric, one.verdict, one.delta) for one in found.deltas] == [
        ("g", "same", 0.0),
        ("judged.b", "lost", None),
    ]
    other = named({"g": [0.2] * 8}, {"g": ("b", "lexical")})
    assert compare(other, after).blockers[:2] == [
        "g differs in name: 'a' before, 'b' now",
        "g differs in way: 'judged' before, 'lexical' now",
    ]


def test_the_verdict_does_not_contradict_its_doubt() -> None:
    """Beyond the tolerance by chance, perhaps; within it for sure; and the rule that makes a regression."""
    level = [0.1, 0.9, 0.4, 0.6, 0.3, 0.8, 0.5, 0.7, 0.2, 0.5]
    moved = [
        one + shift for one, shift in zip(level, [0.3, -0.3, 0.2, -0.3, 0.1, -0.3, 0.2, -0.2, 0.2, -0.1], strict=True)
    ]
    before, after = report({"m": [*level]}), report({"m": [*moved]})
    (one,) = compare(after, before).deltas
    assert (one.verdict, one.words(), one.regression) == ("worse", "worse, not significant", True)
    assert compare(before, after).deltas[0].words() == "better, not significant"
    shown = render.text(compare(after, before))
    assert "REGRESSION (worse, not significant)" in shown
    assert "REGRESSION: a drop larger than the tolerance (0.01), even if not significant, or a metric" in shown
    careful = compare(after, before, significant=True)
    assert (careful.passed, careful.deltas[0].words()) == (True, "no detectable change")
    small = compare(report({"m": [one - 0.005 for one in level]}), before)
    assert (small.passed, small.deltas[0].words()) == (True, "worse, within the tolerance")
    sure = compare(report({"m": [one - 0.1 for one in level]}), before, significant=True)
    assert sure.deltas[0].words() == "worse"
    assert "which is significant (p ≤ 0.05)" in render.text(sure)


def test_one_blocker_is_no_blockers() -> None:
    """Counts agree with what they count."""
    before, after = report({"m": [0.5] * 8}), report({"m": [0.5] * 8})
    after.judge = "another"
    assert render.headline(compare(after, before)) == "NOT COMPARABLE: 1 blocker"
    after.dataset = DatasetNote("d", None, "other")
    assert render.headline(compare(after, before)) == "NOT COMPARABLE: 2 blockers"


def test_nothing_to_compare_is_no_pass() -> None:
    """A gate that compared nothing has nothing to say, however many failures are allowed."""
    both = report({"m": ["cut", "cut", None]})
    found = compare(both, both, max_failed=1.0)
    assert (found.exit_code, found.deltas[0].words()) == (3, "nothing to compare")
    assert found.blockers == ["nothing to compare: no sample has a score for the same metric in both reports"]


def test_a_difference_without_room_cannot_be_detected() -> None:
    """Three pairs would show a difference of more than 1 only, which the metric does not have."""
    before, after = report({"m": [0.0, 1.0, 0.5]}), report({"m": [1.0, 0.0, 0.4]})
    delta = compare(after, before).deltas[0]
    assert (delta.detectable, delta.words()) == (None, "too few samples")
    assert " none " in render.text(compare(after, before))
    for one in (before, after):
        one.notes["m"] = msgspec.structs.replace(one.notes["m"], bounds=None)
    assert compare(after, before).deltas[0].detectable > 1


def test_pass_or_fail_is_tested_by_signs() -> None:
    """Six of 40 samples go from pass to fail and none the other way: p = 1 / 64, and the test is named."""
    before, after = report({"m": [1.0] * 40}), report({"m": [0.0] * 6 + [1.0] * 34})
    delta = compare(after, before, significant=True).deltas[0]
    assert (delta.p, delta.test) == (pytest.approx(1 / 64), "sign, mid-p")
    assert delta.regression


def test_the_worst_samples_say_why() -> None:
    """The first claim that does not hold, what was said and expected, or which documents were not found."""
    before, after = report({"m": [1.0] * 6}), report({"m": [0.5, 1.0, 0.4, 0.2, 0.9, 0.9]})
    claims = [{"claim": "It is tall.", "verdict": "yes"}, {"claim": "It is blue.", "verdict": "no", "reason": "unsaid"}]
    after.columns["m"].evidence = {0: {"claims": claims}, 2: {"reason": "off topic"}}
    worst = {one.sample: one.reason for one in compare(after, before).deltas[0].worst}
    assert worst == {
        "q1": "1 of 2 not supported: “It is blue.” (unsaid)",
        "q3": "off topic",
        "q4": "",
        "q5": "",
        "q6": "",
    }
    assert "q1: 1.0000 → 0.5000, 1 of 2 not supported: “It is blue.” (unsaid)" in render.text(compare(after, before))
    note = msgspec.structs.replace(after.notes["m"], name="recall@5")
    after.notes["m"] = note
    after.samples[3] = Sample(id="q4", retrieved_ids=["a"], relevance={"a": 1, "b": 2, "c": 0})
    after.samples[4] = Sample(id="q5", response="x " * 90, reference="y")
    assert reason_of(after, 3, "m") == "not found: b"
    after.notes["m"] = msgspec.structs.replace(note, name="token_f1")
    assert reason_of(after, 4, "m").endswith("…” for “y”")


def test_lost_and_new_metrics() -> None:
    """A metric that is gone, or has lost every score, is a regression; a new one is not an improvement."""
    both = report({"a": [0.5] * 6, "b": [0.5] * 6})
    gone = compare(report({"a": [0.5] * 6}), both)
    assert [(one.metric, one.verdict) for one in gone.regressions] == [("b", "lost")]
    empty = compare(report({"a": [0.5] * 6, "b": [None] * 6}), both)
    assert [(one.metric, one.verdict, one.words()) for one in empty.regressions] == [
        ("b", "lost", "no scored samples left")
    ]
    new = compare(both, report({"a": [0.5] * 6}))
    assert new.passed
    assert new.improvements == []
    assert new.deltas[1].verdict == "new"


def test_slices_are_compared_where_asked() -> None:
    """A drop that one slice hides in the whole shows by its tag."""
    tags = ["x"] * 8 + ["y"] * 8
    before = report({"m": [0.5] * 16}, tags=tags)
    after = report({"m": [0.9] * 8 + [0.2] * 8}, tags=tags)
    found = compare(after, before, by="kind")
    assert [(one.slice, one.verdict) for one in found.deltas] == [
        ("", "better"),
        ("kind=x", "better"),
        ("kind=y", "worse"),
    ]
    assert found.regressions[0].worst[0].sample == "q9"
    with pytest.raises(InputError, match="tags here: kind"):
        compare(after, before, by="sort")


def test_samples_on_one_side_are_named() -> None:
    """Pairs are made by id, and who has no partner is listed."""
    before = report({"m": [0.1, 0.2, 0.3]}, ids=["a", "b", "c"])
    after = report({"m": [0.3, 0.2, 0.9]}, ids=["c", "b", "z"])
    found = compare(after, before)
    assert (found.n_paired, found.only_baseline, found.only_current) == (2, ["a"], ["z"])
    assert found.deltas[0].delta == 0.0


def test_flips_are_counted() -> None:
    """Pass to fail and fail to pass, by the threshold of the metric."""
    found = compare(report({"m": [0.9, 0.1, 0.4, 0.8]}), report({"m": [0.2, 0.6, 0.7, 0.8]}))
    assert (found.deltas[0].to_fail, found.deltas[0].to_pass) == (2, 1)


@pytest.mark.long
def test_the_gate_passes_a_noisy_judge() -> None:
    """Two runs of one system under a noisy judge pass with significant for at least 95 of 100 seeds.

    A drop is falsely found for 2.5 % of seeds by design; 300 seeds tell that from 5 %.
    """
    passed = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        truth = rng.random((3, 60))
        runs = [
            report({f"m{at}": np.clip(row + rng.normal(0, 0.15, 60), 0, 1).tolist() for at, row in enumerate(truth)})
            for _ in range(2)
        ]
        passed += compare(*runs, significant=True).passed
    assert passed >= 285


@pytest.mark.parametrize(
    "wrong",
    [
        {"tolerance": -0.1},
        {"alpha": 0.0},
        {"max_failed": 2.0},
        {"metrics": ["x"]},
        {"tolerances": {"x": 0.1}},
        {"tolerance": math.nan},
    ],
)
def test_senseless_limits_are_refused(wrong: dict[str, object]) -> None:
    """A tolerance below zero, an alpha of zero, a metric that is not there."""
    both = report({"m": [0.5] * 6})
    with pytest.raises(InputError):
        compare(both, both, **wrong)  # type: ignore[arg-type]


def hostile() -> str:
    """A sample id that tries to break every format."""
    return '<img src=x onerror=alert(1)>|"&\n::error::x'


def test_every_rendering_names_the_regression_and_survives_hostile_ids() -> None:
    """Table, Markdown, JSON, JUnit and annotations; ids stay text in each."""
    ids = [hostile(), *(f"q{number}" for number in range(9))]
    found = compare(report({"m": [0.2] * 10}, ids=ids), report({"m": [0.9] * 10}, ids=ids))
    assert "FAIL: 1 regression (m)" in render.text(found)
    assert "-0.7000" in render.text(found)
    shown = render.markdown(found)
    assert shown.startswith(render.MARKER)
    assert "\\<img src=x onerror=alert(1)\\>\\|" in shown
    plain = json.loads(render.as_json(found))
    assert (plain["passed"], plain["exit_code"]) == (False, 2)
    assert msgspec.convert(plain["deltas"][0]["delta"], float) == pytest.approx(-0.7)
    tree = ElementTree.fromstring(render.junit(found))
    failure = tree.find("testcase/failure")
    assert failure is not None
    assert hostile() in (failure.text or "")
    odd = render.junit(
        compare(
            report({"m": [0.2] * 6}, ids=["\x1b[2J\0", *"bcdef"]), report({"m": [0.9] * 6}, ids=["\x1b[2J\0", *"bcdef"])
        )
    )
    assert "\\x1b[2J\\x00: 0.9000" in (ElementTree.fromstring(odd).find("testcase/failure").text or "")
    (line,) = render.github(found).splitlines()
    assert line.startswith("::error title=steelyard: regression::m -0.7000")
    assert "<img" not in render.fragment(found)
