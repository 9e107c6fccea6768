"""Disks that are full, read-only or gone: the error names the folder and the fix, and the run goes on after it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from children import Ended, Forge
from commands import exports_of
from proofs import few_of
from unbroken import ASKED, Complete, shards_in

from calprobe.runs import open_run

Mount = Callable[..., Path]
FULL = Path("/dev/full")


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Mounts something on a folder; skips where this is not allowed."""
    mounted: list[Path] = []

    def do(*arguments: str) -> Path:
        place = tmp_path / f"mounted-{len(mounted)}"
        place.mkdir()
        try:
            done = subprocess.run(["mount", *arguments, str(place)], capture_output=True, check=False)
        except OSError as error:
            pytest.skip(f"no mount here: {error}")
        if done.returncode:
            pytest.skip(f"mount is not allowed here: {done.stderr.decode().strip()}")
        mounted.append(place)
        return place

    yield do
    for place in reversed(mounted):
        subprocess.run(["umount", str(place)], check=True)


def assert_said(ended: Ended, place: Path, why: str) -> None:
    """One or two lines, with the folder, what is wrong there, and what to do."""
    assert ended.code == 1
    assert f"calprobe: {place}: cannot be written: {why}" in ended.stderr
    assert "fix this" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert len([line for line in ended.stderr.splitlines() if line]) <= 2


def assert_it_goes_on(forge: Forge, run: Path, complete: Complete) -> None:
    resumed = forge.run("score", *ASKED, "--out", run, watch=run)
    assert resumed.code == 0, resumed.stderr
    assert shutil.copytree(run, complete.path.parent / f"mended-{run.parent.name}", dirs_exist_ok=True)
    assert exports_of(complete.path.parent / f"mended-{run.parent.name}") == complete.exports


@pytest.mark.proof
def test_a_disk_that_fills_up(forge: Forge, complete: Complete, tmp_path: Path, mount: Mount) -> None:
    """A real one, of 256 KiB, that has no room for the labels, and without them not for all the shards."""
    disk = mount("-t", "tmpfs", "-o", "size=256k", "tmpfs")
    run, filler = disk / "run", disk / "filler"
    filler.write_bytes(bytes(208 * 1024))
    labelled = forge.run("score", *ASKED, "--out", run, watch=run)
    assert_said(labelled, run / "labels.json", "No space left on device")
    stopped = forge.run("score", *ASKED, "--no-save-labels", "--out", run, watch=run)
    assert_said(stopped, run, "No space left on device")
    lying = sorted((run / "shards").glob("*.parquet"))
    assert 0 < len(lying) < len(complete.order)
    assert len(open_run(run).pieces) == len(lying)
    assert not list(run.rglob("*.tmp"))
    again = forge.run("score", *ASKED, "--no-save-labels", "--out", run, watch=run)
    assert_said(again, run, "No space left on device")
    filler.unlink()
    assert_it_goes_on(forge, run, complete)


@pytest.mark.parametrize(
    ("largest", "options", "place"),
    few_of(
        [(2000, [], "."), (20000, [], "labels.json"), (6000, ["--no-save-labels"], ".")],
        lambda largest, options, place: largest == 6000,
    ),
)
def test_files_that_cannot_grow(
    forge: Forge, complete: Complete, tmp_path: Path, largest: int, options: list[str], place: str
) -> None:
    """What a quota does, in the middle of a manifest, of the labels or of a shard; this needs no rights."""
    run = tmp_path / "run"
    stopped = forge.run("score", *ASKED, *options, "--out", run, watch=run, largest=largest)
    assert_said(stopped, run / place, "File too large")
    assert not list(run.rglob("*.tmp"))
    assert shards_in(stopped.changes) == [path for path in complete.order if (run / "shards" / path).exists()]
    assert_it_goes_on(forge, run, complete)


def _read_only(folder: Path, mount: Mount) -> Path:
    """The folder as somebody sees it who may not write there; root minds no modes, so it is mounted for root."""
    if os.geteuid():
        folder.chmod(0o555)
        return folder
    place = mount("--bind", str(folder))
    subprocess.run(["mount", "-o", "remount,bind,ro", str(place)], check=True)
    return place


def test_a_read_only_folder(
    forge: Forge, complete: Complete, tmp_path: Path, mount: Mount, reported: Callable[[Path], Any]
) -> None:
    folder = tmp_path / "run"
    forge.run("score", *ASKED, "--out", folder, watch=folder, at=20)
    missing = open_run(folder).missing
    assert missing
    run = _read_only(folder, mount)
    assert_said(forge.run("score", *ASKED, "--out", run, watch=run), run, "")
    assert_said(forge.run("score", *ASKED, "--out", run / "new", watch=run), run / "new", "")
    assert open_run(run).missing == missing  # reading writes nothing
    assert reported(run) == complete.report_of(missing, reported)
    with suppress(PermissionError):
        folder.chmod(0o755)
    assert_it_goes_on(forge, folder, complete)


