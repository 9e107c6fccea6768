"""A sweep's jobs on Slurm: what is submitted, what is waited for, and what is said of a job that did not end by itself.

The cluster here is this process, which runs a task when it is submitted, or keeps it; the proofs have a real one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from calprobe.errors import CalprobeError, UsageError
from calprobe.interrupts import Interrupted
from calprobe.runs.atomic import write_text
from calprobe.sweep import Attempt, Job, Planned
from calprobe.sweep.job_record import log_path
from calprobe.sweep.on_slurm import OnSlurm, job_arrays
from calprobe.sweep.on_slurm.cluster import End, Listed
from calprobe.sweep.on_slurm.job_arrays import Array, arrays_in
from calprobe.sweep.on_slurm.task import Task, Word, read_word
from calprobe.sweep.on_slurm.waiting import Pace

# Runs what stands in the argument `--script=..`.
_SCRIPT = "next(word[9:] for word in sys.argv if word.startswith('--script='))"
COMMAND = (sys.executable, "-S", "-c", f"import sys; exec({_SCRIPT})")
QUICK = Pace(files=0.0, squeue_first=0.0, squeue_most=0.0, grace=0.0)


def planned(name: str, units: int = 1, script: str = "pass", **options: Any) -> Planned:
    job = Job(f"m/{name}", "score", "m", {"script": script, **options}, Path(name), ("[models.m]",))
    return Planned(job, units, 1, 2**30)


@dataclass
class Pretended:
    """A cluster that runs a task when it is submitted, unless it is told to keep it in the queue, or to lose it."""

    keeps: set[str] = field(default_factory=set)  # parts of a job's name
    loses: dict[str, End] = field(default_factory=dict)
    name: str = "tall"
    largest_array: int = 1000
    refuses: Callable[[Mapping[str, Any]], bool] = lambda given: False
    arrays: list[tuple[list[str], Mapping[str, Any], int]] = field(default_factory=list)
    queue: dict[str, Listed] = field(default_factory=dict)
    kept: dict[str, Task] = field(default_factory=dict)
    ends: dict[str, End | None] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    looks: list[Callable[[], None]] = field(default_factory=list)  # what happens at the next looks at the queue

    def submit(self, tasks: Sequence[Task], folder: Path, name: str, given: Mapping[str, Any], parallel: int) -> str:
        if self.refuses(given):
            raise CalprobeError("Slurm refuses the jobs: error: Invalid partition")
        number = str(len(self.arrays) + 10)
        self.arrays.append(([Path(task.log).stem for task in tasks], given, parallel))
        for index, task in enumerate(tasks):
            job, log = (number if len(tasks) == 1 else f"{number}_{index}"), Path(task.log).stem
            lost = next((end for part, end in self.loses.items() if part in log), None)
            if lost is not None:
                self.ends[job] = lost
            elif any(part in log for part in self.keeps):
                self.queue[job], self.kept[job] = Listed(name, "PENDING", "Priority"), task
            else:
                run(task)
        return number

    def listed(self) -> dict[str, Listed]:
        if self.looks:
            self.looks.pop(0)()
        return dict(self.queue)

    def end_of(self, job: str, name: str) -> End | None:
        return self.ends.get(job, End())

    def knows(self, cluster: str, number: str) -> bool:
        return True

    def cancel(self, jobs: Sequence[str]) -> None:
        self.cancelled += jobs
        for job in jobs:
            self.queue.pop(job, None)
            self.ends[job] = End("CANCELLED")

    def let_go(self) -> None:
        """Run what was kept."""
        for job, task in self.kept.items():
            run(task)
            del self.queue[job]
        self.kept.clear()


def run(task: Task) -> int:
    with pytest.raises(SystemExit) as ended:
        task()
    return int(str(ended.value.code))


@dataclass
class Told:
    """Who is told of jobs."""

    begun: list[str] = field(default_factory=list)
    ended: dict[str, Attempt] = field(default_factory=dict)

    def by(self, engine: OnSlurm, jobs: list[Planned], out: Path) -> Told:
        engine.run(
            *(jobs, out),
            lambda job: self.begun.append(job.name),
            lambda job, attempt: self.ended.update({job.name: attempt}),
        )
        assert sorted(self.begun) == sorted(self.ended)
        return self


def engine(cluster: Pretended, **options: Any) -> OnSlurm:
    return OnSlurm(cluster, **{"at_once": 9, "command": COMMAND, "pace": QUICK, **options})


def test_jobs_of_like_needs_are_an_array_the_longest_first(tmp_path: Path) -> None:
    cluster = Pretended(largest_array=2)
    large = replace(planned("large", 1, **{"device-map": "auto"}), parameters=70 * 10**9, bytes=141 * 2**30)
    unknown = replace(planned("unknown", 3), parameters=None)
    server = planned("server", 2, **{"base-url": "http://x"})
    on_cpu = planned("on-cpu", 1, device="cpu", **{"device-map": "auto"})
    jobs = [planned("short", 1), planned("long", 9), planned("middle", 5), unknown, large, server, on_cpu]
    told = Told().by(engine(cluster, gpus=4, cpus=2, options={"qos": "long"}), jobs, tmp_path)
    assert [names for names, _, _ in cluster.arrays] == [
        *(["m+large"], ["m+long", "m+middle"], ["m+short"], ["m+unknown"], ["m+server", "m+on-cpu"])
    ]
    common = {"cpus-per-task": 2, "qos": "long"}
    assert [given for _, given, _ in cluster.arrays] == [
        common | {"mem": "256G", "gpus-per-node": 4},
        *(2 * [common | {"mem": "4G", "gpus-per-node": 1}]),
        common | {"gpus-per-node": 1},
        common | {"mem": "4G"},
    ]
    assert {attempt.exit_code for attempt in told.ended.values()} == {0}
    assert len(told.ended) == 7
    assert list(arrays_in(tmp_path)) == []


def test_sbatch_is_told_one_kind_of_memory(tmp_path: Path) -> None:
    cluster = Pretended()
    Told().by(engine(cluster, options={"mem-per-cpu": "3G"}), [planned("a")], tmp_path)
    assert [given for _, given, _ in cluster.arrays] == [{"cpus-per-task": 4, "mem-per-cpu": "3G"}]


@pytest.mark.parametrize("name", ["50%u", "a\\b", "a\nb"])
def test_a_folder_that_sbatch_reads_as_a_pattern_is_refused(tmp_path: Path, name: str) -> None:
    """Slurm cannot open a job's log there, which looks as if the node did not see the folder."""
    cluster = Pretended()
    with pytest.raises(UsageError, match=r"cannot be a sweep's out: in names of files sbatch takes no %, no \\ and"):
        Told().by(engine(cluster), [planned("a")], tmp_path / name)
    assert not cluster.arrays


