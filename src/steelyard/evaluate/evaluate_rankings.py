"""Score rankings: a run or a retriever in, a report out."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..core import metric_names, wording
from ..core.errors import InputError, WrongType
from ..core.records import Qrels, Run, Sample
from ..metrics.lookup import RequestedMetric, requested_metrics
from ..metrics.registry import Metric
from ..ranking.rankings import Compat, Duplicates, Missing, Rankings, Ties, Undefined as UndefinedPolicy
from ..ranking.trec.files import load_rankings
from ..reports.estimates import pool_report
from ..reports.provenance import DatasetNote, MetricNote, stamp, versions
from ..reports.report import Report
from ..stats.pooling import Column

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from ..datasets.dataset import Dataset

    Table: TypeAlias = pl.DataFrame | pd.DataFrame

DEFAULT_METRICS = ("ndcg@10", "map", "mrr@10", "recall@100")
NOTHING_RELEVANT = "nothing relevant is judged for this query"
Tags = Mapping[str, Mapping[str, str]]


def evaluate_run(
    run: Run | Table | str | PathLike[str],
    qrels: Qrels | Table | str | PathLike[str],
    metrics: Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    compat: Compat = "steelyard",
    missing: Missing | None = None,
    undefined: UndefinedPolicy | None = None,
    duplicates: Duplicates = "error",
    ties: Ties = "docid",
    drop_self: bool = False,
    relevance_level: float | None = None,
    judged_only: bool = False,
    depth: int | None = None,
    by: Tags | None = None,
    cluster: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    encoding: str = "utf-8",
    name: str = "",
    threads: int | None = None,
) -> Report:
    """Score a run against qrels.

    ``run`` and ``qrels`` are paths, mappings ``{query: {document: number}}`` or DataFrames. A judged query that is
    not in the run scores 0 (``missing="zero"``), with a warning; a query without relevant documents is undefined. With
    ``compat="trec_eval"`` every value equals the output of trec_eval 9.0.8. ``by`` is ``{tag: {query: value}}``.
    A large file is read by several ``threads``, by default one for each processor; results do not depend on them.

    Raises InputError for bad input, with file and line, and for a metric that is unknown or not a ranking metric.

    >>> report = evaluate_run({"q1": {"d1": 2.0, "d2": 1.0}}, {"q1": {"d2": 1}}, ["mrr", "recall@1", "ndcg@10"])
    >>> report.metrics["mrr"], report.metrics["recall@1"], round(report.metrics["ndcg@10"], 4)
    (0.5, 0.0, 0.6309)
    """
    started = time.time()
    requested = ranking_metrics(metrics)
    rankings = load_rankings(
        run,
        qrels,
        encoding=encoding,
        compat=compat,
        missing=missing,
        undefined=undefined,
        duplicates=duplicates,
        ties=ties,
        drop_self=drop_self,
        relevance_level=relevance_level,
        judged_only=judged_only,
        depth=depth,
        threads=threads,
    )
    report = report_of(
        rankings,
        requested,
        dataset=Path(fspath(qrels)).name if isinstance(qrels, str | PathLike) else "",
        by=by,
        cluster=cluster,
        confidence=confidence,
        seed=seed,
    )
    report.system = name or (rankings.run_id if isinstance(run, str | PathLike) else "")
    report.run = stamp(started)
    return report


def report_of(
    rankings: Rankings,
    requested: Sequence[RequestedMetric],
    *,
    dataset: str,
    by: Tags | None = None,
    cluster: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Report:
    """The report of rankings that are joined with their qrels."""
    report = score_rankings(rankings, requested)
    report.dataset = DatasetNote(name=dataset, digest=_digest(rankings))
    if by:
        report.samples = [
            Sample(id=query, tags={tag: values[query] for tag, values in by.items() if query in values})
            for query in report.ids
        ]
    clusters = None if cluster is None else [cluster.get(query, f"(none {query})") for query in report.ids]
    pool_report(report, by=list(by or ()), clusters=clusters, confidence=confidence, seed=seed)
    return report


def evaluate_retrieval(
    retriever: object,
    qrels: Qrels | Dataset,
    queries: Mapping[str, str] | None = None,
    *,
    k_values: Sequence[int] = (1, 5, 10, 100),
    metrics: Iterable[str] = ("ndcg", "recall", "precision", "mrr", "map"),
    limit: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    name: str = "",
) -> Report:
    """Call a retriever with every judged query and score its results.

    ``qrels`` are ``{query: {document: grade}}`` and ``queries`` the texts by the same ids; a ``Dataset`` holds both.

    ``retriever`` has ``.search(query, limit=)`` or ``.retrieve(query, k)``, or is a callable; it returns ids,
    ``(id, score)`` pairs, hits with ``source_id`` or mappings, best first. Chunks count as their source document, at
    its best rank. Queries without text or without a relevant document are skipped. ``metrics`` are computed at
    every k of ``k_values``; ``limit`` is the number of requested documents, by default the largest k.

    Raises TypeError for an object that is no retriever, ValueError for an unknown metric or if nothing can be scored.
    An exception of the retriever is raised to the caller, with the query in a note.

    >>> qrels, queries = {"q1": {"d1": 1}}, {"q1": "Which?"}
    >>> report = evaluate_retrieval(
    ...     lambda query, k: ["d2", "d1"], qrels, queries, k_values=(1, 2), metrics=("recall", "mrr")
    ... )
    >>> report.metrics
    {'recall@1': 0.0, 'recall@2': 1.0, 'mrr@1': 0.0, 'mrr@2': 0.5}
    >>> report.n_queries, report.primary is None
    (1, True)
    """
    started = time.time()
    if not k_values or any(isinstance(k, bool) or not isinstance(k, int) or k < 1 for k in k_values):
        raise InputError(f"k_values={k_values!r}: expected whole numbers of at least 1")
    requested = ranking_metrics(_at_every_k(metrics, k_values))
    judged, texts = _qrels_and_texts(qrels, queries)
    depth = max(k_values) if limit is None else limit
    if depth < 1:
        raise InputError(f"limit={limit}: must be at least 1")
    scorable = {
        query: grades
        for query, grades in judged.items()
        if (texts.get(query) or "").strip() and any(grade > 0 for grade in grades.values())
    }
    if not scorable:
        raise InputError(_reason_for_no_scores(judged, texts))
    from ..systems.adapters import name_of
    from ..systems.collect import retrieve_ids

    retrieved = retrieve_ids(retriever, {query: texts[query] for query in scorable}, depth)
    run = {query: {doc: float(len(ids) - rank) for rank, doc in enumerate(ids)} for query, ids in retrieved.ids.items()}
    rankings = load_rankings(run, scorable, ties="given")
    report = score_rankings(rankings, requested)
    report.system = name or name_of(retriever)
    report.k_values = tuple(k_values)
    report.dataset = DatasetNote(digest=_digest(rankings))
    report.samples = [
        Sample(id=query, user_input=texts[query], retrieved_ids=list(run[query]), relevance=dict(scorable[query]))
        for query in report.ids
    ]
    if retrieved.repeated:
        repeated = wording.pluralize(retrieved.repeated, "repeated document")
        report.warnings.append(f"{repeated} in the results: each counts once, at its best rank")
    if left_out := len(judged) - len(scorable):
        skipped = "without text or without a relevant document"
        report.warnings.append(
            wording.pluralize(left_out, f"query {skipped} was skipped", f"queries {skipped} were skipped")
        )
    pool_report(report, by=(), clusters=None, confidence=confidence, seed=seed)
    report.run = stamp(started)
    return report


def aevaluate_run(*args: object, **options: object) -> Awaitable[Report]:
    """``evaluate_run`` for callers with an event loop."""
    import asyncio

    return asyncio.to_thread(evaluate_run, *args, **options)  # type: ignore[arg-type]


def aevaluate_retrieval(*args: object, **options: object) -> Awaitable[Report]:
    """``evaluate_retrieval`` for callers with an event loop."""
    import asyncio

    return asyncio.to_thread(evaluate_retrieval, *args, **options)  # type: ignore[arg-type]


def ranking_metrics(metrics: Iterable[str | Metric]) -> list[RequestedMetric]:
    """The ranking metrics of a list of names; InputError for any other metric."""
    requested = requested_metrics(metrics)
    if not requested:
        raise InputError("no metrics requested")
    for one in requested:
        if one.metric.kind != "ranking":
            raise InputError(f"{one.label} is not a ranking metric; use `steelyard eval` for metrics of answers")
    return requested


def score_rankings(rankings: Rankings, requested: Sequence[RequestedMetric]) -> Report:
    """A report with a column per metric, not yet pooled."""
    policy = rankings.policy
    report = Report(kind="ranking", ids=list(rankings.queries), versions=versions())
    report.policy = {
        "compat": policy.compat,
        "missing": policy.missing,
        "undefined": policy.undefined,
        "duplicates": policy.duplicates,
        "ties": policy.ties,
        "drop_self": policy.drop_self,
        "relevance_level": policy.relevance_level,
        "judged_only": policy.judged_only,
        "depth": policy.depth,
    }
    for label, metric in requested:
        values = np.asarray(metric.rule(rankings, **metric.params), dtype=np.float64)
        report.columns[label] = Column.of(rankings.settle(values), NOTHING_RELEVANT)
        report.notes[label] = MetricNote(
            name=str(metric),
            way=metric.way,
            revision=metric.revision,
            pool=metric.pool,
            higher_is_better=metric.higher_is_better,
            bounds=metric.bounds,
            remedy=metric.hint,
        )
    report.warnings = _warnings(rankings)
    return report


def _warnings(rankings: Rankings) -> list[str]:
    counts, lines = rankings.counts, []
    if counts.missing:
        zero = rankings.policy.missing == "zero"
        one = f"judged query is not in the run and {'scores 0' if zero else 'is left out'}"
        many = f"judged queries are not in the run and {'score 0' if zero else 'are left out'}"
        lines.append(f"{wording.pluralize(len(counts.missing), one, many)}: {_some(counts.missing)}")
    if counts.ignored:
        one, many = "query of the run is not in the qrels and is", "queries of the run are not in the qrels and are"
        lines.append(f"{wording.pluralize(len(counts.ignored), one, many)} ignored: {_some(counts.ignored)}")
    if counts.tied:
        order = "the order given" if rankings.policy.ties == "given" else "document id, descending"
        others = "other orders: --tie-bounds"
        tied = wording.pluralize(counts.tied, "query has", "queries have")
        lines.append(f"{tied} tied scores; ties are broken by {order} ({others})")
    if counts.duplicates:
        removed = wording.pluralize(counts.duplicates, "repeated document was", "repeated documents were")
        lines.append(f"{removed} removed; each counts once, at its best rank")
    if rankings.policy.drop_self:
        hits = wording.pluralize(counts.dropped_self, "hit equal to its query was", "hits equal to their query were")
        lines.append(f"{hits} dropped")
    return lines


def _some(ids: Sequence[str], most: int = 5) -> str:
    return ", ".join(ids[:most]) + (f", … ({len(ids) - most} more)" if len(ids) > most else "")


def _digest(rankings: Rankings) -> str:
    """A hash of the qrels in use: the queries and their grades."""
    digest = blake2b(digest_size=12)
    digest.update("\0".join(rankings.queries).encode("utf-8", "surrogatepass"))
    digest.update(rankings.judged_starts.astype("<i8").tobytes())
    digest.update(rankings.judged.astype("<f8").tobytes())
    return digest.hexdigest()


def _qrels_and_texts(qrels: Qrels | Dataset, queries: Mapping[str, str] | None) -> tuple[Qrels, Mapping[str, str]]:
    """The qrels and the texts of queries; a Dataset has both."""
    from ..datasets.dataset import Dataset

    if isinstance(qrels, Dataset):
        judged: Qrels = qrels.qrels
        queries = qrels.query_texts if queries is None else queries
    elif isinstance(qrels, Mapping):
        judged = qrels
    else:
        raise WrongType(f"qrels: expected {{query: {{document: grade}}}} or a Dataset, found {type(qrels).__name__}")
    if not isinstance(queries, Mapping):
        raise WrongType(f"queries: expected {{query: text}}, found {type(queries).__name__}")
    return judged, queries


def _at_every_k(metrics: Iterable[str], k_values: Sequence[int]) -> list[str]:
    """``ndcg`` at every k; a name with its own cut-off stays unchanged."""
    wanted = []
    for text in [metrics] if isinstance(metrics, str) else metrics:
        base, params = metric_names.parse(text)
        takes_k = "k" in ranking_metrics([text])[0].metric.parameters
        if "k" in params or not takes_k:
            wanted.append(text)
        else:
            wanted += [metric_names.show(base, {**params, "k": k}) for k in k_values]
    return wanted


def _reason_for_no_scores(qrels: Qrels, queries: Mapping[str, str]) -> str:
    if not qrels:
        return "nothing to score: the qrels are empty"
    if not set(qrels) & set(queries):
        return (
            "nothing to score: qrels and queries share no id"
            f" (qrels: {_some(list(qrels), 3)}; queries: {_some(list(queries), 3)})"
        )
    return "nothing to score: no query has both text and a relevant document"
