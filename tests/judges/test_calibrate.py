"""A judge compared with people: agreement, bias, ceiling, threshold, corrected estimates, and what makes them doubtful."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy import stats

from steelyard import calibrate, label
from steelyard.cli import invoke
from steelyard.core.errors import InputError, UnknownName
from steelyard.judges.annotations import HumanLabel, read_labels
from steelyard.render import calibration as render
from steelyard.stats.ppi import corrected_mean
from tests.judges.judged_reports import report


def labels(values: list[float | None], **fields: str) -> list[HumanLabel]:
    """One label per sample, in the order of the report."""
    return [HumanLabel(sample=f"q{row}", value=value, **fields) for row, value in enumerate(values)]


def test_a06_a_judge_that_always_says_yes(shared: Path) -> None:
    """Agreement equals the base rate, kappa is 0, and the report says that a constant does as well."""
    cases = [json.loads(line) for line in (shared / "cases.jsonl").read_text(encoding="utf-8").split("\n") if line]
    case = next(one for one in cases if one["id"] == "A06")
    judged = report({"m": [float(one) for one in case["input"]["judge"]]})
    found = calibrate(judged, labels([float(one) for one in case["input"]["human"]]), drawn="random")["m"]
    assert found.agreement["accuracy"].value == pytest.approx(case["check"]["agreement"])
    assert found.agreement["kappa"].value == case["check"]["kappa"]
    assert (found.people_rate.value, found.judge_rate.value) == (pytest.approx(2 / 3), 1.0)
    assert found.people_rate.low < 2 / 3 < found.people_rate.high
    assert "no better than a constant: always answering pass agrees with people on 0.667 too" in found.notes
    assert "no better than a constant" in str(calibrate(judged, labels([1.0] * 30 + [0.0] * 15)))


def test_equal_labels_have_no_kappa() -> None:
    """Undefined with a reason, not 0 / 0."""
    found = calibrate(report({"m": [1.0] * 20}), labels([1.0] * 20), drawn="random")["m"]
    assert (found.agreement["kappa"].value, found.kappa_maximum) == (None, None)
    assert found.agreement["kappa"].reason == "all labels are equal"


def test_failed_scores_are_left_out_and_counted() -> None:
    """A judge's failures are neither agreement nor disagreement."""
    judged = report({"m": [1.0, 0.0, "timeout", None, 1.0, 0.0]})
    found = calibrate(judged, labels([1.0, 0.0, 1.0, 1.0, 1.0, 1.0]), drawn="random")["m"]
    assert (found.n, found.unscored, found.agreement["accuracy"].n, found.agreement["accuracy"].excluded) == (
        6,
        2,
        4,
        2,
    )
    assert found.agreement["accuracy"].value == 0.75
    assert "2 labelled samples have no score from the judge and are left out" in found.notes
    assert (found.mean.n, found.mean.judged, found.mean.unscored) == (4, 4, 2)


def test_measures_by_hand_and_by_scipy() -> None:
    """The confusion, kappa with its maximum and balanced accuracy by hand; rank correlations as scipy's."""
    rng = np.random.default_rng(0)
    people = (rng.random(80) < 0.6) * 1.0
    scores = np.clip(0.3 * people + 0.7 * rng.random(80), 0, 1)
    found = calibrate(report({"m": scores.tolist()}), labels(people.tolist()), drawn="random")["m"]
    verdicts = (scores >= 0.5) * 1.0
    table = [[int(((people == a) & (verdicts == b)).sum()) for b in (0, 1)] for a in (0, 1)]
    assert found.confusion.counts == tuple(map(tuple, table))
    (tn, fp), (fn, tp) = table
    chance = ((tn + fp) * (tn + fn) + (fn + tp) * (fp + tp)) / 80**2
    assert found.agreement["kappa"].value == pytest.approx(((tn + tp) / 80 - chance) / (1 - chance))
    best = (min(tn + fp, tn + fn) + min(fn + tp, fp + tp)) / 80
    assert found.kappa_maximum == pytest.approx((best - chance) / (1 - chance))
    assert found.agreement["balanced accuracy"].value == pytest.approx((tn / (tn + fp) + tp / (fn + tp)) / 2)
    assert found.agreement["kendall"].value == pytest.approx(stats.kendalltau(people, scores).statistic)
    assert found.agreement["spearman"].value == pytest.approx(stats.spearmanr(people, scores).statistic)
    assert all(one.low <= one.value <= one.high for one in found.agreement.values())
    apart = stats.mannwhitneyu(scores[people == 1], scores[people == 0]).statistic
    assert found.agreement["auc"].value == pytest.approx(apart / people.sum() / (80 - people.sum()))