def test_what_is_submitted_is_not_for_others_to_read(tmp_path: Path) -> None:
    array = Array.of([planned("a").job])
    array.write(tmp_path)
    assert array.folder(tmp_path).stat().st_mode & 0o777 == 0o700


def test_a_limit_holds_for_all_arrays_together(tmp_path: Path) -> None:
    cluster = Pretended(largest_array=2)
    jobs = [planned(str(number), number) for number in range(5)]
    Told().by(engine(cluster, at_once=3, is_limited=True), jobs, tmp_path)
    assert [given.get("dependency") for _, given, _ in cluster.arrays] == [None, "afterany:10", "afterany:11"]
    assert {parallel for _, _, parallel in cluster.arrays} == {3}


def test_a_limit_holds_for_arrays_of_an_earlier_call_too(tmp_path: Path) -> None:
    """Their folders' names say nothing of which comes last."""
    cluster, jobs = Pretended(), [planned(name) for name in "abc"]
    for number, job in (("8", jobs[0]), ("7", jobs[1])):
        array = replace(Array.of([job.job]), name=f"calprobe-{number}", number=number)
        array.write(tmp_path)
        cluster.queue[number] = Listed(array.name, "RUNNING", "None")
    cluster.looks += [lambda: None, cluster.queue.clear]
    Told().by(engine(cluster, is_limited=True), jobs, tmp_path)
    assert [given.get("dependency") for _, given, _ in cluster.arrays] == ["afterany:7:8"]


