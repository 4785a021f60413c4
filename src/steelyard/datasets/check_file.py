"""Check a file and report all its problems at once, each with its line, and warnings on doubtful content.

Memory does not grow with rankings: only a hash of each line is stored, and a file with repeated documents is read
again.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from ..core.errors import InputError, InputErrors, UnknownName
from ..core.records import Sample
from ..core.wording import did_you_mean, pluralize
from ..io import convert_values
from ..io.foreign_formats import read_cases
from ..io.ir_datasets import collection_name
from ..io.row_parser import RowParser
from ..io.rows import InvalidValue, decode_json, rows_of_file
from ..io.samples import CheckResult, samples_of
from ..io.text_files import Line, read_lines
from ..ranking.trec.line_parser import QRELS_LINE, RUN_LINE, TSV_LINE, Layout
from ..ranking.trec.number_parser import parse_number
from .dataset import Dataset, queries_of
from .detect_format import KINDS, kind_of


def check(
    path: str | PathLike[str],
    *,
    kind: str | None = None,
    fields: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
) -> CheckResult:
    """Check samples, a dataset, a run, qrels, a BEIR folder or test cases; ``kind`` is detected unless given.

    The result has the kind, the number of rows, the number of rows with each field, the first twenty problems (``more``
    counts the rest) and warnings. A file that cannot be read at all is a problem too.
    """
    path = Path(path)
    if kind is not None and kind not in KINDS:
        raise UnknownName(f"unknown format {kind!r}: {did_you_mean(kind, KINDS)}")
    result = CheckResult(kind or "file")
    try:
        result.kind = kind or kind_of(path, encoding)
        if result.kind == "beir":
            _check_beir(path, result, encoding)
        elif result.kind in ("run", "qrels"):
            _check_table(path, result, encoding)
        else:
            _check_samples(path, result, fields, encoding)
    except InputErrors as errors:
        result.add(errors.problems)
    except InputError as error:
        result.add([error])
    if result.rows == 0 and result.ok:
        result.add([InputError("the file has no rows", path=path)])
    return result


# Samples


def _check_samples(path: Path, result: CheckResult, fields: Mapping[str, str] | None, encoding: str) -> None:
    parser, doubts = RowParser(fields), _SampleWarnings()
    try:
        if collection_name(path) is not None:
            result.add_rows(Dataset.load(path).samples(), doubts)
        elif result.kind in ("dataset", "recall"):
            queries = queries_of(path, parser, encoding)
            result.add_rows((one if isinstance(one, list) else one.sample() for one in queries), doubts)
        elif result.kind in ("deepeval", "promptfoo"):
            result.add_rows(read_cases(path, result.kind, parser, encoding), doubts)
        else:
            result.add_rows(samples_of(rows_of_file(path, encoding), parser), doubts)
    finally:
        result.add_remarks(parser)
        result.warnings += doubts.lines()


class _SampleWarnings:
    """Warnings on doubtful samples, with the count and the first sample of each."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._questions: set[int] = set()

    def __call__(self, sample: Sample) -> None:
        texts, ids = sample.retrieved_contexts, sample.retrieved_ids
        question = None if sample.user_input is None else hash(sample.user_input)
        for what, is_so in (
            ("repeated question", question in self._questions),
            ("blank question", question is not None and not (sample.user_input or "").strip()),
            ("blank response", sample.response is not None and not sample.response.strip()),
            ("blank reference", any(not text.strip() for text in sample.references)),
            ("blank passage among the contexts", any(not text.strip() for text in texts or ())),
            ("repeated passage among the contexts", len(set(texts or ())) < len(texts or ())),
            ("repeated document in retrieved_ids", len(set(ids or ())) < len(ids or ())),
            ("unequal numbers of contexts and ids", None not in (texts, ids) and len(texts or ()) != len(ids or ())),
        ):
            if is_so:
                self._counts[what] += 1
                self._first.setdefault(what, sample.id)
        if question is not None:
            self._questions.add(question)

    def lines(self) -> list[str]:
        """One line for each warning."""
        return [
            f"{what}: {pluralize(count, 'sample')}, first {self._first[what]!r}" for what, count in self._counts.items()
        ]


# Runs and qrels

Entry: TypeAlias = tuple[str, str, float]
"""Query, document, and score or grade."""


def _check_table(
    path: Path, result: CheckResult, encoding: str, on_entry: Callable[[Entry], None] | None = None
) -> None:
    """Check a run (if that is the kind of the result) or a qrels file; call ``on_entry`` with each valid line."""
    hashes, positive = array("q"), dict[str, bool]()
    for _, entry in _entries(path, result.kind, encoding):
        result.rows += 1
        if isinstance(entry, InputError):
            result.add([entry])
            continue
        query, doc, value = entry
        hashes.append(hash((query, doc)))
        positive[query] = positive.get(query, False) or value > 0
        if on_entry is not None:
            on_entry(entry)
    result.fields["queries"] = len(positive)
    result.add(_repeated(path, result.kind, encoding, hashes))
    nothing = [query for query, some in positive.items() if not some]
    if result.kind != "run" and nothing:
        result.warnings.append(f"no relevant documents: {pluralize(len(nothing), 'query')}, first {nothing[0]!r}")


