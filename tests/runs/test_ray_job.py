"""A job on a simulated cluster of two nodes: whatever is lost, all rows are there and nothing is paid for twice.

Each test loses something else at half of the job: a node, a worker, the limiter, the driver. A head without processors
and two nodes are started once for all; everything ends with the last test.
"""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from steelyard.core.errors import InputError
from steelyard.core.progress import Count
from steelyard.io.storage import Folder, folder_at
from steelyard.models.rate_limits import BURST
from steelyard.runs.config import read_config
from steelyard.runs.job import merge, plan, unfinished
from steelyard.runs.job_parts import Manifest
from tests.runs.jobs import configured, of_one_process, plain, text
from tests.server import Server

ray = pytest.importorskip("ray", reason="ray is not installed")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found as Linux shows them")

Serve = Callable[..., Server]
BUCKETS, CONCURRENCY = 8, 4
SMALL = {"object_store_memory": 80 << 20, "include_dashboard": False}
QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300, "health_check_failure_threshold": 3}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without processors, which holds the driver's and the limiter's place, and a connection to it."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": QUICK, **SMALL})
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def nodes(cluster: Any) -> Iterator[list[Any]]:
    """Two nodes with one processor each, in place of those that a test lost."""
    while len(cluster.worker_nodes) < 2:
        cluster.add_node(num_cpus=1, **SMALL)
    cluster.wait_for_nodes()
    return list(cluster.worker_nodes)


class Job:
    """A planned job, the report that it must make, and how many calls that takes."""

    def __init__(self, path: Path, server: Server) -> None:
        self.server, self.path = server, path
        self.one, self.calls = of_one_process(path, server)
        self.folder: Folder = folder_at(str(path.parent / "job"))
        self.manifest: Manifest = plan(read_config(path), self.folder, base=path.parent, buckets=BUCKETS)
        self.told: list[Count] = []

    def run(self, at_half: Callable[[], None] | None = None, **options: Any) -> None:
        """Run what is left; once half of the calls have come in, something happens."""
        from steelyard.runs.ray_job import run_on_ray

        half = threading.Thread(target=self._wait_for_half, args=(at_half,))
        half.start()
        try:
            run_on_ray(
                self.folder,
                unfinished(self.folder, self.manifest),
                concurrency=CONCURRENCY,
                progress=self.told.append,
                **options,
            )
        finally:
            half.join()

    def _wait_for_half(self, then: Callable[[], None] | None) -> None:
        wait_for(lambda: self.server.calls >= self.calls / 2)
        if then is not None:
            then()

    def check(self, *, lost: int = 0) -> None:
        """All rows, the report of one process, and at most the calls that were in flight at lost workers again."""
        assert unfinished(self.folder, self.manifest) == []
        report = merge(self.folder)
        assert report.n_samples == len(self.one["ids"])
        assert text(plain(report)) == text(self.one)
        assert self.calls <= self.server.calls <= self.calls + lost * CONCURRENCY


@pytest.fixture
def job(serve: Serve, tmp_path: Path) -> Job:
    server = serve()
    path = configured(tmp_path, server, samples=80)
    made = Job(path, server)
    server.latency = 0.05
    return made


