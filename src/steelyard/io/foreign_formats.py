"""Read and write samples in the formats of other tools: ragas rows, deepeval test cases, promptfoo tests.

Fields that a deepeval case or a promptfoo test does not support are written to its metadata under the key
``steelyard`` and restored when it is read (``deepeval_promptfoo``). Ragas rows have no metadata to write them to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..core.errors import InputError, MissingExtra
from ..core.records import Json, Sample
from .deepeval_promptfoo import CONTAINS, CONTAINS_ANY, EXTRA_KEY, Fields, of_deepeval, of_promptfoo
from .row_parser import RowParser
from .rows import Row, RowPlace, rows_of_file
from .samples import read_samples, samples_of
from .text_files import read_utf8, suffix_of, writing

if TYPE_CHECKING:
    from ragas import EvaluationDataset

YAML = (".yaml", ".yml")


def ragas_row(sample: Sample) -> Fields:
    """Convert a sample to a row of ragas: the first reference only, and relevant ids without grades."""
    row: Fields = {
        "user_input": sample.user_input,
        "response": sample.response,
        "retrieved_contexts": sample.retrieved_contexts,
        "reference": next(iter(sample.references), None),
        "reference_contexts": sample.reference_contexts,
        "retrieved_context_ids": sample.retrieved_ids,
        "reference_context_ids": None if sample.relevance is None else relevant(sample),
    }
    return _without_none(row)


def relevant(sample: Sample) -> list[str]:
    """The ids of the documents with a positive grade."""
    return [doc for doc, grade in (sample.relevance or {}).items() if grade > 0]


# deepeval


def deepeval_case(sample: Sample) -> Fields:
    """Convert a sample to a test case of deepeval."""
    several = ["reference"] if isinstance(sample.reference, list) else []
    case: Fields = {
        "name": sample.id or None,
        "input": sample.user_input,
        "actual_output": sample.response,
        "expected_output": next(iter(sample.references), None),
        "retrieval_context": sample.retrieved_contexts,
        "context": sample.reference_contexts,
        "additional_metadata": _with_extra_fields(
            sample.metadata, sample, ["retrieved_ids", "relevance", "relevant_spans", "tags", *several]
        ),
    }
    return _without_none(case)


# promptfoo


def promptfoo_test(sample: Sample) -> Fields:
    """Convert a sample to a test of promptfoo, which asserts that the output contains a reference, ignoring case."""
    metadata, reference = dict(sample.metadata), sample.reference
    inside = ["user_input", "response", "metadata"]
    if isinstance(given := metadata.get("assert"), list) and given:
        asserted: list[Json] = given  # assertions read from a promptfoo file; the reference was taken from them
        del metadata["assert"]
    else:
        kind = CONTAINS if isinstance(reference, str) else CONTAINS_ANY
        asserted = [{"type": kind, "value": msgspec.to_builtins(reference)}] if reference else []
        inside += ["reference"] if asserted else []
    variables: Fields = {"question": sample.user_input}
    if sample.retrieved_contexts:
        variables["context"] = "\n\n".join(sample.retrieved_contexts)
    test: Fields = {
        "description": sample.id or None,
        "vars": _without_none(variables),
        "assert": asserted or None,
        "providerOutput": sample.response,
        "metadata": _with_extra_fields(
            metadata, sample, [name for name in Sample.__struct_fields__ if name not in inside]
        ),
    }
    return _without_none(test)


# Fields that other tools do not support


def _with_extra_fields(metadata: Mapping[str, object], sample: Sample, names: Iterable[str]) -> Fields | None:
    """Metadata with the sample's unsupported fields under ``EXTRA_KEY``; None if there is nothing to store."""
    extra = _without_none(msgspec.to_builtins({name: getattr(sample, name) for name in names}))
    if not sample.id:
        extra.pop("id", None)
    if not sample.tags:
        extra.pop("tags", None)
    if EXTRA_KEY in metadata:
        metadata, extra["metadata"] = {}, dict(metadata)
    return {**metadata, **({EXTRA_KEY: extra} if extra else {})} or None


