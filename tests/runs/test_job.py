"""A run in parts, without a cluster: the report of one process to the last digit, whatever befell the parts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from steelyard import InputError, Report
from steelyard.cli import invoke
from steelyard.core.records import Sample
from steelyard.io.storage import folder_at
from steelyard.runs.config import read_config
from steelyard.runs.job import merge, plan, run_here, run_part, unfinished
from steelyard.runs.job_parts import Manifest, samples_of
from tests.runs.jobs import configured, of_one_process, plain, text
from tests.server import Reply, Server

Serve = Callable[..., Server]


@pytest.mark.long
def test_parts_make_the_report_of_one_process(serve: Serve, tmp_path: Path) -> None:
    """Judged, lexical and ranking metrics, slices, usage and intervals: equal to the byte, and no call more."""
    server = serve()
    path = configured(tmp_path, server)
    one, calls = of_one_process(path, server)
    assert invoke(["run", str(path), "--job", str(tmp_path / "job"), "--buckets", "7"]) == 0
    assert text(plain(tmp_path / "steelyard-out" / "report.json")) == text(one)
    assert server.calls == calls == 300
    server.reset()
    assert invoke(["run", str(path), "--job", str(tmp_path / "job")]) == 0  # nothing is left to do
    assert invoke(["merge", str(tmp_path / "job"), "--out", str(tmp_path / "again")]) == 0
    assert text(plain(tmp_path / "again" / "report.json")) == text(one)
    assert server.calls == 0


def test_a_job_is_of_its_data_and_its_names(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other samples in the same file, or a metric by another name, are another job; a copy without them goes on."""
    path = configured(tmp_path, serve(), samples=20)
    run_job = ["run", str(path), "--job", str(tmp_path / "job"), "--buckets", "2"]
    assert invoke(run_job) == 0
    data = Path(read_config(path).data[0])
    before = data.read_bytes()
    data.write_bytes(before.replace(b"opened", b"closed") + b"\n")
    assert invoke(run_job) == 1
    assert "this folder holds a job with different data" in capsys.readouterr().err
    data.unlink()
    assert invoke(run_job) == 0
    data.write_bytes(before)
    settings = path.read_text()
    path.write_text(settings.replace("faithfulness", "Faithfulness"))
    assert invoke(run_job) == 1
    assert "this folder holds a job with different metrics" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["memory", "file"])
def test_a_job_behind_a_url(serve: Serve, tmp_path: Path, place: str) -> None:
    """Parts, ledgers and results in a store of whole objects."""
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    server = serve()
    path = configured(tmp_path, server, samples=20)
    one, _ = of_one_process(path, server)
    url = f"memory://{uuid4().hex}" if place == "memory" else f"file://{tmp_path}/job"
    folder, config = folder_at(url), read_config(path)
    manifest = plan(config, folder, base=path.parent, buckets=4)
    run_here(folder, manifest.parts, concurrency=4)
    assert unfinished(folder, manifest) == []
    assert text(plain(merge(folder))) == text(one)


def test_every_sample_is_in_one_part(serve: Serve, tmp_path: Path) -> None:
    """Parts hold the samples as they were read, with their places; planning again changes nothing."""
    path = configured(tmp_path, serve(), samples=50)
    folder, config = folder_at(str(tmp_path / "job")), read_config(path)
    manifest = plan(config, folder, base=tmp_path, buckets=6)
    placed = sorted((row, one) for part in manifest.parts for row, one in samples_of(folder, manifest, part))
    rows = [json.loads(line) for line in (tmp_path / "samples.jsonl").read_text().splitlines()]
    assert [one for _, one in placed] == [Sample(**row) for row in rows]
    assert [row for row, _ in placed] == list(range(50))
    before = {file: file.read_bytes() for file in (tmp_path / "job").rglob("*.*")}
    plan(config, folder, base=tmp_path)
    (tmp_path / "job" / "manifest.json").unlink()
    assert plan(config, folder, base=tmp_path, buckets=6) == manifest
    assert {file: file.read_bytes() for file in (tmp_path / "job").rglob("*.*")} == before


