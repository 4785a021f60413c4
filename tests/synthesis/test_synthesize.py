"""Sets made by a language model: what is kept, what is not and why, the same again, and after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard import Dataset, Sample
from steelyard.cli import invoke
from steelyard.core.errors import AskFailed, InputError
from steelyard.core.requests import Ask
from steelyard.datasets.corpus import Corpus, read_corpus
from steelyard.io.samples import read_samples
from steelyard.models.judge import script
from steelyard.runs.demo import load_demo
from steelyard.synthesis.generate import EvalDatasetBuilder, plan_synthesis, synthesize
from steelyard.text.find_passage import normalize_text
from tests.server import Server
from tests.synthesis.author import Author

Serve = Callable[..., Server]


def check_evidence(samples: list[Sample], texts: Mapping[str, str]) -> None:
    """Every span stands where it says, in a document that is relevant."""
    for sample in samples:
        for span in sample.relevant_spans or ():
            assert texts[span.doc][span.start : span.end] == span.text
            assert sample.relevance is not None
            assert sample.relevance[span.doc] == 1.0
        assert (sample.relevant_spans is None) == (sample.tags["answerable"] == "false")


def test_a_set_of_all_kinds(serve: Serve) -> None:
    """Each kind in its number, with sources, evidence, answer, type, style and difficulty."""
    server = serve(answer=Author())
    corpus = load_demo().corpus
    made = synthesize(corpus, 40, judge=server.judge, ledger=":memory:", seed=1)
    assert made.complete
    kinds = Counter(sample.tags["question_type"] for sample in made.samples)
    assert kinds == {"single": 20, "multi": 8, "comparison": 6, "unanswerable": 6}
    styles = Counter(sample.tags["style"] for sample in made.samples)
    assert styles == {"plain": 28, "keyword": 4, "conversational": 4, "misspelt": 4}
    check_evidence(made.samples, corpus)
    assert len({sample.user_input for sample in made.samples}) == 40
    for sample in made.samples:
        two = sample.tags["question_type"] in {"multi", "comparison"}
        assert len(sample.relevance or {}) == (2 if two else 1)
        assert (sample.reference is None) == (sample.tags["question_type"] == "unanswerable")
    assert made.usage.calls == server.calls
    assert isinstance(made.dataset, Dataset)


@pytest.mark.parametrize("concurrency", [1, 16])
def test_spoiled_replies_are_counted_and_replaced(serve: Serve, concurrency: int) -> None:
    """One reply in five is spoilt; there are as many items as were wanted, and each reason is counted."""
    author = Author(spoiled=0.2)
    server = serve(answer=author)
    corpus = load_demo().corpus
    made = synthesize(corpus, 60, judge=server.judge, ledger=":memory:", concurrency=concurrency)
    assert len(made.samples) == 60
    assert made.attempts == 60 + sum(made.rejected.values())
    check_evidence(made.samples, corpus)
    reasons = {
        "quote": "span not found",
        "language": "wrong language",
        "given away": "answer in the question",
        "known": "answerable without the passage",
    }
    for way, reason in reasons.items():
        assert made.rejected.get(reason, 0) <= author.said[way]
    assert len(made.rejected) >= 4


def test_the_same_seed_gives_the_same_set(serve: Serve) -> None:
    """Whatever the order in which replies come; another seed gives another set."""
    server = serve(answer=Author(spoiled=0.2), latency=0.002)
    corpus = load_demo().corpus
    sets = [
        synthesize(corpus, 25, judge=server.judge, ledger=":memory:", seed=seed, concurrency=concurrency).samples
        for seed, concurrency in ((3, 1), (3, 16), (4, 16))
    ]
    assert sets[0] == sets[1]
    assert sets[0] != sets[2]


def answers(**given: object) -> Any:
    """A model that writes one question on 'granite' and judges as given."""
    drafted = {"question": "What was the tower made of?", "answer": "granite", "difficulty": "easy"}

    def model(ask: Ask) -> object:
        fields = set(ask.shape.__struct_fields__)
        if "quote" in fields:
            return {**drafted, "quote": "built of  granite"} | given.get("draft", {})  # type: ignore[operator]
        if "first_quote" in fields:
            quotes = ["built of granite", "by Fresnel"]
            if ask.prompt.index("Fresnel") < ask.prompt.index("granite"):
                quotes.reverse()
            both = {**drafted, "first_quote": quotes[0], "second_quote": quotes[1]}
            return both | given.get("draft", {})  # type: ignore[operator]
        if "missing" in fields:
            return {"question": "What did it cost?", "missing": "the price", "difficulty": "easy"}
        if "known" in fields:
            return given.get("closed", {"known": "no", "answer": ""})
        if "same" in fields:
            return {"same": given.get("same", "no")}
        found = given.get("open", {"found": "yes", "answer": "Granite."})
        return found(ask.prompt) if callable(found) else found

    return script(model)


TWO = {
    "tower": "The tower of Stevenson was built of granite, on a reef that the sea covers twice a day in all seasons.",
    "lens": "The lens of the tower of Stevenson was made by Fresnel in Paris, and it is turned by a clockwork every day.",
}


@pytest.mark.parametrize(
    ("kind", "given", "reason"),
    [
        ("single", {}, None),
        ("single", {"draft": {"quote": "built of marble"}}, "span not found"),
        ("single", {"draft": {"question": "Woraus ist der Turm und wer hat ihn gebaut?"}}, "wrong language"),
        ("single", {"draft": {"question": "Is the tower of granite?"}}, "answer in the question"),
        ("single", {"closed": {"known": "yes", "answer": "granite"}}, "answerable without the passage"),
        ("single", {"closed": {"known": "yes", "answer": "marble"}}, None),
        ("single", {"closed": {"known": "yes", "answer": "stone"}, "same": "yes"}, "answerable without the passage"),
        ("single", {"open": {"found": "no", "answer": ""}}, "round trip disagrees"),
        ("single", {"open": {"found": "yes", "answer": "marble"}}, "round trip disagrees"),
        ("single", {"open": {"found": "yes", "answer": "a kind of rock"}, "same": "yes"}, None),
        ("multi", {}, "one passage suffices"),
        ("multi", {"open": lambda prompt: {"found": "yes" if "passages 2" in prompt else "no", "answer": "granite"}}, None),
        ("multi", {"draft": {"second_quote": "by nobody"}}, "span not found"),
        ("comparison", {"draft": {"question": "Is the tower of granite or of marble?"}}, None),
        ("unanswerable", {}, "answerable after all"),
        ("unanswerable", {"open": {"found": "no", "answer": ""}}, None),
    ],
)  # fmt: skip
def test_every_filter(kind: str, given: dict[str, object], reason: str | None) -> None:
    """Each reason by itself, and what passes."""
    corpus = TWO if kind in {"multi", "comparison"} else {"tower": TWO["tower"]}
    made = synthesize(corpus, 1, judge=answers(**given), kinds=[kind], styles=["plain"], attempts=1, ledger=":memory:")
    assert made.rejected == ({} if reason is None else {reason: 1})
    assert made.complete is (reason is None)


def test_duplicates_are_kept_once() -> None:
    """A model that writes the same question again and again makes one item, and the attempts are bounded."""
    made = synthesize(TWO, 3, judge=answers(), kinds=["single"], styles=["plain"], attempts=4, ledger=":memory:")
    assert len(made.samples) == 1
    assert made.attempts == 3 + 2 + 2 + 2
    assert made.rejected["near duplicate"] + made.rejected["span not found"] == 8


def test_passages_without_a_partner() -> None:
    """Questions on two passages need two that belong together."""
    made = synthesize({"tower": TWO["tower"]}, 2, judge=answers(), kinds=["multi"], attempts=2, ledger=":memory:")
    assert made.rejected == {"no linked passage": 4}


def test_a_model_that_does_not_answer() -> None:
    """Where nothing is answered the rounds end, and it is said."""

    def down(_: Ask) -> object:
        raise AskFailed("timeout", "late")

    made = synthesize(TWO, 5, judge=script(down), ledger=":memory:", kinds=["single"])
    assert (made.samples, made.attempts, made.rejected) == ([], 5, {"no reply (timeout)": 5})
    assert made.warnings == ["stopped: no request was answered in the last round"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n": 0}, "n must be at least 1"),
        ({"n": 1.5}, "n must be at least 1, not 1.5"),
        ({"corpus": {"a": 5}}, "document 'a' has no text: '5'"),
        ({"attempts": 0}, "attempts must be at least 1"),
        ({"kinds": ["single"]}, "the kind single needs a judge"),
        ({"kinds": ["singel"]}, "no kind 'singel': did you mean single"),
        ({"kinds": {"cloze": -1}}, "expected a share of at least 0"),
        ({"kinds": {"cloze": 0}}, "no kind to choose from"),
        ({"styles": ["fancy"]}, "no style 'fancy'"),
        ({"corpus": {"a": "short"}}, "no passage long enough"),
        ({"corpus": [{"id": "d1"}]}, "document 1 has no text"),
        ({"corpus": 5}, "expected a path, texts or documents"),
    ],
)
def test_mistakes(given: dict[str, Any], words: str) -> None:
    """One line for what cannot be done, before anything is asked."""
    with pytest.raises(InputError, match=words):
        synthesize(**{"corpus": TWO, "n": 1, **given})


def test_a_plan_costs_nothing(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run counts the calls of first attempts that are kept, and asks none."""
    server = serve(answer=Author())
    plan = plan_synthesis(load_demo().corpus, 10, judge=server.judge, kinds=["single"], ledger=":memory:")
    assert (plan.usage.calls, server.calls) == (30, 0)
    assert invoke(["synth", str(DEMO), "-n", "10", "--judge", server.judge, "--kind", "single", "--dry-run"]) == 0
    assert "about 30 calls" in capsys.readouterr().out