def test_graded_labels_on_a_scale() -> None:
    """Ratings from 1 to 5 are put onto [0, 1]; without the scale the mistake is named."""
    judged = report({"m": [0.0, 0.25, 0.5, 0.75, 1.0, 0.9]})
    found = calibrate(judged, labels([1, 2, 3, 4, 5, 5]), scale=(1, 5), drawn="random")["m"]
    assert found.bias.value == pytest.approx(-0.1 / 6)
    assert found.agreement["alpha"].value > 0.95
    assert found.mean.alone == pytest.approx(3.5 / 6)
    with pytest.raises(InputError, match=r"the label 2 of q1 is outside 0 to 1: give the range of the ratings"):
        calibrate(judged, labels([1, 2, 3, 4, 5, 5]))
    with pytest.raises(InputError, match="6 of q0 is outside 1 to 5"):
        calibrate(judged, labels([6]), scale=(1, 5))


def test_several_people_the_majority_and_the_ceiling() -> None:
    """The majority's verdict counts, a split one is left out; people agree with each other on so many pairs."""
    judged = report({"m": [1.0, 1.0, 0.0, 0.0, 1.0, 0.0]})
    given = [
        *labels([1, 1, 0, 0, 1, 0], annotator="ann"),
        *labels([1, 0, 0, 1, 1, 0], annotator="bob"),
        *labels([1, 1, 0, None, 1], annotator="cy"),
    ]
    found = calibrate(judged, given, drawn="random")["m"]
    assert found.annotators == 3
    assert (found.agreement["accuracy"].n, found.agreement["accuracy"].excluded) == (5, 1)  # q3 is split
    assert found.agreement["accuracy"].value == 1.0
    # q0, q2, q4: 3 of 3 pairs alike; q1: 1 of 3; q3: 0 of 1; q5: 1 of 1
    assert (found.ceiling.units, found.ceiling.people.value) == (6, pytest.approx(11 / 14))
    # the judge is alike with 3 of 3 thrice, 2 of 3, 1 of 2, 2 of 2
    assert found.ceiling.judge.value == pytest.approx(14 / 16)
    assert found.mean.alone == pytest.approx((1 + 2 / 3 + 0 + 0.5 + 1 + 0) / 6)
    assert "3 people agree with each other on 0.786" in str(calibrate(judged, given, drawn="random"))


def test_one_person_saying_two_things_is_an_error() -> None:
    """A label twice with the same value is one label."""
    judged = report({"m": [1.0, 0.0]})
    twice = [*labels([1.0, 0.0], annotator="ann"), HumanLabel(sample="q1", value=0.0, annotator="ann")]
    assert calibrate(judged, twice, drawn="random")["m"].n == 2
    with pytest.raises(InputError, match="q1 is labelled twice by ann: 0 and 1"):
        calibrate(judged, [*twice, HumanLabel(sample="q1", value=1.0, annotator="ann")])


