"""One file becomes another, without loss or with a list of what was lost."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from steelyard.core.errors import InputError, UnknownName
from steelyard.core.records import Sample, Span
from steelyard.datasets.beir import read_beir, write_beir
from steelyard.datasets.convert import convert
from steelyard.datasets.corpus import Corpus
from steelyard.datasets.dataset import Dataset, EvalQuery
from steelyard.datasets.detect_format import kind_of
from steelyard.datasets.set_folder import write_set
from steelyard.io.samples import read_samples, write_samples
from steelyard.ranking.trec.files import read_qrels, read_run, write_qrels, write_run
from tests.io.any_samples import sets, texts

FULL = Sample(
    id="a",
    user_input="Q?",
    response="A",
    retrieved_contexts=["c1", "c2"],
    reference=["R", "S"],
    reference_contexts=["c1"],
    retrieved_ids=["d1", "d2"],
    relevance={"d1": 2.0},
    relevant_spans=[Span("d1", text="so")],
    tags={"lang": "de"},
    metadata={"model": "m"},
)
words = st.text("abcdefghij0123456789#.-é", min_size=1, max_size=6)
scores = st.floats(allow_nan=False, allow_infinity=False)
tables = st.dictionaries(words, st.dictionaries(words, scores, min_size=1, max_size=4), min_size=1, max_size=3)
IN_FOLDER = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def there_and_back(folder: Path, start: Path, middle: str, **options: str) -> list[str]:
    """Convert to a file and back to the name of the start; what was lost on both ways."""
    lost = convert(start, folder / middle, **options)  # type: ignore[arg-type]
    back = {"from_": options["to"]} if "to" in options else {}
    return lost + convert(folder / middle, folder / f"back{''.join(start.suffixes)}", **back)  # type: ignore[arg-type]


# Samples


@pytest.mark.parametrize(
    ("middle", "to"),
    [
        ("m.jsonl", "samples"),
        ("m.json", "samples"),
        ("m.csv", "samples"),
        ("m.tsv", "samples"),
        ("m.parquet", "samples"),
        ("m.json", "deepeval"),
        ("m.json", "promptfoo"),
        ("m.yaml", "promptfoo"),
    ],
)
@given(written=sets)
@IN_FOLDER
def test_samples_go_there_and_back(tmp_path: Path, middle: str, to: str, written: list[Sample]) -> None:
    """Every format that can hold a sample gives back the same samples."""
    write_samples(tmp_path / "start.jsonl", written)
    lost = there_and_back(tmp_path, tmp_path / "start.jsonl", middle, to=to)
    assert written == read_samples(tmp_path / "back.jsonl")
    assert [one for one in lost if "templates" not in one] == []


SAID = {
    "reference": ("reference (", "references ("),
    "reference_contexts": ("reference_contexts (", "contexts ("),
    "relevance": ("relevance (", "judgments (", "grades other than 1 ("),
    "retrieved_ids": ("retrieved_ids (", "retrieved twice (", "without results ("),
}
"""What names the loss of a field, where that is not its own name."""
TARGETS = [
    ("m.jsonl", "samples"),
    ("m.parquet", "samples"),
    ("m.json", "dataset"),
    ("m.json", "recall"),
    ("m.run", "run"),
    ("m.qrels", "qrels"),
    ("m.tsv", "qrels"),
    ("m", "beir"),
    ("m.jsonl", "ragas"),
    ("m.json", "deepeval"),
    ("m.yaml", "promptfoo"),
]


@pytest.mark.parametrize(("middle", "to"), TARGETS)
@given(written=sets)
@settings(IN_FOLDER, max_examples=15)
def test_nothing_is_lost_in_silence(tmp_path: Path, middle: str, to: str, written: list[Sample]) -> None:
    """Whatever the samples and the target: what does not come back was listed, or nothing was written at all."""
    write_samples(tmp_path / "start.jsonl", written)
    refused, lost = "", ""
    try:
        lost = "; ".join(there_and_back(tmp_path, tmp_path / "start.jsonl", middle, to=to))
    except InputError as error:
        refused = str(error)
    if refused:
        assert any(
            words in refused for words in ("nothing to write", "cannot be written to", "needs the text", "empty")
        )
        return
    back = read_samples(tmp_path / "back.jsonl")
    found = {one.id: two for one, two in zip(written, back, strict=True)} if to == "ragas" else {}
    found = found or {one.id: one for one in back}
    for sample in written:
        if (other := found.get(sample.id)) is None:
            assert any(f"queries without {what}" in lost for what in ("results", "relevance judgments", "text"))
            continue
        for name in Sample.__struct_fields__:
            one, two = getattr(sample, name), getattr(other, name)
            if name == "reference":  # one text is a list of one
                one, two = (sample.references or one), (other.references or two)
            if name == "metadata" and to == "run":
                two = {key: value for key, value in two.items() if key in one}
            if one != two:
                assert any(words in lost for words in SAID.get(name, (f"{name} (",))), (name, one, two, lost)


def test_test_cases_look_as_their_tools_expect(tmp_path: Path) -> None:
    """Fields stand under the names of the tools; the rest is in the metadata."""
    write_samples(tmp_path / "a.jsonl", [FULL])
    assert convert(tmp_path / "a.jsonl", tmp_path / "d.json", to="deepeval") == []
    (case,) = json.loads((tmp_path / "d.json").read_text())
    assert {
        "name": "a",
        "input": "Q?",
        "actual_output": "A",
        "expected_output": "R",
        "retrieval_context": ["c1", "c2"],
        "context": ["c1"],
    }.items() <= case.items()
    assert case["additional_metadata"]["model"] == "m"
    assert convert(tmp_path / "a.jsonl", tmp_path / "p.yaml") == []
    (test,) = yaml.safe_load((tmp_path / "p.yaml").read_text())
    assert test["vars"] == {"question": "Q?", "context": "c1\n\nc2"}
    assert test["assert"] == [{"type": "icontains-any", "value": ["R", "S"]}]
    assert test["providerOutput"] == "A"


def test_ragas_rows_and_what_they_cannot_hold(tmp_path: Path) -> None:
    """Ragas has no ids, tags, metadata, spans or grades, and one reference."""
    write_samples(tmp_path / "a.jsonl", [FULL])
    lost = convert(tmp_path / "a.jsonl", tmp_path / "r.jsonl", to="ragas")
    assert lost == [
        "id (1 sample)",
        "relevant_spans (1 sample)",
        "tags (1 sample)",
        "metadata (1 sample)",
        "second references (1 sample)",
        "grades other than 1 (1 sample)",
    ]
    row = msgspec.json.decode((tmp_path / "r.jsonl").read_bytes())
    assert set(row) == {
        "user_input",
        "response",
        "retrieved_contexts",
        "reference",
        "reference_contexts",
        "retrieved_context_ids",
        "reference_context_ids",
    }
    plain = Sample(id="1", user_input="Q", reference="R", relevance={"d": 1.0})
    write_samples(tmp_path / "b.jsonl", [plain])
    assert there_and_back(tmp_path, tmp_path / "b.jsonl", "r.json", to="ragas") == []
    assert read_samples(tmp_path / "back.jsonl") == [plain]
    with pytest.raises(InputError, match=r"cannot write ragas as .* \(expected \.json or \.jsonl\)"):
        convert(tmp_path / "b.jsonl", tmp_path / "r.csv", to="ragas")


def test_tests_of_promptfoo_that_others_wrote(tmp_path: Path) -> None:
    """Variables are columns, assertions with a value name references, the rest is kept; configuration is named."""
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(
        """
