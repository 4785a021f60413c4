"""Agreement of metrics with people: a pack of labelled answers is scored and compared with the labels.

A pack is a file of samples with a field ``human``: ``faithful``, ``correct`` and ``relevant`` are 0 or 1, ``score`` is
a finer rating of the same, and ``preference`` or ``pref_…`` is below 0 if people preferred ``response``, and above 0 if
they preferred ``response_b``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike

from msgspec import Struct, structs

from ..core.errors import InputError
from ..core.records import Json, Sample
from ..evaluate.evaluate_samples import evaluate_rag
from ..io.samples import read_samples
from ..metrics.lookup import requested_metrics
from ..models.embedder import Embedder
from ..stats.agreement import Agreement, IntervalOptions, balanced_accuracy, roc_auc, spearman

JUDGES = {
    "faithful": ("lexical.faithfulness",),
    "correct": ("lexical.answer_correctness",),
    "relevant": ("lexical.context_relevancy",),
    "preference": ("lexical.answer_correctness",),
}
"""Default metrics of each label."""

THRESHOLD = 0.5


class PackAgreement(Struct, frozen=True):
    """Agreement of one metric with one label, in one slice of a pack.

    ``good`` is the number of samples labelled 1 (for preferences: pairs with a preferred second response); ``without``
    is the number of samples without a value of the metric. ``balanced`` is balanced accuracy at ``threshold``; for
    preferences it is over pairs without ties, and the second response is predicted if its value is higher.
    """

    pack: str
    slice: str
    label: str
    metric: str
    n: int
    good: int
    without: int
    threshold: float | None
    auc: Agreement
    balanced: Agreement
    rank: Agreement
    way: str = ""


class _Row(Struct, frozen=True):
    """One labelled sample with its resampling cluster and its slices."""

    label: float
    finer: float
    cluster: str
    slices: tuple[str, ...]


def measure_agreement(
    pack: str | PathLike[str],
    *,
    metrics: Sequence[str] | None = None,
    label: str | None = None,
    by: Sequence[str] = ("split",),
    threshold: float = THRESHOLD,
    embedder: Embedder | str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[PackAgreement]:
    """Score a pack and compare with its labels: area under the ROC curve, balanced accuracy, rank correlation.

    ``metrics`` are asked about ``label``, or about every label of the pack; without them each label has its own metric.
    ``by`` slices by paths into the rows (``split``, ``meta.model``). Intervals resample whole sources: samples that
    share their passages, or their question where there are none, go together.
    """
    samples = read_samples(pack)
    name = str(pack).replace("\\", "/").rpartition("/")[2].partition(".")[0]
    found = _labels(samples, name) if label is None else [label]
    asked: dict[str, Sequence[str]] = {one: JUDGES.get(_kind(one), ()) if metrics is None else metrics for one in found}
    if missing := [one for one in found if not asked[one]]:
        raise InputError(f"no metric is known for the label {missing[0]}: name one with --metric", path=str(pack))
    wanted = list(dict.fromkeys(metric for names in asked.values() for metric in names))
    values = _scored(samples, wanted, embedder)
    seconds = (
        _scored([_second(one) for one in samples], wanted, embedder)
        if any(_kind(one) == "preference" for one in found)
        else {}
    )
    how: IntervalOptions = {"confidence": confidence, "seed": seed}
    results: list[PackAgreement] = []
    for one in found:
        rows = [_row(sample, one, by) for sample in samples]
        for metric in asked[one]:
            pairs = _kind(one) == "preference"
            scores = _differences(values[metric], seconds[metric]) if pairs else values[metric]
            limit = None if pairs else threshold
            results += _agreement_by_slice(name, one, metric, rows, scores, limit, how)
    ways = {metric: requested_metrics([metric], judged=False)[0].metric.way for metric in wanted}
    return [structs.replace(one, way=ways[one.metric]) for one in results]


def _scored(
    samples: Sequence[Sample], metrics: Sequence[str], embedder: Embedder | str | None
) -> dict[str, list[float | None]]:
    report = evaluate_rag(samples, metrics=metrics, embedder=embedder)
    return {one: [score.get(one) for score in report.per_sample.values()] for one in metrics}


def _second(sample: Sample) -> Sample:
    other = sample.metadata.get("response_b")
    return structs.replace(sample, response=other if isinstance(other, str) else None)


def _differences(first: Sequence[float | None], second: Sequence[float | None]) -> list[float | None]:
    return [None if a is None or b is None else b - a for a, b in zip(first, second, strict=True)]


def _agreement_by_slice(
    pack: str,
    label: str,
    metric: str,
    rows: Sequence[_Row | None],
    scores: Sequence[float | None],
    threshold: float | None,
    how: IntervalOptions,
) -> Iterator[PackAgreement]:
    labelled = [(row, score) for row, score in zip(rows, scores, strict=True) if row is not None]
    names = ["all", *dict.fromkeys(sorted(slice_ for row, _ in labelled for slice_ in row.slices))]
    if len(names) == 2:  # one slice is all there is
        names = names[1:]
    for name in names:
        part = [(row, score) for row, score in labelled if name == "all" or name in row.slices]
        yield _slice_agreement(pack, name, label, metric, part, threshold, how)


def _slice_agreement(
    pack: str,
    name: str,
    label: str,
    metric: str,
    part: Sequence[tuple[_Row, float | None]],
    threshold: float | None,
    how: IntervalOptions,
) -> PackAgreement:
    limit = 0.0 if threshold is None else threshold
    decided = [(row, score) for row, score in part if threshold is not None or row.label]
    good = [float(row.label > 0) for row, _ in decided]
    scores = [score for _, score in decided]
    called = [None if score is None else float(score > limit or (score == limit and bool(limit))) for score in scores]
    decided_options: IntervalOptions = {**how, "cluster": [row.cluster for row, _ in decided]}
    all_options: IntervalOptions = {**how, "cluster": [row.cluster for row, _ in part]}
    return PackAgreement(
        pack,
        name,
        label,
        metric,
        len(part),
        int(sum(good)),
        sum(score is None for _, score in part),
        threshold,
        roc_auc(good, scores, **decided_options),
        balanced_accuracy(good, called, **decided_options),
        spearman([row.finer for row, _ in part], [score for _, score in part], **all_options),
    )


def _kind(label: str) -> str:
    return "preference" if label.startswith("pref") else label


def _labels(samples: Sequence[Sample], pack: str) -> list[str]:
    """Return the labels of a pack that metrics can predict; of several preferences only the overall one."""
    seen = dict.fromkeys(name for sample in samples for name in _human(sample))
    known = [name for name in seen if name in JUDGES or name == "pref_overall"]
    if not known:
        names = ", ".join([*JUDGES])
        raise InputError(f"no human labels: expected a field human with one of {names}", path=pack, field="human")
    return known


def _human(sample: Sample) -> Mapping[str, Json]:
    human = sample.metadata.get("human")
    return human if isinstance(human, dict) else {}


def _row(sample: Sample, label: str, by: Sequence[str]) -> _Row | None:
    human = _human(sample)
    value = human.get(label)
    if not isinstance(value, int | float):
        return None
    finer = human.get("score") if label in ("faithful", "correct") else None
    source = " ".join(sample.retrieved_contexts or []) or sample.user_input or sample.id
    slices = tuple(f"{path}={found}" for path in by if (found := _at(sample, path)) is not None)
    return _Row(float(value), float(finer) if isinstance(finer, int | float) else float(value), source, slices)


def _at(sample: Sample, path: str) -> str | None:
    """Return the value at a path of the tags or the metadata of a sample."""
    if path in sample.tags:
        return sample.tags[path]
    found: Json = sample.metadata
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return None if found is None or isinstance(found, dict | list) else str(found)