def test_bias_by_slice() -> None:
    """The judge is lenient on one kind of question alone, and that is where it shows."""
    kinds = [{"kind": "easy" if row % 2 else "hard"} for row in range(40)]
    people = [1.0 if row % 4 == 1 else 0.0 for row in range(40)]
    scores = [people[row] if row % 2 else 0.6 for row in range(40)]
    found = calibrate(report({"m": scores}, tags=kinds), labels(people), by="kind", drawn="random")["m"]
    assert found.bias.value == pytest.approx(0.3)
    assert found.bias_by["kind=easy"].value == 0.0
    assert (found.bias_by["kind=hard"].value, found.bias_by["kind=hard"].n) == (pytest.approx(0.6), 20)


def test_a_threshold_is_measured_where_it_was_not_chosen() -> None:
    """The judge is right at .8 and useless at .5; the choice holds on the other half."""
    rng = np.random.default_rng(1)
    people = (rng.random(120) < 0.5) * 1.0
    scores = np.where(people == 1, rng.uniform(0.8, 1.0, 120), rng.uniform(0.55, 0.79, 120))
    found = calibrate(report({"m": scores.tolist()}), labels(people.tolist()), drawn="random")["m"].chosen
    assert 0.75 < found.threshold < 0.85
    assert (found.chosen_on, found.measured_on) == (60, 60)
    assert found.balanced_accuracy.value > 0.95
    assert found.before.value == 0.5
    noise = calibrate(report({"m": rng.random(120).tolist()}), labels(people.tolist()), drawn="random")["m"].chosen
    assert noise.balanced_accuracy.low < 0.5 < noise.balanced_accuracy.high


def test_lower_may_be_better() -> None:
    """Verdicts and the curve follow the metric's direction."""
    found = calibrate(report({"m": [0.1, 0.9, 0.2, 0.8]}, higher=False), labels([0, 1, 0, 1]), drawn="random")["m"]
    assert found.agreement["accuracy"].value == 1.0
    assert found.agreement["auc"].value == 1.0
    assert found.people_rate.value == 0.5


CLAIMS = {
    row: {"claims": [{"claim": f"Claim {at}", "verdict": verdict, "reason": ""} for at, verdict in enumerate(said, 1)]}
    for row, said in enumerate((["yes", "no"], ["yes"], ["no", "no", "yes"]))
}


def test_claims_are_units_of_their_own() -> None:
    """Labels by number or words of a claim; claims of one sample are a cluster."""
    judged = report({"faithfulness": [0.5, 1.0, 1 / 3]}, evidence=CLAIMS)
    given = [
        {"sample": "q0", "claim": "1", "value": "yes"},
        {"sample": "q0", "claim": "claim  2", "value": "yes"},
        {"sample": "q2", "claim": 1, "value": "no"},
        {"sample": "q2", "claim": 4, "value": "no"},
    ]
    calibration = calibrate(judged, given, drawn="random")
    found = calibration["faithfulness claims"]
    assert (found.unit, found.total, found.n) == ("claim", 6, 3)
    assert found.confusion.counts == ((1, 0), (1, 1))
    assert found.mean.uncorrected == 0.5
    assert "1 label is about a sample that the report does not have: q2 claim 4" in calibration.warnings[0]
    assert [one.unit.claim for one in label(judged, "faithfulness", 9, claims=True)].count(1) == 3
    with pytest.raises(InputError, match="has no claims"):
        calibrate(report({"m": [1.0]}), [{"sample": "q0", "claim": 1, "value": 1}])


