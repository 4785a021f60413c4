"""The five RAG metrics by ragas, by deepeval and by Steelyard: the same samples, endpoint and number of calls at once.

    python -m bench.judged_peers --ragas /path/to/python --deepeval /path/to/python [--samples 40] [--concurrency 16]

Each peer is installed in an environment of its own, whose interpreter is given; one that is not given is left out. The
endpoint is ``mockllm.py`` with 0.2 s latency (see ``engine.py``); wall and CPU are those of the evaluation alone,
without imports. Calls and characters are counted by the endpoint.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ragas", help="a Python with ragas and langchain-openai")
    parser.add_argument("--deepeval", help="a Python with deepeval")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        tool, url, samples = args.worker
        print(json.dumps(work(tool, url, samples, args.concurrency)))
        return
    compare(args)


def compare(args: argparse.Namespace) -> None:
    """One line for each tool."""
    from .engine import mock, post, tool

    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {args.samples} samples, {args.concurrency} at once, {args.latency:g} s latency"
    )
    given = {"steelyard": sys.executable, "ragas": args.ragas, "deepeval": args.deepeval}
    with tempfile.TemporaryDirectory() as directory, mock(args.latency) as url:
        subprocess.run([sys.executable, tool("make_data.py"), str(args.samples)], cwd=directory, check=True)
        for name, python in given.items():
            if python is None:
                continue
            post(url, "/_reset", {})
            command = [python, __file__, "--concurrency", str(args.concurrency), "--worker", name, url]
            environment = {**os.environ, "OPENAI_API_KEY": "none", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
            environment |= {"RAGAS_DO_NOT_TRACK": "true", "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
            done = subprocess.run(
                [*command, f"{directory}/samples.jsonl"],
                capture_output=True,
                text=True,
                cwd=directory,
                env=environment,
                check=False,
            )
            if done.returncode:
                print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
                continue
            did = json.loads(done.stdout.strip().splitlines()[-1])
            server = json.load(urllib.request.urlopen(url + "/_stats"))
            calls, chat = server["total_calls"], server["calls"].get("chat", 0)
            ideal = calls * args.latency / args.concurrency
            print(
                f"{name} {did['version']}: {did['wall']:.1f} s = {did['wall'] / ideal:.2f} x calls x latency / places; "
                f"{did['cpu'] / calls * 1000:.1f} ms CPU a call; a sample: {chat / args.samples:.1f} chat calls, "
                f"{server['prompt_chars'] / args.samples:,.0f} characters, {did['wall'] / args.samples:.2f} s; "
                f"{server['max_in_flight']} at most in flight; {did['scores']} of {5 * args.samples} scores",
                flush=True,
            )


def work(name: str, url: str, samples: str, concurrency: int) -> dict[str, Any]:
    """Evaluate with one tool, in its own environment."""
    rows = [json.loads(line) for line in Path(samples).read_text(encoding="utf-8").splitlines()]
    run, installed = {"ragas": ragas, "deepeval": deepeval, "steelyard": steelyard}[name](url, rows, concurrency)
    used = resource.getrusage(resource.RUSAGE_SELF)
    started, before = time.perf_counter(), used.ru_utime + used.ru_stime
    scores = run()
    used = resource.getrusage(resource.RUSAGE_SELF)
    wall, cpu = time.perf_counter() - started, used.ru_utime + used.ru_stime - before
    return {"wall": wall, "cpu": cpu, "scores": scores, "version": installed}


def steelyard(url: str, rows: Sequence[Row], concurrency: int) -> tuple[Any, str]:
    """Steelyard's five RAG metrics."""
    import aiohttp  # noqa: F401 - loading it is no part of asking

    from steelyard import evaluate_rag

    judge = f"{url}/v1#mock"

    def run() -> int:
        report = evaluate_rag(
            [dict(row) for row in rows], metrics=["rag"], judge=judge, embedder=judge, concurrency=concurrency
        )
        return sum(estimate.n for estimate in report.estimates.values())

    return run, version("steelyard")


def ragas(url: str, rows: Sequence[Row], concurrency: int) -> tuple[Any, str]:
    """The five metrics of the same names in ragas."""
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from ragas import EvaluationDataset, evaluate
    from ragas.embeddings import LangchainEmbeddingsWrapper
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import (
        ContextRelevance,
        Faithfulness,
        LLMContextPrecisionWithReference,
        LLMContextRecall,
        ResponseRelevancy,
    )
    from ragas.run_config import RunConfig

    fields = ("user_input", "response", "reference", "retrieved_contexts")
    dataset = EvaluationDataset.from_list([{name: row[name] for name in fields} for row in rows])
    llm = LangchainLLMWrapper(ChatOpenAI(model="mock", base_url=f"{url}/v1", api_key="none"))
    embeddings = LangchainEmbeddingsWrapper(
        OpenAIEmbeddings(model="mock", base_url=f"{url}/v1", api_key="none", check_embedding_ctx_length=False)
    )
    chosen = [
        Faithfulness(),
        ResponseRelevancy(),
        ContextRelevance(),
        LLMContextRecall(),
        LLMContextPrecisionWithReference(),
    ]

    def run() -> int:
        result = evaluate(
            dataset,
            metrics=chosen,
            llm=llm,
            embeddings=embeddings,
            show_progress=False,
            run_config=RunConfig(max_workers=concurrency),
        )
        return sum(not math.isnan(value) for row in result.scores for value in row.values())

    return run, version("ragas")


def deepeval(url: str, rows: Sequence[Row], concurrency: int) -> tuple[Any, str]:
    """The five metrics of like names in deepeval."""
    from deepeval import metrics
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase
    from openai import AsyncOpenAI

    class Mock(DeepEvalBaseLLM):  # type: ignore[misc]
        """The endpoint by OpenAI's own client, with the schema that a metric asks for."""

        def __init__(self) -> None:
            self.client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none")
            super().__init__("mock")

        def load_model(self, *_: Any, **__: Any) -> Any:
            return self.client

        def get_model_name(self, *_: Any, **__: Any) -> str:
            return "mock"

        def generate(self, prompt: str, schema: Any = None, **_: Any) -> Any:
            return asyncio.run(self.a_generate(prompt, schema))

        async def a_generate(self, prompt: str, schema: Any = None, **_: Any) -> Any:
            message: Any = [{"role": "user", "content": prompt}]
            if schema is None:
                answer = await self.client.chat.completions.create(model="mock", messages=message)
                return answer.choices[0].message.content
            parsed = await self.client.chat.completions.parse(model="mock", messages=message, response_format=schema)
            return parsed.choices[0].message.parsed

    kinds = (
        metrics.FaithfulnessMetric,
        metrics.AnswerRelevancyMetric,
        metrics.ContextualRelevancyMetric,
        metrics.ContextualRecallMetric,
        metrics.ContextualPrecisionMetric,
    )

    async def every() -> int:
        model, places = Mock(), asyncio.Semaphore(concurrency)

        async def one(row: Row, kind: Any) -> bool:
            case = LLMTestCase(
                input=row["user_input"],
                actual_output=row["response"],
                expected_output=row["reference"],
                retrieval_context=row["retrieved_contexts"],
            )
            async with places:
                metric = kind(model=model, async_mode=True, include_reason=False)
                await metric.a_measure(case, _show_indicator=False)
            return metric.score is not None

        done = await asyncio.gather(*(one(row, kind) for row in rows for kind in kinds), return_exceptions=True)
        return sum(one is True for one in done)

    return lambda: asyncio.run(every()), version("deepeval")


if __name__ == "__main__":
    main()