@pytest.mark.proof
def test_a_folder_that_is_removed_while_it_is_scored_into(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    run = tmp_path / "run"
    child = forge.start("score", *ASKED, "--out", run, watch=run, pause=0.03)
    child.wait_for_first_shard()
    shutil.rmtree(run)
    stopped = child.wait()
    assert_said(stopped, run, "No such file or directory")
    assert not list(run.rglob("*.parquet"))
    assert_it_goes_on(forge, run, complete)


@pytest.mark.proof
def test_stdout_takes_no_more(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    if not FULL.exists():
        pytest.skip("no /dev/full here")
    quick, table = ("--bootstrap", "0"), tmp_path / "answers.csv"
    table.write_text("sum,right\n-1.5,1\n-2.5,0\n")
    for command in (
        ("report", complete.path, *quick),
        ("report", complete.path, *quick, "--json"),
        ("rank", table, "--score", "sum", "--correct", "right"),
        ("probes",),
        ("models",),
    ):
        ended = forge.run(*command, watch=tmp_path, out=str(FULL))
        assert (ended.code, "Traceback" in ended.stderr) == (1, False), (command, ended.stderr)
        assert "calprobe: cannot write to stdout: No space left on device; free" in ended.stderr


@pytest.mark.proof
def test_files_that_take_no_more(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    """Each command that writes a file names it, and leaves the file that was there."""
    run, quick = complete.path, ("--bootstrap", "0")
    for name, command in {
        "scores.parquet": ("export", run, "--what", "candidates", "--out"),
        "scores.csv": ("export", run, "--what", "candidates", "--out"),
        "scores.jsonl": ("export", run, "--what", "tokens", "--out"),
        "curve.csv": ("curve", run, "--kind", "accuracy-rejection", *quick, "--out"),
        "curve.svg": ("curve", run, "--kind", "accuracy-rejection", *quick, "--out"),
        "curve.pdf": ("curve", run, "--kind", "accuracy-rejection", *quick, "--out"),
        "page.html": ("report", run, *quick, "--html"),
    }.items():
        file = tmp_path / name
        file.write_text("old")
        # The forge's own log of changes has to fit, too: three lines with a path each.
        ended = forge.run(*command, file, watch=tmp_path, largest=1000, out=os.devnull)
        assert (ended.code, "Traceback" in ended.stderr) == (1, False), (command, ended.stderr)
        assert f"calprobe: {file}: " in ended.stderr
        assert "cannot be written: File too large" in ended.stderr
        assert file.read_text() == "old"
    suffixes = [".csv", ".csv", ".html", ".jsonl", ".parquet", ".pdf", ".svg"]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == suffixes


@pytest.mark.parametrize(
    ("number", "command"),
    few_of(
        [
            (number, command)
            for number in (signal.SIGKILL, signal.SIGINT)
            for command in (
                ("report", "--bootstrap", "0", "--html"),
                ("export", "--what", "candidates", "--out"),
                ("curve", "--kind", "accuracy-rejection", "--bootstrap", "0", "--out"),
            )
        ],
        lambda number, command: command[0] == "export",
    ),
)
def test_files_of_commands_that_are_stopped(
    forge: Forge, complete: Complete, tmp_path: Path, number: signal.Signals, command: tuple[str, ...]
) -> None:
    """Before each of their changes of a folder: what was there stays, whole, until the new file is."""
    name, *options = command
    file = tmp_path / f"file.{ {'report': 'html', 'export': 'csv', 'curve': 'png'}[name] }"
    for at in (1, 2, 3):
        file.write_text("old")
        ended = forge.run(name, complete.path, *options, file, watch=tmp_path, at=at, send=number)
        if file.read_bytes() == b"old":
            assert ended.code == (-number if number == signal.SIGKILL else 130)
        else:
            assert file.stat().st_size > 1000
        assert "Traceback" not in ended.stderr
        if number == signal.SIGINT:
            assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_stderr_that_takes_no_more_stops_no_run(forge: Forge, complete: Complete, tmp_path: Path) -> None:
    if not FULL.exists():
        pytest.skip("no /dev/full here")
    run = tmp_path / "run"
    asked = [option for option in ASKED if option != "--quiet"]
    forge.run("score", *asked, "--out", run, watch=run, err=str(FULL))
    assert exports_of(run) == complete.exports
