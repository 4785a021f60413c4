"""Everything that is wrong with a file, all at once, each with its line; and what deserves a second look.

Memory does not grow with rankings: of each line only a hash is kept, and a file with repeated documents is read again.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path

from .dataset import queries_of
from .errors import InputError, InputErrors, UnknownName
from .intake import Intake
from .kinds import KINDS, kind_of
from .lines import Line, read_lines
from .names import did_you_mean
from .records import Sample
from .rows import Bad, decode_json
from .samples import CheckResult, check_samples
from .testcases import read_cases
from .trec_blocks import number
from .trec_lines import QRELS_LINE, RUN_LINE, TSV_LINE, Layout
from .values import identifier, kind_of as found, text as text_of


def check(
    path: str | PathLike[str],
    *,
    kind: str | None = None,
    fields: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
) -> CheckResult:
    """Check samples, a dataset, a run, qrels, a BEIR folder or test cases; ``kind`` says which, else the file tells.

    The result has the kind, the number of rows, how often each field is given, the first twenty problems (``more``
    counts the rest) and warnings. A file that cannot be read at all is a problem too.
    """
    path = Path(path)
    if kind is not None and kind not in KINDS:
        raise UnknownName(f"unknown format {kind!r}: {did_you_mean(kind, KINDS)}")
    result = CheckResult(kind or "file")
    try:
        result.kind = kind or kind_of(path, encoding)
        _CHECKS[result.kind](path, result, fields, encoding)
    except InputErrors as errors:
        result.add(errors.problems)
    except InputError as error:
        result.add([error])
    except FileNotFoundError as error:
        result.add([InputError(str(error))])
    if result.rows == 0 and result.ok:
        result.add([InputError("nothing in it", path=path)])
    return result
