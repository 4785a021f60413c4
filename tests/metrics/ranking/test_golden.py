"""Every answer of trec_eval 9.0.8 in tests/golden, and on three submitted runs of TREC."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from steelyard.core.errors import InputError
from steelyard.ranking.policy import Policy
from steelyard.ranking.trec.files import load_rankings
from steelyard.render.trec_eval import trec_eval_lines

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
OURS = {"dup_docs", "dup_qrels", "comments", "five_cols", "nonnum_score", "float_grade"}
THEIRS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir() and path.name not in OURS)
FLAGS: dict[str, dict[str, object]] = {
    "default": {},
    "c": {"missing": "zero"},
    "l2": {"relevance_level": 2},
    "J": {"judged_only": True},
    "M5": {"depth": 5},
    "params": {},
}
PARAMS = ["P.1,3,7", "recall.1,3", "ndcg_cut.1,3,7", "ndcg.1=1,2=3,3=7", "set_F.0.5", "success.2,3", "map_cut.1,3"]
PARAMS += ["utility.2,-1,0,0"]


def file(case: str, name: str) -> Path:
    """A file of a case, zipped or not."""
    path = GOLDEN / case / name
    return path if path.exists() else path.with_name(name + ".gz")


def assert_same(expected: list[str], actual: list[str]) -> None:
    """The same lines, numbers to a relative 1e-12."""
    assert [line.rpartition("\t")[0] for line in expected] == [line.rpartition("\t")[0] for line in actual]
    for one, other in zip(expected, actual, strict=True):
        if one != other:
            name, _, value = one.rpartition("\t")
            assert float(value) == pytest.approx(float(other.rpartition("\t")[2]), rel=1e-12, abs=0), name


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("case", THEIRS)
def test_every_measure_is_trec_evals(case: str, flags: str) -> None:
    """All measures, per query and pooled, in each set of flags."""
    rankings = load_rankings(file(case, "run"), file(case, "qrels"), compat="trec_eval", **FLAGS[flags])
    requests = PARAMS if flags == "params" else ["all_trec"]
    actual = trec_eval_lines(rankings, requests, per_query=True, precision=17)
    expected = gzip.decompress((GOLDEN / case / f"expected.{flags}.txt.gz").read_bytes()).decode()
    assert_same(expected.splitlines(), list(actual))


@pytest.mark.parametrize("name", ["UAmsT03RDesc", "fub03IeOLKe3", "pircRBa1"])
def test_submitted_runs_are_trec_evals(shared: Path, name: str) -> None:
    """Three runs of the Robust track of 2003, 100 queries each."""
    folder = shared / "retrieval" / "trec_robust03"
    rankings = load_rankings(folder / f"input.{name}.gz", folder / "qrels.txt", compat="trec_eval")
    expected = gzip.decompress((folder / f"input.{name}.expected.default.txt.gz").read_bytes()).decode()
    actual = trec_eval_lines(rankings, ["all_trec"], per_query=True, precision=17)
    assert_same(expected.splitlines(), list(actual))


@pytest.mark.parametrize(
    ("case", "line", "words"),
    [
        ("dup_docs", "run:3", "'d1' is in query 'q1' already, from line 1 (--duplicates best"),
        ("dup_qrels", "qrels:2", "'d1' is in query 'q1' already, from line 1"),
        ("comments", "qrels:1", "2 columns, expected 4"),
        ("five_cols", "run:1", "5 columns, expected 6"),
        ("nonnum_score", "run:1", "score: expected a number, found 'abc'"),
    ],
)
@pytest.mark.parametrize("compat", ["steelyard", "trec_eval"])
def test_bad_input_is_one_line_with_its_place(case: str, line: str, words: str, compat: str) -> None:
    """Where trec_eval quits or guesses, we say what is wrong and where."""
    with pytest.raises(InputError) as caught:
        load_rankings(file(case, "run"), file(case, "qrels"), compat=compat)
    assert str(caught.value).startswith(str(GOLDEN / case / line) + ":")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_repeated_documents_keep_their_best_rank() -> None:
    """The same file under duplicates="best": one hit less, and counted."""
    rankings = load_rankings(file("dup_docs", "run"), file("dup_docs", "qrels"), duplicates="best")
    assert rankings.ranks.tolist() == [1, 2]
    assert rankings.retrieved.tolist() == [2]
    assert rankings.counts.duplicates == 1


def test_an_extra_column_is_accepted_only_under_compat() -> None:
    """The case `whitespace` has a line of eight columns."""
    with pytest.raises(InputError, match=r"run:3: 8 columns, expected 6"):
        load_rankings(file("whitespace", "run"), file("whitespace", "qrels"))


def test_grades_may_be_fractions() -> None:
    """0.5 and 1.9 are both positive grades, and the gain is the grade; under compat level 1 is relevant."""
    from steelyard.metrics.ranking.measures import recall
    from steelyard.metrics.ranking.ndcg import ndcg

    rankings = load_rankings(file("float_grade", "run"), file("float_grade", "qrels"))
    assert rankings.num_relevant().tolist() == [2]
    assert recall(rankings, k=1).tolist() == [0.5]
    log3 = 1.584962500721156
    assert ndcg(rankings).tolist() == pytest.approx([(0.5 + 1.9 / log3) / (1.9 + 0.5 / log3)])
    rankings = load_rankings(file("float_grade", "run"), file("float_grade", "qrels"), compat="trec_eval")
    assert rankings.num_relevant().tolist() == [1]


def test_the_output_has_trec_evals_layout() -> None:
    """Four decimals, names in 22 columns, whole numbers without a point, three fields between tabs."""
    rankings = load_rankings(file("missing_query", "run"), file("missing_query", "qrels"), compat="trec_eval")
    lines = list(trec_eval_lines(rankings, ["num_rel", "map", "relstring", "runid"], per_query=True))
    assert lines == [
        "num_rel               \tq1\t1",
        "map                   \tq1\t1.0000",
        "relstring             \tq1\t'10'",
        "num_rel               \tq3\t1",
        "map                   \tq3\t0.5000",
        "relstring             \tq3\t'-1'",
        "runid                 \tall\tt",
        "num_rel               \tall\t2",
        "map                   \tall\t0.7500",
    ]


def test_compat_sets_the_policies() -> None:
    """What compat="trec_eval" stands for, and that -c may be added."""
    policy = Policy(compat="trec_eval")
    assert (policy.missing, policy.undefined, policy.level) == ("skip", "zero", 1)
    assert Policy(compat="trec_eval", missing="zero").missing == "zero"
    assert (Policy().missing, Policy().undefined, Policy().level) == ("zero", "skip", None)
