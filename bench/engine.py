"""How fast the engine asks: wall over calls x latency / concurrency, CPU a call, calls in flight, memory.

    python bench/engine.py                 # 200 samples, 0.2 s latency, at 16 and at 64 at once, beside a bare loop
    python bench/engine.py --faults        # 429s, 500s, malformed replies and hangs, drawn per call
    python bench/engine.py --scale 100000  # one request a sample against an endpoint that answers at once

The endpoint is ``mockllm.py`` and the samples are those of ``make_data.py``, looked for in ``bench/`` and in
``../shared/bench``. Every measurement runs in a process of its own, with an empty ledger.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from steelyard.core.records import Sample, Undefined
from steelyard.core.requests import Flow, Numbered, Prompt, ask, items, ratio
from steelyard.metrics.lookup import get_metric
from steelyard.models.engine import Cell, Engine

HERE = Path(__file__).resolve().parent
FIVE = ("faithfulness", "answer_relevancy", "context_relevancy", "context_recall", "context_precision")
FAULTS = {"429": 0.05, "500": 0.02, "malformed": 0.02, "hang": 0.01}


class Claims(Struct):
    claims: list[str]


class Verdict(Struct):
    reason: str
    verdict: Literal["yes", "no"]


def one(number: int) -> Flow:
    reply = yield from ask(Prompt("Is it so? Answer yes or no."), Verdict, text=f"text {number}")
    return float(reply.verdict == "yes")


def two(sample: Sample) -> Flow:
    split = yield from ask(Prompt("List the claims."), Claims, response=sample.response or "")
    shape = Numbered(Verdict).of(len(split.claims))
    contexts = sample.retrieved_contexts or []
    reply = yield from ask(Prompt("Check the claims."), shape, claim=split.claims, context=contexts)
    return ratio(sum(item.verdict == "yes" for item in items(reply)), len(split.claims), empty="no claims")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--deadline", type=float, default=3.0)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the draw of faults, each a run")
    parser.add_argument("--scale", type=int)
    parser.add_argument("--worker", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        print(json.dumps(work(**args.worker)))
        return
    print(f"python {sys.version.split()[0]}, aiohttp {version('aiohttp')}, {os.cpu_count()} cores")
    if args.scale:
        scale(args.scale)
        return
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.executable, tool("make_data.py"), str(args.samples)], cwd=directory, check=True)
        samples = f"{directory}/samples.jsonl"
        with mock(args.latency) as url:
            for concurrency in args.concurrency:
                for rule in ("bare loop", "two requests", "five metrics"):
                    run(url, samples, rule, concurrency, args)


def run(url: str, samples: str, rule: str, concurrency: int, args: argparse.Namespace) -> None:
    """One measurement without faults, and one with them where they are asked for."""
    faulty = args.faults and rule != "bare loop"
    for faults, seed in [({}, 0), *((FAULTS, seed) for seed in args.seeds if faulty)]:
        post(url, "/_reset", {"faults": faults, "seed": seed, "retry_after": 1.0, "hang_s": 600.0})
        job = {"url": url, "samples": samples, "rule": rule, "concurrency": concurrency, "deadline": args.deadline}
        did = measured(job)
        server = json.load(urllib.request.urlopen(url + "/_stats"))
        calls = server["total_calls"]
        ideal = calls * args.latency / concurrency
        chat, chars = server["calls"].get("chat", 0), server["prompt_chars"]
        told = ", ".join(f"{status} {did[status]}" for status in ("ok", "undefined", "failed"))
        print(
            f"{rule:13s} {f'faults {seed}' if faults else '':8s} at {concurrency:3d}: {did['wall']:6.2f} s = "
            f"{did['wall'] / ideal:5.3f} x ideal; {did['cpu'] / calls * 1000:.2f} ms CPU a call "
            f"({server['server_cpu_s'] / calls * 1000:.2f} of the endpoint); {calls} calls, "
            f"{server['max_in_flight']} at most in flight; a sample: {chat / args.samples:.2f} chat calls, "
            f"{chars / args.samples:.0f} characters; {told}; {did['rss']:.0f} MB"
            + (f" {did['reasons']}" if did["reasons"] else ""),
            flush=True,
        )


def scale(count: int) -> None:
    """One request a sample, against an endpoint that answers at once."""
    for concurrency in (16, 64):
        with served([sys.executable, str(HERE / "instant.py")]) as url:
            did = measured({"url": url, "samples": str(count), "rule": "one request", "concurrency": concurrency})
        print(
            f"{count} samples at {concurrency}: {did['wall']:.1f} s, {did['cpu'] / count * 1000:.2f} ms CPU a call, "
            f"{did['rss']:.0f} MB at most, ok {did['ok']}, failed {did['failed']} {did['reasons']}"
        )


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """A job in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        job["ledger"] = f"{directory}/ledger.sqlite"
        command = [sys.executable, __file__, "--worker", json.dumps(job)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def work(*, url: str, samples: str, rule: str, concurrency: int, ledger: str, deadline: float = 60.0) -> dict[str, Any]:
    """Run the cells and say what it took."""
    import aiohttp  # noqa: F401 - loading it is no part of asking

    if rule == "bare loop":
        return bare(url, concurrency)
    judge = f"{url}/v1#mock"
    for name in FIVE if rule == "five metrics" else ():
        get_metric(name, way="judged")
    engine = Engine(judge, judge, ledger=ledger, concurrency=concurrency, deadline=deadline)
    told: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    started, before = time.perf_counter(), cpu()
    for result in engine.run(cells(rule, samples)):
        told["failed" if result.error else "undefined" if isinstance(result.outcome, Undefined) else "ok"] += 1
        if result.error:
            reasons[str(result.error)[:80]] += 1
    wall, used = time.perf_counter() - started, cpu() - before
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": wall, "cpu": used, "rss": rss, "reasons": dict(reasons)} | {
        status: told[status] for status in ("ok", "undefined", "failed")
    }


