"""What a job in parts costs: the driver's memory, two workers beside one, and what is paid beside the endpoint.

    python bench/scale.py                    # 20,000 samples, one metric, an endpoint that answers at once
    python bench/scale.py --samples 200000   # the size at which the driver must not exceed 500 MB
    python bench/scale.py --latency 0.1      # workers that wait for the endpoint: what more of them bring
    python bench/scale.py --no-ray           # shares as processes (--part 1/2, 2/2) in place of a cluster

The endpoint is ``instant.py``, in a process of its own on the same machine, and so takes processor time from the
workers: two of them can be twice as fast as one only where there are cores for both, the endpoint and the driver.
Throughput is counted between the first and the last part that is done, without the start of Ray and the merging.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from engine import bare, served  # noqa: E402 - a script beside this one

METRIC = '''"""One request a sample."""

from typing import Literal

from msgspec import Struct

from steelyard import metric
from steelyard.core.requests import Prompt, ask


class Verdict(Struct):
    reason: str
    verdict: Literal["yes", "no"]


@metric(needs=("response",))
def so(sample):
    reply = yield from ask(Prompt("Is it so? Answer yes or no."), Verdict, text=sample.response)
    return float(reply.verdict == "yes")
'''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--buckets", type=int, default=128)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--no-ray", action="store_true")
    args = parser.parse_args()
    print(f"python {sys.version.split()[0]}, {os.cpu_count()} cores, {args.samples} samples in {args.buckets} parts")
    endpoint = [sys.executable, str(HERE / "instant.py"), "--latency", str(args.latency)]
    with tempfile.TemporaryDirectory() as name, served(endpoint) as url:
        folder = Path(name)
        config = written(folder, url, args.samples)
        did = bare(url, args.concurrency, calls=5000)
        print(f"bare loop: {5000 / did['wall']:.0f} calls/s, {did['cpu'] / 5000 * 1000:.2f} ms CPU a call")
        speeds = {}
        for workers in args.workers:
            job = folder / f"job{workers}"
            options = ["--job", str(job), "--concurrency", str(args.concurrency)]
            if not args.no_ray:
                options += ["--buckets", str(args.buckets), "--cluster", "ray", "--workers", str(workers)]
                wall, memory = watched([["run", str(config), *options]])
            else:
                watched([["run", str(config), *options, "--buckets", str(args.buckets), "--plan"]])
                shares = [["run", str(config), *options, "--part", f"{n}/{workers}"] for n in range(1, workers + 1)]
                wall, memory = watched(shares)
            speeds[workers] = speed = throughput(job)
            times = speed / speeds[args.workers[0]]
            print(
                f"{workers} worker{'s' * (workers > 1)}: {speed:.0f} samples/s ({times:.2f} x), {wall:.1f} s in all, "
                f"{memory:.0f} MB at most in {'a share' if args.no_ray else 'the driver'}",
                flush=True,
            )
            wall, memory = watched([["merge", str(job)]])
            print(f"merged in {wall:.1f} s, {memory:.0f} MB", flush=True)
            shutil.rmtree(job)


def written(folder: Path, url: str, count: int) -> Path:
    """Samples and a configuration of one metric."""
    (folder / "so.py").write_text(METRIC)
    with (folder / "samples.jsonl").open("w") as file:
        for number in range(count):
            file.write(
                json.dumps({"id": f"s{number}", "user_input": f"q{number}", "response": f"text {number}"}) + "\n"
            )
    config = folder / "config.json"
    judge = f"{url}/v1#mock"
    config.write_text(json.dumps({"data": "samples.jsonl", "judge": judge, "metrics": [f"{folder / 'so.py'}:so"]}))
    return config


def watched(commands: list[list[str]]) -> tuple[float, float]:
    """Seconds that commands take side by side, and the largest of their peaks of memory in MB."""
    started = time.perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [subprocess.Popen([sys.executable, "-m", "steelyard", *command], **quiet) for command in commands]
    most = 0.0
    while any(process.poll() is None for process in processes):
        most = max([most, *(peak(process.pid) for process in processes)])
        time.sleep(0.05)
    if any(process.returncode for process in processes):
        sys.exit(f"a command failed: {[process.returncode for process in processes]}")
    return time.perf_counter() - started, most


def peak(process: int) -> float:
    """A process's peak of resident memory in MB; 0 where it has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)


def throughput(job: Path) -> float:
    """Samples a second between the first and the last part that was done."""
    done = sorted((path.stat().st_mtime, json.loads(path.read_bytes())["rows"]) for path in (job / "done").iterdir())
    return sum(rows for _, rows in done[1:]) / (done[-1][0] - done[0][0])


if __name__ == "__main__":
    main()