def test_a_job_that_fails_stops_no_other_and_its_words_are_kept(tmp_path: Path) -> None:
    bad = planned("bad", 3, "import sys; print('calprobe: what', 'to do', sep='\\n'); sys.exit(3)")
    told = Told().by(engine(Pretended()), [bad, planned("good", script="print('fine')")], tmp_path)
    assert {name: attempt.exit_code for name, attempt in told.ended.items()} == {"m/bad": 3, "m/good": 0}
    assert told.ended["m/bad"].said == "calprobe: what\nto do"
    assert told.ended["m/bad"].arguments == bad.job.arguments
    assert log_path(tmp_path, planned("good").job).read_text() == "fine\n"


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (End("OUT_OF_MEMORY", "n7"), "Slurm job 10_0 on n7: out of memory; --slurm-mem gives more (OUT_OF_MEMORY)"),
        (End("TIMEOUT", "n7"), "Slurm job 10_0 on n7: its time was over; the same command again goes on, "),
        (End("NODE_FAIL", "n7"), "Slurm job 10_0 on n7: its node failed (NODE_FAIL)"),
        (End("CANCELLED"), "Slurm job 10_0: cancelled (CANCELLED)"),
        (End(), "Slurm job 10_0: killed, and Slurm does not say why"),
    ],
)
def test_an_end_that_is_not_the_process_s_own_is_named(tmp_path: Path, end: End, said: str) -> None:
    cluster = Pretended(loses={"lost": end})
    jobs = [planned("lost", 2), planned("good")]
    path = log_path(tmp_path, jobs[0].job)
    path.parent.mkdir()

    def begins() -> None:
        path.write_text("its last words\n")

    cluster.looks.append(begins)
    told = Told().by(engine(cluster), jobs, tmp_path)
    assert told.ended["m/lost"].said.startswith(said)
    assert told.ended["m/lost"].said.endswith("\nits last words")
    assert told.ended["m/lost"].exit_code == (130 if end.state == "CANCELLED" else -9)
    assert told.ended["m/good"].exit_code == 0
    assert Told().by(engine(Pretended()), jobs, tmp_path).ended["m/lost"].exit_code == 0


def test_a_job_that_fails_before_its_process_begins_says_why_in_its_first_line(tmp_path: Path) -> None:
    cluster = Pretended(loses={"lost": End("FAILED", "n7")})

    def fails() -> None:
        (array,) = arrays_in(tmp_path)
        array.slurm_log(tmp_path, 0).write_text(
            "slurmstepd-n7: error: execve(): /env/bin/python: No such file or directory\n"
            "srun: error: n7: task 0: Exited with exit code 2\n"
        )

    cluster.looks.append(fails)
    assert Told().by(engine(cluster), [planned("lost")], tmp_path).ended["m/lost"].said == (
        "Slurm job 10 on n7: failed before calprobe began (FAILED): "
        "slurmstepd-n7: error: execve(): /env/bin/python: No such file or directory"
    )


def test_a_job_that_never_began_has_none_of_the_words_of_an_earlier_call(tmp_path: Path) -> None:
    job = planned("lost")
    path = log_path(tmp_path, job.job)
    path.parent.mkdir()
    path.write_text("calprobe: the error of an earlier call\n")
    told = Told().by(engine(Pretended(loses={"lost": End("CANCELLED")})), [job], tmp_path)
    assert told.ended["m/lost"].said == "Slurm job 10: cancelled (CANCELLED)"


