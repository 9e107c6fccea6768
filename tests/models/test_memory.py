"""What is left of the memory, by the machine and by a container's own limit."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
import torch

from calprobe.models import memory
from calprobe.models.memory import free_bytes, total_bytes

CPU = torch.device("cpu")


@pytest.fixture
def cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    (tmp_path / "memory").mkdir()
    return tmp_path


def test_without_a_container_the_machine_counts(cgroup: Path) -> None:
    assert total_bytes(CPU) == psutil.virtual_memory().total
    assert 0 < free_bytes(CPU) <= total_bytes(CPU)


def test_a_containers_limit_counts(cgroup: Path) -> None:
    (cgroup / "memory.max").write_text("5000\n")
    (cgroup / "memory.current").write_text("2000\n")
    assert (free_bytes(CPU), total_bytes(CPU)) == (3000, 5000)
    (cgroup / "memory.stat").write_text("anon 1200\ninactive_file 700\n")  # a cache that is given back when wanted
    assert free_bytes(CPU) == 3700
    (cgroup / "memory.max").write_text("max\n")
    assert free_bytes(CPU) > 5000


def test_a_container_of_the_first_version_counts(cgroup: Path) -> None:
    (cgroup / "memory" / "memory.limit_in_bytes").write_text("5000\n")
    (cgroup / "memory" / "memory.usage_in_bytes").write_text("2000\n")
    (cgroup / "memory" / "memory.stat").write_text("inactive_file 1\ntotal_inactive_file 500\n")
    assert (free_bytes(CPU), total_bytes(CPU)) == (3500, 5000)
