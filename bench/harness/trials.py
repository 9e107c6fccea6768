"""Simulated samples: what the scripts share that measure coverage of intervals, and level and power of tests."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calprobe.arrays import Floats
from calprobe.metrics import Metric, Resampling, standard_metrics

Predictions = tuple[Floats, Floats]  # confidence and correct, both [instances]
BELOW = 0.05  # a p-value that counts


@dataclass(frozen=True, slots=True)
class Trials:
    """What the command line asks for."""

    instances: int  # of a trial
    number: int
    resamples: int

    def __iter__(self) -> Iterator[Resampling]:
        """A resampling for each trial."""
        return (Resampling(self.resamples, trial) for trial in range(self.number))


def print_table(description: str | None, tables: Mapping[str, Callable[[Trials], None]], usual: Trials) -> None:
    """Print the table that the command line names, a Markdown table; `usual` are the options' defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=tables)
    parser.add_argument("--instances", type=int, default=usual.instances, help="of a trial (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=usual.number, help="for each row (default: %(default)s)")
    parser.add_argument("--resamples", type=int, default=usual.resamples, help="of a trial (default: %(default)s)")
    given = parser.parse_args()
    print(f"{given.instances} instances, {given.trials} trials a row, {given.resamples} resamples\n")
    tables[given.what](Trials(given.instances, given.trials, given.resamples))


def print_head(*columns: str, texts: int = 1) -> None:
    """The first lines of a table, of which the columns behind the first `texts` are numbers."""
    print("|", " | ".join(columns), "|")
    print("|" + "---|" * texts + "---:|" * (len(columns) - texts))


def print_shares(label: str, happened: Sequence[Any]) -> None:
    """A row: in how many percent of the trials each thing happened; `happened` is [trials, things]."""
    cells = " | ".join(f"{100 * share:.0f}" for share in np.mean(np.asarray(happened), axis=0))
    print(f"| {label} | {cells} |", flush=True)


def named(names: Iterable[str]) -> list[Metric]:
    """The metrics of these names, in the order of reports."""
    chosen = set(names)
    return [metric for metric in standard_metrics() if metric.name in chosen]


def two_models(
    rng: np.random.Generator,
    n_instances: int,
    gaps: tuple[float, float],
    lowest: float | None = None,
    surer: bool = False,
) -> dict[str, Predictions]:
    """Two models, `first` and `second`, right with probability `confidence - gap`.

    Each shares half of its confidences, and half of its luck, with a common source. Confidences begin at `lowest`,
    None: at the gap; those of a `surer` second model are near 0 and 1 only.
    """
    hardness, luck = rng.random(n_instances), rng.random(n_instances)
    found = {}
    for name, gap in zip(("first", "second"), gaps, strict=True):
        level = np.where(rng.random(n_instances) < 0.5, hardness, rng.random(n_instances))
        if surer and name == "second":
            level = np.where(level < 0.5, 0.06 * level, 1 - 0.06 * (1 - level))
        begin = gap if lowest is None else lowest
        confidence = begin + (1 - begin) * level
        drawn = np.where(rng.random(n_instances) < 0.5, luck, rng.random(n_instances))
        found[name] = confidence, (drawn < confidence - gap).astype(np.float64)
    return found
