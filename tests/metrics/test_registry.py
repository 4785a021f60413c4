"""The registry: decorators, users' files, plugins, batch metrics."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import steelyard
from steelyard import compare, evaluate_rag
from steelyard.core.errors import InputError, WrongType
from steelyard.core.records import Sample
from steelyard.metrics import lookup
from steelyard.metrics.registry import Metric, metric, register_metric
from steelyard.reports.metric_identity import label_of


def test_a_decorated_function_stays_callable() -> None:
    """Registering changes nothing about the function itself."""

    @metric(needs=("response",), name="core_length")
    def length(sample: Sample, *, most: int = 10) -> float:
        return min(1.0, len(sample.response or "") / most)

    assert length(Sample(response="12345")) == 0.5
    report = steelyard.evaluate_rag([{"response": "12345"}], metrics=["core_length(most=5)"])
    assert report.metrics == {"core_length(most=5)": 1.0}


def test_a_metric_of_a_users_file(tmp_path: Path) -> None:
    """file.py:name works for plain functions, with parameters, and for batch metrics."""
    path = tmp_path / "mine.py"
    path.write_text(
        "def tone(sample, *, word='kind'):\n    return float(word in sample.response)\n"
        "class Lengths:\n"
        "    def calculate_metric_scores(self, predicted_answers):\n"
        "        rows = [{'Length': float(len(a))} for a in predicted_answers]\n"
        "        return {'Length': sum(r['Length'] for r in rows) / len(rows)}, rows\n"
    )
    samples = [{"response": "a kind word"}, {"response": "no"}]
    report = steelyard.evaluate_rag(samples, metrics=[f"{path}:tone", f"{path}:tone(word=no)", f"{path}:Lengths"])
    assert list(report.metrics.values()) == [0.5, 0.5, 6.5]
    assert report.per_sample["1"]["Length"] == 11.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("absent.py:tone", "no such file"),
        ("{}:tome", "did you mean tone"),
        ("{broken}:tone", "cannot be loaded: NameError"),
    ],
)
def test_a_users_file_that_does_not_serve(tmp_path: Path, text: str, words: str) -> None:
    """What is wrong with a user's file is one line that names it."""
    good, broken = tmp_path / "good.py", tmp_path / "broken.py"
    good.write_text("def tone(sample):\n    return 1.0\n")
    broken.write_text("undefined_name\n")
    with pytest.raises(InputError, match=words):
        lookup.get_metric(text.format(good, broken=broken))


