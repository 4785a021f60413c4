"""Samples as a ragas ``EvaluationDataset``; the way back is ``read_samples``, which takes one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .errors import MissingExtra
from .records import Sample
from .samples import read_samples

if TYPE_CHECKING:
    from ragas import EvaluationDataset

FIELDS = ("user_input", "response", "retrieved_contexts", "reference_contexts")
"""The fields that have the same name and shape there; a reference is one text there."""


def as_ragas_dataset(samples: Iterable[Sample | Mapping[str, object]] | object) -> EvaluationDataset:
    """Samples (or whatever ``read_samples`` takes) as a ragas dataset of single-turn samples.

    Of several references the first goes along; ids, relevance, spans, tags and metadata have no place there.

    Raises MissingExtra (an ImportError) without ragas: pip install 'steelyard[ragas]'.
    """
    try:
        from ragas import EvaluationDataset
    except ImportError as error:
        raise MissingExtra("ragas", extra="ragas") from error
    return EvaluationDataset.from_list([_row(sample) for sample in read_samples(samples)])


def _row(sample: Sample) -> dict[str, object]:
    row = {name: value for name in FIELDS if (value := getattr(sample, name)) is not None}
    return {**row, "reference": sample.references[0]} if sample.references else row
