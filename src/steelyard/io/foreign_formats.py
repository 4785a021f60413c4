"""Samples in the shapes of other tools: ragas rows, deepeval test cases, promptfoo tests.

What a deepeval case or a promptfoo test has no place for stands in its metadata under the key ``steelyard``, and is put
back when it is read (``case_rows``). Ragas rows have no such place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..core.errors import InputError, MissingExtra
from ..core.records import Json, Sample
from .foreign_rows import ANY, ONE, OURS, Fields, of_deepeval, of_promptfoo
from .row_parser import RowParser
from .rows import Row, RowPlace, rows_of_file
from .samples import read_samples, samples_of
from .text_files import read_utf8, suffix_of, writing

if TYPE_CHECKING:
    from ragas import EvaluationDataset

YAML = (".yaml", ".yml")


def ragas_row(sample: Sample) -> Fields:
    """A sample as a row of ragas: the first reference only, and relevant ids without grades."""
    row: Fields = {
        "user_input": sample.user_input,
        "response": sample.response,
        "retrieved_contexts": sample.retrieved_contexts,
        "reference": next(iter(sample.references), None),
        "reference_contexts": sample.reference_contexts,
        "retrieved_context_ids": sample.retrieved_ids,
        "reference_context_ids": None if sample.relevance is None else relevant(sample),
    }
    return _present(row)


def relevant(sample: Sample) -> list[str]:
    """The documents of positive grade."""
    return [doc for doc, grade in (sample.relevance or {}).items() if grade > 0]


# deepeval


def deepeval_case(sample: Sample) -> Fields:
    """A sample as a test case of deepeval."""
    several = ["reference"] if isinstance(sample.reference, list) else []
    case: Fields = {
        "name": sample.id or None,
        "input": sample.user_input,
        "actual_output": sample.response,
        "expected_output": next(iter(sample.references), None),
        "retrieval_context": sample.retrieved_contexts,
        "context": sample.reference_contexts,
        "additional_metadata": _with_ours(
            sample.metadata, sample, ["retrieved_ids", "relevance", "relevant_spans", "tags", *several]
        ),
    }
    return _present(case)


# promptfoo


def promptfoo_test(sample: Sample) -> Fields:
    """A sample as a test of promptfoo: a reference is asserted to be in the output, without regard to case."""
    metadata, reference = dict(sample.metadata), sample.reference
    inside = ["user_input", "response", "metadata"]
    if isinstance(given := metadata.get("assert"), list) and given:
        asserted: list[Json] = given  # assertions that came from a file of promptfoo; the reference was read off them
        del metadata["assert"]
    else:
        kind = ONE if isinstance(reference, str) else ANY
        asserted = [{"type": kind, "value": msgspec.to_builtins(reference)}] if reference else []
        inside += ["reference"] if asserted else []
    variables: Fields = {"question": sample.user_input}
    if sample.retrieved_contexts:
        variables["context"] = "\n\n".join(sample.retrieved_contexts)
    test: Fields = {
        "description": sample.id or None,
        "vars": _present(variables),
        "assert": asserted or None,
        "providerOutput": sample.response,
        "metadata": _with_ours(metadata, sample, [name for name in Sample.__struct_fields__ if name not in inside]),
    }
    return _present(test)


# What other tools have no place for


def _with_ours(metadata: Mapping[str, object], sample: Sample, names: Iterable[str]) -> Fields | None:
    """Metadata with those fields of a sample that have no other place; None where there is nothing."""
    ours = _present(msgspec.to_builtins({name: getattr(sample, name) for name in names}))
    if not sample.id:
        ours.pop("id", None)
    if not sample.tags:
        ours.pop("tags", None)
    if OURS in metadata:
        metadata, ours["metadata"] = {}, dict(metadata)
    return {**metadata, **({OURS: ours} if ours else {})} or None


def _present(fields: Mapping[str, object]) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


# Files


def read_cases(
    path: Path, kind: str, intake: RowParser, encoding: str = "utf-8"
) -> Iterator[Sample | list[InputError]]:
    """The samples of deepeval cases or promptfoo tests (``kind``); in the place of a bad row, its problems."""
    turned = of_promptfoo if kind == "promptfoo" else of_deepeval
    rows = _yaml_rows(path, encoding) if suffix_of(path) in YAML else rows_of_file(path, encoding)
    return samples_of(
        (row._replace(values=turned(row.values)) if isinstance(row.values, Mapping) else row for row in rows), intake
    )


def write_cases(path: Path, samples: Iterable[Sample], kind: str) -> None:
    """Write ragas rows, deepeval cases or promptfoo tests (``kind``): JSON, JSONL for ragas, YAML for promptfoo."""
    turned = {"ragas": ragas_row, "deepeval": deepeval_case, "promptfoo": promptfoo_test}[kind]
    cases, suffix = [turned(sample) for sample in samples], suffix_of(path)
    if suffix == ".json":
        data = msgspec.json.format(msgspec.json.encode(cases), indent=1) + b"\n"
    elif suffix == ".jsonl" and kind == "ragas":
        data = b"".join(msgspec.json.encode(case) + b"\n" for case in cases)
    elif suffix in YAML and kind == "promptfoo":
        data = _yaml_of(cases)
    else:
        wanted = {"ragas": ".json or .jsonl", "deepeval": ".json", "promptfoo": ".json or .yaml"}[kind]
        raise InputError(f"{kind} is written as {wanted}", path=path)
    with writing(path) as file:
        file.write(data)


def _yaml_of(cases: list[Fields]) -> bytes:
    import yaml

    class Exact(yaml.SafeDumper):
        """A dumper that escapes the line ends of Unicode, which YAML otherwise folds into blanks."""

    def quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = '"' if any(end in text for end in "\r\x85\u2028\u2029") else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Exact.add_representer(str, quoted)
    return yaml.dump(cases, Dumper=Exact, allow_unicode=True, sort_keys=False, width=120).encode("utf-8")


def _yaml_rows(path: Path, encoding: str) -> Iterator[Row]:
    """The rows of a YAML list, or of the list under ``tests``. Anchors are refused: they can hold more than memory."""
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem="aliases are not read", problem_mark=mark)
            return super().compose_node(parent, index)

    try:
        loader = Plain(read_utf8(path, encoding).decode("utf-8"))
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