def _without_none(fields: Mapping[str, object]) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


# Files


def read_cases(
    path: Path, kind: str, parser: RowParser, encoding: str = "utf-8"
) -> Iterator[Sample | list[InputError]]:
    """The samples of deepeval cases or promptfoo tests (``kind``); an invalid row yields its problems instead."""
    convert = of_promptfoo if kind == "promptfoo" else of_deepeval
    rows = _yaml_rows(path, encoding) if suffix_of(path) in YAML else rows_of_file(path, encoding)
    return samples_of(
        (row._replace(values=convert(row.values)) if isinstance(row.values, Mapping) else row for row in rows), parser
    )


def write_cases(path: Path, samples: Iterable[Sample], kind: str) -> None:
    """Write ragas rows, deepeval cases or promptfoo tests (``kind``): JSON, JSONL for ragas, YAML for promptfoo."""
    convert = {"ragas": ragas_row, "deepeval": deepeval_case, "promptfoo": promptfoo_test}[kind]
    cases, suffix = [convert(sample) for sample in samples], suffix_of(path)
    if suffix == ".json":
        data = msgspec.json.format(msgspec.json.encode(cases), indent=1) + b"\n"
    elif suffix == ".jsonl" and kind == "ragas":
        data = b"".join(msgspec.json.encode(case) + b"\n" for case in cases)
    elif suffix in YAML and kind == "promptfoo":
        data = _yaml_of(cases)
    else:
        expected = {"ragas": ".json or .jsonl", "deepeval": ".json", "promptfoo": ".json or .yaml"}[kind]
        raise InputError(f"cannot write {kind} as {suffix or 'a file without suffix'} (expected {expected})", path=path)
    with writing(path) as file:
        file.write(data)


def _yaml_of(cases: list[Fields]) -> bytes:
    import yaml

    class ExactDumper(yaml.SafeDumper):
        """A dumper that escapes Unicode line ends, which YAML otherwise folds into blanks."""

    def quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = '"' if any(end in text for end in "\r\x85\u2028\u2029") else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    ExactDumper.add_representer(str, quoted)
    return yaml.dump(cases, Dumper=ExactDumper, allow_unicode=True, sort_keys=False, width=120).encode("utf-8")


def _yaml_rows(path: Path, encoding: str) -> Iterator[Row]:
    """The rows of a YAML list, or of the list under ``tests``. Aliases are an error: they can expand beyond memory."""
    import yaml

    class NoAliasLoader(yaml.SafeLoader):
        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem="aliases are not supported", problem_mark=mark)
            return super().compose_node(parent, index)

    try:
        loader = NoAliasLoader(read_utf8(path, encoding).decode("utf-8"))
        node = loader.get_single_node()
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == "tests"), None)
        if not isinstance(node, yaml.SequenceNode):
            raise InputError("expected a list of tests, or tests: with a list", path=path)
        for row, child in enumerate(node.value, 1):
            yield Row(RowPlace(path, child.start_mark.line + 1, row), loader.construct_object(child, deep=True))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"not YAML: {reason}", path=path, line=None if mark is None else mark.line + 1) from None


def as_ragas_dataset(samples: Iterable[Sample | Mapping[str, object]] | object) -> EvaluationDataset:
    """Convert samples (any source that ``read_samples`` accepts) to a ragas dataset of single-turn samples.

    Ragas supports one reference, so the first of several is used, and relevant ids without grades. It does not support
    the sample's id, spans, tags and metadata, which are left out.

    Raises MissingExtra (an ImportError) without ragas: pip install 'steelyard[ragas]'.
    """
    try:
        from ragas import EvaluationDataset
    except ImportError as error:
        raise MissingExtra("ragas", extra="ragas") from error
    return EvaluationDataset.from_list([ragas_row(sample) for sample in read_samples(samples)])
