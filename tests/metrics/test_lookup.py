"""The notation: what is printed parses back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from steelyard.core.errors import InputError, UnknownName
from steelyard.core.metric_names import Name, parse, show
from steelyard.core.wording import nearest
from steelyard.metrics.lookup import check_threshold, every, get_metric, requested_metrics

VALUES = st.one_of(
    st.booleans(),
    st.none(),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8")),
)


@given(
    base=st.from_regex(r"\A[A-Za-z_]\w{0,12}\Z"),
    params=st.dictionaries(st.from_regex(r"\A[A-Za-z_]\w{0,8}\Z").filter(lambda key: key != "k"), VALUES, max_size=4),
    k=st.one_of(st.none(), st.integers(1, 10**6)),
)
def test_every_name_parses_back(base: str, params: dict[str, object], k: int | None) -> None:
    """show and parse are inverse for any parameters, quoted text included."""
    whole = {**params, **({} if k is None else {"k": k})}
    assert parse(show(base, whole)) == Name(base, whole)


@pytest.mark.parametrize(
    "text", ["", "@10", "ndcg@", "ndcg@x", "ndcg(gain)", "ndcg(gain=", "ndcg(a=1,a=2)", "a(k=1)@2", "f(x=1))", "f)"]
)
def test_broken_notation_is_one_line(text: str) -> None:
    """What does not parse is an InputError that shows the notation."""
    with pytest.raises(InputError, match="not a metric name"):
        parse(text)


def test_identity_holds_only_what_differs_from_the_default() -> None:
    """Default parameters are not part of the name, whatever spelling asked for them."""
    assert str(get_metric("ndcg(gain=linear)@10")) == "ndcg@10"
    assert str(get_metric("ndcg(gain=exponential)@10")) == "ndcg(gain=exponential)@10"
    assert get_metric("ndcg_cut.10") == get_metric("ndcg@10") == get_metric("ndcg_cut_10")


def test_every_metric_is_found_by_its_name_and_aliases() -> None:
    """Names, aliases and the names of other tools reach the metric."""
    for one in every():
        if one.missing():
            continue
        for name in (one.name, *one.aliases, *one.ten_point_aliases):
            members = requested_metrics([name if name == one.name or one.way == "ranking" else f"{one.way}.{name}"])
            assert {member.metric.name for member in members} == {one.name}, name


FIRST = """
import importlib, json, multiprocessing, sys
from steelyard.metrics.lookup import requested_metrics

def identity(asked):
    name, judged = asked
    return requested_metrics([name], judged=judged)[0].metric.identity

def libraries(asked):
    identity(asked)
    return [module for module in sys.modules if module.partition(".")[0] not in ("steelyard", "__main__")]

asked = json.load(sys.stdin)
fork = multiprocessing.get_context("fork")
with fork.Pool(1) as pool:
    for module in pool.apply(libraries, asked[:1]):
        importlib.import_module(module)
with fork.Pool(2, maxtasksperchild=1) as pool:
    json.dump(pool.map(identity, asked, chunksize=1), sys.stdout)
"""
"""Each name is looked up by a process that has loaded no metric before, only the libraries of others."""


@pytest.mark.long
def test_a_name_means_the_same_metric_whatever_was_loaded_before() -> None:
    """Where a quantity has two ways, the first name that a process looks up means what it means after all others."""
    ways = Counter(one.name for one in every())
    twice = [one for one in every() if ways[one.name] > 1]
    names = {name for one in twice for name in (one.name, *one.aliases, *one.ten_point_aliases)}
    asked = [(name, judged) for name in sorted(names) for judged in (False, True)]
    told = subprocess.run(
        [sys.executable, "-c", FIRST], input=json.dumps(asked), stdout=subprocess.PIPE, check=True, text=True
    )
    later = [requested_metrics([name], judged=judged)[0].metric.identity for name, judged in asked]
    assert dict(zip(asked, json.loads(told.stdout), strict=True)) == dict(zip(asked, later, strict=True))
    assert later[asked.index(("Faithfulness", True))] == "judged.faithfulness"


def test_a_miss_suggests_the_nearest() -> None:
    """A misspelt metric, parameter or value says what was meant."""
    with pytest.raises(UnknownName, match="did you mean exact_match"):
        get_metric("exact_mach")
    with pytest.raises(UnknownName, match="did you mean gain"):
        get_metric("ndcg(gane=linear)")
    with pytest.raises(InputError, match="must be at least 1"):
        get_metric("ndcg@0")
    with pytest.raises(InputError, match="accepts no cut-off"):
        get_metric("exact_match@3")
    assert nearest("MAPP", ["map", "ndcg"]) == ["map"]


@pytest.mark.parametrize(
    ("name", "known", "close"),
    [
        ("12", [str(number) for number in range(12)], ["11", "10", "9"]),
        ("q201", [f"q{number}" for number in range(1, 201)], ["q200", "q199", "q198"]),
        ("q0", ["q1", "q2", "q3", "q4"], ["q1", "q2", "q3"]),
        ("run2-q9", ["run1-q9", "run2-q1", "run2-q8"], ["run2-q8", "run2-q1", "run1-q9"]),
        ("precision@3", ["recall@3", "precision@10", "precision@5"], ["precision@5", "precision@10"]),
        ("q", ["q3", "q1", "q2"], ["q3", "q1", "q2"]),
        ("q" + "9" * 5000, ["q1"], []),
    ],
)
def test_the_nearest_comes_first(name: str, known: list[str], close: list[str]) -> None:
    """Names that differ in their numbers alone go by the difference; equals in the order they came in."""
    assert nearest(name, known)[: len(close)] == close


def test_groups_give_their_members() -> None:
    """A group stands for its members, in order, each once."""
    assert [one.label for one in requested_metrics(["beir", "ndcg@10"])] == [
        "ndcg@10", "map@100", "recall@100", "precision@10", "mrr@10",
    ]  # fmt: skip
    assert len(requested_metrics(["all_trec"])) > 80


def test_the_label_is_what_was_asked_for() -> None:
    """The key in a report is the name as it was written; the metric knows its identity."""
    (asked,) = requested_metrics(["P@5"])
    assert (asked.label, str(asked.metric)) == ("P@5", "precision@5")


def test_bare_names_follow_the_judge() -> None:
    """A quantity with two ways is judged if there is a judge and lexical if not; a prefix decides."""
    assert requested_metrics(["context_recall"], judged=False)[0].metric.way == "lexical"
    assert requested_metrics(["context_recall"], judged=True)[0].metric.way == "judged"
    assert requested_metrics(["lexical.context_recall"], judged=True)[0].metric.way == "lexical"
    assert requested_metrics(["exact_match"], judged=True)[0].metric.way == "lexical"


def test_thresholds_lie_in_the_unit_interval() -> None:
    """A threshold of a tool that counts to ten is an error that names the value meant."""
    assert check_threshold("faithfulness", 0.7) == 0.7
    with pytest.raises(InputError, match=r"write 0\.5"):
        check_threshold("LLMRAGFaithfulness", 5)
    with pytest.raises(InputError, match=r"must be in \[0, 1\]"):
        check_threshold("faithfulness", 7)
