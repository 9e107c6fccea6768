"""Sweeps on a Slurm cluster of this machine, with real munged, slurmctld and slurmd: `make test-engines`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import calprobe, exports_of
from slurm_here import SlurmHere, slurm_here

from calprobe.errors import CalprobeError
from calprobe.sweep import Attempt, Job, Planned
from calprobe.sweep.job_record import log_path
from calprobe.sweep.on_slurm import OnSlurm, Slurm
from calprobe.sweep.on_slurm.job_arrays import arrays_in
from calprobe.sweep.on_slurm.waiting import Pace

pytest.importorskip("submitit")
pytestmark = pytest.mark.proof

_SCRIPT = "next(word[9:] for word in sys.argv if word.startswith('--script='))"
COMMAND = (sys.executable, "-S", "-c", f"import sys; exec({_SCRIPT})")
PACE = Pace(files=0.2, squeue_first=0.5, squeue_most=1.0, grace=2.0)
WAITS = """
import os, signal, sys, time
def end(*_): print('kept', flush=True); sys.exit(130)
signal.signal(signal.SIGTERM, end)
print('there', flush=True)
while not os.path.exists({go!r}): time.sleep(0.05)
print('done', flush=True)
"""
SWEEP = """
out = "{out}"
models = ["tiny-clm", "tiny-mlm"]
[options]
device = "cpu"
[probes.months]
probe = "mini"
relations = ["month"]
templates = "0"
limit = 4
save-tokens = true
[questions.mini]
as = "choice"
limit = 3
[studies.letters]
study = "none"
collect = ["labels"]
variants = ["implicit_framing"]
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmHere]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        with slurm_here(tmp_path_factory.mktemp("slurm") / "here", patch) as here:
            yield here


def planned(out: Path, name: str, units: int = 1, script: str = "pass") -> Planned:
    return Planned(Job(f"m/{name}", "score", "m", {"script": script}, out / name, ("[models.m]",)), units, 1, 0)


def engine(minutes: int = 60, **given: Any) -> OnSlurm:
    found = Slurm.found(minutes, f"{sys.executable} -P")
    return OnSlurm(found, **{"at_once": 9, "cpus": 1, "command": COMMAND, "pace": PACE, **given})


def swept(on: OnSlurm, jobs: list[Planned], out: Path) -> dict[str, Attempt]:
    ended: dict[str, Attempt] = {}
    on.run(jobs, out, lambda job: None, lambda job, attempt: ended.update({job.name: attempt}))
    return ended


def said_by(out: Path, job: Planned) -> str:
    path = log_path(out, job.job)
    return path.read_text() if path.exists() else ""


def wait_until(what: Any) -> None:
    until = time.monotonic() + 90
    while not what():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_runs_of_slurm_have_the_bytes_of_runs_here(cluster: SlurmHere, tmp_path: Path) -> None:
    runs = {}
    for on in ("local", "slurm"):
        file, out = tmp_path / f"{on}.toml", tmp_path / on
        file.write_text(SWEEP.format(out=out).replace('models = ["tiny-clm", "tiny-mlm"]', MODELS))
        own = ("--slurm-cpus", "1") if on == "slurm" else ()
        done = calprobe("sweep", file, "--on", on, *own)
        assert done.returncode == 0, done.stderr
        runs[on] = {name: exports_of(out / name) for name in ("tiny-clm/months", "tiny-mlm/months")}
        runs[on]["asked"] = asked(out / "tiny-clm" / "mini-letters")
    assert runs["slurm"] == runs["local"]
    assert not list(arrays_in(tmp_path / "slurm"))
    assert "3 jobs of 3 done before" in calprobe("sweep", file, "--on", "slurm").stderr


MODELS = '[models.tiny-clm]\n[models.tiny-mlm]\nonly = ["months"]'


def asked(run: Path) -> dict[str, bytes]:
    file = run.with_name("asked.parquet")
    assert calprobe("export", run, "--what", "labels", "--out", file).returncode == 0
    return {"labels": file.read_bytes()}


