"""Known-item queries, sentences with a gap, passages and their links, plans, slips of the keyboard."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from steelyard import evaluate_retrieval
from steelyard.models.embedder import embedding_script
from steelyard.runs.demo import load_demo
from steelyard.synthesis.filters import gives_away
from steelyard.synthesis.generate import synthesize
from steelyard.synthesis.known_items import GAP, Salience, known_item
from steelyard.synthesis.misspelling import misspelt
from steelyard.synthesis.passages import LONGEST, Links, Passage, passages_of
from steelyard.synthesis.planning import Planning, assigned, shares
from steelyard.systems.bm25 import BM25
from steelyard.systems.random import Shuffled
from steelyard.text.tokens import content_words, stem


@pytest.fixture(scope="module")
def passages() -> list[Passage]:
    """The passages of the demo corpus."""
    return passages_of(load_demo().corpus)


@given(
    st.lists(
        st.sampled_from(["One two three. ", "Four five six seven eight! ", "nine\n\n", "Zehn elf. "]), max_size=200
    )
)
def test_passages_are_stretches_of_their_document(parts: list[str]) -> None:
    """Each passage is what stands at its offsets; none is too long to be read, and none overlaps another."""
    text = "".join(parts)
    found = passages_of({"d": text})
    assert all(passage.text == text[passage.start : passage.end] for passage in found)
    assert all(len(passage.text) <= LONGEST for passage in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_known_items_are_words_of_their_document(passages: list[Passage]) -> None:
    """Distinct words of the passage in its order, two to eight of them, the same for the same draw; each in a form that
    the corpus has."""
    salience = Salience(passages)
    forms = {word for passage in passages for word in content_words(passage.text)}
    for number, passage in enumerate(passages):
        made = known_item(salience, passage, random.Random(number))
        assert made is not None
        assert made == known_item(salience, passage, random.Random(number))
        said = stem(content_words(passage.text))
        query = made.question.split()
        assert 2 <= len(query) <= 8
        assert forms.issuperset(query)
        places = [said.index(term) for term in stem(query)]
        assert places == sorted(set(places))
        assert made.span.text == passage.text


def test_known_items_are_remembered_not_quite(passages: list[Passage]) -> None:
    """About a third of the words are mistaken for words of related passages, never all of them."""
    salience, links = Salience(passages), Links(passages)
    own = total = 0
    for number, passage in enumerate(passages):
        related = [passages[other] for other in links.near(number)]
        made = known_item(salience, passage, random.Random(number), related)
        assert made is not None
        said = {*stem(content_words(passage.text))}
        others = {term for one in related for term in stem(content_words(one.text))}
        query = stem(made.question.split())
        assert all(term in said or term in others for term in query)
        assert any(term in said for term in query)
        own += sum(term in said for term in query)
        total += len(query)
    assert 0.6 < own / total < 0.9


def test_telling_words_are_drawn_more_often(passages: list[Passage]) -> None:
    """Rare words of a passage are drawn more often than words that all passages have."""
    salience = Salience(passages)
    common = Counter(term for passage in passages for term in {*stem(content_words(passage.text))})
    chosen: Counter[str] = Counter()
    for number in range(20):
        for passage in passages:
            made = known_item(salience, passage, random.Random(f"{number}/{passage.doc}"))
            assert made is not None
            chosen.update(stem(made.question.split()))
    rate = {term: chosen[term] / count for term, count in common.items()}
    rare = [rate[term] for term, count in common.items() if count == 1]
    usual = [rate[term] for term, count in common.items() if count >= 15]
    assert sum(rare) / len(rare) > 1.5 * sum(usual) / len(usual)


def test_cloze_questions_have_one_gap_and_its_words(passages: list[Passage]) -> None:
    """The gap filled with the answer is the sentence again, and the sentence stands in the document."""
    salience, corpus = Salience(passages), load_demo().corpus
    made = [found for number, one in enumerate(passages) if (found := salience.cloze(one, random.Random(number)))]
    assert len(made) > 50
    for one in made:
        assert one.answer is not None
        assert one.question.replace(GAP, one.answer) == one.span.text
        assert corpus[one.span.doc][one.span.start : one.span.end] == one.span.text
        assert one.answer not in one.question
    assert sum(one.answer[0].isdigit() for one in made if one.answer) > 5


def test_a_set_without_a_model_can_weigh_retrievers() -> None:
    """No judge, no network: the set ranks BM25 far above chance."""
    corpus = load_demo().corpus
    made = synthesize(corpus, 60, seed=2)
    assert made.complete
    assert Counter(sample.tags["question_type"] for sample in made.samples) == {"known_item": 42, "cloze": 18}
    assert made.usage.calls == 0
    dataset = made.dataset
    reports = [
        evaluate_retrieval(one, dataset.qrels, dataset.query_texts, k_values=(10,), metrics=("ndcg",))
        for one in (BM25(corpus), Shuffled(corpus))
    ]
    assert (reports[0].primary or 0) > 0.6
    assert (reports[1].primary or 0) < 0.3
    assert synthesize(corpus, 60, seed=2).samples == made.samples


def test_sets_in_other_scripts() -> None:
    """Chinese and Russian documents give queries and gaps in their own words."""
    corpus = {
        "zh": "灯塔建于一八一一年，由罗伯特·史蒂文森用花岗岩建造。灯塔位于大海中的礁石上，冬天海浪会越过它。守塔人每晚修剪灯芯。",
        "ru": "Маяк построен из гранита в 1811 году инженером Робертом Стивенсоном на рифе далеко в море. Зимой волны идут через него.",
    }
    made = synthesize(corpus, 4, kinds=["known_item", "cloze"], seed=1)
    assert len(made.samples) >= 3
    for sample in made.samples:
        (doc,) = sample.relevance or {}
        words = (sample.user_input or "").replace(GAP, " ").split()
        assert any(word[:2].lower() in corpus[doc].lower() for word in words)


def test_links_share_rare_words(passages: list[Passage]) -> None:
    """Linked passages have a rare word in common, and are not the same."""
    links = Links(passages)
    for at in range(0, len(passages), 7):
        for other in links.near(at):
            assert other != at
            shared = set(content_words(passages[at].text)) & set(content_words(passages[other].text))
            assert shared or links._stems[at]


def test_links_by_embedding(passages: list[Passage]) -> None:
    """With an embedder the neighbours are those of the vectors; near copies are no partners."""
    some = [*passages[:6], Passage("copy", 0, 9, passages[0].text + ".")]
    vectors = {one.text: [1.0, float(at == 3), float(at)] for at, one in enumerate(some)}
    vectors[some[6].text] = vectors[some[0].text]
    links = Links(some, embedder=embedding_script(lambda texts: [vectors[text] for text in texts]), ledger=":memory:")
    near = links.near(0, 2)
    assert 6 not in near
    assert near == [1, 2]
    assert links.partner(0, random.Random(1)) in links.near(0)


@given(st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1), min_size=1), st.integers(1, 50))
def test_slots_by_the_largest_remainders(given_shares: dict[str, float], count: int) -> None:
    """All slots are assigned, and no name has more than one beyond its exact share."""
    if sum(given_shares.values()) <= 0:
        return
    names = assigned(given_shares, count, "0")
    assert len(names) == count
    total = sum(given_shares.values())
    for name, share in given_shares.items():
        assert abs(names.count(name) - count * share / total) <= 1


def test_a_plan_goes_through_the_corpus_first(passages: list[Passage]) -> None:
    """No passage comes twice before every passage has come; later attempts choose others."""
    plan = Planning(passages, None, wanted=100, kinds={"cloze": 1}, styles={"plain": 1}, seed=0)
    first = plan.round(0, range(100))
    assert len({task.at for task in first[: len(passages)]}) == len(passages)
    again = plan.round(1, range(100))
    assert sum(one.at == other.at for one, other in zip(first, again, strict=True)) < 10
    repeated = [task for task in first if task.at == first[0].at and task.slot != 0]
    assert all(task.number > 0 for task in repeated)


def test_shares_by_name() -> None:
    """Names alone have equal shares."""
    assert shares(["a", "b"], {"a": 1, "b": 1, "c": 1}, "kind") == {"a": 0.5, "b": 0.5}
    assert shares(None, {"a": 1}, "kind") == {"a": 1}


@given(st.text(max_size=60), st.integers(0, 1000))
def test_slips_are_small(text: str, seed: int) -> None:
    """Numbers and short words stay; a text changes by at most one letter a word; the same draw, the same slips."""
    slipped = misspelt(text, random.Random(seed))
    assert slipped == misspelt(text, random.Random(seed))
    assert [char for char in text if char.isdigit()] == [char for char in slipped if char.isdigit()]
    assert len(slipped.split()) == len(text.split())
    assert abs(len(slipped) - len(text)) <= max(1, len(text.split()))


def test_a_question_with_long_words_is_misspelt() -> None:
    """At least one word of four letters has a slip."""
    for seed in range(50):
        assert misspelt("Who built the tower?", random.Random(seed)) != "Who built the tower?"


def test_giving_away() -> None:
    """Whole words count, not parts of words."""
    assert not gives_away("Who made the lenses?", "lens")
    assert gives_away("Who made the Lens, then?", "the lens")
    assert not gives_away("Who?", "")
