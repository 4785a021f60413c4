"""What holds of every ranking measure: order, blocks, threads and company do not matter, and bounds are kept."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from steelyard.metrics.lookup import get_metric
from steelyard.metrics.registry import Metric
from steelyard.ranking.join import join
from steelyard.ranking.policy import Policy
from steelyard.ranking.rankings import Rankings
from steelyard.ranking.trec import block_parser, measure_names
from steelyard.ranking.trec.files import load_rankings, write_qrels

NAMES = [
    *dict.fromkeys(
        name for one in ("all_trec", "ndcg.1=1,2=3", "set_F.0.5") for name in measure_names.metric_names(one) or ()
    ),
    *("f@10", "f(beta=2)@5", "hit@3", "dcg@10", "ndcg(gain=exponential)@10", "rbp", "rbp(p=0.5, graded=true)@10"),
    *("err@10", "judged@10", "mrr@10", "precision", "recall(rel=2)@100", "map(rel=2)@10"),
]
METRICS: dict[str, Metric] = {name: get_metric(name, way="ranking") for name in NAMES}


def made(seed: int, size: int = 60) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """A run with ties and qrels with grades from -1 to 3."""
    chance = random.Random(seed)
    docs = [f"doc-{at}" for at in range(3 * size)]
    run = {
        f"q{q}": {
            doc: chance.choice([round(chance.gauss(0, 1), 1), chance.gauss(0, 1)]) for doc in chance.sample(docs, size)
        }
        for q in range(12)
    }
    qrels = {f"q{q}": {doc: chance.randint(-1, 3) for doc in chance.sample(docs, size // 2)} for q in range(1, 13)}
    return run, qrels


RUN, QRELS = made(1)


def weighed(rankings: Rankings) -> dict[str, list[str]]:
    """All values of all measures, exact."""
    return {name: list(map(float.hex, one.rule(rankings, **one.params).tolist())) for name, one in METRICS.items()}  # type: ignore[arg-type, attr-defined]


WEIGHED = weighed(join(RUN, QRELS))


def written(path: Path, lines: list[str]) -> Path:
    """A file of lines."""
    path.write_text("".join(lines))
    return path


@pytest.fixture
def lines() -> list[str]:
    """The run as lines, queries together, in no order within a query."""
    return [f"{q} Q0 {doc} 1 {score!r} t\n" for q, ranking in RUN.items() for doc, score in ranking.items()]


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    """The judgements as a file."""
    write_qrels(tmp_path / "a.qrels", QRELS)
    return tmp_path / "a.qrels"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_lines_does_not_matter(tmp_path: Path, lines: list[str], qrels: Path, seed: int) -> None:
    """Of the run and of the qrels: grouped, sorted, or all mixed; the same bits."""
    chance = random.Random(seed)
    assert weighed(load_rankings(written(tmp_path / "a.run", lines), qrels)) == WEIGHED
    chance.shuffle(lines)
    judged = qrels.read_text().splitlines(keepends=True)
    chance.shuffle(judged)
    mixed = load_rankings(written(tmp_path / "b.run", lines), written(tmp_path / "b.qrels", judged))
    assert weighed(mixed) == WEIGHED
    by_score = sorted(lines, key=lambda line: (line.split()[0], -float(line.split()[4])))
    assert weighed(load_rankings(written(tmp_path / "c.run", by_score), qrels)) == WEIGHED


@pytest.mark.parametrize("block", [1, 7, 100, 1000, 4096, 1 << 20])
def test_where_blocks_end_does_not_matter(
    tmp_path: Path, lines: list[str], qrels: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of any size, in both ways of reading."""
    monkeypatch.setattr(block_parser, "BLOCK", block)
    path = written(tmp_path / "a.run", lines)
    assert weighed(load_rankings(path, qrels)) == WEIGHED
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert weighed(load_rankings(path, qrels)) == WEIGHED


def test_the_number_of_threads_does_not_matter(tmp_path: Path, lines: list[str], qrels: Path) -> None:
    """Several at once, each as if alone."""
    path = written(tmp_path / "a.run", lines)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: weighed(load_rankings(path, qrels)), range(8))) == [WEIGHED] * 8


def test_company_does_not_matter() -> None:
    """A measure gives the same whether it is asked first, last or alone, and leaves the table as it was."""
    for name, one in METRICS.items():
        alone = one.rule(join(RUN, QRELS), **one.params)  # type: ignore[operator]
        assert list(map(float.hex, alone.tolist())) == WEIGHED[name]
    backwards = join(RUN, QRELS)
    for name, one in reversed(METRICS.items()):
        assert list(map(float.hex, one.rule(backwards, **one.params).tolist())) == WEIGHED[name]  # type: ignore[attr-defined]


def test_a_query_does_not_depend_on_the_others() -> None:
    """Each query by itself has the value that it has among all; only the highest grade is of the whole qrels."""
    for query in QRELS.keys() & RUN.keys():
        alone = join({query: RUN[query]}, {query: {**QRELS[query], "absent": 3}})
        among = join(RUN, {**QRELS, query: {**QRELS[query], "absent": 3}})
        at = among.queries.index(query)
        for one in METRICS.values():
            expected, actual = (one.rule(table, **one.params) for table in (alone, among))  # type: ignore[operator]
            assert expected[0] == actual[at] or np.isnan([expected[0], actual[at]]).all(), str(one)


@pytest.mark.parametrize("policy", [{}, {"relevance_level": 2}, {"judged_only": True}, {"depth": 5}])
def test_bounds_are_kept(policy: dict[str, object]) -> None:
    """Values lie in the bounds that a metric declares; NaN where and only where nothing is relevant."""
    for seed in range(20):
        rankings = join(*made(seed, 20), Policy(**policy))  # type: ignore[arg-type]
        for one in METRICS.values():
            values = one.rule(rankings, **one.params)  # type: ignore[operator]
            assert values.shape == (len(rankings),)
            if one.bounds is not None:
                inside = values[~np.isnan(values)]
                assert inside.size == 0 or (inside.min() >= 0 and inside.max() <= 1 + 1e-12), str(one)


def test_a_perfect_ranking_is_one() -> None:
    """All relevant documents first, by grade, and nothing else."""
    grades = {"a": 3, "b": 2, "c": 1, "x": 0}
    perfect = join({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": grades})
    names = ["map", "mrr", "ndcg", "ndcg@2", "rprec", "bpref", "11pt", "infap", "g", "bing", "rndcg", "ndcg_rel"]
    names += ["set_f", "set_map", "f@3", "hit@1", "judged@3", "recall@3", "precision@3", "relative_p@10"]
    for name in names:
        one = get_metric(name, way="ranking")
        assert one.rule(perfect, **one.params).tolist() == pytest.approx([1.0], abs=1e-5), name  # type: ignore[attr-defined]


def test_names_print_and_parse_back() -> None:
    """The printed form of every metric is read as the same metric."""
    for one in METRICS.values():
        assert get_metric(str(one), way="ranking") == one
