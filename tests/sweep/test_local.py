"""Jobs as processes of this machine: order, places, memory, failures, Ctrl-C. The jobs are small scripts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from calprobe.errors import CalprobeError
from calprobe.interrupts import Interrupted
from calprobe.runs.lock import locked
from calprobe.sweep import Attempt, Job, Local, Planned, expected, local, longest_first, tether
from calprobe.sweep.job_record import add_attempt, log_path, read_record
from calprobe.sweep.order import Fitting


def planned(name: str, units: int = 1, size: int = 0, script: str = "pass") -> Planned:
    job = Job(f"m/{name}", "score", "m", {"script": script}, Path(name), ("[models.m]",))
    return Planned(job, units, 1, size)


# Runs what stands in the argument `--script=..`.
_SCRIPT = "next(word[9:] for word in sys.argv if word.startswith('--script='))"
COMMAND = (sys.executable, "-S", "-c", f"import sys; exec({_SCRIPT})")


def run(jobs: list[Planned], out: Path, places: int = 1, total: float = float("inf")) -> list[tuple[str, str, int]]:
    events: list[tuple[str, str, int]] = []
    Local(tuple({"PLACE": str(place)} for place in range(places)), total, COMMAND).run(
        *(jobs, out),
        lambda job: events.append(("begins", job.name, 0)),
        lambda job, attempt: events.append(("ends", job.name, attempt.exit_code)),
    )
    return events


def test_a_job_that_fails_stops_no_other_and_its_words_are_kept(tmp_path: Path) -> None:
    said: dict[str, Attempt] = {}
    jobs = [
        planned(
            "bad",
            3,
            script="print('begins'); print('why', file=sys.stderr); print('fix', file=sys.stderr); sys.exit(3)",
        ),
        planned("killed", 2, script="import os; os.kill(os.getpid(), 9)"),
        planned("good", 1, script="print('fine')"),
    ]
    engine = Local(({},), command=COMMAND)
    engine.run(jobs, tmp_path, lambda job: None, lambda job, attempt: said.update({job.name: attempt}))
    assert {name: attempt.exit_code for name, attempt in said.items()} == {"m/bad": 3, "m/killed": -9, "m/good": 0}
    assert said["m/bad"].said == "why\nfix"
    assert said["m/good"].said == ""
    said_so = planned("said", script="print('loading'); print('calprobe: what', 'to do', sep='\\n'); sys.exit(1)")
    engine.run([said_so], tmp_path, lambda job: None, lambda job, attempt: said.update({job.name: attempt}))
    assert said["m/said"].said == "calprobe: what\nto do"
    assert log_path(tmp_path, jobs[2].job).read_text() == "fine\n"
    assert said["m/good"].arguments == jobs[2].job.arguments


def test_the_home_folder_is_in_no_file_of_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs and record have ~ in its place, and a job is found to be done all the same."""
    home, out = tmp_path / "home" / "ada", tmp_path / "runs"
    monkeypatch.setenv("HOME", str(home))
    script = f"print('reads {home}/x'); sys.exit('calprobe: {home}/x: no such file')"
    job = Job("m/bad", "score", "m", {"script": script, "probe": str(home / "probe")}, out / "m" / "bad", ())
    Local(({},), command=COMMAND).run(
        [Planned(job, 1, 1, 0)], out, lambda job: None, lambda job, attempt: add_attempt(out, job, attempt)
    )
    assert log_path(out, job).read_text("utf-8").splitlines() == ["reads ~/x", "calprobe: ~/x: no such file"]
    assert not [path for path in out.rglob("*") if path.is_file() and str(home) in path.read_text("utf-8")]
    last = read_record(out).attempts["m/bad"]
    assert last.said == "calprobe: ~/x: no such file"
    assert last.is_of(job)
    assert replace(last, arguments=job.arguments).is_of(job)  # as earlier versions wrote it
    assert not last.is_of(replace(job, out=out / "other"))


