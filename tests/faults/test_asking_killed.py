"""An asking process killed at any moment: what had arrived is there, and nothing is asked twice."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from asked_samples import PROMPTS, question_set
from chat_server import ChatServer, serving
from fake_backend import FakeBackend
from proofs import few_of

from calprobe.asking import AskOptions, ask
from calprobe.backends import BackendOptions
from calprobe.errors import CalprobeError
from calprobe.runs import open_asked
from calprobe.runs.journal_reading import read_journals
from calprobe.runs.shards import shard_path

FEW = 1  # runs in the suite
KILLS = int(os.environ.get("CALPROBE_FAULTS", "0")) or 6
RESTARTS = 10 if "CALPROBE_FAULTS" in os.environ else 3
QUESTIONS = question_set(8)
OPTIONS = AskOptions(prompts=PROMPTS, collect=("labels", "answer", "stated"), quiet=True)
REQUESTS = 8 * 5
MOST_KILLS = 200  # two of three wait for replies: about a dozen are needed, however slow the machine is


def in_child(work: Callable[[], object]) -> int:
    """Fork a process that does the work; its id."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    """The child's exit code, below 0 for the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def answered(log: Path) -> Counter[str]:
    return Counter(line.split()[0] for line in log.read_text().splitlines()) if log.exists() else Counter()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    run = ask(FakeBackend(), QUESTIONS, tmp_path_factory.mktemp("whole") / "run", OPTIONS)
    return {str(p): shard_path(run.path, *p).read_bytes() for p in run.manifest.pieces}


def shards(out: Path) -> dict[str, bytes]:
    run = open_asked(out)
    assert not run.partial
    return {str(p): shard_path(out, *p).read_bytes() for p in run.manifest.pieces}


def there(out: Path) -> int:
    """Replies in shards and journals."""
    if not (out / "manifest.json").exists():
        return 0
    keys = {reply.key for piece in open_asked(out).pieces for reply in piece.replies}
    return len(keys | {reply.key for reply in read_journals(out)})


@pytest.mark.parametrize("number", few_of(range(KILLS), lambda number: number < FEW))
def test_killed_at_random_moments_until_it_is_done(
    whole: dict[str, bytes], tmp_path: Path, record_property: Callable[[str, object], None], number: int
) -> None:
    out, log, chance = tmp_path / "run", tmp_path / "log", random.Random(f"15 {number}")
    kills = lost = 0
    code = None
    while kills < MOST_KILLS:
        before = answered(log).total()
        child = in_child(lambda: ask(FakeBackend(log=log, pause_s=0.004), QUESTIONS, out, OPTIONS))
        # As often within the first replies as before them: a process needs some time to open the folder.
        stop_at = before + chance.randrange(1, 12) if kills % 3 else None
        after_s = time.monotonic() + chance.uniform(0.0, 0.15)
        while time.monotonic() < after_s if stop_at is None else answered(log).total() < stop_at:
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            time.sleep(0.0005)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        if (code := ended(child)) == 0:
            break
        assert code == -signal.SIGKILL
        kills += 1
        missing = answered(log).total() - lost - there(out)
        assert missing in (0, 1)  # the reply that was on its way
        lost += missing
    record_property("fault", f"{kills} times SIGKILL while asking, {lost} replies on their way")
    assert code == 0, f"{kills} times killed, {answered(log).total()} of {REQUESTS} replies came"
    assert kills > 0
    assert shards(out) == whole
    counts = answered(log)
    assert len(counts) == REQUESTS
    assert counts.total() == REQUESTS + lost
    assert open_asked(out).progress.statements <= REQUESTS


def test_a_second_process_is_refused_while_the_first_asks(tmp_path: Path) -> None:
    out = tmp_path / "run"
    child = in_child(lambda: ask(FakeBackend(pause_s=0.05), QUESTIONS, out, OPTIONS))
    try:
        while not (out / "journal" / "0.sqlite3").exists():
            time.sleep(0.005)
        with pytest.raises(CalprobeError, match=rf"another process \(PID {child} .* is writing to this folder"):
            ask(FakeBackend(), QUESTIONS, out, OPTIONS)
    finally:
        os.kill(child, signal.SIGKILL)
        ended(child)


def test_ctrl_c_and_sigterm_keep_what_has_arrived(whole: dict[str, bytes], tmp_path: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        out, log = tmp_path / f"run-{number.name}", tmp_path / f"log-{number.name}"
        child = in_child(lambda log=log, out=out: ask(FakeBackend(log=log, pause_s=0.005), QUESTIONS, out, OPTIONS))
        while answered(log).total() < 7:
            time.sleep(0.002)
        os.kill(child, number)
        assert ended(child) == 70  # Interrupted
        assert there(out) == answered(log).total() < REQUESTS
        ask(FakeBackend(log=log), QUESTIONS, out, OPTIONS)
        assert set(answered(log).values()) == {1}
        assert shards(out) == whole


def test_a_server_that_is_killed_and_restarted_is_asked_nothing_twice(tmp_path: Path) -> None:
    """A reply that the server has sent whole is never asked for again, however often it dies in between."""
    out, served, requests = tmp_path / "run", 0, Counter[str]()
    options = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("labels", "answer", "stated"), quiet=True)
    port = 0
    for life in range(RESTARTS + 1):
        with serving(port) as server:
            port = server.port
            last = life == RESTARTS
            if not last:
                server.faults = [None, *["reset"] * 1000]  # type: ignore[list-item]
            made = BackendOptions("openai", base_url=server.url, attempts=2, concurrency=2)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("calprobe.backends.openai.request_failures._FIRST_WAIT_S", 0.002)
                if last:
                    assert not ask("toy-chat", QUESTIONS, out, options, backend_options=made).partial
                else:
                    with pytest.raises(CalprobeError, match=r"Run the same command again|connection was lost"):
                        ask("toy-chat", QUESTIONS, out, options, backend_options=made)
            served += replies_of(server)
            requests.update(server.requests)
    assert served == 16
    assert len(requests) == 16


def replies_of(server: ChatServer) -> int:
    """Replies to questions; each life has answered one first look, too."""
    return server.served - 1
