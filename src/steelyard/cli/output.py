"""The output that several commands share: reports, plans, comparisons of runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import InputError, check_range

if TYPE_CHECKING:
    from ..evaluate.plan import Plan
    from ..models.judge import LLMJudge
    from ..reports.gate import Rule
    from ..reports.report import Report
    from ..runs.run_config import RunOutcome

PRICE_OPTION = "give --price IN,OUT (per million tokens)"
PRICE_SETTING = "give the judge's price per million tokens, as in judge: {model: …, price: [in, out]}"
"""How to give the price of a judge: as an option, and as a setting of a configuration."""


def check_format(given: str, formats: tuple[str, ...]) -> None:
    """InputError for an unknown output format, before any work."""
    if given not in formats:
        raise InputError(f"--format {given}: choose from {', '.join(formats)}")


def finish(
    report: Report,
    gates: list[Rule],
    *,
    out: Path | None,
    output_format: str,
    scale: float = 1.0,
    max_failed: float = 0.0,
) -> None:
    """Print the report, write it into a folder if one is given, and end with every rule and its verdict."""
    from ..render.files import write
    from ..render.formats import printed

    if out is not None:
        write(report, out, found=gates, max_failed=max_failed)
    print(printed(report, output_format, scale=scale))
    if output_format == "table":
        print_judge_details(report)
    channel = sys.stdout if output_format == "table" else sys.stderr
    for rule in gates:
        print(rule, file=channel)


def print_judge_details(report: Report) -> None:
    """Print the judges of a jury, and the noise of a judge that was called several times."""
    from ..judges.jury import panel
    from ..render import judge_noise, jury
    from ..reports.judge_noise import noise

    if (seats := panel(report)) is not None:
        print("", jury.text(seats), sep="\n")
    if found := noise(report):
        print("", judge_noise.text(found), sep="\n")


def print_plan(plan: Plan) -> None:
    """Print the plan of a dry run, and how to give a price that is missing."""
    print(plan)
    print_unknown_cost(plan)


def print_unknown_cost(plan: Plan, price_hint: str = PRICE_OPTION) -> None:
    """Print how to give the prices that are missing, if any."""
    if line := plan.unknown(price_hint):
        print(line)


def priced(judge: str, price: str | None) -> LLMJudge | str:
    """A judge with the price of its tokens, given as ``IN,OUT``."""
    if price is None:
        return judge
    from dataclasses import replace

    from ..models.judge import judge_of

    return replace(judge_of(judge), price=prices(price))


def prices(text: str | None) -> tuple[float, float] | None:
    """``IN,OUT`` for a million tokens."""
    if text is None:
        return None
    try:
        price_in, price_out = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--price {text}: expected IN,OUT, such as 0.15,0.6") from None
    return check_range("price", price_in, 0), check_range("price", price_out, 0)


def print_runs(
    reports: list[Report],
    output_format: str,
    *,
    seed: int,
    out: Path | None = None,
    names: list[str] | None = None,
    per_query: bool = False,
) -> None:
    """Print the reports of runs, several as one table, and write each into its own folder if ``out`` is given."""
    from ..render.files import write
    from ..render.formats import estimates_csv, printed, scores_csv

    for number, report in enumerate(reports):
        if out is not None:
            write(report, out if len(reports) == 1 else out / (names[number] if names else report.system))
    if output_format == "csv":
        sys.stdout.write(estimates_csv(reports))
    elif len(reports) > 1 and output_format != "json":
        _side_by_side(reports, output_format, seed)
    elif output_format == "json" and len(reports) > 1:
        print("[" + ",\n".join(report.to_json().decode().rstrip("\n") for report in reports) + "]")
    else:
        print(printed(reports[0], output_format))
    if per_query:
        for report in reports:
            sys.stdout.write(scores_csv(report))


def _side_by_side(reports: list[Report], output_format: str, seed: int) -> None:
    """Print one table of all runs, and under it the warnings of each."""
    from ..render.latex import latex_table
    from ..render.leaderboard import FOOT, table
    from ..render.markdown import markdown_table
    from ..render.table import aligned
    from ..reports.leaderboard import leaderboard

    found = table(leaderboard(reports, seed=seed))
    if output_format == "latex":
        print(latex_table(found))
        return
    lines = markdown_table(found) if output_format == "md" else aligned(found)
    print("\n".join([*lines, "", FOOT]))
    for report in reports:
        for line in report.warnings:
            print(f"{report.system}: {line}")


def print_outcome(outcome: RunOutcome, output_format: str, *, scale: float) -> int:
    """Print a report and every rule with its verdict; the exit code."""
    from ..render.formats import printed
    from ..reports.gate import exit_code

    print(printed(outcome.report, output_format, scale=scale))
    for rule in outcome.rules:
        print(rule, file=sys.stdout if output_format == "table" else sys.stderr)
    return exit_code(outcome.rules)
