"""Where calprobe keeps what it fetched and made."""

from __future__ import annotations

from pathlib import Path

import pytest

from calprobe.folders import data_root


def test_data_root_is_the_environments_or_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    assert data_root() == tmp_path
    monkeypatch.delenv("CALPROBE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_root().name == "calprobe"