def _entries(path: Path, kind: str, encoding: str) -> Iterator[tuple[int, Entry | InputError]]:
    """The lines of a run or qrels file with their numbers; an InputError for an invalid line."""
    layout = Layout(tabs=False, header=False) if kind == "run" else None
    for line in read_lines(path, encoding):
        if not line.data.strip():
            continue
        if layout is None:
            layout = Layout.of(line.data)
            if layout.header:
                continue
        yield line.number, line.encoding_error(path) or _entry(line, path, kind, layout)


def _entry(line: Line, path: Path, kind: str, layout: Layout) -> Entry | InputError:
    raw = line.data.split(b"\t") if layout.tabs else line.data.split()
    cells = [cell.decode("utf-8").strip() for cell in raw]
    wanted, shape = (6, RUN_LINE) if kind == "run" else (3, TSV_LINE) if layout.tabs else (4, QRELS_LINE)
    if len(cells) != wanted:
        return InputError(
            f"{pluralize(len(cells), 'column')}, expected {wanted} ({shape})", path=path, line=line.number
        )
    doc, given = cells[1 if layout.tabs else 2], cells[4 if kind == "run" else -1]
    value, what = parse_number(given), "score" if kind == "run" else "grade"
    if value is None:
        return InputError(f"expected a number, found {given!r}", path=path, line=line.number, field=what)
    if not (cells[0] and doc):
        return InputError("an id is empty", path=path, line=line.number)
    return cells[0], doc, value


def _repeated(path: Path, kind: str, encoding: str, hashes: array[int]) -> Iterator[InputError]:
    """Errors for the lines that repeat a document of their query; the file is read again only if hashes repeat."""
    import numpy as np

    ordered = np.sort(np.frombuffer(hashes, dtype=np.int64))
    twice = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    first: dict[tuple[str, str], int] = {}
    for line, entry in _entries(path, kind, encoding) if twice else ():
        if isinstance(entry, InputError) or hash(entry[:2]) not in twice:
            continue
        query, doc, _ = entry
        if (line_before := first.setdefault((query, doc), line)) != line:
            message = f"document {doc!r} is in query {query!r} already, from line {line_before}"
            yield InputError(message, path=path, line=line)


# BEIR folders


def _check_beir(path: Path, result: CheckResult, encoding: str) -> None:
    """Check corpus, queries and every qrels file of a folder, and that they use the same ids."""
    documents = _check_texts(path, "corpus.jsonl", result, encoding)
    queries = _check_texts(path, "queries.jsonl", result, encoding)
    result.fields |= {"documents": len(documents), "queries": len(queries)}
    tables = [file for pattern in ("qrels.tsv*", "qrels/*.tsv*") for file in sorted(path.glob(pattern))]
    if not tables:
        result.add([InputError("no qrels.tsv and no qrels/*.tsv", path=path)])
    for table in tables:
        part, unknown = CheckResult("qrels"), (dict[str, None](), dict[str, None]())

        def on_entry(entry: Entry, unknown: tuple[dict[str, None], dict[str, None]] = unknown) -> None:
            for one, known, missing in zip(entry, (queries, documents), unknown, strict=False):
                if one not in known:
                    missing[str(one)] = None

        _check_table(table, part, encoding, on_entry)
        result.add(part.problems)
        result.rows, result.more = result.rows + part.rows, result.more + part.more
        for what, place, missing in zip(("query", "document"), ("queries", "corpus"), unknown, strict=True):
            if missing:
                part.warnings.append(
                    f"not in {place}.jsonl: {pluralize(len(missing), what)}, first {next(iter(missing))!r}"
                )
        result.warnings += [f"{table.relative_to(path)}: {warning}" for warning in part.warnings]


def _check_texts(folder: Path, name: str, result: CheckResult, encoding: str) -> set[str]:
    """Check ``corpus.jsonl`` or ``queries.jsonl``, and return its ids."""
    path = next((file for end in ("", ".gz", ".zst") if (file := folder / f"{name}{end}").is_file()), None)
    ids, blank = set[str](), list[str]()
    if path is None:
        result.add([InputError(f"no {name}", path=folder)])
        return ids
    for line in read_lines(path, encoding):
        if not line.data.strip():
            continue
        result.rows += 1
        try:
            key, text = _text_of(line)
        except InvalidValue as bad:
            result.add([line.encoding_error(path) or InputError(str(bad), path=path, line=line.number)])
            continue
        if key in ids:
            result.add([InputError(f"an earlier line has the id {key!r} already", path=path, line=line.number)])
        if not text.strip():
            blank.append(key)
        ids.add(key)
    if blank:
        result.warnings.append(f"{name}: blank text: {pluralize(len(blank), 'row')}, first {blank[0]!r}")
    return ids


def _text_of(line: Line) -> tuple[str, str]:
    item = decode_json(line.data)
    if not isinstance(item, dict):
        raise InvalidValue(f"expected an object, found {convert_values.describe_value(item)}")
    key = item.get("_id", item.get("id"))
    parts = [item.get(name) or "" for name in ("title", "text")]
    return convert_values.identifier(key), "".join(convert_values.text(part) for part in parts)
