"""A run that nothing happened to, its exports, and what any part of it has to report."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from children import Ended

from calprobe.runs.shards import shard_path

ASKED = ("--model", "tiny", "--probe", "mini", "--limit", "2", "--templates", "0,1", "--save-tokens", "--quiet")
# Groups of one to three pieces.
ASKED += ("--relations", "capital,continent,month,opposite", "--batch-tokens", "64")


@dataclass
class Complete:
    """A run that nothing happened to, and what any part of it has to report."""

    path: Path
    ended: Ended
    exports: dict[str, bytes]
    reports: dict[tuple[tuple[str, int], ...], Any] = field(default_factory=dict)

    @property
    def order(self) -> list[str]:
        """The names of its shards in the order in which they were written."""
        return shards_in(self.ended.changes)

    def report_of(self, missing: tuple[tuple[str, int], ...], report: Callable[[Path], Any]) -> Any:
        """What a run without those pieces has to report, from this run's shards."""
        if missing not in self.reports:
            part = self.path.with_name(f"part-{len(self.reports)}")
            shutil.copytree(self.path, part)
            for piece in missing:
                shard_path(part, *piece).unlink()
            self.reports[missing] = report(part)
        return self.reports[missing]


def shards_in(changes: tuple[str, ...]) -> list[str]:
    """The shards that were given their names, in order."""
    renamed = [change.removeprefix("os.rename ") for change in changes if change.startswith("os.rename ")]
    return [Path(path).name for path in renamed if path.endswith(".parquet")]


def nth_shard(changes: tuple[str, ...], number: int) -> int:
    """Which of the changes, from 1, gives the `number`-th shard its name."""
    return [place for place, change in enumerate(changes, 1) if shards_in((change,))][number - 1]