def test_a_broken_plugin_is_one_warning_naming_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that fails to import warns once; one that works is prefixed with its name."""
    for name, body in (("good", "def tone(sample):\n    return 1.0\nMETRICS = [tone]\n"), ("bad", "1 / 0\n")):
        (tmp_path / f"acme_{name}.py").write_text(
            body + ("" if name == "bad" else "def all_of():\n    return METRICS\n")
        )
        info = tmp_path / f"acme_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[steelyard.metrics]\nacme{name} = acme_{name}:all_of\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    lookup._plugins.cache_clear()
    assert str(lookup.get_metric("acmegood.tone")) == "acmegood.tone"
    with pytest.warns(UserWarning, match="cannot load plugin acmebad of acme-bad: ZeroDivisionError"):
        with pytest.raises(InputError, match="unknown metric"):
            lookup.get_metric("acmebad.tone")
    lookup._plugins.cache_clear()
    sys.modules.pop("acme_good", None)


def test_two_metrics_of_one_name_are_a_clash() -> None:
    """A name that is taken is an error, never a silent replacement."""
    with pytest.raises(InputError, match="already registered"):
        metric(name="exact_match")(lambda sample: 1.0)


def test_what_cannot_be_a_metric() -> None:
    """Registering a number is a TypeError in plain words."""
    with pytest.raises(WrongType, match="not a metric"):
        register_metric(3)


def test_batch_calls_of_our_own() -> None:
    """calculate_metric_scores: pooled and per example, with the reduction over references that is asked for."""
    f1 = lookup.get_metric("qa_f1")
    gold, answers = [["the cat", "a dog barks"], ["x"]], ["dog", "y"]
    pooled, rows = f1.calculate_metric_scores(gold_answers=gold, predicted_answers=answers, aggregation_fn=max)
    assert rows == [{"F1": pytest.approx(2 / 3)}, {"F1": 0.0}]
    assert pooled == {"F1": pytest.approx(1 / 3)}
    lowest, _ = f1.calculate_metric_scores(gold_answers=gold, predicted_answers=answers, aggregation_fn=min)
    assert lowest == {"F1": 0.0}


def test_typed_accuracy_by_question_type() -> None:
    """The batch form gives the accuracy of each type and over all."""
    pooled, rows = lookup.get_metric("typed_accuracy").calculate_metric_scores(
        gold_answers=["a", "b", "c"], predicted_answers=["a", "x", "c"], question_types=["t", "t", "n"]
    )
    assert pooled == {"Accuracy_n": 1.0, "Accuracy_t": 0.5, "Accuracy_Overall": pytest.approx(2 / 3)}
    assert rows[1] == {"Accuracy": 0.0, "QuestionType": "t"}


def test_unequal_columns_are_named() -> None:
    """Columns of different lengths are an error that shows both."""
    with pytest.raises(InputError, match="gold_answers 1, predicted_answers 2"):
        lookup.get_metric("em").calculate_metric_scores(gold_answers=["a"], predicted_answers=["a", "b"])


def test_metrics_are_values() -> None:
    """Equal names make equal, hashable metrics."""
    assert isinstance(lookup.get_metric("ndcg@10"), Metric)
    assert len({lookup.get_metric("ndcg@10"), lookup.get_metric("ndcg_cut.10")}) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rubric(scale='5-1')", "expected min-max in whole numbers"),
        ("rubric(scale='1-1')", "expected min-max in whole numbers"),
        ("rubric(scale=a-b)", "expected min-max in whole numbers"),
        ("rubric(scale='0-1000000000000')", "expected min-max in whole numbers"),
        ("rubric(fields=nope)", "unknown field 'nope'"),
        ("rubric(criteria='')", "say what to rate"),
        ("rubric(weighted=maybe)", "expected true or false"),
        ("judged.answer_relevancy(strictness=0)", "expected a whole number of at least 1"),
        ("judged.answer_correctness(weights=a)", "expected two numbers"),
        ("factual_correctness(beta=-1)", "expected a number above 0"),
        ("factual_correctness(mode=f2)", "invalid value 'f2'"),
        ("judged.context_relevancy(relevant_at=3)", "expected a number of at most 2"),
        ("passage_recall(match=0)", "expected a number above 0"),
        ("rouge_n(n=0)", "expected a whole number of at least 1"),
        ("bleu(order=0)", "expected a whole number of at least 1"),
        ("chrf(order=0)", "expected one of them to be 1 or more"),
        ("set_f(weight=-1)", "expected a number of at least 0"),
        ("f(beta=-1)", "expected a number of at least 0"),
        ("rprec_mult(factor=0)", "expected a number above 0"),
        ("P(rel=1e400)", "expected a finite number"),
    ],
)
def test_parameters_are_checked_when_a_metric_is_asked_for(text: str, words: str) -> None:
    """Out of range or of another type: one line with the metric, before a sample is looked at."""
    with pytest.raises(InputError, match=words):
        lookup.requested_metrics([text])


def test_a_metric_may_check_its_parameters_together() -> None:
    """``check`` sees all parameters, the defaults among them."""

    def ordered(*, low: int, high: int) -> None:
        if low >= high:
            raise InputError(f"core_between: {low} is not below {high}")

    @metric(needs=("response",), name="core_between", check=ordered)
    def between(sample: Sample, *, low: int = 1, high: int = 5) -> float:
        return float(low <= len(sample.response or "") <= high)

    assert str(lookup.get_metric("core_between(low=4)")) == "core_between(low=4)"
    with pytest.raises(InputError, match="7 is not below 5"):
        lookup.get_metric("core_between(low=7)")


def test_a_metric_of_a_file_is_its_own_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``mine.py:token_f1`` beside ``token_f1``, decorated or plain, and never in its place."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from steelyard import metric\n\ndef token_f1(sample):\n    return 0.25\n\n"
        "@metric(needs=('response',), aliases=('qa_em',))\ndef exact_match(sample):\n    return 0.75\n"
    )
    rows = [{"id": "a", "response": "Ada", "reference": "Ada"}]
    report = evaluate_rag(rows, metrics=["mine.py:token_f1", "token_f1", "mine.py:exact_match", "exact_match", "qa_em"])
    assert report.metrics == {
        "mine.py:token_f1": 0.25, "token_f1": 1.0, "mine.py:exact_match": 0.75, "exact_match": 1.0, "qa_em": 1.0,
    }  # fmt: skip
    assert report.notes["mine.py:token_f1"].name == "mine.py:token_f1"
    assert label_of(report, "elsewhere/mine.py:token_f1") == "mine.py:token_f1"
    with pytest.raises(InputError, match=r"no metric 'other\.py:token_f1'"):
        label_of(report, "other.py:token_f1")
    ours, theirs = (evaluate_rag(rows, metrics=[name]) for name in ("token_f1", "mine.py:token_f1"))
    assert [one.verdict for one in compare(theirs, ours).deltas] == ["lost", "new"]
