"""ROUGE, BLEU and chrF of plain strings, by n-grams and subsequences, on a scale of 0 to 1.

On English text they equal rouge-score (ROUGE), and sacrebleu's sentence scores (BLEU, chrF) divided by 100. The
tokenisers of those packages accept only ASCII letters, or find no word borders in text without spaces; ours generalise
them, so that identical texts score 1 in every script.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from ...core.errors import InputError
from ...text.scripts import space_graphemes
from ...text.tokens import words_of
from .token_overlap import (
    Aggregation,
    References,
    clipped,
    f_measure,
    ngrams_of,
    over_references,
    overlap,
    reference_list,
)

Part: TypeAlias = Literal["f", "precision", "recall"]


def rouge_n(
    response: str, reference: References, *, n: int = 1, part: Part = "f", aggregation: Aggregation = "best"
) -> float:
    """Overlap of the n-grams of words, as multisets: F1 of precision and recall, or one of the two.

    Words are those of ``text.tokens.words``: on ASCII text the tokens of rouge-score. A text with fewer than n words
    has no n-grams: 0. Range 0 to 1. Source: Lin 2004.

    >>> rouge_n("the cat sat", "the cat lay"), rouge_n("the cat sat", "the cat lay", n=2)
    (0.6666666666666666, 0.5)
    """
    if n < 1:
        raise InputError(f"n is {n} (expected 1 or more)")
    ours = words_of(response)
    return over_references(lambda one: _rouge_n(ours, words_of(one), n, part), reference, aggregation)


def _rouge_n(ours: Sequence[str], theirs: Sequence[str], n: int, part: Part) -> float:
    n_ours, n_theirs = len(ours) - n + 1, len(theirs) - n + 1
    if n_ours < 1 or n_theirs < 1:
        return 0.0
    return _part(overlap(ours, theirs, n), n_ours, n_theirs, part)


def rouge_l(response: str, reference: References, *, part: Part = "f", aggregation: Aggregation = "best") -> float:
    """Longest common subsequence of words: F1 of its share of the response and of the reference, or one of the two.

    Words as for ``rouge_n``; no words: 0. Range 0 to 1. Source: Lin 2004 (sentence level).

    >>> rouge_l("the cat sat on the mat", "the cat is on a mat")
    0.6666666666666666
    """
    ours = words_of(response)
    return over_references(lambda one: _rouge_l(ours, words_of(one), part), reference, aggregation)


def _rouge_l(ours: Sequence[str], theirs: Sequence[str], part: Part) -> float:
    if not ours or not theirs:
        return 0.0
    return _part(common_subsequence(ours, theirs), len(ours), len(theirs), part)


def _part(common: int, n_ours: int, n_theirs: int, part: Part) -> float:
    precision, recall = common / n_ours, common / n_theirs
    if part == "f":
        return f_measure(precision, recall)
    return precision if part == "precision" else recall


def common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence: bit-parallel, one machine word for 64 tokens.

    Source: Hyyrö 2004.

    >>> common_subsequence("ABCBDAB", "BDCABA")
    4
    """
    if len(b) > len(a):
        a, b = b, a
    places: dict[str, int] = {}
    for at, token in enumerate(b):
        places[token] = places.get(token, 0) | 1 << at
    everywhere = (1 << len(b)) - 1
    open_places = everywhere
    for token in a:
        if token in places:
            matched = open_places & places[token]
            open_places = (open_places + matched) | (open_places - matched)
    return (everywhere & ~open_places).bit_count()


_SYMBOLS = r"!-&(-+/:-@\[-`{-~"
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_PLAIN = rf"[^\s.,{_SYMBOLS}]+"
_TOKEN = re.compile(rf"{_PLAIN}(?:(?<=[0-9])[.,](?=[0-9]){_PLAIN})*|\S")
_INTRICATE = re.compile(r"[.,][.,]|[0-9]-")
# For adjacent points, or digits next to dashes, the result of mteval-v13a depends on the order of its rules: each is
# applied to the result of the previous one.
_IN_ORDER = (
    (re.compile(rf"([{_SYMBOLS}])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])-"), r"\1 - "),
)


@lru_cache(maxsize=256)
def bleu_tokens(text: str) -> tuple[str, ...]:
    """The tokens of mteval-v13a, after graphemes of scripts without spaces are separated. Case is preserved.

    Symbols are tokens of their own, as are points and commas outside numbers, and dashes after digits.

    >>> bleu_tokens("It's $3.50, isn't it?")
    ("It's", '$', '3.50', ',', "isn't", 'it', '?')
    """
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "")
    if "&" in text:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    text = space_graphemes(text)
    if not _INTRICATE.search(text):
        return tuple(_TOKEN.findall(text))
    text = f" {text} ".replace("\n", " ")
    for pattern, replacement in _IN_ORDER:
        text = pattern.sub(replacement, text)
    return tuple(text.split())


def bleu(
    response: str,
    reference: References,
    *,
    order: int = 4,
    lowercase: bool = False,
    aggregation: Aggregation | Literal["together"] = "together",
) -> float:
    """Sentence BLEU: brevity penalty times the geometric mean of the clipped n-gram precisions, n = 1 to ``order``.

    Orders longer than the response are left out; the i-th order without a match counts 1 / (2^i x n-grams) (exponential
    smoothing); 0 if no order matches. By definition, several references give one BLEU: counts are clipped by the
    reference with the most, and the penalty uses the reference length nearest to the response's. ``aggregation``
    ``best``, ``mean`` or ``worst`` scores each reference by itself instead. Tokens: ``bleu_tokens``; case counts unless
    ``lowercase``. Range 0 to 1. Source: Papineni et al. 2002; Chen and Cherry 2014 (smoothing); Post 2018 (sacrebleu).

    >>> round(bleu("the cat sat on the mat", "the cat sat on a mat"), 4)
    0.5373
    """
    if order < 1:
        raise InputError(f"order is {order} (expected 1 or more)")
    references = reference_list(reference)
    if lowercase:
        response, references = response.lower(), [one.lower() for one in references]
    if aggregation == "together" or len(references) == 1:
        return _bleu(bleu_tokens(response), [bleu_tokens(one) for one in references], order)
    ours = bleu_tokens(response)
    return over_references(lambda one: _bleu(ours, [bleu_tokens(one)], order), references, aggregation)


