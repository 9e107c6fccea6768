"""A run that grows, killed at any of its writes: the smaller run or the larger one is there, and either is resumed."""

from __future__ import annotations

import os
import random
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from children import Ended, Forge
from commands import exports_of
from proofs import few_of
from unbroken import nth_shard, shards_in

from calprobe.runs import open_run

MANY = int(os.environ.get("CALPROBE_FAULTS", "10")) > 10
SEED = int(os.environ.get("CALPROBE_FAULTS_SEED", "0"))
FEW = 3  # kills of each growth among the proofs, beside those around the manifest, which are in the suite
SCORE = ("score", "--model", "tiny", "--probe", "mini", "--save-tokens", "--quiet", "--batch-tokens", "64")
GROWTHS = {
    "templates": (
        ("--relations", "month,opposite", "--limit", "1", "--templates", "0"),
        ("--relations", "month,opposite", "--limit", "1", "--templates", "0,1"),
    ),
    "instances and relations": (
        ("--relations", "month", "--limit", "1", "--templates", "0,1"),
        ("--relations", "month,opposite", "--limit", "2", "--templates", "0,1"),
    ),
}


@dataclass
class Growth:
    """A run, what makes it larger, and how that went when nothing happened."""

    small: tuple[str, ...]
    large: tuple[str, ...]
    begun: Path
    grown: Path
    ended: Ended


@pytest.fixture(scope="module", params=GROWTHS)
def growth(request: pytest.FixtureRequest, forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Growth:
    small, large = GROWTHS[request.param]
    folder = tmp_path_factory.mktemp("growth")
    begun, grown = folder / "begun", folder / "grown"
    assert forge.run(*SCORE, *small, "--out", begun, watch=begun).code == 0
    shutil.copytree(begun, grown)
    ended = forge.run(*SCORE, *large, "--out", grown, watch=grown)
    assert ended.code == 0, ended.stderr
    assert not open_run(grown).partial
    return Growth(small, large, begun, grown, ended)


def moments(changes: tuple[str, ...], few: int) -> list[int]:
    """Before which changes to kill: all in `make test-faults`; else those around the manifest, or a few others."""
    every = range(1, len(changes) + 1)
    if MANY:
        return list(every)
    manifest = next(place for place, change in enumerate(changes, 1) if change.endswith("/manifest.json"))
    return sorted(random.Random(SEED).sample(every, few)) if few else [manifest, manifest + 1]


@pytest.mark.parametrize("few", few_of([0] if MANY else [0, FEW], lambda few: few == 0))
def test_killed_at_a_write_either_request_goes_on(growth: Growth, forge: Forge, tmp_path: Path, few: int) -> None:
    before = {path.name: path.read_bytes() for path in (growth.begun / "shards").iterdir()}
    wanted = exports_of(growth.grown)
    for at in moments(growth.ended.changes, few):
        run = tmp_path / f"killed-{at}"
        shutil.copytree(growth.begun, run)
        killed = forge.run(*SCORE, *growth.large, "--out", run, watch=run, at=at)
        assert killed.code == -signal.SIGKILL
        missing = open_run(run).missing
        assert set(before) <= {path.name for path in (run / "shards").glob("*.parquet")}
        # The smaller request finds all it asks for, and changes nothing.
        files = {path: path.read_bytes() for path in (run / "shards").glob("*.parquet")}
        again = forge.run(*SCORE, *growth.small, "--out", run, watch=run)
        assert again.code == 0, again.stderr
        assert open_run(run).missing == missing
        assert {path: path.read_bytes() for path in (run / "shards").glob("*.parquet")} == files
        # The larger one makes of it what it is without the kill.
        assert forge.run(*SCORE, *growth.large, "--out", run, watch=run).code == 0
        assert exports_of(run) == wanted
        assert sorted(path.name for path in (run / "shards").iterdir()) == sorted(
            path.name for path in (growth.grown / "shards").iterdir()
        )


@pytest.mark.proof
def test_killed_again_and_again(growth: Growth, forge: Forge, tmp_path: Path) -> None:
    run, kills = tmp_path / "run", 0
    shutil.copytree(growth.begun, run)
    at = nth_shard(growth.ended.changes, 2)
    while forge.run(*SCORE, *growth.large, "--out", run, watch=run, at=at).code:
        kills += 1
        assert kills <= len(shards_in(growth.ended.changes))  # each life writes one
    assert kills
    assert exports_of(run) == exports_of(growth.grown)