def test_a_job_that_the_queue_leaves_out_between_two_starts_is_waited_for(tmp_path: Path) -> None:
    cluster = Pretended(keeps={"again"})

    def missed() -> None:
        cluster.queue.clear()
        cluster.ends["10"] = None

    def starts() -> None:
        cluster.queue["10"] = Listed("a", "RUNNING", "None")
        cluster.ends.clear()

    cluster.looks += [missed, lambda: None, starts, cluster.let_go]
    told = Told().by(engine(cluster), [planned("again")], tmp_path)
    assert {name: attempt.exit_code for name, attempt in told.ended.items()} == {"m/again": 0}


def test_nodes_that_do_not_see_the_folder_are_said_once(tmp_path: Path) -> None:
    cluster = Pretended(keeps={"b"}, loses={"a": End("FAILED", "n3")})
    with pytest.raises(
        CalprobeError, match="n3 cannot write there: Slurm job 10_0 failed without a word\nGive"
    ) as said:
        Told().by(engine(cluster), [planned("a", 2), planned("b")], tmp_path)
    assert str(tmp_path) in str(said.value)
    assert cluster.cancelled == ["10"]


def test_a_driver_that_was_killed_is_followed_by_one_that_waits_for_what_is_there(tmp_path: Path) -> None:
    """One job ended meanwhile, one is in the queue, one failed, one has other options now."""
    cluster = Pretended(keeps={"queued", "changed"})
    again = tmp_path / "again"
    jobs = [
        planned("over", 4),
        planned("queued", 3),
        planned("failed", 2, f"import os, sys; sys.exit(not os.path.exists({str(again)!r}))"),
        planned("changed", 1),
    ]
    jobs = [replace(each, job=replace(each.job, out=tmp_path / each.job.name)) for each in jobs]
    jobs[0].job.out.mkdir(parents=True)

    def full() -> None:
        raise OSError(28, "as after SIGKILL, nothing is tidied up")

    cluster.looks.append(full)
    with pytest.raises(CalprobeError, match="cannot be written: No space left on device; fix this and run the same"):
        Told().by(engine(cluster), jobs, tmp_path)
    assert [names for names, _, _ in cluster.arrays] == [["m+over", "m+queued", "m+failed", "m+changed"]]
    again.touch()
    changed = replace(jobs[3], job=replace(jobs[3].job, options={"script": "print(1)"}))
    cluster.keeps.clear()
    cluster.looks += [lambda: None, lambda: None, cluster.let_go]
    told = Told()
    cluster.kept.pop("10_3")
    told.by(engine(cluster), [*jobs[:3], changed], tmp_path)
    assert cluster.cancelled == ["10_3"]
    assert [names for names, _, _ in cluster.arrays[1:]] == [["m+failed", "m+changed"]]
    assert {name: attempt.exit_code for name, attempt in told.ended.items()} == dict.fromkeys(
        ("m/over", "m/queued", "m/failed", "m/changed"), 0
    )
    assert told.begun[0] == "m/over"


def test_what_a_driver_submitted_and_could_not_write_down_is_withdrawn(tmp_path: Path) -> None:
    array = Array.of([planned("a").job])
    array.write(tmp_path)
    cluster = Pretended(queue={"7": Listed(array.name, "RUNNING", "None"), "8": Listed("mine", "RUNNING", "None")})
    assert Told().by(engine(cluster), [planned("a")], tmp_path).ended["m/a"].exit_code == 0
    assert (cluster.cancelled, list(cluster.queue)) == (["7"], ["8"])
    (array.folder(tmp_path)).mkdir(parents=True)
    (array.folder(tmp_path) / "array.json").write_text("{")
    assert list(arrays_in(tmp_path)) == []


def test_a_job_of_an_earlier_call_that_is_between_two_starts_is_submitted_to_no_second_one(tmp_path: Path) -> None:
    array = replace(Array.of([planned("a").job]), number="7")
    array.write(tmp_path)
    place = array.word_path(tmp_path, 0)
    write_text(place, json.dumps(asdict(Word("n", 1))))
    cluster = Pretended(ends={"7": None})

    def ends() -> None:
        write_text(place, json.dumps(asdict(Word("n", 2, 1.0, 0))))

    cluster.looks += [lambda: None, ends]
    assert Told().by(engine(cluster), [planned("a")], tmp_path).ended["m/a"].exit_code == 0
    assert not cluster.arrays


@pytest.mark.parametrize("word", [None, Word("n", 1)], ids=["never began", "began"])
def test_a_number_that_another_job_has_by_now_is_left_alone(tmp_path: Path, word: Word | None) -> None:
    array = replace(Array.of([planned("a", script="other options").job]), number="7")
    array.write(tmp_path)
    if word is not None:
        write_text(array.word_path(tmp_path, 0), json.dumps(asdict(word)))
    cluster = Pretended(queue={"7": Listed("mine", "RUNNING", "None")}, ends={"7": None})
    assert Told().by(engine(cluster), [planned("a")], tmp_path).ended["m/a"].exit_code == 0
    assert (cluster.cancelled, list(cluster.queue)) == ([], ["7"])


def test_what_another_cluster_may_have_is_submitted_to_no_second_one(tmp_path: Path) -> None:
    cluster = Pretended(keeps={"a"}, looks=[hangs_up])
    with pytest.raises(Interrupted):
        Told().by(engine(cluster), [planned("a")], tmp_path)
    other = Pretended(name="small")
    said = (
        r"the Slurm cluster tall may still have jobs of an earlier call, and this is small\nRun the same command there"
    )
    with pytest.raises(CalprobeError, match=said):
        Told().by(engine(other), [planned("a")], tmp_path)
    assert not other.arrays


def hangs_up() -> None:
    raise KeyboardInterrupt("ended by SIGHUP")


@pytest.mark.parametrize(
    ("why", "said", "cancelled"),
    [("", "interrupted; 1 job left to do", ["10_0"]), ("ended by SIGHUP", "by SIGHUP; 1 job left, which stay", [])],
)
def test_ctrl_c_cancels_and_a_lost_connection_does_not(
    tmp_path: Path, why: str, said: str, cancelled: list[str]
) -> None:
    cluster = Pretended(keeps={"a"})

    def interrupt() -> None:
        raise KeyboardInterrupt(*([why] if why else []))

    cluster.looks += [lambda: None, interrupt]
    with pytest.raises(Interrupted, match=said):
        Told().by(engine(cluster), [planned("a", 2), planned("b")], tmp_path)
    assert cluster.cancelled == cancelled
    assert bool(list(arrays_in(tmp_path))) is not bool(cancelled)  # nothing is left in Slurm, or still there


def test_ctrl_c_says_where_slurm_may_not_have_cancelled(tmp_path: Path) -> None:
    cluster = Pretended(keeps={"a"})

    def interrupt() -> None:
        cluster.looks += 99 * [busy]
        raise KeyboardInterrupt

    cluster.looks.append(interrupt)
    said = r"interrupted; 1 job left, of which some may still be in Slurm: squeue: Socket timed out\.\nRun the same"
    with pytest.raises(Interrupted, match=said):
        Told().by(engine(cluster), [planned("a")], tmp_path)
    assert not cluster.cancelled


def test_what_slurm_refuses_stops_nothing_that_it_took(tmp_path: Path) -> None:
    cluster = Pretended(keeps={"a"}, refuses=lambda given: "mem" not in given)
    jobs = [planned("a", 5), replace(planned("b"), parameters=None)]
    cluster.looks += [lambda: None, cluster.let_go]
    told = Told().by(engine(cluster), jobs, tmp_path)
    assert told.ended["m/b"].said == "Slurm refuses the jobs: error: Invalid partition"
    assert told.ended["m/a"].exit_code == 0
    with pytest.raises(CalprobeError, match="Invalid partition"):
        Told().by(engine(cluster), jobs[1:], tmp_path)
    assert list(arrays_in(tmp_path)) == []


def busy() -> None:
    raise CalprobeError("squeue: Socket timed out")


def test_a_busy_controller_hides_no_error_of_sbatch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cluster = Pretended(refuses=lambda given: True, looks=[busy, busy])
    with pytest.raises(CalprobeError, match="Invalid partition"):
        Told().by(engine(cluster), [planned("a")], tmp_path)
    assert [record.message for record in caplog.records] == 2 * ["squeue: Socket timed out; asking Slurm again"]
    assert list(arrays_in(tmp_path)) == []
    # It stays busy: what sbatch may have submitted is known by its name, and the next call withdraws it.
    cluster = Pretended(refuses=lambda given: True, looks=99 * [busy])
    with pytest.raises(CalprobeError, match="Invalid partition"):
        Told().by(engine(cluster), [planned("a")], tmp_path)
    (array,) = arrays_in(tmp_path)
    cluster = Pretended(queue={"7": Listed(array.name, "RUNNING", "None")})
    assert Told().by(engine(cluster), [planned("a")], tmp_path).ended["m/a"].exit_code == 0
    assert cluster.cancelled == ["7"]
    assert list(arrays_in(tmp_path)) == []


def test_what_slurm_cannot_end_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = Array.of([planned("a").job])
    array.write(tmp_path)
    cluster = Pretended(queue={"7": Listed(array.name, "COMPLETING", "None")})
    monkeypatch.setattr(cluster, "cancel", lambda jobs: None)
    with pytest.raises(
        CalprobeError, match=r"does not end 1 job, as 7 \(COMPLETING\): its node may hang\nRun the same"
    ):
        Told().by(engine(cluster), [planned("a")], tmp_path)
    assert "waiting until Slurm has withdrawn 1 job, as 7: COMPLETING" in caplog.text
    assert sum(replace(QUICK, squeue_first=2, squeue_most=30).growing(30)) == pytest.approx(752, abs=20)


def test_a_word_is_read_once_for_each_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[str]()

    def reading(path: Path) -> Word | None:
        read.append(path.name)
        return read_word(path)

    monkeypatch.setattr(job_arrays, "read_word", reading)
    words = job_arrays.Words(tmp_path / "words")
    assert words.of([0]) == {}
    words.folder.mkdir()
    for index in range(3):
        write_text(words.folder / f"{index}.json", json.dumps(asdict(Word("n", index))))
    (words.folder / "3.json").write_text("{")
    assert words.of([0, 2, 3, 4]) == words.of([0, 2]) == {0: Word("n", 0), 2: Word("n", 2)}
    assert sorted(read) == ["0.json", "2.json", "3.json"]
    write_text(words.folder / "2.json", json.dumps(asdict(Word("n", 7))))
    assert words.of([0, 2]) == {0: Word("n", 0), 2: Word("n", 7)}
    assert sorted(read) == ["0.json", "2.json", "2.json", "3.json"]


def test_a_task_says_how_it_is_and_ends_as_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    script = "import os, signal, sys; print(os.environ['OMP_NUM_THREADS'], os.getcwd(), flush=True); "
    script += "assert signal.SIGUSR2 in signal.pthread_sigmask(signal.SIG_BLOCK, []); os.kill(os.getpid(), 15)"
    places = (str(tmp_path), str(tmp_path / "log"), str(tmp_path / "0.json"))
    task = Task((sys.executable, "-S", "-c", script), *places, threads=3)
    assert run(task) == 128 + 15
    word = read_word(tmp_path / "0.json")
    assert word is not None
    assert (word.starts, word.exit_code) == (1, -15)
    assert (tmp_path / "log").read_text() == f"3 {tmp_path}\n"
    # A later start adds to the log and to the time.
    assert run(Task((sys.executable, "-S", "-c", "print('again')"), *places, threads=3)) == 0
    after = read_word(tmp_path / "0.json")
    assert after is not None
    assert (after.starts, after.exit_code) == (2, 0)
    assert after.seconds > word.seconds
    assert (tmp_path / "log").read_text() == f"3 {tmp_path}\nagain\n"
    (tmp_path / "0.json").write_text(json.dumps({"host": 1}))
    assert read_word(tmp_path / "0.json") is None