def bare(url: str, concurrency: int, calls: int = 1400) -> dict[str, Any]:
    """The same number of calls by the HTTP client alone: what this machine allows at this moment."""
    import aiohttp

    async def loop() -> None:
        left = iter(range(calls))

        async def ask_on() -> None:
            for number in left:
                message = {"role": "user", "content": f"Is it so? {number} " + "text " * 400}
                body = json.dumps({"model": "mock", "messages": [message]}).encode()
                async with session.post(f"{url}/v1/chat/completions", data=body) as response:
                    json.loads(await response.read())

        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            await asyncio.gather(*(ask_on() for _ in range(concurrency)))

    started, before = time.perf_counter(), cpu()
    asyncio.run(loop())
    took = {"wall": time.perf_counter() - started, "cpu": cpu() - before, "rss": 0, "reasons": {}}
    return took | {"ok": calls, "undefined": 0, "failed": 0}


def cells(rule: str, samples: str) -> Iterator[Any]:
    """The cells of a rule."""
    if rule == "one request":
        yield from (Cell(number, partial(one, number)) for number in range(int(samples)))
        return
    five = rule == "five metrics"
    rules = {name: get_metric(name, way="judged").rule for name in FIVE} if five else {"two": two}
    for line in Path(samples).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        sample = Sample(**{**row, "id": str(row["id"])})
        for name, start in rules.items():
            yield Cell((name, sample.id), partial(start, sample))


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def tool(name: str) -> str:
    """A script of the bench, here or in the shared material beside the project."""
    for place in (HERE, HERE.parents[1] / "shared" / "bench"):
        if (place / name).is_file():
            return str(place / name)
    sys.exit(f"{name} is neither in bench/ nor in ../shared/bench")


@contextmanager
def mock(latency: float) -> Iterator[str]:
    with served([sys.executable, tool("mockllm.py"), "--latency", str(latency)]) as url:
        yield url


@contextmanager
def served(command: list[str]) -> Iterator[str]:
    """An endpoint in a process of its own, at a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*command, "--port", str(port)])
    try:
        asyncio.run(answering(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


async def answering(port: int) -> None:
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    sys.exit("the endpoint does not start")


def post(url: str, path: str, body: object) -> None:
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(url + path, json.dumps(body).encode(), headers)).read()


if __name__ == "__main__":
    main()
