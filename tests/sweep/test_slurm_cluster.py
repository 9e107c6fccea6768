"""Slurm's commands as they are called and read: scripts of their names stand in for them here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from calprobe.errors import CalprobeError
from calprobe.sweep.on_slurm import Slurm
from calprobe.sweep.on_slurm.cluster import COMMANDS, End, Listed
from calprobe.sweep.on_slurm.task import Task, Word, read_word

CONFIG = "ClusterName             = tall\nMaxArraySize            = 1001\nSlurmctldVersion = 22.05.8\n"
Say = Callable[[str, str], None]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Let a command be a script; all others answer nothing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def put(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    for name in (*COMMANDS, "sacct"):
        put(name, "true")
    return put


def cluster() -> Slurm:
    return Slurm("tall", 1001, 240, f"{sys.executable} -P")


def task(tmp_path: Path, script: str = "pass") -> Task:
    command = (sys.executable, "-S", "-c", script)
    return Task(command, str(tmp_path), str(tmp_path / "log"), str(tmp_path / "0.json"), 2)


def test_the_cluster_is_asked_for_its_name_and_its_largest_array(say: Say) -> None:
    say("scontrol", f"printf '%s' '{CONFIG}'")
    assert Slurm.found(240, "python") == Slurm("tall", 1001, 240, "python")
    say("scontrol", "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(CalprobeError, match="scontrol: slurm_load_ctl_conf error: Unable to contact slurm controller"):
        Slurm.found(240, "python")


@pytest.mark.parametrize(
    ("lines", "largest"),
    [
        ("", 1000),
        ("MaxArraySize = 1", 1),
        ("MaxArraySize = 0", 1),  # no arrays
        ("MaxArraySize = 4000001\nSchedulerParameters = bf_continue,max_array_tasks=2000,bf_window=60", 2000),
    ],
)
def test_no_array_is_larger_than_the_cluster_takes(say: Say, lines: str, largest: int) -> None:
    say("scontrol", f"echo '{lines}'")
    assert Slurm.found(240, "python").largest_array == largest


def test_jobs_go_where_all_commands_look(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    say("scontrol", f"printf '%s' '{CONFIG}'")
    monkeypatch.setenv("SBATCH_CLUSTERS", "tall")
    assert Slurm.found(240, "python").name == "tall"
    monkeypatch.setenv("SBATCH_CLUSTERS", "far")
    with pytest.raises(CalprobeError, match="SBATCH_CLUSTERS sends jobs to where only sbatch looks\nName"):
        Slurm.found(240, "python")


def test_the_queue_is_read_by_job(say: Say) -> None:
    say("squeue", "printf '%s\\n' '12_0|calprobe-a|RUNNING|None' '13|x|PENDING|Priority' 'slurm_load: odd'")
    assert cluster().listed() == {
        "12_0": Listed("calprobe-a", "RUNNING", "None"),
        "13": Listed("x", "PENDING", "Priority"),
    }


def test_what_a_user_has_set_for_looking_hides_no_job(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SQUEUE_STATES", "SCANCEL_INTERACTIVE", "SACCT_FEDERATION"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("SLURM_CONF", "kept")
    monkeypatch.setattr("sys.stdin", None)
    show = "cat; printf '%s-\\303|x|RUNNING|None\\n' $(env | grep -E '^(SQUEUE|SCANCEL|SACCT|SLURM)_' | tr '\\n' ,)"
    say("squeue", show)  # with half a letter in it, as names of other jobs may have
    assert list(cluster().listed()) == ["SLURM_CONF=kept,-\ufffd"]


def test_an_end_is_the_controllers_else_that_of_the_accounting(say: Say) -> None:
    say("scontrol", "echo 'JobId=5 JobName=a JobState=TIMEOUT Reason=TimeLimit ReqNodeList=(null) NodeList=n[1-2] x=y'")
    assert cluster().end_of("5", "a") == End("TIMEOUT", "n[1-2]")
    say("scontrol", "echo 'JobId=5 JobName=a JobState=REQUEUED Reason=None'")
    assert cluster().end_of("5", "a") is None
    assert cluster().end_of("5", "of another sweep, which had that number") == End()
    say("scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    say("sacct", "case $* in *--clusters=tall*--name=a*) echo 'CANCELLED by 1000|None assigned';; esac")
    assert cluster().end_of("5", "a") == End("CANCELLED", "")
    say("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    assert cluster().end_of("5", "a") == End()
    say("sacct", "echo 'RUNNING|n1'")  # lost by both
    assert cluster().end_of("5", "a") == End("RUNNING", "n1")


def test_a_job_of_a_busy_controller_has_not_ended(say: Say) -> None:
    say("scontrol", "echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2; exit 1")
    say("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    assert cluster().end_of("5", "a") is None
    say("sacct", "echo 'REQUEUED|n1'")
    assert cluster().end_of("5", "a") is None
    say("sacct", "echo 'TIMEOUT|n1'")
    assert cluster().end_of("5", "a") == End("TIMEOUT", "n1")


def test_a_job_is_there_unless_slurm_says_that_it_is_not(say: Say) -> None:
    assert not cluster().knows("tall", "5")
    assert cluster().knows("small", "5")
    say("squeue", "echo RUNNING")
    assert cluster().knows("tall", "5")
    say("squeue", "echo 'CLUSTER: tall'")
    assert not cluster().knows("tall", "5")
    say("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    assert not cluster().knows("tall", "5")
    say("squeue", "echo 'slurm_load_jobs error: Socket timed out' >&2; exit 1")
    assert cluster().knows("tall", "5")


def test_an_array_is_submitted_with_what_it_asks_for(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("submitit")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1")  # of a job that this process runs in
    monkeypatch.setenv("SLURM_CONF", "kept")
    say("sbatch", f'cp "$1" {tmp_path}/script; env > {tmp_path}/env; echo Submitted batch job 7')
    given = {"cpus-per-task": 2, "mem": "8G", "gpus-per-node": 1, "qos": "long", "exclusive": True}
    folder = tmp_path / "array"
    assert cluster().submit([task(tmp_path)] * 2, folder, "calprobe-a", given, 9) == "7"
    lines = (tmp_path / "script").read_text().splitlines()
    options = {line.removeprefix("#SBATCH --") for line in lines if line.startswith("#SBATCH")}
    assert options >= {
        *("array=0-1%2", "cpus-per-task=2", "mem=8G", "gpus-per-node=1", "qos=long", "exclusive", "requeue"),
        *("job-name=calprobe-a", "time=240", "signal=USR2@120", "open-mode=append"),
    }
    assert not any(option.startswith("wckey") for option in options)
    [run] = [line for line in lines if line.startswith("srun")]
    assert "--cpus-per-task=2 --export=ALL" in run
    assert f"{sys.executable} -P -u -m submitit" in run
    variables = (tmp_path / "env").read_text()
    assert "SLURM_CONF=kept" in variables
    assert "SLURM_JOB_ID" not in variables
    assert "SLURM_MEM_PER_NODE" not in variables
    assert os.environ["SLURM_MEM_PER_NODE"] == "1"
    assert sorted(path.name for path in folder.glob("*.pkl")) == ["7_0_submitted.pkl", "7_1_submitted.pkl"]
    say("sbatch", "echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >&2; exit 1")
    with pytest.raises(CalprobeError, match="refuses the jobs: Invalid partition name specified; they ask for"):
        cluster().submit([task(tmp_path)], folder, "calprobe-a", given, 9)
    last = "sbatch: error: Batch job submission failed: Unspecified error"
    say("sbatch", f"printf '%s\\n' 'sbatch: error: Give an account with -A.' '{last}' >&2; exit 1")
    with pytest.raises(CalprobeError, match=r"jobs: Give an account with -A\.; Unspecified error; they ask for"):
        cluster().submit([task(tmp_path)], folder, "calprobe-a", given, 9)


def test_what_the_sweep_says_counts_before_variables(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To sbatch they count before its script."""
    pytest.importorskip("submitit")
    names = ("JOB_NAME", "WAIT", "ARRAY_INX", "TIMELIMIT", "CPUS_PER_GPU", "MEM_PER_CPU")
    names += ("PARTITION", "ACCOUNT", "MEM_BIND")
    for name in names:
        monkeypatch.setenv(f"SBATCH_{name}", "1")
    say("sbatch", f"env > {tmp_path}/env; echo Submitted batch job 7")
    given = {"cpus-per-task": 2, "partition": "gpu"}
    for more, kept in (({}, {"ACCOUNT", "MEM_BIND", "MEM_PER_CPU"}), ({"mem": "8G"}, {"ACCOUNT", "MEM_BIND"})):
        cluster().submit([task(tmp_path)], tmp_path / "array", "calprobe-a", given | more, 9)
        lines = (tmp_path / "env").read_text().splitlines()
        assert {line.split("=")[0][7:] for line in lines if line.startswith("SBATCH_")} == kept
    assert all(os.environ[f"SBATCH_{name}"] == "1" for name in names)


