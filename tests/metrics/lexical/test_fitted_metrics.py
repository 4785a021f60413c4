"""Judgements without a model: identical is near 1, unrelated near 0, in any script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.core.errors import InputError
from steelyard.core.records import Sample, Undefined, Value
from steelyard.core.requests import play
from steelyard.evaluate.evaluate_samples import evaluate_rag
from steelyard.metrics.lexical import fitted_metrics as judges
from steelyard.metrics.lexical.semantic_similarity import semantic_similarity
from steelyard.metrics.lookup import get_metric
from steelyard.stats.logistic import Model, model

SCRIPTS = {
    "latin": ("The river flooded the lower town in March.", "Bankers expect cheaper loans next autumn."),
    "cyrillic": ("Река затопила нижний город в марте.", "Банкиры ожидают дешёвых кредитов осенью."),
    "greek": ("Το ποτάμι πλημμύρισε την κάτω πόλη.", "Οι τραπεζίτες περιμένουν φθηνότερα δάνεια."),
    "arabic": ("غمر النهر المدينة السفلى في مارس", "يتوقع المصرفيون قروضا أرخص الخريف القادم"),
    "hebrew": ("הנהר הציף את העיר התחתית במרץ", "הבנקאים מצפים להלוואות זולות בסתיו"),
    "devanagari": ("नदी ने मार्च में निचले शहर को डुबो दिया", "बैंकर शरद ऋतु तक सस्ते कर्ज की उम्मीद करते हैं"),
    "thai": ("แม่น้ำท่วมเมืองล่างในเดือนมีนาคม", "นักการธนาคารคาดหวังเงินกู้ราคาถูก"),
    "han": ("三月河水淹没了下城区。", "银行家预计秋季贷款更便宜。"),
    "kana": ("さんがつにかわがまちをひたした。", "ぎんこうはやすいローンをきたいする。"),
    "hangul": ("삼월에 강이 아랫마을을 덮쳤다.", "은행가들은 가을에 더 싼 대출을 기대한다."),
}

Pair = Callable[[str, str], Value]
METRICS: dict[str, Pair] = {
    "answer_correctness": lambda a, b: judges.answer_correctness(Sample(response=a, reference=b)),
    "faithfulness": lambda a, b: judges.faithfulness(Sample(response=a, retrieved_contexts=[b])),
    "context_relevancy": lambda a, b: judges.context_relevancy(Sample(user_input=a, retrieved_contexts=[b])),
    "answer_relevancy": lambda a, b: judges.answer_relevancy(Sample(user_input=a, response=b)),
}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_any_script(name: str, script: str) -> None:
    """L01: identical texts are near 1 and unrelated texts near 0 in every script."""
    text, other = SCRIPTS[script]
    assert METRICS[name](text, text).value > 0.8
    assert METRICS[name](text, other).value < 0.3


@pytest.mark.parametrize(
    "text",
    ["今天天气很好", "สวัสดี", "الطقس جميل اليوم", "आज मौसम अच्छा है", "Ελλάδα", "最初の大会は1967年に開催されました"],
)
def test_short_identical_texts(text: str) -> None:
    """L01 and L05: short texts without a final mark are sentences, and equal ones score 1."""
    assert METRICS["faithfulness"](text, text).value == 1.0
    assert METRICS["answer_correctness"](text, text).value == 1.0
    (sentence,) = METRICS["faithfulness"](text, text).evidence["sentences"]
    assert sentence["text"] == text


def test_question_and_answer_in_another_language() -> None:
    """L06: a question and an answer in Chinese share their words."""
    assert judges.answer_relevancy(Sample(user_input="退款期限是多久？", response="退款期限为三十天。")).value == 0.5


@pytest.mark.parametrize("name", ["correctness", "faithfulness", "relevance", "correctness_cosine", "relevance_cosine"])
def test_coefficients_have_provenance(name: str) -> None:
    """Every file says what it was fitted to, on which split, by which script, and how well it did."""
    found = model(name)
    assert found.provenance["split"] == "dev"
    assert found.provenance["fitted_on"]
    assert found.provenance["cross_validated"]
    root = Path(__file__).resolve().parents[3]
    assert (root / str(found.provenance["script"])).is_file()
    assert found.threshold == 0.5


def test_support_can_only_help() -> None:
    """Coefficients of what is found are positive, of what is missing negative."""
    against = {"names_missing", "numbers_missing", "number_words_missing", "opposites", "negation", "repeated"}
    against |= {"small_talk", "heaviest_missing", "numbers_wrong", "late"}
    for name in ("correctness", "faithfulness", "relevance"):
        for count, value in model(name).coefficients.items():
            assert (value < 0) == (count in against)


def test_a_model_that_is_not_there() -> None:
    """A name without a file is one clear error."""
    with pytest.raises(InputError, match="no usable coefficients for nonsense"):
        model("nonsense")


def test_probability_is_logistic() -> None:
    """Worked by hand: 1 / (1 + e^-(1 + 2 * 0.5))."""
    assert Model("m", 1, 1.0, {"a": 2.0}, 0.5, {}).probability({"a": 0.5}) == 0.880797078


def test_correctness_orders_answers() -> None:
    """The right name in a sentence, half of it, another one."""

    def value(response: str) -> float:
        sample = Sample(user_input="Who wrote it?", response=response, reference=["Ada Lovelace", "Lovelace, Ada"])
        return judges.answer_correctness(sample).value

    right, half, wrong = value("It was written by Ada Lovelace."), value("It was Ada."), value("It was Grace Hopper.")
    assert right > 0.8
    assert right > half > wrong
    assert wrong < 0.2
    assert value("") == value(" ") == 0.0


def test_correctness_of_numbers() -> None:
    """Another number than the reference's is wrong; the same in another spelling is right."""

    def value(response: str) -> float:
        return judges.answer_correctness(Sample(user_input="How many?", response=response, reference="1,200")).value

    assert value("There were 1200.") > 0.7
    assert value("There were 1300.") < 0.3