def wait_for(so: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for other processes."""
    end = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < end
        time.sleep(0.005)


def processes(node: Any, title: str) -> list[int]:
    """The processes of one node that do some work, by the titles that Ray gives them."""
    raylet = node.all_processes["raylet"][0].process.pid
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == raylet and (path / "cmdline").read_bytes().startswith(title.encode()):
                found.append(int(path.name))
    return found


def kill(node: Any, title: str) -> None:
    """Kill one such process, as the system does that has run out of memory."""
    wait_for(lambda: bool(processes(node, title)))
    os.kill(processes(node, title)[0], signal.SIGKILL)


def test_a_node_is_lost(job: Job, cluster: Any, nodes: list[Any]) -> None:
    """Removed without a word at half: its part is done again elsewhere. Progress is told all along."""
    job.run(lambda: cluster.remove_node(nodes[1], allow_graceful=False))
    job.check(lost=1)
    last = job.told[-1]
    assert (last.done, last.failed) == (240, 0)
    assert last.usage.cost == pytest.approx(job.one["usage"]["cost"])
    assert any(0 < count.done < 240 for count in job.told)


def test_a_worker_is_killed(job: Job, nodes: list[Any]) -> None:
    """The part that it did is begun again, and what it had answered is not asked again."""
    job.run(lambda: kill(nodes[0], "ray::work"))
    job.check(lost=1)


def test_the_limiter_is_killed_and_the_rate_holds(job: Job, cluster: Any, nodes: list[Any]) -> None:
    """It starts anew without permits: no second sees more than the rate and the burst, and nothing is lost."""
    job.run(lambda: kill(cluster.head_node, "ray::ClusterRateLimiter"), rates={job.server.url: 120.0})
    job.check()
    times = sorted(job.server.times)
    most = max(bisect_left(times, start + 1.0) - at for at, start in enumerate(times))
    assert most <= 120 * (1 + BURST) + 2 * CONCURRENCY  # permits on their way to a call


def test_the_driver_is_killed_and_started_again(job: Job, cluster: Any, nodes: list[Any]) -> None:
    """Its workers go with it; the next driver does what is left."""
    options = ["--job", job.folder.name, "--cluster", f"ray:{cluster.address}", "--concurrency", str(CONCURRENCY)]
    command = [sys.executable, "-m", "steelyard", "run", str(job.path), *options]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: job.server.calls >= job.calls / 2)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL
    wait_for(lambda: not any(processes(node, "ray::work") for node in nodes))
    assert job.server.calls < job.calls
    job.run()
    job.check(lost=2)


@pytest.fixture
def heeded() -> Iterator[None]:
    """Ctrl-C interrupts this process, even where it runs in the background and ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
def test_a_job_is_cancelled(job: Job, nodes: list[Any]) -> None:
    """Ctrl-C ends what runs within a moment, nothing comes after it, and the job goes on from there."""
    with pytest.raises(KeyboardInterrupt):
        job.run(_thread.interrupt_main)
    calls = job.server.calls
    assert calls < 0.9 * job.calls
    wait_for(lambda: job.server.in_flight == 0)
    time.sleep(0.3)
    assert job.server.calls == calls
    job.run()
    job.check(lost=2)


def test_the_command_line_on_a_cluster_of_its_own(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    """``--cluster ray`` starts Ray on this machine, does the job, merges it and leaves nothing behind."""
    options = ["--job", job.folder.name, "--cluster", "ray", "--workers", "2", "--rate", f"{job.server.url}=500/s"]
    command = [sys.executable, "-m", "steelyard", "run", str(job.path), *options]
    job.server.latency = 0.0
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert text(plain(job.path.parent / "steelyard-out" / "report.json")) == text(job.one)
    assert "8 of 8 parts to do" in done.stderr
    job.check()


def test_no_cluster_at_an_address_is_told(job: Job) -> None:
    """One line, exit code 1, no traceback."""
    command = [sys.executable, "-m", "steelyard", "run", str(job.path), "--job", job.folder.name]
    done = subprocess.run([*command, "--cluster", "ray:127.0.0.1:1"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no Ray cluster at 127.0.0.1:1" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_what_is_wrong_with_the_run_ends_it(
    serve: Serve, tmp_path: Path, nodes: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker without a key ends the job with the one line that a single process says."""
    from steelyard.runs.ray_job import run_on_ray

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path = configured(tmp_path, serve(), samples=6, judge="openai:some-model#key_env=STEELYARD_NO_SUCH_KEY")
    folder = folder_at(str(tmp_path / "job"))
    manifest = plan(read_config(path), folder, base=tmp_path, buckets=2)
    with pytest.raises(InputError, match="no key: set the environment variable STEELYARD_NO_SUCH_KEY"):
        run_on_ray(folder, manifest.parts)


def test_run_files_are_weighed_on_a_cluster(nodes: list[Any], tmp_path: Path) -> None:
    """Pieces of a run file in workers: the report of the file read in one go."""
    from steelyard import evaluate_run
    from steelyard.ranking.policy import Policy
    from steelyard.runs.ranking_job import merge_rankings, plan_rankings
    from steelyard.runs.ray_job import run_on_ray

    run, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    lines = [f"q{query} Q0 d{doc} 0 {doc * query % 17} s\n" for query in range(30) for doc in range(query + 3)]
    run.write_text("".join(lines))
    qrels.write_text("".join(f"q{query} 0 d{doc} {doc % 3}\n" for query in range(30) for doc in range(0, 33, 4)))
    folder = folder_at(str(tmp_path / "job"))
    metrics = ["ndcg@10", "err@20", "map"]
    manifest = plan_rankings(folder, [run], qrels, metrics, policy=Policy(), buckets=5)
    assert len(manifest.parts) == 5
    run_on_ray(folder, manifest.parts, workers=2)
    assert text(plain(merge_rankings(folder)[0])) == text(plain(evaluate_run(run, qrels, metrics)))