@pytest.mark.long
def test_four_processes_two_of_which_are_killed(serve: Serve, tmp_path: Path) -> None:
    """``--part i/4`` at once; two are killed at work and started again. The report is that of one process."""
    server = serve(latency=0.02)
    path = configured(tmp_path, server, samples=48)
    one, calls = of_one_process(path, server)
    job = tmp_path / "job"
    assert invoke(["run", str(path), "--job", str(job), "--buckets", "8", "--split-only"]) == 0

    def start(number: int) -> subprocess.Popen[bytes]:
        options = ["--job", str(job), "--part", f"{number}/4", "--concurrency", "2"]
        command = [sys.executable, "-m", "steelyard", "run", str(path), *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    processes = {number: start(number) for number in range(1, 5)}
    for number in (2, 3):
        wait_for(lambda number=number: answered_in(job, number) > 5)
        os.kill(processes[number].pid, signal.SIGKILL)
        assert processes[number].wait() == -signal.SIGKILL
    assert len(unfinished(folder_at(str(job)), Manifest.at(folder_at(str(job))))) > 0
    processes |= {number: start(number) for number in (2, 3)}
    assert [process.wait() for process in processes.values()] == [0] * 4
    assert calls <= server.calls <= calls + 2 * 2  # two workers with two calls in flight
    assert invoke(["merge", str(job)]) == 0
    assert text(plain(tmp_path / "steelyard-out" / "report.json")) == text(one)


def answered_in(job: Path, number: int) -> int:
    """Replies in the ledgers of one share of four."""
    parts = [path for path in (job / "ledger").glob("*") if int(path.name) % 4 == number - 1]
    return sum(file.read_bytes().count(b'{"reply":') for path in parts for file in path.glob("*"))


def wait_for(so: Callable[[], bool]) -> None:
    """Wait for other processes, at most a minute."""
    end = time.monotonic() + 60
    while not so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_transient_failures_are_tried_again(serve: Serve, tmp_path: Path) -> None:
    """What another attempt may mend is asked again when the job is resumed; what a judge cannot answer is not."""
    sick = {"on": True}

    def answer(body: dict[str, Any]) -> Any:
        prompt = body["messages"][-1]["content"]
        if "bridge 3 " in prompt:
            return "nonsense"
        if sick["on"] and "bridge 5 " in prompt:
            return Reply({"error": {"message": "no such model here"}}, 404)
        return '{"1": {"verdict": "yes", "reason": "r"}, "2": {"verdict": "yes", "reason": "r"}}'

    server = serve(answer=answer)
    path = configured(tmp_path, server, samples=12, metrics=["context_precision"])
    job = folder_at(str(tmp_path / "job"))
    manifest = plan(read_config(path), job, base=tmp_path, buckets=3)
    done = [run_part(job, part) for part in manifest.parts]
    assert sum(one.rows for one in done) == 12
    failed = merge(job).columns["context_precision"].failed
    assert max(reason.partition(":")[0] for reason in failed.values()) == "not_found"
    left = unfinished(job, manifest)
    assert len(left) == sum(one.transient > 0 for one in done) == 1
    sick["on"] = False
    server.reset()
    run_here(job, left)
    again = merge(job).columns["context_precision"]
    assert len(again.failed) == len(failed) - 1
    assert unfinished(job, manifest) == []
    asked = [prompt for prompt in server.prompts if "bridge 3 " not in prompt]
    assert len(asked) == 1
    assert "bridge 5 " in asked[0]


def test_a_job_is_of_one_configuration(serve: Serve, tmp_path: Path) -> None:
    """Other metrics, another judge or other buckets are told; limits, slices and outputs may change."""
    server = serve()
    path = configured(tmp_path, server, samples=8)
    job = folder_at(str(tmp_path / "job"))
    plan(read_config(path), job, base=tmp_path, buckets=2)
    with pytest.raises(InputError, match="this folder holds a job with different metrics"):
        plan(read_config(configured(tmp_path, server, samples=8, metrics=["faithfulness"])), job, base=tmp_path)
    other = configured(tmp_path, server, samples=8, judge=f"{server.url}#other", repeats=2)
    with pytest.raises(InputError, match="different judge and repeats"):
        plan(read_config(other), job, base=tmp_path)
    with pytest.raises(InputError, match="the job has 2 buckets, not 3"):
        plan(read_config(configured(tmp_path, server, samples=8)), job, base=tmp_path, buckets=3)
    same = configured(tmp_path, server, samples=8, by=[], confidence=0.9, concurrency=3)
    assert len(plan(read_config(same), job, base=tmp_path, buckets=2).rows) == 2
    assert Manifest.at(job).settings.confidence == 0.9
    with pytest.raises(InputError, match="job incomplete, 2 of 2 parts to do: 00000, 00001"):
        merge(job)
    with pytest.raises(InputError, match="no job in this folder"):
        merge(folder_at(str(tmp_path / "nowhere")))


def test_parts_that_do_not_fit_are_told(serve: Serve, tmp_path: Path) -> None:
    """A part that is missing, cells of other samples, fewer samples than were planned."""
    path = configured(tmp_path, serve(), samples=8, metrics=["token_f1"], judge=None)
    job = folder_at(str(tmp_path / "job"))
    manifest = plan(read_config(path), job, base=tmp_path, buckets=2)
    run_here(job, manifest.parts)
    assert merge(job).estimates["token_f1"].n == 8
    results = [job.read(f"results/{part:05}.json") or b"" for part in (0, 1)]
    job.write("results/00000.json", results[1])
    with pytest.raises(InputError, match="the cells of part 0 belong to other samples"):
        merge(job)
    parts = [job.read(f"parts/{part:05}-0.parquet") or b"" for part in (0, 1)]
    job.write("parts/00001-0.parquet", parts[0])
    if manifest.rows[0] != manifest.rows[1]:
        with pytest.raises(InputError, match="as in the manifest"):
            run_part(job, 1)
    job.remove("parts/00000-0.parquet")
    with pytest.raises(InputError, match="a part of the job is missing"):
        run_part(job, 0)


def test_a_batch_metric_sees_all_samples(tmp_path: Path) -> None:
    """What looks at all samples at once is scored when the parts are merged."""
    (tmp_path / "mine.py").write_text(
        "from steelyard import metric\n\n"
        "class Longest:\n"
        "    def calculate_metric_scores(self, predicted_answers):\n"
        "        longest = max(map(len, predicted_answers))\n"
        "        each = [{'Longest': len(one) / longest} for one in predicted_answers]\n"
        "        return {'Longest': sum(one['Longest'] for one in each) / len(each)}, each\n"
    )
    config = {"data": "s.jsonl", "metrics": [f"{tmp_path / 'mine.py'}:Longest", "non_empty_rate"]}
    (tmp_path / "c.json").write_text(json.dumps(config))
    (tmp_path / "s.jsonl").write_text("".join(json.dumps({"response": "x" * n}) + "\n" for n in range(1, 9)))
    path = tmp_path / "c.json"
    assert invoke(["run", str(path)]) == 0
    one = plain(tmp_path / "steelyard-out" / "report.json")
    assert one["estimates"]["Longest"]["value"] == pytest.approx(4.5 / 8)
    assert invoke(["run", str(path), "--job", str(tmp_path / "job"), "--buckets", "3"]) == 0
    assert text(plain(tmp_path / "steelyard-out" / "report.json")) == text(one)


def repeating(folder: Path, server: Server, *, samples: int, **settings: Any) -> Path:
    """A configuration of samples of which every fourth asks the same of the judge."""
    path = configured(folder, server, samples=samples, metrics=["context_relevancy"], **settings)
    rows = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        same = rows[number % 4]
        row |= {"user_input": same["user_input"], "retrieved_contexts": same["retrieved_contexts"]}
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_usage_is_what_the_endpoint_saw(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Equal questions of a part are asked once: calls are those made, the rest is cached; so in every output."""
    server = serve()
    path = repeating(tmp_path, server, samples=80)
    one, calls = of_one_process(path, server)
    assert calls == 2 * 4
    assert invoke(["run", str(path), "--job", str(tmp_path / "job"), "--buckets", "3"]) == 0
    assert calls < server.calls <= 3 * calls
    told = f"{server.calls} calls, {2 * 80 - server.calls} cached"
    assert told in capsys.readouterr().out
    saved = tmp_path / "steelyard-out" / "report.json"
    assert plain(saved)["usage"]["calls"] == one["usage"]["calls"] == 160
    assert invoke(["show", str(saved)]) == 0
    assert told in capsys.readouterr().out
    usage = Report.load(saved).usage
    assert (usage.calls, usage.cached) == (server.calls, 160 - server.calls)


def test_usage_of_a_resumed_job_is_that_of_all_attempts(serve: Serve, tmp_path: Path) -> None:
    """Calls of an attempt that was cut short count as calls, and not twice; what they answered later is cached."""
    server = serve()
    job = folder_at(str(tmp_path / "job"))
    path = repeating(tmp_path, server, samples=80, max_calls=8)
    manifest = plan(read_config(path), job, base=tmp_path, buckets=2)
    run_here(job, manifest.parts)
    first = server.calls
    assert 0 < first <= 8
    assert len(unfinished(job, manifest)) == 2
    manifest = plan(read_config(repeating(tmp_path, server, samples=80)), job, base=tmp_path)
    run_here(job, manifest.parts)
    usage = merge(job).usage
    assert server.calls > first
    assert (usage.calls, usage.calls + usage.cached) == (server.calls, 160)


@pytest.mark.parametrize(("samples", "given", "parts"), [(20, {}, 1), (420, {}, 3), (20, {"least": 8}, 8)])
def test_parts_are_as_many_as_the_samples_need(
    tmp_path: Path, serve: Serve, samples: int, given: dict[str, int], parts: int
) -> None:
    """Some 200 samples each, where nobody says how many; and one for each who is to do a share."""
    path = configured(tmp_path, serve(), samples=samples, metrics=["token_f1"], judge=None)
    manifest = plan(read_config(path), folder_at(str(tmp_path / "job")), base=tmp_path, **given)
    assert len(manifest.rows) == parts
    assert sum(manifest.rows) == samples


def test_a_dry_run_without_a_price_says_so(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says how a configuration names the price; with one the plan has the cost."""
    server = serve()
    line = "cost unknown: give the judge's price per million tokens, as in judge: {model: …, price: [in, out]}"
    path = configured(tmp_path, server, samples=3, judge={"model": server.judge})
    assert invoke(["run", str(path), "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == line
    assert invoke(["run", str(configured(tmp_path, server, samples=3)), "--dry-run"]) == 0
    assert "cost unknown" not in capsys.readouterr().out


def test_a_share_of_a_small_job_has_a_part(serve: Serve, tmp_path: Path) -> None:
    """``--part I/N`` of a job that nobody planned makes at least N parts."""
    path = configured(tmp_path, serve(), samples=40, metrics=["token_f1"], judge=None)
    assert invoke(["run", str(path), "--job", str(tmp_path / "job"), "--part", "2/4"]) == 0
    assert len(Manifest.at(folder_at(str(tmp_path / "job"))).rows) == 4


def test_a_share_without_a_part_says_so(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A planned job of two parts has no work for a third share; its parts are dealt out evenly to the others."""
    path = configured(tmp_path, serve(), samples=40, metrics=["token_f1"], judge=None)
    job = ["run", str(path), "--job", str(tmp_path / "job")]
    assert invoke([*job, "--split-only", "--buckets", "2"]) == 0
    assert capsys.readouterr().out == "40 samples in 2 parts\n"
    assert invoke([*job, "--part", "3/3"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "nothing to do for share 3 of 3: the job has only 2 parts\n")
    assert invoke([*job, "--part", "2/3"]) == 0
    assert "1 of 1 part to do" in capsys.readouterr().err
    with pytest.raises(InputError, match="job incomplete, 1 of 2 parts to do: 00000"):
        merge(folder_at(str(tmp_path / "job")))


def test_a_budget_is_shared_by_samples(serve: Serve, tmp_path: Path) -> None:
    """The parts together spend no more than the whole may."""
    server = serve()
    path = configured(tmp_path, server, samples=40, max_calls=21, metrics=["context_precision"])
    job = folder_at(str(tmp_path / "job"))
    manifest = plan(read_config(path), job, base=tmp_path, buckets=4)
    run_here(job, manifest.parts)
    assert 21 - 4 <= server.calls <= 21
    assert len(merge(job).columns["context_precision"].failed) == 40 - server.calls
    assert len(unfinished(job, manifest)) == 4  # what was not run may be


def test_what_is_behind_a_score_is_in_the_job(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``show --why`` finds prompts and replies in the ledgers of the parts."""
    path = configured(tmp_path, serve(), samples=6)
    assert invoke(["run", str(path), "--job", str(tmp_path / "job"), "--buckets", "3"]) == 0
    capsys.readouterr()
    assert invoke(["show", str(tmp_path / "steelyard-out"), "--why", "s4", "faithfulness"]) == 0
    told = capsys.readouterr().out
    assert "request 2 of 2" in told
    assert "Bridge 4 opened in 1904." in told.partition("prompt:")[2]
    assert "not in the ledger" not in told


def test_a_dry_run_reckons_the_time(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Calls, cost, and how long the calls take at a rate; nothing is sent."""
    server = serve()
    path = configured(tmp_path, server, samples=60)
    assert invoke(["run", str(path), "--dry-run", "--rate", f"{server.url}=0.5/s"]) == 0
    told = capsys.readouterr().out
    assert "about 300 calls" in told
    assert "at these rates 10.0 min at least" in told  # 300 calls, one in two seconds
    assert server.calls == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--part", "1/8"], "--part needs --job"),
        (["--cluster", "ray"], "--cluster needs --job"),
        (["--split-only"], "--split-only needs --job"),
        (["--job", "j", "--part", "0/8"], "--part 0/8: expected I/N, from 1/N to N/N"),
        (["--job", "j", "--part", "9/8"], "--part 9/8: expected I/N"),
        (["--job", "j", "--part", "1/8", "--cluster", "ray"], "contradict each other"),
        (["--job", "j", "--cluster", "dask"], "--cluster dask: expected ray or ray:ADDRESS"),
        (["--job", "j", "--workers", "4"], "without one, use --part"),
        (["--job", "j", "--buckets", "0"], "at least 1 bucket"),
        (["--rate", "openai=5/s"], "no such endpoint in this run"),
    ],
)
def test_mistakes_are_told_in_a_line(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    """Exit code 1 and one line, before any work."""
    server = serve()
    path = configured(tmp_path, server, samples=2)
    assert invoke(["run", str(path), *[str(tmp_path / one) if one == "j" else one for one in options]]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert server.calls == 0


def test_without_ray_it_says_what_to_install(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--cluster ray`` names the extra; a job without it runs."""
    monkeypatch.setitem(sys.modules, "ray", None)
    path = configured(tmp_path, serve(), samples=4)
    job = ["--job", str(tmp_path / "job"), "--buckets", "2"]
    assert invoke(["run", str(path), *job, "--cluster", "ray"]) == 1
    assert capsys.readouterr().err == "steelyard: ray is not installed: pip install 'steelyard[ray]'\n"
    assert invoke(["run", str(path), *job]) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda cells: cells["columns"].update(token_f1=cells["columns"].pop("em")), "found 'token_f1': run it again"),
        (lambda cells: cells["columns"].pop("em"), "found none: run it again"),
        (lambda cells: cells["columns"]["em"]["values"].__setitem__(0, 7.0), "from 0 to 1, found 7"),
        (lambda cells: cells["columns"]["em"]["values"].pop(), "one for each id, found"),
        (lambda cells: cells["columns"]["em"]["values"].__setitem__(0, None), "row 0 is neither scored"),
        (lambda cells: cells["columns"]["em"].update(failed={"0": "timeout"}), "row 0 is neither scored"),
        (lambda cells: cells["columns"]["em"].update(failed={"99": "timeout"}), "row 99 is not there"),
    ],
)
def test_foreign_and_damaged_results_are_not_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Any], object], words: str
) -> None:
    """Cells of other metrics, out of bounds, too few or without a reason: one line that names the file."""
    job = _small_job(tmp_path)
    file = min((job / "results").iterdir())
    cells = json.loads(file.read_bytes())
    change(cells)
    file.write_text(json.dumps(cells), encoding="utf-8")
    capsys.readouterr()
    assert invoke(["merge", str(job)]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"steelyard: {file}: $.columns")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"PAR1", b"junk" * 99, None])
