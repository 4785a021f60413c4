"""A comparison as text, Markdown, JSON, JUnit XML and GitHub annotations."""

from __future__ import annotations

import html
import re
from xml.sax.saxutils import quoteattr

import msgspec

from ..core.wording import pluralize
from ..reports.comparison import Comparison, MetricDelta
from .markdown import escape, markdown_table
from .table import WIDEST, Table, aligned, number, one_line, span

MARKER = "<!-- steelyard comparison -->"
"""The first line of a pull-request comment: a workflow finds its earlier comment by it and updates that one."""

HEAD = (
    "metric",
    "baseline",
    "current",
    "delta",
    "interval",
    "p",
    "win/tie/loss",
    "n",
    "detectable",
    "noise",
    "verdict",
)


TEST = "paired randomisation, for pass or fail the sign test with mid-p"
"""The tests behind p."""


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def signed(value: float | None) -> str:
    """A delta with its sign.

    >>> signed(0.0125), signed(-0.3), signed(None)
    ('+0.0125', '-0.3000', '–')
    """
    return "–" if value is None else f"{value:+.4f}"


def table(comparison: Comparison) -> Table:
    """One row per metric and slice; the judge's noise has a column where it is known."""
    rows = []
    for one in comparison.deltas:
        name = f"{one.metric}{_part(one)}"
        rows.append(
            (
                name,
                number(one.baseline),
                number(one.current),
                signed(one.delta),
                span(one.low, one.high),
                "–" if one.p_adjusted is None else f"{one.p_adjusted:.4f}",
                f"{one.win}/{one.tie}/{one.loss}",
                str(one.n),
                "none" if no_room(one) else number(one.detectable or None),  # 0: no pair differs, so nothing is known
                "–" if one.noise is None else f"± {one.noise:.4f}",
                _verdict(one, comparison.alpha),
            )
        )
    known = any(one.noise is not None for one in comparison.deltas)
    keep = [at for at in range(len(HEAD)) if known or HEAD[at] != "noise"]
    return Table(
        tuple(HEAD[at] for at in keep),
        [tuple(row[at] for at in keep) for row in rows],
        frozenset(range(1, len(keep) - 1)),
    )


def _part(one: MetricDelta) -> str:
    """The slice of a delta, as it stands behind its metric."""
    return f" ({one_line(one.slice, WIDEST)})" if one.slice else ""


def no_room(one: MetricDelta) -> bool:
    """Return whether no difference within the range of the metric would be detectable with these pairs."""
    return one.delta is not None and one.detectable is None


def _verdict(one: MetricDelta, alpha: float) -> str:
    words = one.words(alpha)
    if one.regression:
        return f"REGRESSION ({words})"
    return words


def rule(comparison: Comparison) -> str:
    """Describe the rule for a regression in this comparison."""
    sure = f"which is significant (p ≤ {comparison.alpha:g})" if comparison.significant else "even if not significant"
    limits = sorted({one.tolerance for one in comparison.deltas})
    tolerance = f" ({limits[0]:g})" if len(limits) == 1 else ""
    return f"a drop larger than the tolerance{tolerance}, {sure}, or a metric without scored samples"


def headline(comparison: Comparison) -> str:
    """The verdict in words."""
    if not comparison.comparable:
        return f"NOT COMPARABLE: {pluralize(len(comparison.blockers), 'blocker')}"
    if comparison.regressions:
        names = ", ".join(dict.fromkeys(one.metric for one in comparison.regressions))
        return f"FAIL: {pluralize(len(comparison.regressions), 'regression')} ({names})"
    better = ", ".join(dict.fromkeys(one.metric for one in comparison.improvements))
    return "pass: no regression" + (f"; better: {better}" if better else "")


def _coverage(comparison: Comparison) -> list[str]:
    lines = [f"{pluralize(comparison.n_paired, 'sample')} paired"]
    for name, ids in (
        (comparison.baseline, comparison.only_baseline),
        (comparison.current, comparison.only_current),
    ):
        if ids:
            lines.append(f"{len(ids)} only in {name}: {', '.join(ids[:5])}{', …' if len(ids) > 5 else ''}")
    return [*lines, *comparison.notes]


def _worst(one: MetricDelta) -> list[str]:
    return [
        f"{change.sample}: {change.baseline:.4f} → {change.current:.4f}"
        + (f", {change.reason}" if change.reason else "")
        for change in one.worst
    ]


