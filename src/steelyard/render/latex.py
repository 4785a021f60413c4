"""The table of estimates for a paper."""

from __future__ import annotations

from ..reports.report import Report
from .table import Table, estimates

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
}


def escape(text: str) -> str:
    """Text that LaTeX sets as it is.

    >>> escape("P_5 & 95 %")
    'P\\\\_5 \\\\& 95 \\\\%'
    """
    return "".join(_SPECIAL.get(char, char) for char in text)


def latex_table(table: Table) -> str:
    """A booktabs tabular."""
    columns = "".join("r" if at in table.right else "l" for at in range(len(table.head)))
    body = [" & ".join(map(escape, row)) + r" \\" for row in [table.head, *table.rows]]
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", body[0], r"\midrule", *body[1:], r"\bottomrule",
         r"\end{tabular}"]
    )  # fmt: skip


def latex(report: Report) -> str:
    """The estimates of one report as a booktabs table."""
    return latex_table(estimates(report)) + "\n"
