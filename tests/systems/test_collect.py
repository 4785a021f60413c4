"""Running a system over samples: what is put where, what fails alone, what is kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from steelyard.core.errors import AskFailed, WrongType
from steelyard.core.records import Sample, Span, Usage
from steelyard.models.ledger import Ledger
from steelyard.systems.call_pool import CallPolicy
from steelyard.systems.collect import Stage, collect
from steelyard.systems.hits import Hit
from steelyard.systems.output_cache import OutputCache
from steelyard.systems.outputs import Output

TEXTS = {"d1": "One.", "d2": "Two.", "d3": " "}
SAMPLES = [Sample(id=str(n), user_input=f"question {n}") for n in range(4)]


class System:
    """Finds d1, d2 and d3 for everything, and fails on what it is told to."""

    def __init__(self, bad: Sequence[str] = ()) -> None:
        self.bad, self.asked = set(bad), list[str]()

    def retrieve(self, query: str, k: int) -> list[str]:
        self.asked.append(query)
        if query in self.bad:
            raise RuntimeError("no luck")
        return ["d1", "d2", "d1", "d3", "gone"][: k + 1]

    def context_text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
        return TEXTS.get(id)


class Echo:
    def answer(self, question: str, context: str) -> str:
        return f"{question}: {context}"


def test_what_is_put_where() -> None:
    """Ids at their best rank, texts that exist, the answer from texts joined by a blank line, and the notes."""
    found = collect(System(), SAMPLES[:1], answerer=Echo(), k=4)
    (sample,) = found.samples
    assert sample.retrieved_ids == ["d1", "d2", "d3", "gone"]
    assert sample.retrieved_contexts == ["One.", "Two."]
    assert sample.response == "question 0: One.\n\nTwo."
    assert found.notes == [
        "1 repeated document in the results: each counts once, at its best rank",
        "2 retrieved documents have no text and were left out of the contexts",
    ]
    assert {"retrieve", "answer"} == found.stages.keys()


def test_a_failure_is_one_sample() -> None:
    """A question that the system fails on has a reason; the others have everything."""
    found = collect(System(["question 2"]), [*SAMPLES, Sample(id="blank")], answerer=Echo())
    assert {2, 4} == found.failed.keys()
    assert found.failed[2].startswith("RuntimeError: no luck (test_collect.py:")
    assert found.failed[4] == "no user_input"
    assert [sample.response is not None for sample in found.samples] == [True, True, False, True, False]
    assert found.stages["retrieve"].failed == 1


@pytest.mark.parametrize("result", [None, 5, [{"text": "no id"}, None], [["", 1]]])
def test_unreadable_results_are_failures(result: object) -> None:
    """What cannot be read is a failed sample, never an empty list."""
    found = collect(lambda query, k: result, SAMPLES[:1])
    assert list(found.failed) == [0]


def test_a_failing_text_is_one_sample() -> None:
    """context_text may raise, too."""

    class Broken(System):
        def context_text(self, id: str) -> str | None:  # noqa: A002 - the word of the public protocol
            raise KeyError(id)

    assert {row: reason.partition(" (")[0] for row, reason in collect(Broken(), SAMPLES[:1]).failed.items()} == {
        0: "KeyError: 'd1'"
    }


def test_a_failing_answerer_is_one_sample() -> None:
    """The rankings of a sample whose answer failed are there, and the sample counts as failed."""

    class Shaky:
        def answer(self, question: str, context: str) -> str:
            return 1 / 0 if "1" in question else "yes"  # type: ignore[return-value]

    found = collect(System(), SAMPLES, answerer=Shaky())
    assert list(found.failed) == [1]
    assert found.samples[1].retrieved_ids is not None
    assert found.samples[1].response is None


def test_a_system_that_answers_itself() -> None:
    """Answer and contexts of a whole system are taken as they are."""
    found = collect(lambda query: {"answer": "yes", "contexts": ["a"], "ids": ["d1"]}, SAMPLES[:1])
    assert (
        found.samples[0].response,
        found.samples[0].retrieved_contexts,
        found.samples[0].retrieved_ids,
    ) == ("yes", ["a"], ["d1"])


def test_an_answerer_is_needed_to_be_one() -> None:
    """An answerer without answer is told before anything is asked."""
    with pytest.raises(WrongType, match="object has no method answer"):
        collect(System(), SAMPLES, answerer=object())


class Batches:
    """Finds for many queries at once, except where it is told not to."""

    def __init__(self, bad: str = "") -> None:
        self.bad, self.sizes, self.singles = bad, list[int](), list[str]()

    def retrieve_batch(self, queries: Sequence[str], k: int) -> list[list[str]]:
        self.sizes.append(len(queries))
        if self.bad in queries:
            raise ValueError(self.bad)
        return [[query] for query in queries]

    def retrieve(self, query: str, k: int) -> list[str]:
        self.singles.append(query)
        if query == self.bad:
            raise ValueError(query)
        return [query]


def test_batches() -> None:
    """A batch method is preferred; a batch that fails is asked one by one, so that one bad query costs one sample."""
    samples = [Sample(id=str(n), user_input=str(n)) for n in range(100)]
    good, shaky = Batches(), Batches("70")
    assert [[str(n)] for n in range(100)] == [one.retrieved_ids for one in collect(good, samples).samples]
    assert (good.sizes, good.singles) == ([64, 36], [])
    found = collect(shaky, samples)
    assert list(found.failed) == [70]
    assert len(shaky.singles) == 36


def test_batches_of_answers() -> None:
    """An answer that is an exception fails its sample; usage is summed."""

    class Many:
        def answer(self, question: str, context: str) -> str:
            raise AssertionError("not one by one")

        def answer_batch(self, questions: Sequence[str], contexts: Sequence[str]) -> list[Any]:
            return [
                AskFailed("timeout", "late"),
                *(Output(answer=q, usage=Usage(calls=1, prompt_tokens=5)) for q in questions[1:]),
            ]

    found = collect(System(), SAMPLES, answerer=Many())
    assert found.failed == {0: "timeout: late"}
    assert found.stages["answer"].usage.prompt_tokens == 15


def test_labels_on_chunks_are_noticed() -> None:
    """Chunks count as their source; where the labels are those of chunks, it is said why nothing is found."""
    hit = {"id": "c1", "metadata": {"source": "d1"}, "text": "Words."}
    found = collect(lambda query, k: [hit], [Sample(id="1", user_input="q", relevance={"c1": 1.0})])
    assert found.samples[0].retrieved_ids == ["d1"]
    assert found.notes[0].startswith("1 result is labelled by the id of its chunk, but counts as the document")
    assert collect(lambda query, k: [hit], [Sample(id="1", user_input="q", relevance={"d1": 1.0})]).notes == []


def test_what_cannot_be_kept_ends_no_run(tmp_path: Path) -> None:
    """Half a surrogate pair in a text, an id or an error's words is neither a crash nor a failure of other samples."""

    def system(query: str, k: int) -> object:
        if query == "q1":
            raise ValueError("bad \ud800 query")
        return {"answer": "an \ud800 answer", "ids": ["d\udfff"], "contexts": ["fine"]}

    samples = [Sample(id=str(n), user_input=f"q{n}") for n in range(2)]
    ledger = Ledger(tmp_path / "l.sqlite")
    found = collect(system, samples, cache=OutputCache(ledger, "mine"))
    ledger.close()
    assert (found.samples[0].response, found.samples[0].retrieved_ids) == ("an ? answer", ["d?"])
    assert found.failed[1].startswith("ValueError: bad \\ud800 query")
    assert found.notes == ["1 result held halves of surrogate pairs, which became question marks"]


