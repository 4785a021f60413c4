"""Every measure in every script: identical texts score 1, unrelated ones near 0."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from steelyard.metrics.lexical import ngrams, token_overlap
from steelyard.metrics.lexical.content_word_overlap import content_f1, found_share

Measure = Callable[[str, str], float]

UNRELATED = {
    "latin": ("The harbour was closed after the storm.", "Seven musicians rehearse every Thursday evening."),
    "cyrillic": ("Музей открыт по вторникам и четвергам.", "Вчера мы купили свежий хлеб."),
    "greek": ("Το πλοίο φεύγει από τον Πειραιά στις οκτώ.", "Η γιαγιά μαγειρεύει φακές κάθε Δευτέρα."),
    "arabic": ("تقع المكتبة بجوار المحطة القديمة.", "يشرب أخي القهوة صباحا فقط."),
    "hebrew": ("הרכבת לחיפה יוצאת בשעה תשע.", "אמא אופה עוגת שוקולד טעימה."),
    "devanagari": ("आज मौसम बहुत अच्छा है।", "मेरी बहन दिल्ली में पढ़ती थी।"),
    "thai": ("ฝนตกหนักที่เชียงใหม่เมื่อคืนนี้", "ผมชอบกินข้าวผัดกุ้ง"),
    "lao": ("ຂ້ອຍມັກກິນເຂົ້າໜຽວ", "ລົດເມອອກແປດໂມງ"),
    "khmer": ("ថ្ងៃនេះមេឃស្រឡះណាស់", "បងប្រុសខ្ញុំរៀនវិទ្យាសាស្ត្រ"),
    "myanmar": ("ကျွန်တော် စာအုပ် ဖတ်နေတယ်", "ရန်ကုန်မှာ မိုးရွာသည်"),
    "han": ("今天天气很好。", "退款期限为三十日"),
    "kana": ("さくらが咲いた。", "電車に乗り遅れました"),
    "hangul": ("오늘은 날씨가 맑습니다.", "기차가 늦게 도착했다."),
}
MEASURES: dict[str, Measure] = {
    "exact_match": token_overlap.exact_match,
    "token_f1": token_overlap.token_f1,
    "contains": token_overlap.contains,
    "edit_similarity": token_overlap.edit_similarity,
    "rouge_1": ngrams.rouge_n,
    "rouge_2": lambda a, b: ngrams.rouge_n(a, b, n=2),
    "rouge_l": ngrams.rouge_l,
    "bleu": ngrams.bleu,
    "chrf": ngrams.chrf,
    "chrf++": lambda a, b: ngrams.chrf(a, b, words=2),
    "context_recall": lambda a, b: token_overlap.context_recall(b, [a]),
    "overlap_faithfulness": lambda a, b: found_share(a, [b]),
    "overlap_correctness": content_f1,
}


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("written", UNRELATED)
def test_identical_texts_score_one(name: str, written: str) -> None:
    """Nothing of a text is invisible to a measure."""
    for text in UNRELATED[written]:
        assert MEASURES[name](text, text) == pytest.approx(1.0)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("written", UNRELATED)
def test_unrelated_texts_score_near_zero(name: str, written: str) -> None:
    """Chance hits of single letters stay below 0.3; words are not merged into matches."""
    a, b = UNRELATED[written]

    assert MEASURES[name](a, b) <= 0.3
    if name in ("exact_match", "contains", "rouge_2", "overlap_faithfulness", "overlap_correctness"):
        assert MEASURES[name](a, b) == 0.0