def _bleu(ours: Sequence[str], references: Sequence[Sequence[str]], order: int) -> float:
    matches = _clipped_matches(ours, references, order)
    if not any(matches):
        return 0.0
    nearest = min(map(len, references), key=lambda length: (abs(length - len(ours)), length))
    penalty = math.exp(1 - nearest / len(ours)) if len(ours) < nearest else 1.0
    logs, smoothing = 0.0, 1.0
    for n, matched in enumerate(matches, 1):
        if not matched:
            smoothing *= 2
        logs += math.log((matched or 1 / smoothing) / (len(ours) - n + 1))
    return min(1.0, penalty * math.exp(logs / len(matches)))


def _clipped_matches(ours: Sequence[str], references: Sequence[Sequence[str]], order: int) -> list[int]:
    """Count the matched n-grams of each order up to the length of the response."""
    matches: list[int] = []
    for n in range(1, min(order, len(ours)) + 1):
        if n > 1 and not matches[-1]:  # no n-gram without its beginning
            matches.append(0)
            continue
        matches.append(clipped(ngrams_of(ours, n), *[list(ngrams_of(one, n)) for one in references]))
    return matches


_EDGES = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def chrf(
    response: str,
    reference: References,
    *,
    order: int = 6,
    words: int = 0,
    beta: float = 2.0,
    aggregation: Aggregation = "best",
) -> float:
    """F-beta of the mean precision and mean recall of character n-grams, n = 1 to ``order``, without white space.

    With ``words=2``, n-grams of up to 2 words count too (chrF++). An order is left out of the means if either text is
    too short for it. Case counts. Empty text: 0. Range 0 to 1.

    Source: Popović 2015, 2017; Post 2018 (sacrebleu).

    >>> round(chrf("the cat sat", "the cat lay"), 4)
    0.5207
    """
    check_orders(order, words)
    orders = (order, words) if words else (order,)
    ours = _chrf_units(response, len(orders))
    return over_references(lambda one: _chrf(ours, _chrf_units(one, len(orders)), orders, beta), reference, aggregation)


def check_orders(order: int, words: int) -> None:
    """Raise InputError unless there is an order of characters or of words."""
    if order < 0 or words < 0 or order + words < 1:
        raise InputError(f"order is {order} and words is {words} (expected one of them to be 1 or more)")


def _chrf(ours: _Units, theirs: _Units, orders: tuple[int, ...], beta: float) -> float:
    precisions, recalls, defined = 0.0, 0.0, 0
    for mine, other, order in zip(ours, theirs, orders, strict=True):
        shorter, longer = (mine, other) if len(mine) <= len(other) else (other, mine)
        matched = -1
        for n in range(1, min(order, len(shorter)) + 1):
            if matched != 0:  # no n-gram without its beginning
                matched = _shared_slices(shorter, longer, n)
            precisions += matched / (len(mine) - n + 1)
            recalls += matched / (len(other) - n + 1)
            defined += 1
    return f_measure(precisions / defined, recalls / defined, beta) if defined else 0.0


_Units: TypeAlias = Sequence[Sequence[str]]
"""The units of chrF's n-grams: the characters without white space, and for chrF++ the words."""


@lru_cache(maxsize=256)
def _chrf_units(text: str, kinds: int) -> _Units:
    pieces = text.split()
    return ["".join(pieces), _words_and_edges(pieces)] if kinds > 1 else ["".join(pieces)]


def _words_and_edges(pieces: Sequence[str]) -> list[str]:
    """Split one punctuation mark off each word, from the end or else from the beginning, as chrF++ does."""
    found: list[str] = []
    for word in pieces:
        if len(word) > 1 and word[-1] in _EDGES:
            found += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in _EDGES:
            found += [word[0], word[1:]]
        else:
            found.append(word)
    return found


_SHORT = 64
"""Up to this length, searching for a text's slices is faster than slicing the other text."""


def _shared_slices(shorter: Sequence[str], longer: Sequence[str], n: int) -> int:
    """Count the slices of length n that two texts (or lists of words) share, as multisets."""
    if not isinstance(shorter, str) or not isinstance(longer, str):
        return overlap(shorter, longer, n)
    slices = _slices(shorter, n)
    if len(shorter) > _SHORT:
        return overlap(slices, _slices(longer, n))
    found = [one for one in slices if one in longer]
    distinct = set(found)
    if len(found) == len(distinct):
        return len(found)
    return sum([_times(one, longer, found.count(one)) for one in distinct])


def _slices(text: str, n: int) -> list[str]:
    return [text[at : at + n] for at in range(len(text) - n + 1)]


def _times(part: str, text: str, most: int) -> int:
    """Count the occurrences of a string in a text, overlaps included, up to ``most``."""
    times = text.count(part)
    if times >= most or len(part) == 1:
        return min(times, most)
    times, at = 0, text.find(part)  # ``count`` leaves out overlaps
    while at >= 0 and times < most:
        times, at = times + 1, text.find(part, at + 1)
    return times