DEMO = Path(__file__).resolve().parents[2] / "src" / "steelyard" / "resources" / "demo"


def test_the_set_is_taken_by_every_verb(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder goes into check, run, rank and eval as it is."""
    server, out = serve(answer=Author()), tmp_path / "set"
    ledger = ["--ledger", str(tmp_path / "ledger.sqlite")]
    assert invoke(["synth", str(DEMO), "-n", "12", "--judge", server.judge, "--out", str(out), *ledger]) == 0
    assert "12 of 12 items" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == [
        "corpus.jsonl", "qrels", "queries.jsonl", "samples.jsonl", "synthesis.json",
    ]  # fmt: skip
    assert json.loads((out / "synthesis.json").read_text())["kept"] == 12
    assert invoke(["check", str(out), str(out / "samples.jsonl"), "--corpus", str(out)]) == 0
    config = tmp_path / "run.yaml"
    config.write_text(f"data: {out}\nmetrics: [ndcg@10, span_recall@10]\nsystems: {{bm25: {{type: bm25}}}}\n")
    assert invoke(["run", str(config)]) == 0
    run = tmp_path / "steelyard-out" / "bm25" / "run.trec"
    assert invoke(["rank", str(out / "qrels" / "test.tsv"), str(run), "-m", "ndcg@10"]) == 0
    assert invoke(["rank", str(out), str(run), "-m", "ndcg@10"]) == 0
    assert invoke(["eval", str(out / "samples.jsonl"), "-m", "non_empty_rate"]) == 0
    assert Dataset.load(out).queries[0].relevance
    assert read_corpus(out).texts == load_demo().corpus


def test_too_few_is_incomplete(serve: Serve, tmp_path: Path) -> None:
    """Fewer items than wanted is exit code 3, and what there is is written."""
    server = serve(answer=Author(spoiled=1.0))
    args = ["synth", str(DEMO), "-n", "5", "--judge", server.judge, "--out", str(tmp_path), "--attempts", "1"]
    assert invoke([*args, "--ledger", str(tmp_path / "l.sqlite")]) == 3
    assert json.loads((tmp_path / "synthesis.json").read_text())["wanted"] == 5


def test_a_set_that_cannot_be_written_costs_nothing(serve: Serve, tmp_path: Path) -> None:
    """That a file is in the way is told before anything is asked."""
    server, file = serve(answer=Author()), tmp_path / "set.jsonl"
    file.write_text("{}\n")
    with pytest.raises(InputError, match=r"set\.jsonl: no folder for a set: File exists"):
        synthesize(TWO, 2, judge=server.judge, kinds=["single"], out=file, ledger=":memory:")
    assert (server.calls, file.read_text()) == (0, "{}\n")


def test_pairs_for_a_quick_start(serve: Serve) -> None:
    """Question, answer, context and source, as plain mappings."""
    server = serve(answer=Author())
    documents = [{"page_content": text, "metadata": {"source": key}} for key, text in load_demo().corpus.items()]
    pairs = EvalDatasetBuilder(server.judge, documents, ledger=":memory:").generate_qa_pairs(num_pairs=5)
    assert len(pairs) == 5
    for pair in pairs:
        assert pair["answer"] in " ".join(pair["context"].split())
        assert pair["context"] in load_demo().corpus[pair["source"]]


@pytest.fixture
def vaswani(shared: Path) -> Corpus:
    """A real corpus of 11,429 documents."""
    return read_corpus(shared / "retrieval" / "vaswani")


@pytest.mark.long
def test_two_hundred_items_after_a_kill(serve: Serve, shared: Path, vaswani: Corpus, tmp_path: Path) -> None:
    """A process is killed at half; another goes on with what is missing, and ends with the set that a run without a
    kill makes: 200 items, each span in its source, a counted reason for every attempt that was not kept."""
    author = Author(spoiled=0.2)
    server = serve(answer=author, latency=0.02)
    out = tmp_path / "set"
    args = ["synth", str(shared / "retrieval" / "vaswani"), "-n", "200", "--judge", server.judge, "--seed", "7"]
    command = [sys.executable, "-m", "steelyard", *args, "--out", str(out), "--ledger", str(tmp_path / "l.sqlite")]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    partial = out / "partial.jsonl"
    deadline = time.monotonic() + 240
    while first.poll() is None and time.monotonic() < deadline:
        if partial.is_file() and partial.read_bytes().count(b"\n") >= 100:
            break
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert partial.read_bytes().count(b"\n") >= 100
    before = server.calls
    second = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert second.returncode == 0, second.stderr
    calls = server.calls - before
    samples = read_samples(out / "samples.jsonl")
    told = json.loads((out / "synthesis.json").read_text())
    assert len(samples) == told["kept"] == 200
    assert told["attempts"] == 200 + sum(told["rejected"].values())
    assert {"span not found", "wrong language", "round trip disagrees"} <= told["rejected"].keys()
    check_evidence(samples, vaswani.texts)
    assert not partial.exists()
    whole = synthesize(vaswani, 200, judge=server.judge, seed=7, ledger=":memory:")
    assert whole.samples == samples
    assert whole.rejected == told["rejected"]
    # What was in flight at the kill, or not yet on disk, is asked again; nothing else is.
    assert calls <= whole.usage.calls - before + 64
    for sample in samples:
        for span in sample.relevant_spans or ():
            assert normalize_text(span.text or "").text in normalize_text(vaswani.texts[span.doc]).text
