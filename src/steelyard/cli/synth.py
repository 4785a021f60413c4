"""``steelyard synth``: a question set generated from documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import InputError
from .app import app
from .options import Encoding, Overwrite, numbers
from .output import priced
from .progress import Progress


@app.command("synth")
def synth(
    corpus: Annotated[
        Path, typer.Argument(help="Documents: a folder of texts, a text, a BEIR folder, a table or ir_datasets:NAME.")
    ],
    n: Annotated[int, typer.Option("-n", "--number", help="Number of questions.")] = 100,
    out: Annotated[Path, typer.Option("--out", help="Folder for the question set.")] = Path("steelyard-set"),
    overwrite: Overwrite = False,
    judge: Annotated[
        str | None,
        typer.Option(
            help="Model that writes and checks questions: openai:MODEL or http://host/v1#model (default: none)."
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            help="KIND or KIND=SHARE: single, multi, comparison, unanswerable; without --judge known_item, cloze.",
        ),
    ] = None,
    style: Annotated[
        list[str] | None,
        typer.Option("--style", help="STYLE or STYLE=SHARE: plain, keyword, conversational, misspelt."),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="Link similar passages with this embedder (default: by rare words).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    attempts: Annotated[int, typer.Option(help="Maximum number of attempts per question.")] = 10,
    concurrency: Annotated[int, typer.Option(help="Maximum number of parallel calls.")] = 16,
    budget: Annotated[float | None, typer.Option(help="Stop before the cost exceeds this.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Stop after this many calls.")] = None,
    price: Annotated[str | None, typer.Option(help="IN,OUT: price per million tokens.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="File of cached replies.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Make no calls; use cached replies only.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the cost if every first attempt is accepted, and stop.")
    ] = False,
    encoding: Encoding = "utf-8",
) -> int:
    """Generate a question set from documents.

    Each question has its source, its evidence and its type. The same command resumes an unfinished set. A different
    existing set is not overwritten without `--overwrite`. Exit codes: 0 the set is complete, 1 error, 3 the set has
    fewer questions than requested.
    """
    from ..core.wording import pluralize
    from ..datasets.corpus import read_corpus
    from ..datasets.set_folder import check_free as check_set
    from ..synthesis.generate import check_out, plan_synthesis, synthesize
    from ..synthesis.planning import job_of

    model = None if judge is None else priced(judge, price)
    kinds, styles = _shares(kind, "--kind"), _shares(style, "--style")
    check_out(corpus, out)
    documents = read_corpus(corpus, encoding=encoding)
    if dry_run:
        if model is None:
            print("0 calls: no judge is given")
            return 0
        plan = plan_synthesis(documents, n, judge=model, kinds=kinds, styles=styles, seed=seed, ledger=ledger).usage
        cost = "" if plan.cost is None else f", about {plan.cost:.4f}"
        print(
            f"about {pluralize(plan.calls, 'call')} ({plan.cached} more are cached), {plan.prompt_tokens} prompt"
            f" and {plan.completion_tokens} completion tokens{cost}, if every first attempt is accepted; at most"
            f" {pluralize(attempts, 'attempt')} per question"
        )
        return 0
    if not overwrite:
        job = job_of(documents, n, judge=model, kinds=kinds, styles=styles, embedder=embedder, seed=seed)
        check_set(out, job)
    with Progress() as progress:
        made = synthesize(
            documents,
            n,
            judge=model,
            kinds=kinds,
            styles=styles,
            embedder=embedder,
            seed=seed,
            attempts=attempts,
            out=out,
            ledger=ledger,
            concurrency=concurrency,
            budget=budget,
            max_calls=max_calls,
            offline=offline,
            progress=progress,
        )
    print(made)
    print(f"wrote {out}: review it with steelyard review {out}")
    return 0 if made.complete else 3


def _shares(given: list[str] | None, option: str) -> dict[str, float] | list[str] | None:
    if not given:
        return None
    if all("=" in one for one in given):
        return numbers(given, option)
    if any("=" in one for one in given):
        raise InputError(f"{option}: give every name a share, or none")
    return given
