"""Where calprobe keeps what it fetched and made."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from safetensors import SafetensorError

from calprobe.errors import CalprobeError
from calprobe.folders import data_root, filling_cache


def test_data_root_is_the_environments_or_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    assert data_root() == tmp_path
    monkeypatch.delenv("CALPROBE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_root().name == "calprobe"


@pytest.mark.parametrize(
    ("error", "n_bytes", "fix"),
    [
        (SafetensorError("I/O error: No space left on device (os error 28)"), 538_000_000, "free 0.5 GB there"),
        (OSError(28, "No space left on device"), 1000, "free space there"),
        (sqlite3.OperationalError("database or disk is full"), 0, "free space there"),
    ],
)
def test_a_full_cache_says_how_much_to_free(
    error: Exception, n_bytes: int, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path))
    with pytest.raises(CalprobeError) as caught, filling_cache(n_bytes):
        raise error
    full = f"{tmp_path}: no space left for calprobe's cache"
    assert str(caught.value).splitlines() == [full, f"{fix}, or set CALPROBE_CACHE to a folder on another disk"]


def test_other_errors_pass_a_cache_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "not" / "yet"))
    for error in (ValueError("no such tensor"), CalprobeError("damaged")):
        with pytest.raises(type(error)) as caught, filling_cache():
            raise error
        assert caught.value is error