def test_what_slurm_ends_is_named_stops_no_other_and_a_second_call_completes_it(
    cluster: SlurmHere, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    once = f"import os, sys, time; os.path.exists({str(go)!r}) and sys.exit()\n"
    jobs = [
        planned(tmp_path, "fails", 9, f"{once}print('calprobe: why'); sys.exit(3)"),
        planned(tmp_path, "hungry", 8, f"{once}x = bytearray(b'x' * (5 << 30)); time.sleep(60)"),
        planned(tmp_path, "cancelled", 7, f"{once}print('there', flush=True); time.sleep(60)"),
        planned(tmp_path, "good", 6, "print('fine')"),
    ]
    started: dict[str, Attempt] = {}

    def cancel(job: Job) -> None:
        if job.name == "m/cancelled":
            wait_until(lambda: "there" in said_by(tmp_path, jobs[2]))
            [array] = list(arrays_in(tmp_path))
            subprocess.run(["scancel", array.job_of(2)], check=True)

    engine().run(jobs, tmp_path, cancel, lambda job, attempt: started.update({job.name: attempt}))
    assert {name: attempt.exit_code for name, attempt in started.items()} == {
        "m/fails": 3,
        "m/good": 0,
        "m/cancelled": 130,
        "m/hungry": started["m/hungry"].exit_code,
    }
    assert started["m/fails"].said == "calprobe: why"
    assert "out of memory; --slurm-mem gives more (OUT_OF_MEMORY)" in started["m/hungry"].said
    assert "on node0: cancelled (CANCELLED)" in started["m/cancelled"].said
    go.touch()
    again = [job for job in jobs if started[job.job.name].exit_code]
    assert {attempt.exit_code for attempt in swept(engine(), again, tmp_path).values()} == {0}


def test_a_driver_that_is_killed_is_followed_by_one_that_submits_nothing_twice(
    cluster: SlurmHere, tmp_path: Path
) -> None:
    file, out = tmp_path / "a.toml", tmp_path / "out"
    file.write_text(SWEEP.format(out=out).replace('models = ["tiny-clm", "tiny-mlm"]', MODELS))
    command = [sys.executable, "-P", "-m", "calprobe", "sweep", str(file), "--on", "slurm", "--slurm-cpus", "1"]
    first = subprocess.Popen([*command, "--jobs", "1"], stderr=subprocess.DEVNULL)
    wait_until(lambda: any(array.number for array in arrays_in(out)) and list(out.glob("logs/*.log")))
    first.kill()
    first.wait()
    [array] = list(arrays_in(out))
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert second.returncode == 0, second.stderr
    assert "of an earlier call are in Slurm; waiting for them" in second.stderr
    assert "submitted" not in second.stderr
    assert "3 runs of 3 complete" in second.stderr
    assert array.number


def test_before_a_time_limit_a_job_keeps_what_it_has_and_goes_on_later(cluster: SlurmHere, tmp_path: Path) -> None:
    """The signal that Slurm sends then is sent now, as `scancel --signal` can."""
    go = tmp_path / "go"
    job = planned(tmp_path, "long", script=WAITS.format(go=str(go)))

    def signalled(begun: Job) -> None:
        wait_until(lambda: "there" in said_by(tmp_path, job))
        [array] = list(arrays_in(tmp_path))
        subprocess.run(["scancel", "--signal=USR2", array.number], check=True)
        wait_until(lambda: "kept" in said_by(tmp_path, job))
        wait_until(lambda: cluster.asked("squeue", "--noheader", "--format=%T") == "PENDING")
        # Not in the second in which it was ended: "Job credential revoked". Of itself Slurm waits for two minutes.
        subprocess.run(["scontrol", "update", f"JobId={array.number}", "StartTime=now+2"], check=True)
        go.touch()

    ended: list[Attempt] = []
    engine().run([job], tmp_path, signalled, lambda job, attempt: ended.append(attempt))
    assert [attempt.exit_code for attempt in ended] == [0]
    assert said_by(tmp_path, job).split() == ["there", "kept", "there", "done"]


def test_ctrl_c_cancels_the_jobs_and_they_keep_what_they_have(cluster: SlurmHere, tmp_path: Path) -> None:
    jobs = [planned(tmp_path, name, script=WAITS.format(go=str(tmp_path / "go"))) for name in "abcd"]
    begun: list[Planned] = []  # one; any of them may be the first
    ended: dict[str, Attempt] = {}

    def interrupt(job: Job) -> None:
        begun.extend(each for each in jobs if each.job.name == job.name)
        wait_until(lambda: "there" in said_by(tmp_path, begun[0]))
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="interrupted; 4 jobs left to do"):
        engine().run(jobs, tmp_path, interrupt, lambda job, attempt: ended.update({job.name: attempt}))
    assert ended[begun[0].job.name].exit_code == 130
    assert said_by(tmp_path, begun[0]).endswith("kept\n")
    wait_until(lambda: not cluster.asked("squeue", "--noheader"))


def test_a_node_that_is_lost_and_one_that_does_not_see_the_folder(cluster: SlurmHere, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = planned(tmp_path, "a", script=WAITS.format(go=str(go)))

    def lose(begun: Job) -> None:
        wait_until(lambda: "there" in said_by(tmp_path, job))
        [array] = list(arrays_in(tmp_path))
        cluster.lose("node0", array.number)
        wait_until(lambda: cluster.asked("squeue", "--noheader", "--format=%T") in ("", "PENDING"))
        go.touch()
        cluster.start_node("node0")  # two minutes later, Slurm starts the job there again

    ended: list[Attempt] = []
    engine().run([job], tmp_path, lose, lambda job, attempt: ended.append(attempt))
    assert [attempt.exit_code for attempt in ended] == [0], ended
    # The folder of this test is another one for the node, empty.
    cluster.wait_for(1)
    cluster.kill("node0")
    hidden = ("unshare", "--mount", "sh", "-c", f'mount -t tmpfs none {tmp_path} && exec "$0" "$@"')
    cluster.start_node("node0", hidden)
    cluster.wait_for(1)
    try:
        with pytest.raises(CalprobeError, match=r"node0 cannot write there: Slurm job [0-9]+ failed without a word"):
            swept(engine(), [replace(job, job=replace(job.job, name="m/b"))], tmp_path)
    finally:
        cluster.kill("node0")
        cluster.start_node("node0")
