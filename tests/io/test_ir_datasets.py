"""Collections of ir_datasets by name, wherever a path may stand. A stand-in of the package serves two of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard import Dataset, evaluate_run
from steelyard.cli import invoke
from steelyard.core.errors import InputError, MissingExtra, UnknownName
from steelyard.datasets.corpus import read_corpus
from steelyard.io.ir_datasets import Collection, collection_name

PACKAGE = """
from typing import NamedTuple

class Doc(NamedTuple):
    doc_id: str
    title: str
    text: str

class Page(NamedTuple):
    doc_id: str
    url: str
    def default_text(self):
        return "page at " + self.url

class Query(NamedTuple):
    query_id: str
    text: str

class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str

class Lights:
    def has_docs(self): return True
    def docs_iter(self):
        return iter([Doc("d1", "Bell Rock", "Built of granite by Robert Stevenson."), Doc("d2", "", "A lens of prisms.")])
    def has_queries(self): return True
    def queries_iter(self): return iter([Query("1", "Who built of granite?"), Query("2", "Which lens?")])
    def has_qrels(self): return True
    def qrels_iter(self): return iter([Qrel("1", "d1", 2, "0"), Qrel("2", "d2", 1, "0")])

class Pages:
    def has_docs(self): return True
    def docs_iter(self): return iter([Page("p", "http://x")])
    def has_queries(self): return False
    def has_qrels(self): return False

class Closed(Lights):
    def docs_iter(self): raise RuntimeError("agree to the\\n licence first")
    def qrels_iter(self): return iter([Qrel("1", "d1", 2, "0"), Qrel("1", "d1", 1, "1")])

registry = {"lights/test": Lights(), "pages": Pages(), "closed": Closed()}

def load(name): return registry[name]
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The stand-in, for as long as a test."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "ir_datasets.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "ir_datasets", raising=False)
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield tmp_path
    sys.modules.pop("ir_datasets", None)


def test_a_collection_is_a_dataset(package: Path) -> None:
    """Documents with their titles, queries and grades, under the collection's name."""
    dataset = Dataset.load("ir_datasets:lights/test")
    assert dataset.name == "lights/test"
    assert dataset.corpus == {"d1": "Bell Rock\nBuilt of granite by Robert Stevenson.", "d2": "A lens of prisms."}
    assert dataset.query_texts == {"1": "Who built of granite?", "2": "Which lens?"}
    assert dataset.qrels == {"1": {"d1": 2.0}, "2": {"d2": 1.0}}
    assert read_corpus("ir_datasets:pages").texts == {"p": "page at http://x"}
    assert evaluate_run({"1": {"d1": 1.0}}, "ir_datasets:lights/test", ["mrr"]).metrics == {"mrr": 0.5}


def test_every_verb_takes_the_name(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """run, rank, check, convert and synth."""
    (package / "run.yaml").write_text(
        "data: ir_datasets:lights/test\nsystems: {bm25: {type: bm25}}\nmetrics: [mrr]\noutputs: {dir: out}\n"
    )
    assert invoke(["run", str(package / "run.yaml")]) == 0
    run = package / "out" / "bm25" / "run.trec"
    assert invoke(["rank", "ir_datasets:lights/test", str(run), "-m", "mrr"]) == 0
    assert invoke(["check", "ir_datasets:lights/test", "--corpus", "ir_datasets:lights/test"]) == 0
    assert "2 valid, 0 moved" in capsys.readouterr().out
    assert invoke(["convert", "ir_datasets:lights/test", str(package / "beir")]) == 0
    assert Dataset.load(package / "beir").qrels == Dataset.load("ir_datasets:lights/test").qrels
    assert invoke(["synth", "ir_datasets:pages", "-n", "1", "--out", str(package / "set")]) == 1
    assert "pages has no passage long enough" in capsys.readouterr().err


def test_what_cannot_be_read(package: Path) -> None:
    """A wrong name, a collection without queries, a document judged twice, and what the package itself refuses."""
    with pytest.raises(UnknownName, match="ir_datasets has no 'lights/tset': did you mean lights/test"):
        Collection("lights/tset")
    with pytest.raises(UnknownName, match=r"its names are listed at ir-datasets\.com"):
        Collection("zzz")
    with pytest.raises(InputError, match="ir_datasets:pages: the collection has no queries"):
        Dataset.load("ir_datasets:pages")
    with pytest.raises(InputError, match="document 'd1' is judged twice for query '1'"):
        _ = Collection("closed").qrels
    with pytest.raises(InputError, match="cannot read its docs: RuntimeError: agree to the licence first"):
        _ = Collection("closed").documents


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what to install."""
    monkeypatch.setattr("steelyard.io.ir_datasets.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"ir_datasets is not installed: pip install 'steelyard\[ir\]'"):
        Dataset.load("ir_datasets:vaswani")
    assert collection_name(tmp_path / "ir_datasets") is None