prompts: [a]
tests:
  - description: first
    vars: {question: 'Who?', context: c, lang: de}
    assert: [{type: equals, value: Ada}, {type: latency, threshold: 5}]
    options: {provider: x}
  - vars:
      query: 'When?'
    assert:
      - {type: icontains, value: '1843'}
"""
    )
    assert convert(path, tmp_path / "a.jsonl") == ["prompts of the configuration"]
    first, second = read_samples(tmp_path / "a.jsonl")
    assert (first.user_input, first.reference, first.retrieved_contexts) == ("Who?", "Ada", ["c"])
    assert first.metadata == {
        "description": "first",
        "lang": "de",
        "assert": [{"type": "equals", "value": "Ada"}, {"type": "latency", "threshold": 5}],
        "options": {"provider": "x"},
    }
    assert second == Sample(id="2", user_input="When?", reference="1843")
    assert convert(tmp_path / "a.jsonl", tmp_path / "back.yaml") == []
    assert yaml.safe_load((tmp_path / "back.yaml").read_text())[0]["assert"] == first.metadata["assert"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- vars: [\n", r"a\.yaml:2: not YAML"),
        ("- &a {vars: {question: Q}}\n- *a\n", r"a\.yaml:2: not YAML: aliases are not supported"),
        ("a: b\n", r"a\.yaml: expected a list of tests"),
        ("- vars: {question: 5}\n", r"a\.yaml:1: question: expected text, found the number 5"),
        ("- !!python/object/apply:os.system ['true']\n", r"a\.yaml:1: not YAML: could not determine a constructor"),
    ],
)
def test_bad_yaml_names_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    """YAML is data: no objects are made from it, and no aliases followed."""
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        convert(tmp_path / "a.yaml", tmp_path / "b.jsonl")


# Rankings and judgements


@pytest.mark.parametrize("middle", ["m.jsonl", "m.json", "m.csv", "m.parquet"])
@given(table=tables)
@settings(IN_FOLDER, max_examples=15)
def test_runs_and_qrels_go_there_and_back(tmp_path: Path, middle: str, table: dict[str, dict[str, float]]) -> None:
    """Scores and grades keep all their digits; a run's tag is all that is lost."""
    write_run(tmp_path / "r.run", table)
    assert there_and_back(tmp_path, tmp_path / "r.run", middle) == ["the run's tag"]
    assert read_run(tmp_path / "back.run") == table
    write_qrels(tmp_path / "q.qrels", table)
    assert there_and_back(tmp_path, tmp_path / "q.qrels", middle) == []
    assert read_qrels(tmp_path / "back.qrels") == table