def test_one_after_the_other_the_longest_first(tmp_path: Path) -> None:
    events = run([planned("short", 1), planned("long", 9), planned("middle", 5)], tmp_path)
    assert events == [(what, f"m/{name}", 0) for name in ("long", "middle", "short") for what in ("begins", "ends")]


def test_jobs_at_once_have_places_of_their_own(tmp_path: Path) -> None:
    """Each waits for a file of the other: they end only if they run together."""
    both = "import os, time; open({0!r} + os.environ['PLACE'], 'w')\nwhile len(os.listdir({0!r})) < 2: time.sleep(.01)"
    (tmp_path / "met").mkdir()
    script = both.format(f"{tmp_path}/met/")
    events = run([planned("a", script=script), planned("b", script=script)], tmp_path, places=2)
    assert [what for what, _, _ in events] == ["begins", "begins", "ends", "ends"]
    assert sorted(path.name for path in (tmp_path / "met").iterdir()) == ["0", "1"]


def test_a_job_may_take_several_cards_which_no_other_has_then(tmp_path: Path) -> None:
    shows = "import os, time; print(os.environ['CARDS'], flush=True); time.sleep(.2)"
    jobs = [planned("all", 9, script=shows), planned("two", 8, script=shows)]
    jobs += [planned(name, 5, script=shows) for name in ("a", "b")]
    events: list[tuple[str, str]] = []
    engine = Local(
        tuple({"CARDS": str(card)} for card in range(4)),
        command=COMMAND,
        places_of=lambda planned: {"m/all": 4, "m/two": 2}.get(planned.job.name, 1),
    )
    engine.run(
        *(jobs, tmp_path),
        lambda job: events.append(("begins", job.name)),
        lambda job, attempt: events.append(("ends", job.name)),
    )
    assert events[:2] == [("begins", "m/all"), ("ends", "m/all")]
    assert [what for what, _ in events[2:]] == ["begins"] * 3 + ["ends"] * 3
    cards = [log_path(tmp_path, each.job).read_text().strip() for each in jobs]
    assert cards[:2] == ["0,1,2,3", "0,1"]
    assert sorted(cards[2:]) == ["2", "3"]


def test_what_does_not_fit_into_memory_waits(tmp_path: Path) -> None:
    jobs = [planned("large", 9, size=8), planned("other", 5, size=4), planned("small", 1, size=2)]
    events = run(jobs, tmp_path, places=3, total=10)
    begun = [name for what, name, _ in events if what == "begins"]
    assert begun == ["m/large", "m/small", "m/other"]
    assert events.index(("ends", "m/large", 0)) < events.index(("begins", "m/other", 0))
    assert run([planned("too large", size=99)], tmp_path, total=10)[-1] == ("ends", "m/too large", 0)


def started_at(jobs: list[Planned], seconds: float, places: int = 4) -> dict[str, float]:
    schedule = expected(jobs, places, 100, lambda planned: planned.work if planned.units > 50 else seconds)
    return {planned.job.name: start for planned, start, _ in schedule}


def test_small_jobs_pass_a_large_one_only_while_it_could_not_start() -> None:
    small = [planned(f"s{number:02}", 1, 10) for number in range(60)]
    start = started_at([planned("a", 100, 40), planned("b", 99, 80), *small], seconds=10)
    # Until a ends, three places have small jobs; then only those that run are still in the way of b.
    assert start["m/b"] <= 110
    assert sum(begin < 100 for begin in start.values()) == 1 + 3 * 10
    # What does not run when it is first passed, holds it up no longer than one small job.
    start = started_at([planned("a", 100, 40), planned("c", 150, 10), planned("b", 99, 80), *small], seconds=10)
    assert 100 <= start["m/b"] <= 110
    # No place is empty for a job that fits, or has begun.
    start = started_at([planned("a", 100, 40), planned("b", 99, 60), *small[:2]], seconds=10)
    assert (start["m/b"], start["m/s00"], start["m/s01"]) == (0, 99, 99)
    start = started_at([planned("b", 99, 80), *small], seconds=10, places=3)
    assert sorted(start.values())[:3] == [0, 0, 0]


def test_each_job_that_needs_more_than_there_is_is_named_with_what_there_is() -> None:
    engine = Local(({},), total_bytes=3 * 2**30)
    found = engine.misfits([planned("a", size=3 * 2**30), planned("b", size=2**32), planned("c", size=2**33)])
    assert [(each.job.name, each.why) for each in found] == [
        ("m/b", "needs about 4.0 GiB of memory, and 3.0 GiB are free here"),
        ("m/c", "needs about 8.0 GiB of memory, and 3.0 GiB are free here"),
    ]


def test_ctrl_c_ends_the_jobs_and_says_so(tmp_path: Path) -> None:
    waits = (
        "import signal, sys, time\n"
        "def end(*_): print('ended well', flush=True); sys.exit(130)\n"
        "signal.signal(signal.SIGINT, end); print('there', flush=True); time.sleep(60)"
    )
    job, ended = planned("a", script=waits), list[int]()

    def interrupt() -> None:
        path = log_path(tmp_path, job.job)
        while not (path.is_file() and "there" in path.read_text()):
            time.sleep(0.01)
        time.sleep(0.2)  # on a busy machine the job speaks before its start has returned here
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    engine = Local(({},), command=COMMAND)
    with pytest.raises(Interrupted, match="interrupted; 2 jobs left to do"):
        engine.run(
            [job, planned("b", 0)],
            tmp_path,
            lambda job: None,
            lambda job, attempt: ended.append(attempt.exit_code),
        )
    assert ended == [130]
    assert log_path(tmp_path, job.job).read_text() == "there\nended well\n"


WAITS = """
import time
try:
    print("there", flush=True); time.sleep(60)
except KeyboardInterrupt:
    print("kept", flush=True)
"""
DRIVES = """
import sys
from pathlib import Path
from calprobe.sweep import Job, Local, Planned, tether
command = (sys.executable, "-P", tether.__file__, "waits")
job = Job("m/a", "score", "m", {}, Path("a"), ())
Local(({},), command=command).run([Planned(job, 1, 1, 0)], Path(sys.argv[1]), print, print)
"""


def until_said(path: Path, what: str) -> None:
    end = time.monotonic() + 20
    while not (path.is_file() and what in path.read_text()):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_jobs_end_with_a_sweep_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    words = [sys.executable, "-c", DRIVES, str(tmp_path)]
    driver = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
    until_said(tmp_path / "logs" / "m+a.log", "there")
    driver.kill()
    driver.wait()
    until_said(tmp_path / "logs" / "m+a.log", "kept")
    assert tether.__file__ in Local(({},)).command


def test_a_run_that_a_killed_sweep_still_writes_to_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = planned("a", script="import os; print(os.path.exists('free'))")
    mine = replace(found, job=replace(found.job, out=tmp_path / "run"))
    monkeypatch.chdir(tmp_path)
    log = log_path(tmp_path, mine.job)
    log.parent.mkdir()
    with log.open("w") as former:
        former.write("words of the former")
        former.flush()
        with locked(mine.job.out):

            def release() -> None:
                Path("free").touch()
                (mine.job.out / ".owner").unlink()

            threading.Timer(0.3, release).start()
            run([mine], tmp_path)
            assert log.read_text() == "True\n"
        # Another process that does not end: the job begins after a while, and says who that is.
        with locked(mine.job.out):
            monkeypatch.setattr(local, "_PATIENCE_S", 0.1)
            assert run([mine], tmp_path)[-1] == ("ends", "m/a", 0)
        former.write("more of them")
    assert log.read_text() == "True\n"


def test_a_job_that_cannot_be_started_stops_no_other(tmp_path: Path) -> None:
    jobs, said = [planned("a", 2), planned("b", 1)], dict[str, Attempt]()
    log_path(tmp_path, jobs[0].job).mkdir(parents=True)
    engine = Local(({},), command=COMMAND)
    engine.run(jobs, tmp_path, lambda job: None, lambda job, attempt: said.update({job.name: attempt}))
    assert {name: attempt.exit_code for name, attempt in said.items()} == {"m/a": 1, "m/b": 0}
    assert said["m/a"].said.startswith(f"{tmp_path}/logs/m+a.log: the job cannot be started: ")


def test_all_that_ended_is_told_also_where_a_report_fails(tmp_path: Path) -> None:
    told: list[str] = []

    def ended(job: Job, attempt: Attempt) -> None:
        told.append(job.name)
        raise OSError(28, "full")

    jobs = [planned("short", 3), planned("long", 2, script=WAITS), planned("other", 1, script=WAITS)]
    with pytest.raises(OSError, match="full"):
        Local(({},) * 3, command=COMMAND).run(jobs, tmp_path, lambda job: None, ended)
    assert told == ["m/short", "m/long", "m/other"]


def test_the_expected_schedule_keeps_places_and_memory() -> None:
    jobs = [planned(f"j{n}", units=n % 7 + 1, size=n % 5 + 1) for n in range(60)]
    found = expected(jobs, places=3, total_bytes=9, seconds=lambda planned: 2.0 * planned.work)
    assert sorted(each.job.name for each, _, _ in found) == sorted(each.job.name for each in jobs)
    for _, begin, _ in found:
        at_once = [each for each, start, end in found if start <= begin < end]
        assert len(at_once) <= 3
        assert sum(each.bytes for each in at_once) <= 9
    assert [end - begin for _, begin, end in found] == pytest.approx([2.0 * each.units for each, _, _ in found])
    # Where memory limits nothing, the longest first ends within 4/3 - 1/(3 m) of the best (Graham, 1969).
    end = max(end for _, _, end in expected(jobs, 3, float("inf"), lambda planned: planned.work))
    least = max(sum(each.units for each in jobs) / 3, max(each.units for each in jobs))
    assert least <= end <= (4 / 3 - 1 / 9) * least


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_line_that_a_killed_process_has_not_finished_is_not_there(tmp_path: Path, cut: int) -> None:
    first, second = planned("a").job, planned("b").job
    attempt = Attempt(first.arguments, 0, 1.5, "2026-01-02T03:04:05+00:00")
    add_attempt(tmp_path, first, attempt)
    add_attempt(tmp_path, second, attempt)
    path = tmp_path / "sweep.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_record(tmp_path).attempts == {"m/a": attempt}
    add_attempt(tmp_path, second, replace(attempt, exit_code=3))
    assert {name: each.exit_code for name, each in read_record(tmp_path).attempts.items()} == {"m/a": 0, "m/b": 3}
    path.write_bytes(b'{"calprobe_sw')
    assert read_record(tmp_path).attempts == {}
    add_attempt(tmp_path, second, attempt)
    assert read_record(tmp_path).attempts == {"m/b": attempt}


def test_ten_thousand_jobs_are_ordered_at_once() -> None:
    jobs = [planned(f"j{n}", units=(n * 7919) % 1000 + 1, size=1) for n in range(10_000)]
    began = time.process_time()
    assert len(expected(jobs, 64, 64, lambda planned: planned.work)) == 10_000
    assert time.process_time() - began < 2
    assert Fitting(0).place(longest_first(jobs), jobs[:1]) is None


def test_a_record_comes_back_and_a_changed_job_is_not_done(tmp_path: Path) -> None:
    job = planned("a").job
    attempt = Attempt(job.arguments, 0, 1.5, "2026-01-02T03:04:05+00:00")
    add_attempt(tmp_path, job, replace(attempt, exit_code=1))
    add_attempt(tmp_path, job, attempt)
    assert read_record(tmp_path).attempts == {"m/a": attempt}
    assert not read_record(tmp_path).is_done(job)  # no run is there
    assert read_record(tmp_path / "nothing").attempts == {}
    (tmp_path / "sweep.jsonl").write_text('{"calprobe_sweep": 2}\n')
    with pytest.raises(CalprobeError, match="not the record of a sweep, or of another version; delete it"):
        read_record(tmp_path)
    names = [replace(job, name=name) for name in ("a.b/c", "a/b.c")]
    assert len({log_path(tmp_path, each) for each in names}) == 2
