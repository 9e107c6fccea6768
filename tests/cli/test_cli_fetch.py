"""`calprobe fetch` as it is typed: output, exit codes, Ctrl-C and kill."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from commands import exit_code
from file_server import SERVED, A, FileServer, serving

from calprobe.probes import download, load_probe
from calprobe.probes.datasets import DATASETS, dataset


@pytest.fixture
def real(shared: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FileServer]:
    """The pinned data sets, served from the reference data at the paths of their repositories."""
    contents = {
        f"/{data.repository}/{data.commit}/{file.source}": (shared / file.path).read_bytes()
        for data in map(dataset, DATASETS)
        for file in data.files
    }
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    with serving(contents) as server:
        monkeypatch.setattr(download, "BASE_URL", server.url)
        yield server


def test_fetch_bear_then_load_it(real: FileServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("fetch", "bear") == 0
    out, err = capsys.readouterr()
    assert out == f"bear: in {tmp_path / 'bear'}, 142 files as pinned\n"
    assert err.splitlines() == [
        "fetching bear: 142 files, 7.1 MB, from https://github.com/lm-pub-quiz/BEAR at 3818fdc029d3",
        dataset("bear").terms,
    ]
    assert load_probe("bear").n_instances == 7731
    assert load_probe("bear-big").n_instances == 40_916
    assert exit_code("fetch", "bear") == 0
    out, err = capsys.readouterr()
    assert out == f"bear: already in {tmp_path / 'bear'}, 142 files as pinned\n"
    assert err == ""
    assert sum(real.requests.values()) == 142


@pytest.mark.parametrize("name", ["factor", "kissling2026"])
def test_fetch_single_files(real: FileServer, tmp_path: Path, shared: Path, name: str) -> None:
    assert exit_code("fetch", name) == 0
    (file,) = dataset(name).files
    assert (tmp_path / file.path).read_bytes() == (shared / file.path).read_bytes()


def test_offline_names_what_to_do_by_hand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving({}) as gone:
        monkeypatch.setattr(download, "BASE_URL", gone.url)
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    assert exit_code("fetch", "bear") == 3
    *_, reason, fix = capsys.readouterr().err.splitlines()
    assert reason.startswith("calprobe: cannot fetch bear: http://127.0.0.1:")
    assert "no connection" in reason
    assert fix.startswith(
        "By hand: get https://github.com/lm-pub-quiz/BEAR at 3818fdc029d335b603631255c135d2a87b0bd24d."
    )
    assert "--probe DIR" in fix
    assert "CALPROBE_DATA" in fix
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_unknown_name_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("fetch", "lama") == 2
    assert "'bear', 'factor', 'kissling2026'" in capsys.readouterr().err


# The toy data set in place of BEAR; the first argument is the server's address.
TOY_FETCH = """
import sys
from file_server import TOY
from calprobe.cli import fetch, main
from calprobe.probes import download
download.BASE_URL = sys.argv[1]
fetch.dataset = lambda name: TOY
main(["fetch", "bear"])
"""


@pytest.fixture
def toy_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FileServer, list[str]]]:
    """A server that never sends its first file completely, and the command that fetches from it."""
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    with serving(SERVED) as server:
        server.faults[A] = ["hang"]
        yield server, [sys.executable, "-c", TOY_FETCH, server.url]


def test_interrupt_leaves_nothing(toy_fetch: tuple[FileServer, list[str]], tmp_path: Path) -> None:
    server, command = toy_fetch
    # Where the suite itself runs in the background of a shell, children inherit that SIGINT is ignored.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    assert server.hanging.wait(120)
    process.send_signal(signal.SIGINT)
    server.release.set()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err.splitlines()[-1] == (
        "calprobe: interrupted, no incomplete file was kept; run `calprobe fetch bear` again"
    )
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_fetch_after_a_kill_starts_clean(toy_fetch: tuple[FileServer, list[str]], tmp_path: Path) -> None:
    server, command = toy_fetch
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.hanging.wait(120)
    process.kill()
    process.communicate(timeout=300)
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 1
    assert not (tmp_path / "toy").exists()
    server.release.set()
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["toy"]