def _population(seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    people = (rng.random(n) < 0.6) * 1.0
    return people, np.clip(0.45 + 0.35 * people + rng.normal(0, 0.1, n), 0, 1)


@pytest.mark.parametrize("bins", [1, 4])
def test_labels_that_were_drawn_correct_the_judge(bins: int) -> None:
    """A judge that is too lenient: strata and shares come from the labels, and the corrected mean holds people's."""
    people, scores = _population(2)
    judged = report({"m": scores.tolist()})
    drawn = label(judged, "m", 80, bins=bins, seed=1)
    given = [
        HumanLabel(
            sample=one.unit.sample,
            value=float(people[one.unit.row]),
            drawn="stratified" if one.stratum else "random",
            stratum=one.stratum,
            share=one.share,
        )
        for one in drawn
    ]
    calibration = calibrate(judged, given)
    assert not calibration.warnings
    seen, names = np.full(600, math.nan), np.digitize(scores, np.quantile(scores, [0.25, 0.5, 0.75])).tolist()
    seen[[one.unit.row for one in drawn]] = people[[one.unit.row for one in drawn]]
    assert calibration["m"].mean == corrected_mean(seen, scores, strata=names if bins > 1 else None)
    found = calibration["m"].mean
    assert found.uncorrected - people.mean() > 0.05
    assert found.low <= people.mean() <= found.high
    assert found.gain > 1.5


def test_the_pass_rate_is_corrected_too() -> None:
    """Of judged passes and of people's passes; the judge's own rate stands beside it."""
    people, scores = _population(3)
    judged = report({"m": scores.tolist()}, threshold=0.55)
    found = calibrate(judged, labels(people[:100].tolist()), drawn="random")["m"].pass_rate
    assert found.uncorrected == pytest.approx((scores >= 0.55).mean())
    assert found.low <= people.mean() <= found.high


def test_the_difference_of_two_systems() -> None:
    """Both on the same samples; the judge sees half of what people see."""
    rng = np.random.default_rng(4)
    better = (rng.random(400) < 0.8) * 1.0
    worse = np.where(rng.random(400) < 0.3, 0.0, better)
    sides = [report({"m": (0.4 + 0.2 * one).tolist()}, system=name) for one, name in ((better, "new"), (worse, "old"))]
    given = [*labels(better[:120].tolist(), system="new"), *labels(worse[:120].tolist(), system="old")]
    calibration = calibrate(sides[0], given, baseline=sides[1], drawn="random")
    found = calibration["m"].difference
    truth = float((better - worse).mean())
    assert (found.n, found.judged, found.method) == (120, 400, "bonett-price")
    assert found.uncorrected == pytest.approx(0.2 * truth)
    assert found.low <= truth <= found.high
    assert calibration["m"].pass_difference.uncorrected == pytest.approx(truth)
    assert "mean minus old's" in str(calibration)
    apart = calibrate(
        sides[0],
        labels(better[:120].tolist()),
        baseline=sides[1],
        baseline_labels=labels(worse[:120].tolist()),
        drawn="random",
    )
    assert apart["m"].difference == found
    twin = report({"m": [0.5] * 400}, system="new")
    with pytest.raises(InputError, match="both reports name the same system"):
        calibrate(sides[0], given, baseline=twin)


def test_a_second_system_needs_labels_and_the_same_data() -> None:
    """Without either there is no difference to correct, and that is said."""
    mine, theirs = report({"m": [0.5] * 40}, system="new"), report({"m": [0.5] * 40}, system="old")
    given = labels([1.0, 0.0] * 10)
    with pytest.raises(InputError, match="no labels of old: give them as --baseline-labels"):
        calibrate(mine, given, baseline=theirs)
    theirs.dataset = msgspec.structs.replace(theirs.dataset, digest="other")
    with pytest.raises(InputError, match="were made from different data"):
        calibrate(mine, given, baseline=theirs, baseline_labels=given)


@pytest.mark.parametrize("threshold", [7.0, -0.1, math.nan])
def test_a_threshold_lies_within_the_metric(threshold: float) -> None:
    """Beyond the range every verdict would be the same."""
    with pytest.raises(InputError, match=r"threshold .* for m: must be in \[0, 1\]"):
        calibrate(report({"m": [0.5] * 10}), labels([1.0, 0.0] * 5), threshold=threshold)


def test_labels_of_strangers_alone_are_a_mistake() -> None:
    """A report and labels that have no sample in common belong to something else."""
    with pytest.raises(InputError, match="no label refers to a sample of the report; the labels have zz"):
        calibrate(report({"m": [0.5] * 10}), {"zz": 1.0})


def test_labels_that_are_no_random_sample_are_told_of() -> None:
    """Of unknown origin; chosen by score; drawn but passed over."""
    people, scores = _population(5)
    judged = report({"m": scores.tolist()})
    unknown = calibrate(judged, labels(people[:50].tolist()))
    assert [warning for warning in unknown.warnings if "do not say how the samples were chosen" in warning]
    worst = np.argsort(scores)[:60].tolist()
    chosen = calibrate(judged, {f"q{row}": float(people[row]) for row in worst}, drawn="random")
    assert len(chosen.warnings) == 1
    assert "these labels are probably not a random sample" in chosen.warnings[0]
    skipped = [
        HumanLabel(sample=f"q{row}", value=None if row in {3, 9} else people[row], drawn="random") for row in range(50)
    ]
    assert "2 samples were drawn but not labelled" in calibrate(judged, skipped).warnings[0]
    unfinished = [
        HumanLabel(sample=f"q{row}", value=people[row] if row < 40 else None, drawn="random") for row in range(50)
    ]
    assert calibrate(judged, unfinished).warnings == []


def test_a_stratum_without_labels_leaves_no_corrected_estimate() -> None:
    """Nothing is made up for it, and the reason is told."""
    judged = report({"m": [0.2, 0.8] * 10})
    given = [
        HumanLabel(sample=f"q{row}", value=1.0, drawn="stratified", stratum="low" if row < 4 else "high", share=0.5)
        for row in range(5)
    ]
    found = calibrate(judged, given)["m"]
    assert found.mean.value is None
    assert "no corrected estimate: every stratum needs 2 labels: too few in high" in found.notes


def test_several_metrics_and_names() -> None:
    """Labels name their metric, with or without its way; a wrong one is answered with the nearest."""
    judged = report({"faithfulness": [1.0, 0.0] * 5, "context_recall": [0.5] * 10})
    both = [*labels([1, 0] * 5, metric="judged.faithfulness"), *labels([1] * 10, metric="context_recall")]
    assert list(calibrate(judged, both).metrics) == ["faithfulness", "context_recall"]
    assert list(calibrate(judged, both, metric="faithfulness").metrics) == ["faithfulness"]
    with pytest.raises(UnknownName, match="did you mean faithfulness"):
        calibrate(judged, labels([1], metric="faithfullness"))
    with pytest.raises(
        InputError, match="name the metric that the labels refer to: one of faithfulness, context_recall"
    ):
        calibrate(judged, labels([1]))
    with pytest.raises(InputError, match="no labels: the input is empty"):
        calibrate(judged, [])
    with pytest.raises(InputError, match="no labels: no row has a value yet"):
        calibrate(judged, labels([None], metric="faithfulness"))


def test_what_is_undefined_shows_as_a_dash_and_saves_as_null() -> None:
    """No NaN anywhere, in words or in JSON; Markdown carries the same figures."""
    calibration = calibrate(report({"m": [0.7] * 12}), labels([1.0, 0.0] * 6), drawn="random")
    shown = str(calibration)
    assert "the judge's values are all equal" in shown
    assert "nan" not in shown
    plain = json.loads(render.as_json(calibration))
    assert plain["metrics"]["m"]["agreement"]["spearman"]["value"] is None
    assert not any(math.isnan(value) for value in plain["metrics"]["m"]["mean"].values() if isinstance(value, float))
    assert "| accuracy | 0.500 |" in calibration.markdown()


def test_a_judge_that_is_always_wrong_is_not_said_to_agree() -> None:
    """At an accuracy of 0 a constant agrees with people on more, not on as much too."""
    judged = report({"m": [0.0, 1.0] * 20})
    found = calibrate(judged, labels([1.0, 0.0] * 20), drawn="random")["m"]
    assert found.agreement["accuracy"].value == 0.0
    assert "no better than a constant: always answering pass agrees with people on 0.500" in found.notes


@pytest.mark.parametrize(
    ("who", "people"),
    [
        ({0: "ann", 1: "ann", 2: "", 3: ""}, 1),
        ({0: "", 1: ""}, 1),
        ({0: "ann", 1: "bob"}, 2),
        ({0: "ann", 1: "bob", 2: ""}, 2),
    ],
)
def test_labels_without_a_name_are_no_further_person(who: dict[int, str], people: int) -> None:
    """Who gave them is not known, until one stands beside a named one on the same sample."""
    judged = report({"m": [0.0, 1.0] * 5})
    given = [{"sample": f"q{row}", "value": 1.0, "annotator": name} for row, name in who.items()]
    assert calibrate(judged, given, drawn="random")["m"].annotators == people
    beside = [{"sample": "q9", "value": 1.0, "annotator": name} for name in {"", *who.values()} - {"bob"}]
    expected = people + 1 if "ann" in who.values() else people
    assert calibrate(judged, [*given, *beside], drawn="random")["m"].annotators == expected


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of two people, one without a name; output in three formats; a mistake is one line."""
    people, scores = _population(6, 100)
    report({"m": scores.tolist()}).save(tmp_path / "report.json")
    (tmp_path / "ann.csv").write_text(
        "id,label\n" + "".join(f"q{row},{'yes' if people[row] else 'no'}\n" for row in range(40)), encoding="utf-8"
    )
    (tmp_path / "bob.jsonl").write_text(
        "".join(json.dumps({"id": f"q{row}", "value": people[row]}) + "\n" for row in range(20)), encoding="utf-8"
    )
    names = [str(tmp_path / one) for one in ("ann.csv", "bob.jsonl")]
    code = invoke(["calibrate", str(tmp_path), *names, "--random", "--out", str(tmp_path / "out.md"), "--format", "md"])
    assert code == 0
    assert "40 of 100 samples labelled by 2 people" in capsys.readouterr().out
    assert (tmp_path / "out.md").read_text(encoding="utf-8").startswith("# a judge on sys, compared with people")
    assert invoke(["calibrate", str(tmp_path), *names, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["m"]["annotators"] == 2
    (tmp_path / "ann.csv").write_text("id,label\nq1,perhaps\n", encoding="utf-8")
    assert invoke(["calibrate", str(tmp_path), names[0]]) == 1
    assert "ann.csv:2: value: expected a number, yes or no, found 'perhaps'" in capsys.readouterr().err


def test_labels_are_read_from_many_shapes(tmp_path: Path) -> None:
    """Words, booleans, numbers, gaps; a table; a mapping; bad rows with their place."""
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"query_id": ["q0", "q1"], "human": [1.0, None]})
    assert [one.value for one in read_labels(frame)] == [1.0, None]
    assert [one.value for one in read_labels({"id": ["a", "b"], "rating": [3, 5]}, scale=(1, 5))] == [0.5, 1.0]
    assert read_labels([{"id": 42, "verdict": True}])[0] == HumanLabel(sample="42", value=1.0)
    sheet = tmp_path / "labels.tsv"
    sheet.write_text("Sample\tLabel\tAnnotator\n'=x\tPASS\tann\n", encoding="utf-8")
    assert read_labels(sheet) == [HumanLabel(sample="=x", value=1.0, annotator="ann")]
    for text, words in (
        ("name,value\na,1\n", "no sample: expected one of sample"),
        ("id,words\na,1\n", "no value: expected one of value"),
        ("id,value\na,inf\n", "expected a finite number"),
        ("id,value,share\na,1,2\n", r"expected a share in \(0, 1\], found 2"),
    ):
        (tmp_path / "bad.csv").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=words):
            read_labels(tmp_path / "bad.csv")
