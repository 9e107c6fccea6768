"""Progress in a log, on a terminal, in a notebook, and for a function of the caller."""

from __future__ import annotations

import io
import logging
import re
import sys
from types import SimpleNamespace

import pytest

import calprobe.progress as progress_module
from calprobe.asking import ask_progress as asking
from calprobe.asking.ask_progress import AskProgress
from calprobe.backends.options import Prices
from calprobe.progress import steps
from calprobe.runs.replies import Reply
from calprobe.scoring.score_progress import ScoreProgress, progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    return now


def test_lines_now_and_then(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "calprobe"), progress(1000, "tiny") as meter:
        for seconds in (10.0, 20.0, 40.0, 41.0, 50.0):
            clock[0] = seconds
            meter.advance(200, 1000)
    assert [record.getMessage() for record in caplog.records] == [
        "200 of 1,000 statements, 20 statements/s, 100 tokens/s, 40 s left",
        "600 of 1,000 statements, 15 statements/s, 75 tokens/s, 27 s left",
        "1,000 of 1,000 statements, 20 statements/s, 100 tokens/s, 0 s left",
    ]


@pytest.mark.parametrize(("total", "quiet"), [(0, False), (10, True)])
def test_nothing_is_said(total: int, quiet: bool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "calprobe"), progress(total, "tiny", quiet) as meter:
        meter.begin("P30")
        meter.advance(total, 0)
    assert not caplog.records


def test_a_function_of_the_caller_is_called_after_every_change(clock: list[float]) -> None:
    seen: list[ScoreProgress] = []
    with progress(300, "tiny", quiet=True, hook=seen.append) as meter:
        meter.begin("P30 to P36")
        clock[0] = 2.0
        meter.advance(100, 900)
    first, last = seen
    assert (first.statements, first.relations, first.seconds_left) == (0, "P30 to P36", None)
    assert last == ScoreProgress(100, 300, 900, 2.0, "P30 to P36")
    assert last.seconds_left == 4.0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_names_the_relation_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress(1000, "tiny") as meter:
        meter.begin("capital to month")
        meter.advance(500, 2000)
    assert "tiny" in stderr.getvalue()
    assert "500 of 1,000" in stderr.getvalue()
    assert "0:00:00 left" in stderr.getvalue()
    assert "capital to month" in stderr.getvalue()


def test_a_narrow_terminal_has_the_count_failures_and_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    label = "a-model-with-a-long-name on openai"
    with asking.progress(5800, label, prices=Prices(1e6, 0.0)) as meter:
        meter.count(reply(0, tokens_in=2), "quiz.plain")
    line = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stderr.getvalue()).rstrip("\n").split("\n")[-1].rpartition("\r")[2]
    assert line.startswith("1 of 5,800 ")
    assert "left, $2.00, " in line
    assert len(line.rstrip()) <= 80


def test_a_closed_terminal_raises_no_error_of_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(Terminal):
        def write(self, _text: str) -> int:
            raise OSError(5, "Input/output error")

    with progress(10, "tiny") as meter:
        meter.advance(1, 1)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress(10, "tiny") as meter:
        monkeypatch.setattr(sys.stderr, "write", Closed().write)
        meter.advance(1, 1)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


@pytest.mark.usefixtures("notebook")
def test_a_notebook_has_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(1000, "tiny") as meter:
        meter.begin("P30")
        meter.advance(1000, 5000)
    said = capsys.readouterr().err
    assert "tiny: 100%" in said
    assert "P30" in said


def reply(number: int, **changes: object) -> Reply:
    return Reply(f"{number}", "quiz", f"q{number}", "plain", "answer", text="A", finish="stop", tokens_out=4, **changes)  # type: ignore[arg-type]


def test_replies_have_the_same_lines(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    seen: list[AskProgress] = []
    with caplog.at_level(logging.INFO, "calprobe"), asking.progress(2, "tiny", hook=seen.append) as meter:
        for number in range(2):
            clock[0] += 4.0
            meter.count(reply(number), "quiz.plain")
    assert [record.getMessage() for record in caplog.records] == [
        "2 of 2 replies, 0.2 replies/s, 1.0 tokens/s, 0 s left"
    ]
    assert [(now.done, now.part, now.seconds_left) for now in seen] == [(1, "quiz.plain", 4.0), (2, "quiz.plain", 0.0)]


def test_the_first_reply_of_a_wave_makes_no_estimate(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "calprobe"), asking.progress(40, "tiny") as meter:
        for number in range(40):
            clock[0] = 23.0 if number == 0 else 60.0 if number >= 20 else 24.0
            meter.count(reply(number), "quiz.plain")
    assert [record.getMessage() for record in caplog.records] == [
        "1 of 40 replies, 0.043 replies/s, 0.2 tokens/s",
        "21 of 40 replies, 0.3 replies/s, 1.4 tokens/s, 54 s left",
        "40 of 40 replies, 0.7 replies/s, 2.7 tokens/s, 0 s left",
    ]


@pytest.mark.usefixtures("notebook")
def test_replies_have_the_same_bar_in_a_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    with asking.progress(1, "tiny") as meter:
        meter.count(reply(0), "quiz.plain")
    said = capsys.readouterr().err
    assert "tiny: 100%" in said
    assert "quiz.plain" in said


def test_replies_say_nothing_if_quiet(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "calprobe"), asking.progress(1, "tiny", quiet=True) as meter:
        meter.count(reply(0), "quiz.plain")
    assert not caplog.records
    assert capsys.readouterr().err == ""


def test_a_closed_stream_is_no_terminal() -> None:
    assert not progress_module.is_terminal(None)  # what Python has for a stream that was closed
    assert not progress_module.is_terminal(io.StringIO())


def test_steps_count_themselves(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "calprobe"), steps(3, "numbers", "runs") as work:
        for part in ("a", "b", "c"):
            clock[0] += 10
            work.step(part)
    assert (work.done, work.part) == (3, "c")
    assert caplog.messages == ["1 of 3 runs, 0.1 runs/s, 20 s left", "3 of 3 runs, 0.1 runs/s, 0 s left"]


def test_quick_steps_say_nothing_in_a_log(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "calprobe"), steps(2, "numbers", "runs") as work:
        for part in ("a", "b"):
            clock[0] += 2
            work.step(part)
    assert not caplog.messages