def text(comparison: Comparison) -> str:
    """For the terminal: verdict, blockers, table, the worst samples of every regression."""
    level = f"{comparison.confidence * 100:g} %"
    lines = [f"{comparison.baseline} → {comparison.current}", headline(comparison), ""]
    lines += [f"blocker: {line}" for line in comparison.blockers] + ([""] if comparison.blockers else [])
    if comparison.deltas:
        lines += aligned(table(comparison))
        noisy = any(one.noise is not None for one in comparison.deltas)
        lines += ["", f"delta: negative is worse; {level} interval; p: {TEST}, Holm-adjusted"]
        lines += [f"REGRESSION: {rule(comparison)}"] if comparison.regressions else []
        lines += (
            ["noise: two runs of the same system differ by less than this from the judge's randomness alone"]
            if noisy
            else []
        )
    lines += _coverage(comparison)
    for one in comparison.regressions:
        if one.worst:
            lines += ["", f"{one.metric}{_part(one)}: largest losses", *(f"  {line}" for line in _worst(one))]
        if one.to_fail or one.to_pass:
            lines.append(f"  {one.to_fail} went from pass to fail, {one.to_pass} from fail to pass")
    return "\n".join(map(one_line, lines))


def markdown(comparison: Comparison, *, link: str | None = None) -> str:
    """For a pull request: a marker, the verdict, the table, five worst samples of each regression."""
    title = f"### {escape(comparison.baseline)} → {escape(comparison.current)}"
    lines = [MARKER, title, "", f"**{escape(headline(comparison))}**", ""]
    lines += [f"- blocker: {escape(line)}" for line in comparison.blockers] + ([""] if comparison.blockers else [])
    lines += [*markdown_table(table(comparison)), "", *(f"- {escape(line)}" for line in _coverage(comparison))]
    lines += [f"- REGRESSION: {escape(rule(comparison))}"] if comparison.regressions else []
    for one in comparison.regressions:
        if not one.worst:
            continue
        lines += ["", f"**{escape(one.metric + _part(one))}** largest losses:", ""]
        lines += [f"- {escape(line)}" for line in _worst(one)[:5]]
    if link:
        lines += ["", f"[Full comparison]({link})"]
    return "\n".join(lines) + "\n"


def as_json(comparison: Comparison) -> str:
    """Everything, as strict JSON, with the verdicts that are properties."""
    plain = msgspec.to_builtins(comparison)
    plain |= {"passed": comparison.passed, "exit_code": comparison.exit_code}
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()


def junit(comparison: Comparison) -> str:
    """Return JUnit XML: one test case per metric and slice; a failure lists samples, scores and reasons."""
    cases = [
        f'  <testcase classname="blocker" name={_attribute(line)}><error message={_attribute(line)}/></testcase>'
        for line in comparison.blockers
    ]
    for one in comparison.deltas:
        name = _attribute(f"{one.metric} ({one.slice})" if one.slice else one.metric)
        head = f'  <testcase classname="steelyard" name={name}'
        if one.regression:
            message = _attribute(
                f"{signed(one.delta)} ({span(one.low, one.high)}), tolerance {one.tolerance:g}, n {one.n}"
            )
            body = html.escape(_of_xml("\n".join(_worst(one))))
            cases.append(f"{head}><failure message={message}>{body}</failure></testcase>")
        elif one.delta is None:
            cases.append(f'{head}><skipped message="nothing to compare"/></testcase>')
        else:
            cases.append(f"{head}/>")
    failures = len(comparison.regressions)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{len(comparison.blockers)}"'
    return "\n".join(
        ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuite name="steelyard" {counts}>', *cases, "</testsuite>"]
    )


def _of_xml(text: str) -> str:
    """Text without the characters that no XML may hold: they are written out."""
    return _NO_XML.sub(lambda found: ascii(found[0])[1:-1], text)


def _attribute(text: str) -> str:
    return quoteattr(_of_xml(text))


def github(comparison: Comparison) -> str:
    """Lines that GitHub Actions shows beside the check."""
    lines = [f"::error title=steelyard: not comparable::{_command(line)}" for line in comparison.blockers]
    for one in comparison.regressions:
        worst = "; ".join(_worst(one)[:3])
        words = f"{one.metric}{_part(one)} {signed(one.delta)} ({span(one.low, one.high)}), n {one.n}"
        words += f". Worst: {worst}" if worst else f": {one.words(comparison.alpha)}"
        lines.append(f"::error title=steelyard: regression::{_command(words)}")
    lines += [
        f"::notice title=steelyard: better::{_command(f'{one.metric} {signed(one.delta)}, n {one.n}')}"
        for one in comparison.improvements
    ]
    return "\n".join(lines)


def _command(words: str) -> str:
    """Encode characters that would end a workflow command."""
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def fragment(comparison: Comparison) -> str:
    """A small table for notebooks."""
    found = table(comparison)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in found.head)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in found.rows)
    blockers = "".join(f"<li>{html.escape(line)}</li>" for line in comparison.blockers)
    return (
        f"<p><strong>{html.escape(headline(comparison))}</strong></p><ul>{blockers}</ul>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )
