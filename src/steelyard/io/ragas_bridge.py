"""Samples as a ragas ``EvaluationDataset``; the way back is ``read_samples``, which takes one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..core.errors import MissingExtra
from ..core.records import Sample
from .foreign_formats import ragas_row
from .samples import read_samples

if TYPE_CHECKING:
    from ragas import EvaluationDataset


def as_ragas_dataset(samples: Iterable[Sample | Mapping[str, object]] | object) -> EvaluationDataset:
    """Samples (or whatever ``read_samples`` takes) as a ragas dataset of single-turn samples.

    Of several references the first goes along, and of relevance the ids; the sample's id, spans, tags and metadata
    have no place there.

    Raises MissingExtra (an ImportError) without ragas: pip install 'steelyard[ragas]'.
    """
    try:
        from ragas import EvaluationDataset
    except ImportError as error:
        raise MissingExtra("ragas", extra="ragas") from error
    return EvaluationDataset.from_list([ragas_row(sample) for sample in read_samples(samples)])