def test_damaged_parts_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None) -> None:
    """Samples that are empty, cut or something else stop a merge and a run with one line."""
    job = _small_job(tmp_path)
    file = min((job / "parts").iterdir())
    file.write_bytes(file.read_bytes()[:-20] if content is None else content)
    for done in (job / "done").iterdir():
        done.unlink()
    for command in (["merge", str(job)], ["run", str(tmp_path / "config.json"), "--job", str(job), "--part", "1/1"]):
        capsys.readouterr()
        assert invoke(command) == 1
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith(f"steelyard: {file}: not a part of a job")


def test_a_part_whose_note_is_damaged_is_done_again(tmp_path: Path) -> None:
    """What says that a part is done was cut off: it counts as not done."""
    folder = folder_at(str(_small_job(tmp_path)))
    folder.write("done/00001.json", b'{"rows": 4, "ce')
    assert unfinished(folder, Manifest.at(folder)) == [1]


def _small_job(folder: Path) -> Path:
    """A job of one metric that is done."""
    rows = [{"id": f"s{number}", "response": "a", "reference": "ab"[number % 2]} for number in range(8)]
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"data": "samples.jsonl", "metrics": ["em"]}), encoding="utf-8")
    assert invoke(["run", str(folder / "config.json"), "--job", str(folder / "job"), "--buckets", "2"]) == 0
    return folder / "job"