def test_qrels_between_trec_and_beir(tmp_path: Path) -> None:
    """``.tsv`` is BEIR's table with its header, ``.qrels`` TREC's."""
    (tmp_path / "q.txt").write_text("q1 0 d1 2\nq1 0 d2 0\n")
    assert convert(tmp_path / "q.txt", tmp_path / "q.tsv") == []
    assert (tmp_path / "q.tsv").read_text() == "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"
    assert convert(tmp_path / "q.tsv", tmp_path / "q.qrels") == []
    assert (tmp_path / "q.qrels").read_text() == "q1 0 d1 2\nq1 0 d2 0\n"


def test_samples_become_runs_and_qrels(tmp_path: Path) -> None:
    """Rankings without scores get descending ones; what has no place is listed."""
    write_samples(tmp_path / "a.jsonl", [FULL, Sample(id="b", user_input="Q")])
    lost = convert(tmp_path / "a.jsonl", tmp_path / "r.run")
    assert read_run(tmp_path / "r.run") == {"a": {"d1": 2.0, "d2": 1.0}}
    assert lost[0] == "user_input (2 samples)"
    assert {"metadata (1 sample)", "queries without results (1 sample)"} <= set(lost)
    lost = convert(tmp_path / "a.jsonl", tmp_path / "q.qrels")
    assert read_qrels(tmp_path / "q.qrels") == {"a": {"d1": 2.0}}
    assert "queries without relevance judgments (1 sample)" in lost


# Datasets and folders


