"""Token overlap of plain strings: exact match, token F1, containment, edit similarity, and the tokens of contexts.

``reference`` is one text or a list of accepted texts; the best score counts unless ``aggregation`` states otherwise. A
blank response is scored by formula.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Literal, TypeAlias

from ...core.errors import InputError
from ...text.scripts import join_graphemes
from ...text.tokens import normal_form, token_set, tokens_of

Aggregation: TypeAlias = Literal["best", "mean", "worst"]
References: TypeAlias = str | Sequence[str]


def over_references(score: Callable[[str], float], reference: References, aggregation: Aggregation = "best") -> float:
    """Score each reference by itself and reduce the scores: the best (default), the mean, or the worst."""
    if isinstance(reference, str):
        return score(reference)
    references = reference_list(reference)
    if len(references) == 1:
        return score(references[0])
    values = [score(one) for one in references]
    if aggregation == "mean":
        return sum(values) / len(values)
    return max(values) if aggregation == "best" else min(values)


def reference_list(reference: References) -> Sequence[str]:
    """The references as a list; an empty list is an error."""
    references = [reference] if isinstance(reference, str) else reference
    if not references:
        raise InputError("no reference (expected a text or a list of accepted texts)")
    return references


def f_measure(precision: float, recall: float, beta: float = 1.0) -> float:
    """(1 + beta^2) P R / (beta^2 P + R); 0 if both are 0."""
    weighted = beta * beta * precision + recall
    return (1 + beta * beta) * precision * recall / weighted if weighted > 0 else 0.0


def overlap(a: Sequence[str], b: Sequence[str], n: int = 1) -> int:
    """Count the n-grams that two sequences share, as multisets.

    >>> overlap("abab", "babb"), overlap("abab", "babb", 2)
    (3, 2)
    """
    shorter, longer = (a, b) if len(a) <= len(b) else (b, a)
    return clipped(ngrams_of(longer, n), list(ngrams_of(shorter, n)))


def clipped(grams: Iterable[Hashable], *wanted: Sequence[Hashable]) -> int:
    """Count the n-grams that are in the wanted lists, each at most as often as in the list with the most."""
    found = list(filter(set().union(*wanted).__contains__, grams))
    distinct = len(set(found))
    if distinct == len(found):
        return distinct
    most: Counter[Hashable] = Counter()
    for one in wanted:
        most |= Counter(one)
    return sum([min(count, most[gram]) for gram, count in Counter(found).items()])


def ngrams_of(sequence: Sequence[str], n: int) -> Iterable[Hashable]:
    """The n-grams of a sequence, in order."""
    return sequence if n == 1 else zip(*[sequence[at:] for at in range(n)], strict=False)


def exact_match(response: str, reference: References, *, aggregation: Aggregation = "best") -> float:
    """1 if the normalised texts are equal, else 0.

    For the normalisation see ``normalize_answer``. Source: Rajpurkar et al. 2016 (SQuAD).

    >>> exact_match("The Eiffel Tower!", "eiffel tower"), exact_match("-5", "5")
    (1.0, 0.0)
    >>> exact_match("Ada", ["Ada Lovelace", "ada"])
    1.0
    """
    normal = normal_form(response)
    return over_references(lambda one: float(normal_form(one) == normal), reference, aggregation)


def token_f1(response: str, reference: References, *, aggregation: Aggregation = "best") -> float:
    """Harmonic mean of the precision and recall of the response's normalised tokens, as multisets.

    1 if neither text has tokens, 0 if only one has. Range 0 to 1, symmetric. Source: Rajpurkar et al. 2016 (SQuAD).

    >>> token_f1("born in Paris", "Paris, France")
    0.4
    """
    return over_references(lambda one: _token_f1(response, one), reference, aggregation)


def _token_f1(response: str, reference: str) -> float:
    ours, theirs = tokens_of(response), tokens_of(reference)
    if not ours or not theirs:
        return float(not ours and not theirs)
    return 2 * overlap(ours, theirs) / (len(ours) + len(theirs))


def contains(response: str, reference: References, *, aggregation: Aggregation = "best") -> float:
    """1 if the response contains the reference's normalised tokens as a contiguous sequence, else 0.

    Whole tokens count: "party" does not contain "art". Only a response without tokens contains a reference without
    tokens.
    Source: Chen et al. 2017 (open-domain question answering).

    >>> contains("It was Ada Lovelace, in 1843.", "ada lovelace"), contains("a party", "art")
    (1.0, 0.0)
    """
    haystack = f" {normal_form(response)} "
    return over_references(lambda one: _contains(haystack, normal_form(one)), reference, aggregation)


def _contains(haystack: str, needle: str) -> float:
    return float(f" {needle} " in haystack) if needle else float(not haystack.strip())


def edit_similarity(response: str, reference: References, *, aggregation: Aggregation = "best") -> float:
    """1 - Levenshtein distance / length of the longer text, over the characters of the normalised texts.

    1 if both are empty. Range 0 to 1, symmetric. Unrelated texts still share some letters, so that values below 0.4
    mean little. Source: Levenshtein 1966.

    >>> round(edit_similarity("kitten", "sitting"), 4)
    0.5714
    """
    from rapidfuzz.distance import Levenshtein

    ours = join_graphemes(normal_form(response))
    return over_references(
        lambda one: float(Levenshtein.normalized_similarity(ours, join_graphemes(normal_form(one)))),
        reference,
        aggregation,
    )


def context_recall(reference: References, contexts: Iterable[str], *, aggregation: Aggregation = "best") -> float:
    """Share of the reference's distinct normalised tokens that are in any of the contexts.

    No contexts: 0. Reference without tokens: 0. The order of the contexts does not matter.

    >>> context_recall("Paris, France", ["The capital is Paris.", "It lies on the Seine."])
    0.5
    """
    token_sets = [token_set(context) for context in contexts]
    return over_references(lambda one: _found_share(token_set(one), token_sets), reference, aggregation)


def _found_share(wanted: frozenset[str], contexts: Sequence[frozenset[str]]) -> float:
    found = len(wanted) - len(wanted.difference(*contexts))
    return found / len(wanted) if wanted else 0.0


def context_precision(reference: References, contexts: Iterable[str], *, aggregation: Aggregation = "best") -> float:
    """Share of the contexts that contain at least one of the reference's normalised tokens.

    No contexts: 0. Reference without tokens: 0. The order of the contexts does not matter.

    >>> context_precision("Paris, France", ["The capital is Paris.", "It lies on the Seine."])
    0.5
    """
    token_sets = [token_set(context) for context in contexts]
    return over_references(lambda one: _useful_share(token_set(one), token_sets), reference, aggregation)


def _useful_share(wanted: frozenset[str], contexts: Sequence[frozenset[str]]) -> float:
    useful = sum(not wanted.isdisjoint(context) for context in contexts)
    return useful / len(contexts) if contexts else 0.0