def test_a_submission_without_a_number_is_an_error_in_a_line(say: Say, tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    say("sbatch", "echo 'Thank you.'")
    with pytest.raises(CalprobeError, match=r'^Could not make sense of sbatch output "Thank you\."$'):
        cluster().submit([task(tmp_path)], tmp_path / "array", "calprobe-a", {"cpus-per-task": 2}, 9)


def test_before_a_new_start_a_process_keeps_what_it_has(tmp_path: Path) -> None:
    submitit = pytest.importorskip("submitit")
    script = "import signal, sys, time\nsignal.signal(15, lambda *_: (print('kept', flush=True), sys.exit(130)))\n"
    running = task(tmp_path)
    running.child = subprocess.Popen(
        [sys.executable, "-S", "-c", f"{script}print('there', flush=True)\ntime.sleep(60)"], stdout=subprocess.PIPE
    )
    assert running.child.stdout is not None
    assert running.child.stdout.readline() == b"there\n"
    running.said = Word("here", 1, 2.5)
    again = running.checkpoint()
    assert running.child.stdout.read() == b"kept\n"
    assert running.child.wait() == 130
    word = read_word(tmp_path / "0.json")
    assert word is not None
    assert (word.starts, word.exit_code) == (1, None)
    assert word.seconds > 2.5
    # What submitit carries to the next start.
    again.dump(tmp_path / "again.pkl")
    assert submitit.helpers.DelayedSubmission.load(tmp_path / "again.pkl").function == task(tmp_path)
