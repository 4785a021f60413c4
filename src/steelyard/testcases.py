"""Samples in the shapes of other tools: ragas rows, deepeval test cases, promptfoo tests.

What a deepeval case or a promptfoo test has no place for stands in its metadata under the key ``steelyard``, and is put
back when it is read. Ragas rows have no such place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from .errors import InputError
from .fields import ALIASES, known_as
from .intake import Intake
from .lines import read_utf8, suffix_of, writing
from .records import Json, Sample
from .rows import Place, Row, rows_of_file
from .samples import samples_of

Fields: TypeAlias = dict[str, object]

YAML = (".yaml", ".yml")
OURS = "steelyard"
"""The key of metadata under which other tools' files keep what they have no place for."""

_ONE, _ANY = "icontains", "icontains-any"
_REFERENCE_ASSERTIONS = ("equals", "contains", _ONE, "similar", "factuality", "contains-any", _ANY)


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


def _of_deepeval(values: Mapping[str, object]) -> Fields:
    row = dict(values)
    if "id" not in row and row.get("name"):
        row["id"] = row.pop("name")
    if "context" in row:
        row["reference_contexts"] = row.pop("context")
    _put_back(row, "additional_metadata")
    return row


# promptfoo


def promptfoo_test(sample: Sample) -> Fields:
    """A sample as a test of promptfoo: a reference is asserted to be in the output, without regard to case."""
    metadata, reference = dict(sample.metadata), sample.reference
    inside = ["user_input", "response", "metadata"]
    if isinstance(given := metadata.get("assert"), list) and given:
        asserted: list[Json] = given  # assertions that came from a file of promptfoo; the reference was read off them
        del metadata["assert"]
    else:
        kind = _ONE if isinstance(reference, str) else _ANY
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


def _of_promptfoo(values: Mapping[str, object]) -> Fields:
    test = dict(values)
    given, variables = test.pop("assert", None), test.pop("vars", None)
    row = dict(variables) if isinstance(variables, Mapping) else {}
    if isinstance(row.get("context"), str):
        row["context"] = [row["context"]]
    row["metadata"], response = test.pop("metadata", None), test.pop("providerOutput", None)
    if response is not None:
        row["response"] = response
    metadata = _put_back(row)
    if test.get("description") == row.get("id"):
        test.pop("description", None)
    if isinstance(given, list) and given:
        reference, exact = _asserted(given)
        if "reference" in row or not exact:
            metadata["assert"] = given
        row.setdefault("reference", reference)
    for name, value in test.items():
        metadata[f"promptfoo.{name}" if name in metadata else name] = value
    return row


def _asserted(assertions: list[object]) -> tuple[object, bool]:
    """The reference that assertions name, and whether they say nothing else."""
    known = [one for one in assertions if isinstance(one, Mapping) and one.get("type") in _REFERENCE_ASSERTIONS]
    if len(assertions) == 1 and known and set(known[0]) == {"type", "value"}:
        kind, value = known[0]["type"], known[0]["value"]
        if (kind == _ONE and isinstance(value, str)) or (kind == _ANY and isinstance(value, list)):
            return value, True
    found = [
        item
        for one in known
        for value in [one.get("value")]
        for item in (value if isinstance(value, list) else [value])
    ]
    texts = [item for item in found if isinstance(item, str)]
    return texts[0] if len(texts) == 1 else texts or None, False


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


def _put_back(row: Fields, key: str = "metadata") -> Fields:
    """Put back in a row what ``_with_ours`` put away; the metadata that remains."""
    given = row.pop(key, None)
    metadata = dict(given) if isinstance(given, Mapping) else {} if given is None else {key: given}
    ours = metadata.pop(OURS, None)
    if isinstance(ours, Mapping):
        for column in [column for column in row if ALIASES.get(known_as(column)) in ours]:
            del row[column]
        row.update(ours)
        metadata = dict(row.pop("metadata", metadata))  # type: ignore[call-overload]
    row["metadata"] = metadata
    return metadata


def _present(fields: Mapping[str, object]) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


# Files


def read_cases(path: Path, kind: str, intake: Intake, encoding: str = "utf-8") -> Iterator[Sample | list[InputError]]:
    """The samples of deepeval cases or promptfoo tests (``kind``); in the place of a bad row, its problems."""
    turned = _of_promptfoo if kind == "promptfoo" else _of_deepeval
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
            yield Row(Place(path, child.start_mark.line + 1, row), loader.construct_object(child, deep=True))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"not YAML: {reason}", path=path, line=None if mark is None else mark.line + 1) from None