def test_beir_and_datasets_go_there_and_back(tmp_path: Path) -> None:
    """A dataset file holds the corpus; a file of samples does not, and says so."""
    content = ({"d1": "t1", "d2": "t2"}, {"q1": "Q", "q2": "R"}, {"q1": {"d1": 2.0, "d2": 0.0}})
    write_beir(tmp_path / "wiki", *content)
    assert convert(tmp_path / "wiki", tmp_path / "d.json") == []
    assert Dataset.load(tmp_path / "d.json").name == "wiki"
    assert convert(tmp_path / "d.json", tmp_path / "back") == ["name"]
    assert read_beir(tmp_path / "back") == content
    assert convert(tmp_path / "wiki", tmp_path / "a.jsonl") == ["corpus (2 documents)"]
    assert convert(tmp_path / "wiki", tmp_path / "q.qrels") == [
        "user_input (2 samples)",
        "corpus (2 documents)",
        "queries without relevance judgments (1 sample)",
    ]


@given(
    corpus=st.dictionaries(words, texts, max_size=3),
    queries=st.dictionaries(words, texts.filter(bool), min_size=1, max_size=3),
    data=st.data(),
)
@IN_FOLDER
def test_folders_and_datasets_go_there_and_back(
    tmp_path: Path, corpus: dict[str, str], queries: dict[str, str], data: st.DataObject
) -> None:
    """Any documents, queries and grades pass through BEIR, JSON and the other shape, and are the same after it."""
    grades = st.dictionaries(words, st.floats(-5, 5), min_size=1, max_size=3)
    qrels = {query: data.draw(grades) for query in queries}
    write_beir(tmp_path / "wiki", corpus, queries, qrels)
    assert convert(tmp_path / "wiki", tmp_path / "d.json") == []
    assert convert(tmp_path / "d.json", tmp_path / "back", to="beir") == ["name"]
    assert read_beir(tmp_path / "back") == (corpus, queries, qrels)
    lost = convert(tmp_path / "d.json", tmp_path / "r.json", to="recall")
    assert [one.partition(" (")[0] for one in lost] == (["corpus"] if corpus else [])
    convert(tmp_path / "r.json", tmp_path / "d2.json", to="dataset")
    one, two = Dataset.load(tmp_path / "d.json"), Dataset.load(tmp_path / "d2.json")
    assert (one.digest, one.name) == (two.digest, two.name)


def test_datasets_keep_what_they_know_and_lose_what_a_system_did(tmp_path: Path) -> None:
    """From samples, responses and contexts are lost; from a dataset to the other shape, what that one lacks."""
    write_samples(tmp_path / "a.jsonl", [FULL])
    lost = convert(tmp_path / "a.jsonl", tmp_path / "d.json", to="dataset")
    assert lost == ["response (1 sample)", "retrieved_contexts (1 sample)", "retrieved_ids (1 sample)"]
    dataset = Dataset.load(tmp_path / "d.json")
    assert dataset.digest == Dataset("x", queries=[EvalQuery.of(FULL)]).digest
    lost = convert(tmp_path / "d.json", tmp_path / "r.json", to="recall")
    assert lost == [
        "relevant_spans (1 sample)",
        "tags (1 sample)",
        "metadata (1 sample)",
        "second references (1 sample)",
    ]
    assert json.loads((tmp_path / "r.json").read_text())["Queries"][0]["reference_answer"] == "R"
    Dataset("d", "1", [EvalQuery("Q", ("d1",))]).save(tmp_path / "e.json")
    assert convert(tmp_path / "e.json", tmp_path / "f.json") == []
    assert Dataset.load(tmp_path / "f.json") == Dataset.load(tmp_path / "e.json")
    assert convert(tmp_path / "e.json", tmp_path / "e.csv") == ["name and version"]
    (tmp_path / "q.qrels").write_text("q1 0 d1 1\n")
    with pytest.raises(InputError, match="a dataset needs the text of each query: no text for q1"):
        convert(tmp_path / "q.qrels", tmp_path / "x.json", to="dataset")


