"""`fetch` against a local server: all or nothing, whatever the network does."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from file_server import CONTENTS, SERVED, TOY, A, B, FileServer, serving

from calprobe.errors import CalprobeError, DataMissingError
from calprobe.probes import download, fetching
from calprobe.probes.fetching import damaged_files, fetch


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setattr(download, "PAUSE_S", 0.01)
    with serving(SERVED) as running:
        monkeypatch.setattr(download, "BASE_URL", running.url)
        yield running


def lying(root: Path) -> dict[str, bytes]:
    """Files below the root, without fetch's lock file."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def test_fetch_brings_every_file_once(server: FileServer, tmp_path: Path) -> None:
    root, came = tmp_path / "new" / "root", []
    assert damaged_files(TOY, root) == list(TOY.files)
    assert fetch(TOY, root, came.append) == list(TOY.files)
    assert lying(root) == CONTENTS
    assert sorted(file.path for file in came) == sorted(CONTENTS)
    assert damaged_files(TOY, root) == []
    assert fetch(TOY, root) == []
    assert set(server.requests.values()) == {1}
    assert [path.name for path in root.iterdir() if path.is_dir()] == ["toy"]


def test_fetch_repairs_what_is_damaged_and_leaves_the_rest(server: FileServer, tmp_path: Path) -> None:
    fetch(TOY, tmp_path)
    (tmp_path / "toy/a.txt").write_bytes(b"f1rst")
    (tmp_path / "toy/sub/b.txt").unlink()
    (tmp_path / "toy/sub").rmdir()
    (tmp_path / "toy/mine.txt").write_bytes(b"mine")
    assert [file.path for file in fetch(TOY, tmp_path)] == ["toy/a.txt", "toy/sub/b.txt"]
    assert lying(tmp_path) == CONTENTS | {"toy/mine.txt": b"mine"}
    assert server.requests[A] == 2


@pytest.mark.parametrize("fault", [503, 429, "cut"])
def test_passing_trouble_is_tried_again(server: FileServer, tmp_path: Path, fault: int | str) -> None:
    server.faults[B] = [fault, fault]
    fetch(TOY, tmp_path)
    assert lying(tmp_path) == CONTENTS
    assert server.requests[B] == 3


@pytest.mark.parametrize(
    ("fault", "requests", "reason"),
    [
        (404, 1, r"HTTP 404 \(Not Found\)"),
        (503, 3, r"HTTP 503 \(Service Unavailable\)"),
        ("cut", 3, r"60,000 bytes came where 120,000 are pinned|connection lost \(IncompleteRead"),
        (b"x" * 120_001, 1, "more bytes came where 120,000 are pinned"),
        (b"x" * 120_000, 1, f"SHA-256 is {hashlib.sha256(b'x' * 120_000).hexdigest()}, pinned is"),
    ],
    ids=["not found", "busy", "cut short", "too long", "wrong bytes"],
)
def test_lasting_trouble_leaves_nothing(
    server: FileServer, tmp_path: Path, fault: int | str | bytes, requests: int, reason: str
) -> None:
    server.faults[B] = [fault] * 3
    with pytest.raises(DataMissingError, match=reason) as caught:
        fetch(TOY, tmp_path)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"cannot fetch toy: {server.url}{B}: ")
    assert lines[1:] == [f"By hand: get https://github.com/owner/toy at {'c' * 40}. Then put them on the shelf."]
    assert lying(tmp_path) == {}
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    assert server.requests[B] == requests
    server.faults.clear()
    fetch(TOY, tmp_path)
    assert lying(tmp_path) == CONTENTS


def test_failed_repair_leaves_what_was_there(server: FileServer, tmp_path: Path) -> None:
    fetch(TOY, tmp_path)
    (tmp_path / "toy/a.txt").write_bytes(b"f1rst")
    server.faults[A] = [404]
    with pytest.raises(DataMissingError):
        fetch(TOY, tmp_path)
    assert lying(tmp_path) == CONTENTS | {"toy/a.txt": b"f1rst"}


def test_refused_connection(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({}) as gone:
        url = gone.url
    monkeypatch.setattr(download, "BASE_URL", url)
    with pytest.raises(DataMissingError, match=r"no connection \(.*refused.*\)\nBy hand: get https"):
        fetch(TOY, tmp_path)


def test_silent_server(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "TIMEOUT_S", 0.1)
    server.faults[A] = ["hang"] * 3
    with pytest.raises(DataMissingError, match=r"connection lost \(timed out\)"):
        fetch(TOY, tmp_path)
    assert server.requests[A] == 3


def test_two_fetches_at_once_share_the_work(server: FileServer, tmp_path: Path) -> None:
    server.faults[A] = ["hang"]
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(len(fetch(TOY, tmp_path)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert server.hanging.wait(5)
    server.release.set()
    for thread in threads:
        thread.join(10)
    assert sorted(results) == [0, 3]
    assert lying(tmp_path) == CONTENTS
    assert server.requests[A] == 1


def test_fetch_that_never_ends(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "OTHER_FETCH_S", 0.05)
    server.faults[A] = ["hang"]
    first = threading.Thread(target=fetch, args=(TOY, tmp_path))
    first.start()
    assert server.hanging.wait(5)
    with pytest.raises(CalprobeError, match=r"another fetch of toy into .* has not ended in 0 s; end it and run"):
        fetch(TOY, tmp_path)
    server.release.set()
    first.join(10)
    assert lying(tmp_path) == CONTENTS


def test_remains_of_a_killed_fetch_are_removed(server: FileServer, tmp_path: Path) -> None:
    remains = tmp_path / ".fetch-toy-dead"
    remains.mkdir()
    (remains / "a.txt").write_bytes(b"fir")
    (tmp_path / ".fetch-other-live").mkdir()
    fetch(TOY, tmp_path)
    assert not remains.exists()
    assert (tmp_path / ".fetch-other-live").exists()


def test_root_that_cannot_be_written_to(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CalprobeError, match=r"cannot write below .*file.*; set CALPROBE_DATA to a folder") as caught:
        fetch(TOY, tmp_path / "file" / "root")
    assert caught.value.exit_code == 1


def test_no_redirect_leads_away_from_tls(server: FileServer, tmp_path: Path) -> None:
    server.faults[A] = [f"{server.url}{A}"]
    with pytest.raises(DataMissingError, match="redirected to an address without TLS, not followed"):
        fetch(TOY, tmp_path)
    assert lying(tmp_path) == {}
    assert server.requests[A] == 1


def test_addresses_are_with_tls() -> None:
    assert download.BASE_URL.startswith("https://")


def test_ctrl_c_while_a_thread_starts_leaves_no_thread_behind(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, read, begun = threading.Thread.start, download._read, []

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name.startswith("calprobe-fetch"):
            begun.append(thread)
            if len(begun) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    def slow(*given: Any) -> bytes:
        time.sleep(0.5 if threading.current_thread().name.endswith("1") else 0)  # longer than the first
        return read(*given)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    monkeypatch.setattr(download, "_read", slow)
    # A shell starts what it puts in the background with Ctrl-C ignored, this test run too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            fetch(TOY, tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(begun) > 1
    assert not any(thread.is_alive() for thread in begun)
    assert lying(tmp_path) == {}