def test_results_without_end_are_that_samples_failure() -> None:
    """What comes one by one is taken within the call: it has the call's deadline, and an end."""

    over = threading.Event()

    def endless(query: str, k: int) -> Iterator[str]:
        while not over.is_set():
            if query == "slow":
                over.wait(0.05)
            yield "d1"

    samples = [Sample(id="1", user_input="fast"), Sample(id="2", user_input="slow")]
    found = collect(endless, samples, policy=CallPolicy(2, 1.0))
    over.set()
    assert "a retriever that yields its results must stop after at most 100,000" in found.failed[0]
    assert found.failed[1] == "timeout: no result within 1 s"


def test_an_answerer_with_batches_alone() -> None:
    """It is asked in batches; where one fails, question by question."""

    class Many:
        def answer_batch(self, questions: list[str], contexts: list[str]) -> list[str]:
            if len(questions) > 1:
                raise RuntimeError("too many")
            return [f"{questions[0]}: {contexts[0]}"]

    system = lambda query, k: [{"id": "d1", "text": "Words."}]  # noqa: E731
    samples = [Sample(id=str(n), user_input=f"q{n}") for n in range(2)]
    found = collect(system, samples, answerer=Many())
    assert [one.response for one in found.samples] == ["q0: Words.", "q1: Words."]


