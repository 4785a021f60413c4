"""``steelyard synth`` and ``steelyard review``: a question set from documents, and a person who looks at it."""

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
        Path,
        typer.Argument(help="Corpus: a folder of texts, a text, a BEIR folder, a file of rows or ir_datasets:NAME."),
    ],
    n: Annotated[int, typer.Option("-n", "--number", help="Number of items.")] = 100,
    out: Annotated[Path, typer.Option("--out", help="Folder for the question set.")] = Path("steelyard-set"),
    overwrite: Overwrite = False,
    judge: Annotated[
        str | None,
        typer.Option(help="Model that writes and answers: openai:MODEL or http://host/v1#model (default: none)."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            help="KIND or KIND=SHARE: single, multi, comparison, unanswerable; without a model known_item, cloze.",
        ),
    ] = None,
    style: Annotated[
        list[str] | None,
        typer.Option("--style", help="STYLE or STYLE=SHARE: plain, keyword, conversational, misspelt."),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="Embedder that links passages (default: links by rare words).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    attempts: Annotated[int, typer.Option(help="Maximum number of attempts per item.")] = 10,
    concurrency: Annotated[int, typer.Option(help="Maximum number of parallel calls.")] = 16,
    budget: Annotated[float | None, typer.Option(help="Stop before the cost exceeds this amount.")] = None,
    max_calls: Annotated[int | None, typer.Option(help="Maximum number of calls.")] = None,
    price: Annotated[str | None, typer.Option(help="IN,OUT: price per million prompt and completion tokens.")] = None,
    ledger: Annotated[Path | None, typer.Option(help="Cache of replies (default: .steelyard/ledger.sqlite).")] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use cached replies only; a missing reply is an error.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the cost if every first attempt succeeds.")] = False,
    encoding: Encoding = "utf-8",
) -> int:
    """Make a question set with provenance: every item with its sources, the quotes that hold the answer, and its type.

    The same command again goes on with a set that is not finished. Another set in its place is not written over.
    Exit codes: 0 as many as wanted, 1 could not run, 3 fewer.
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
            print("0 calls: no model is used")
            return 0
        plan = plan_synthesis(documents, n, judge=model, kinds=kinds, styles=styles, seed=seed, ledger=ledger).usage
        cost = "" if plan.cost is None else f", about {plan.cost:.4f}"
        print(
            f"about {pluralize(plan.calls, 'call')} ({plan.cached} more are in the ledger), {plan.prompt_tokens} prompt"
            f" and {plan.completion_tokens} completion tokens{cost}, if every first attempt succeeds; an item is tried"
            f" {pluralize(attempts, 'time')} at most"
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
    print(f"wrote {out}; review it with: steelyard review {out}")
    return 0 if made.complete else 3


def _shares(given: list[str] | None, option: str) -> dict[str, float] | list[str] | None:
    if not given:
        return None
    if all("=" in one for one in given):
        return numbers(given, option)
    if any("=" in one for one in given):
        raise InputError(f"{option}: give a share for every name or for none")
    return given
