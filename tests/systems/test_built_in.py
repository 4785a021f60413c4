"""The systems that come with the package."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from steelyard.core.errors import AskFailed, BadReply, InputError, WrongType
from steelyard.core.requests import Ask
from steelyard.models.embedder import embedding_script
from steelyard.models.judge import script
from steelyard.systems.bm25 import BM25
from steelyard.systems.chunks import ChunkedCorpus, cut
from steelyard.systems.dense import Dense, embed_all
from steelyard.systems.hits import Hit
from steelyard.systems.hybrid import Hybrid
from steelyard.systems.llm_answerer import LLMAnswerer
from steelyard.systems.random import Shuffled

CORPUS = {
    "tower": "The lighthouse tower was built of granite in 1811 by Robert Stevenson.",
    "lens": "A lens by Fresnel throws the light far over the sea.",
    "keeper": "The keeper climbs the tower every night and trims the lamp.",
}


def letters(texts: Sequence[str]) -> list[list[float]]:
    """A vector that counts letters: similar texts have similar letters."""
    return [[float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


@given(st.text(alphabet="ab \n", max_size=80), st.integers(1, 20), st.integers(0, 19))
def test_chunks_hold_everything(text: str, size: int, overlap: int) -> None:
    """Every character that is no white space is in a chunk; chunks keep to their size and go forward."""
    overlap = min(overlap, size - 1)
    places = cut(text, size, overlap)
    covered = {at for start, end in places for at in range(start, end)}
    assert all(at in covered for at, letter in enumerate(text) if not letter.isspace())
    assert all(0 < end - start <= size for start, end in places)
    assert [start for start, _ in places] == sorted({start for start, _ in places})


def test_chunks_without_overlap_are_apart() -> None:
    """Without overlap no character is in two chunks, and words are whole where they can be."""
    text = "one two three four five six"
    assert [text[start:end] for start, end in cut(text, 9)] == ["one two", "three", "four five", "six"]
    with pytest.raises(InputError, match="overlap < size"):
        cut(text, 5, 5)


def test_bm25() -> None:
    """The document with the rare words comes first; words of another form count; nothing in common is not found."""
    bm25 = BM25(CORPUS)
    assert bm25.search("who built the towers of granite?", 2)[0][0] == "tower"  # type: ignore[index]
    assert bm25.search("zebra", 5) == []
    assert CORPUS["lens"] == bm25.context_text("lens")
    assert bm25.context_text("none") is None


@pytest.mark.parametrize("query", ["退款期限", "возврат денег", "استرداد المال"])
def test_bm25_in_any_script(query: str) -> None:
    """A query in its script finds the document in that script."""
    corpus = {
        "zh": "退款期限为三十天。",
        "ru": "Возврат денег возможен.",
        "ar": "استرداد المال ممكن.",
        "en": "Refunds.",
    }
    (first, *_) = BM25(corpus).search(query, 4)
    assert {"退款期限": "zh", "возврат денег": "ru", "استرداد المال": "ar"}[query] == first[0]  # type: ignore[index]


@pytest.mark.parametrize("given", [{"k1": -1.0}, {"b": 1.5}, {"b": float("nan")}])
def test_impossible_settings_of_bm25(given: dict[str, float]) -> None:
    """Numbers for which the formula is no ranking."""
    with pytest.raises(InputError, match="expected k1 of at least 0 and b from 0 to 1"):
        BM25({"d1": "words"}, **given)  # type: ignore[arg-type]


def test_chunks_of_bm25_know_their_place() -> None:
    """Hits of chunks name document, chunk and offsets."""
    (hit, *_) = BM25(CORPUS, chunk=40).search("Robert Stevenson", 1)
    assert isinstance(hit, Hit)
    assert (hit.id, hit.chunk) == ("tower", "tower#1")
    assert hit.text == CORPUS["tower"][hit.start : hit.end]


def test_dense_is_exact_cosine() -> None:
    """Scores are cosines, best first, equal ones in the order of ids; queries one by one or together."""
    corpus = {"b": "ab", "a": "ab", "c": "bb", "d": "zz"}
    dense = Dense(corpus, embedding_script(letters), ledger=":memory:")
    found = dense.search("ab", 3)
    assert [hit[0] for hit in found] == ["a", "b", "c"]  # type: ignore[index]
    assert pytest.approx([hit[1] for hit in found]) == [1.0, 1.0, 0.5**0.5]  # type: ignore[index]
    assert [dense.search(query, 2) for query in ("ab", "zz")] == dense.search_batch(["ab", "zz"], 2)
    assert len(dense.search("ab", 99)) == 4


def test_a_text_without_direction_is_near_to_nothing() -> None:
    """An embedding of zeros is no error in a corpus, and no number that is none."""
    vectors, usage = embed_all(["ab", "..."], embedding_script(letters), ledger=":memory:")
    assert pytest.approx((vectors**2).sum(axis=1).tolist()) == [1.0, 0.0]
    assert usage.embedded == 2


def test_failing_embedders_are_raised() -> None:
    """A corpus that cannot be embedded is no corpus."""

    def broken(texts: Sequence[str]) -> list[list[float]]:
        return [[float("nan")] for _ in texts]

    with pytest.raises(BadReply):
        Dense(CORPUS, embedding_script(broken), ledger=":memory:")


def test_hybrid_is_reciprocal_rank_fusion() -> None:
    """By hand: 1/61 + 1/62 beats 1/61; weights count; chunks are fused by their own ids."""
    one, two = (lambda q, k: ["a", "b"]), (lambda q, k: [("b", 9.0), ("c", 1.0)])
    fused = Hybrid([one, two]).search("q", 9)
    assert [(hit.id, hit.score) for hit in fused] == [("b", 1 / 62 + 1 / 61), ("a", 1 / 61), ("c", 1 / 62)]
    assert [hit.id for hit in Hybrid([one, two], weights=[90, 1]).search("q", 9)] == ["a", "b", "c"]
    chunks = [Hit("d", "x", chunk="d#0"), Hit("d", "y", chunk="d#1")]
    assert [hit.chunk for hit in Hybrid([lambda q, k: chunks]).search("q", 9)] == ["d#0", "d#1"]


def test_hybrid_takes_batches_and_coroutines() -> None:
    """Parts may be asynchronous or work in batches; the result is the same as one by one."""

    async def slow(query: str, k: int) -> list[str]:
        await asyncio.sleep(0)
        return ["keeper", "lens"]

    dense = Dense(CORPUS, embedding_script(letters), ledger=":memory:")
    hybrid = Hybrid([dense, BM25(CORPUS), slow])
    queries = ["who trims the lamp?", "granite"]
    assert [hybrid.search(query, 3) for query in queries] == hybrid.search_batch(queries, 3)
    assert CORPUS["lens"] == hybrid.context_text("lens")


def test_impossible_hybrids() -> None:
    """No parts, or weights for others."""
    for parts, weights in (([], None), ([BM25(CORPUS)], [1.0, 2.0])):
        with pytest.raises(InputError):
            Hybrid(parts, weights=weights)


def test_shuffled_is_random_and_repeats() -> None:
    """Any order, the same for the same query."""
    shuffled = Shuffled(CORPUS)
    assert shuffled.search("q", 3) == shuffled.search("q", 3)
    assert {*CORPUS} == {*shuffled.search("q", 3)}
    assert len({tuple(shuffled.search(str(n), 3)) for n in range(20)}) > 1


def test_an_empty_corpus_is_an_error() -> None:
    """There is nothing to find in nothing."""
    with pytest.raises(InputError, match="the corpus is empty"):
        ChunkedCorpus({})
    with pytest.raises(InputError, match="no document of the corpus has a word"):
        BM25({"d1": " ", "d2": "—"})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: BM25(["a text"]), "a corpus is texts by id, not list"),
        (lambda: BM25({"d1": 5}), "document 'd1' is not a text but int"),
        (lambda: Hybrid(BM25({"d1": "word"})), "a hybrid needs a list of retrievers, not BM25"),
    ],
)
def test_what_built_in_systems_are_not_made_of(make: Callable[[], object], words: str) -> None:
    """What was found, and what was expected."""
    with pytest.raises(WrongType, match=words):
        make()


def test_built_in_systems_have_one_home() -> None:
    """Each can be imported from steelyard.systems, and the type checker is told of the same names."""
    import steelyard.systems as built_in

    tree = ast.parse(Path(built_in.__file__ or "").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    told = {alias.asname for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert told == set(built_in.__all__) <= set(dir(built_in))
    assert [getattr(built_in, name).__name__ for name in built_in.__all__] == built_in.__all__
    with pytest.raises(AttributeError, match="has no attribute 'Bm25'"):
        _ = built_in.Bm25  # type: ignore[attr-defined]


def test_llm_answerer() -> None:
    """Question and context are fenced in the prompt; a failing call is that question's alone; usage is told."""
    prompts: list[str] = []

    def model(ask: Ask) -> object:
        prompts.append(ask.prompt)
        if "when" in ask.prompt:
            raise AskFailed("timeout", "late")
        return {"answer": "Robert Stevenson."}

    answerer = LLMAnswerer(script(model), ledger=":memory:")
    assert answerer.answer("who built it?", CORPUS["tower"]) == "Robert Stevenson."
    assert CORPUS["tower"] in prompts[0]
    first, second = answerer.answer_batch(["who?", "when?"], ["a", "b"])
    assert isinstance(second, AskFailed)
    assert not isinstance(first, Exception)
    assert (first.usage and first.usage.calls) == 1
    with pytest.raises(AskFailed):
        answerer.answer("when?", "")