def test_measured_samples_know_what_they_took() -> None:
    """Seconds and tokens of a sample go where the operational metrics look."""
    system = lambda query: {"answer": "a", "ids": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}  # noqa: E731
    (sample,) = collect(system, SAMPLES[:1], measured=True).samples
    assert sample.metadata["usage"] == {"prompt_tokens": 3, "completion_tokens": 4}
    assert sample.metadata["seconds"] >= 0  # type: ignore[operator]


def test_places_of_contexts() -> None:
    """Contexts know their place in the source: from the hit, from the id, or as a whole document."""
    sample = Sample(id="1", user_input="q", relevant_spans=[Span("d1", 0, 4)])
    hits = [Hit("d1", "ne", start=1, end=3), Hit("d2"), Hit("d1", "wo", chunk="c7"), Hit(text="from nowhere")]
    found = collect(lambda query, k: hits, [sample], texts=TEXTS, places={"c7": Span("d2", 1, 3)})
    assert found.samples[0].metadata["retrieved_spans"] == [
        {"doc": "d1", "start": 1, "end": 3},
        {"doc": "d2", "start": 0, "end": 4},
        {"doc": "d2", "start": 1, "end": 3},
        None,
    ]
    assert found.samples[0].retrieved_ids is None


class Killed(BaseException):
    """As if the process ended."""


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """Outputs of a run that was cut off are not asked for again; those of a whole run are."""
    asked: list[str] = []

    def system(query: str, k: int) -> list[str]:
        asked.append(query)
        if len(asked) == 3:
            raise Killed
        return [query]

    def once() -> list[list[str] | None]:
        ledger = Ledger(tmp_path / "ledger.sqlite")
        try:
            return [one.retrieved_ids for one in collect(system, SAMPLES, cache=OutputCache(ledger, "mine")).samples]
        finally:
            ledger.close()

    with pytest.raises(Killed):
        once()
    expected = [[f"question {n}"] for n in range(4)]
    assert expected == once()
    assert [f"question {n}" for n in (0, 1, 2, 2, 3)] == asked
    assert expected == once()
    assert len(asked) == 9


def test_what_is_kept_is_the_systems_own(tmp_path: Path) -> None:
    """Another identity or another k finds nothing of it; offline, a whole run is there again."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    collect(System(), SAMPLES, cache=OutputCache(ledger, "mine"))
    offline = System()
    again = collect(offline, SAMPLES, cache=OutputCache(ledger, "mine", offline=True))
    assert (again.stages["retrieve"].kept, offline.asked) == (4, [])
    other = collect(System(), SAMPLES, k=3, cache=OutputCache(ledger, "mine", offline=True))
    assert {"offline"} == {reason.partition(":")[0] for reason in other.failed.values()}
    assert collect(System(), SAMPLES, cache=OutputCache(ledger, "other")).stages["retrieve"].kept == 0
    ledger.close()


def test_failures_are_not_kept(tmp_path: Path) -> None:
    """After a kill a failed question is asked again."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    system = System(["question 0"])
    cache = OutputCache(ledger, "mine")
    cache.finish = lambda: None  # type: ignore[method-assign] - as if the process had ended before
    collect(system, SAMPLES[:2], cache=cache)
    again = System()
    found = collect(again, SAMPLES[:2], cache=OutputCache(ledger, "mine"))
    assert (again.asked, found.failed) == (["question 0"], {})
    ledger.close()


def test_slow_systems_fail_their_samples() -> None:
    """A deadline is kept per question, with the reason."""
    import threading

    release = threading.Event()

    def system(query: str, k: int) -> list[str]:
        if query.endswith("1"):
            release.wait(30)
        return ["d1"]

    found = collect(system, SAMPLES, policy=CallPolicy(2, 0.1))
    release.set()
    assert found.failed == {1: "timeout: no result within 0.1 s"}


def test_seconds_have_one_quantile() -> None:
    """The median and the 95th are the same quantile at two shares, so that neither lies on the wrong side."""
    two = Stage(calls=2, seconds={0: 0.02, 1: 0.01}).plain()
    assert (two["median"], two["p95"]) == (0.015, 0.0195)
    hundred = Stage(calls=101, seconds={row: row / 100 for row in range(101)}).plain()
    assert (hundred["median"], hundred["p95"]) == (0.5, 0.95)
    one = Stage(calls=1, seconds={0: 0.5}).plain()
    assert (one["median"], one["p95"]) == (0.5, 0.5)