# Kinds


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.txt", "q1 Q0 d1 1 2.5 tag\n", "run"),
        ("a.txt", "q1 0 d1 1\n", "qrels"),
        ("a.txt", "\nq1\td1\t1\n", "qrels"),
        ("a.tsv", "query-id\tcorpus-id\tscore\nq\td\t1\n", "qrels"),
        ("a.tsv", "question\tanswer\tcontexts\nq\td\t[]\n", "samples"),
        ("a.run", "", "run"),
        ("a.trec", "", "run"),
        ("a.qrels", "", "qrels"),
        ("a.jsonl", "", "samples"),
        ("a.data", '{"question": "Q"}', "samples"),
        ("a.json", '{"Queries": []}', "dataset"),
        ("a.json", '[{"input": "Q", "expected_output": "R"}]', "deepeval"),
        ("a.json", '[{"vars": {}}]', "promptfoo"),
        ("a.json", '{"tests": [{"vars": {}}]}', "promptfoo"),
        ("a.json", '[{"question": "Q"}]', "samples"),
        ("a.json", '{"question": "Q"}\n{"question": "R"}', "samples"),
        ("a.yml", "", "promptfoo"),
    ],
)
def test_name_and_content_tell_the_kind(tmp_path: Path, name: str, text: str, kind: str) -> None:
    """What a person sees at a glance is seen."""
    (tmp_path / name).write_text(text)
    assert kind_of(tmp_path / name) == kind


def test_what_cannot_be_told(tmp_path: Path) -> None:
    """An unknown text, an empty folder, an unknown format and a target without a known suffix are errors."""
    (tmp_path / "a.txt").write_text("hello world\n")
    with pytest.raises(InputError, match="neither the suffix nor the first line is recognised"):
        kind_of(tmp_path / "a.txt")
    with pytest.raises(InputError, match="not a BEIR folder"):
        kind_of(tmp_path)
    write_samples(tmp_path / "a.jsonl", [FULL])
    with pytest.raises(UnknownName, match="unknown format 'deepval': did you mean deepeval"):
        convert(tmp_path / "a.jsonl", tmp_path / "b.json", to="deepval")
    with pytest.raises(InputError, match="unknown suffix: choose the format"):
        convert(tmp_path / "a.jsonl", tmp_path / "b.doc")


def test_a_set_keeps_what_its_samples_say(tmp_path: Path) -> None:
    """A folder with samples beside the files of BEIR is read by its samples: references stay, or are listed."""
    sample = Sample(id="q1", user_input="Who?", reference="Ada", relevance={"d1": 1.0}, tags={"lang": "en"})
    write_set(tmp_path / "set", [sample], Corpus("docs", {"d1": "Ada did."}))
    assert convert(tmp_path / "set", tmp_path / "a.json") == []
    dataset = Dataset.load(tmp_path / "a.json")
    assert (dataset.samples(), dataset.corpus) == ([sample], {"d1": "Ada did."})
    assert "reference (1 sample)" in convert(tmp_path / "set", tmp_path / "a.qrels")


@pytest.mark.parametrize("to", ["deepeval", "promptfoo"])
def test_what_was_written_for_other_tools_is_read_alike_by_all(tmp_path: Path, to: str) -> None:
    """Samples read from a file of test cases are those that were converted: references, tags, ids, contexts."""
    sample = Sample(
        id="x1",
        user_input="Who?",
        response="Ada",
        retrieved_contexts=["Ada did."],
        reference=["Ada", "Ada L."],
        reference_contexts=["Ada did."],
        tags={"lang": "en"},
        metadata={"m": 1},
    )
    write_samples(tmp_path / "a.jsonl", [sample])
    convert(tmp_path / "a.jsonl", tmp_path / "cases.json", to=to)
    assert read_samples(tmp_path / "cases.json") == [sample]