def test_correctness_needs_a_reference() -> None:
    """An empty list of references leaves nothing to compare with."""
    assert isinstance(judges.answer_correctness(Sample(response="Ada", reference=[])), Undefined)


def test_best_reference_counts() -> None:
    """Of several references the best, the mean or the worst."""
    sample = Sample(response="Ada", reference=["Ada", "Grace"])
    best, mean, worst = (judges.answer_correctness(sample, aggregation=how).value for how in ("best", "mean", "worst"))
    assert best == 1.0
    assert mean == pytest.approx((best + worst) / 2)


def test_declining_is_not_relevant() -> None:
    """An answer that declines takes up the question's words and is still not relevant."""
    sample = Sample(user_input="Who built the bridge?", response="I don't know who built the bridge.")
    found = judges.answer_relevancy(sample)
    assert (found.value, found.evidence["declines"]) == (0.0, "I don't know")


def test_contexts_are_averaged() -> None:
    """One passage about the question and one about nothing."""
    sample = Sample(
        user_input="When did the bridge open?", retrieved_contexts=["The bridge did open in 1932.", "Figs."]
    )
    found = judges.context_relevancy(sample)
    first, second = (one["probability"] for one in found.evidence["passages"])
    assert first > 0.5 > second == 0.0
    assert found.value == (first + second) / 2
    assert judges.context_relevancy(Sample(user_input="Who?", retrieved_contexts=[])).value == 0.0


def test_cosine_raises_correctness() -> None:
    """The variant with a cosine: the nearer the meaning, the higher the value."""
    sample = Sample(user_input="Where?", response="in the capital of France", reference=["Paris"])
    near = play(judges.semantic_correctness(sample), [[[1, 0], [1, 0]]])
    far = play(judges.semantic_correctness(sample), [[[1, 0], [0, 1]]])
    assert near.value > far.value


def test_cosine_raises_relevancy() -> None:
    """The variant with cosines of the passage and of its nearest sentence."""
    sample = Sample(user_input="When did the bridge open?", retrieved_contexts=["It did so in 1932. Rain fell.", " "])
    near = play(judges.semantic_relevancy(sample), [[[1, 0], [1, 0], [1, 0], [0, 1]]])
    far = play(judges.semantic_relevancy(sample), [[[1, 0], [0, 1], [0, 1], [0, 1]]])
    assert near.value > far.value
    assert near.evidence["passages"][1]["probability"] == 0.0


def test_semantic_similarity() -> None:
    """Cosine with the best reference, below 0 as 0; a blank text has none."""
    sample = Sample(response="a", reference=["b", "c"])
    assert play(semantic_similarity(sample), [[[1, 0], [-1, 0], [3, 4]]]).value == pytest.approx(0.6)
    assert play(semantic_similarity(sample), [[[1, 0], [-1, 0], [-1, 0]]]).value == 0.0
    assert isinstance(play(semantic_similarity(Sample(response=" ", reference="b")), []), Undefined)


def test_found_by_name() -> None:
    """The bare name is lexical without a judge, judged with one."""
    for name in ("faithfulness", "answer_correctness", "context_relevancy", "answer_relevancy"):
        assert get_metric(name).way == "lexical"
        assert get_metric(name, way="judged").way == "judged"


def test_two_runs_are_byte_identical() -> None:
    """The same samples give the same report, evidence included."""
    samples = [
        Sample(id=name, user_input=a, response=a, reference=b, retrieved_contexts=[b, a])
        for name, (a, b) in SCRIPTS.items()
    ]
    runs = [evaluate_rag(samples, metrics=list(METRICS)) for _ in range(2)]
    first, second = ([repr(run.scores), repr(run.estimates)] for run in runs)
    assert first == second
    assert runs[0].coverage == dict.fromkeys(METRICS, len(samples))
