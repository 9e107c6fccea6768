"""What runs are called in figures: their models, or their folders where models repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import PurePath
from typing import Protocol

from calprobe.measures.run_names import state
from calprobe.show.plots.look import DEFAULT_LOOK, Look

SHARED = 9  # characters of what all names begin or end with, where they differ in the middle
NAME_WIDTH = 36  # characters of a run's name in legends and titles


class OfRun(Protocol):
    """What belongs to an estimator of a run."""

    @property
    def run(self) -> str:
        """The run as typed."""

    @property
    def model(self) -> str:
        """Its model's name, an id of the hub or a path."""

    @property
    def estimator(self) -> str:
        """The estimator's name."""


def run_names(lines: Iterable[OfRun], look: Look = DEFAULT_LOOK) -> dict[str, str]:
    """What each run is called: its label, else the last part of its model's name, else of its folder where runs share
    the model; more parts of the folder where they share these too.

    All names differ, and no name is longer than NAME_WIDTH unless that takes more. LIMITED and PARTIAL follow as
    `state` has it.
    """
    labels = look.labels
    models = {line.run: _last_part(line.model) for line in lines}
    shared = Counter(model for run, model in models.items() if run not in labels)
    folders = folder_names([run for run in models if run not in labels])
    names = {
        run: labels[run] if run in labels else model if shared[model] == 1 else folders[run]
        for run, model in models.items()
    }
    if len(set(names.values())) < len(names):
        names = {run: labels.get(run) or folders[run] for run in models}
    if len(set(names.values())) < len(names):
        names = {run: run for run in models}
    short = fitted_names(list(names.values()))
    return {
        run: short[name] + state(limited=run in look.limited, partial=run in look.partial)
        for run, name in names.items()
    }


def folder_names(runs: Sequence[str]) -> dict[str, str]:
    """The last parts of each path, the same number for all, as many as make the names differ.

    >>> folder_names(["/home/me/runs/a/step-100", "/home/me/runs/b/step-100"])
    {'/home/me/runs/a/step-100': 'a/step-100', '/home/me/runs/b/step-100': 'b/step-100'}
    """
    paths = {run: PurePath(run).parts or (run,) for run in runs}
    for count in range(1, max(map(len, paths.values()), default=1) + 1):
        names = {run: str(PurePath(*folders[-count:])) for run, folders in paths.items()}
        if len(set(names.values())) == len(names):
            return names
    return {run: run for run in runs}


def fitted_names(names: Sequence[str]) -> dict[str, str]:
    """Each name as it fits into NAME_WIDTH characters, or into as many more as different names need.

    >>> fitted_names(["gpt2", "runs/" + "a" * 40])
    {'gpt2': 'gpt2', 'runs/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': 'runs/aaaaaaaaaaaa…aaaaaaaaaaaaaaaaaa'}
    """
    count = len(set(names))
    short = {name: shortened(name, NAME_WIDTH) for name in names}
    if len(set(short.values())) < count:
        short = _differing(names)
    width = NAME_WIDTH
    while len(set(short.values())) < count or max(map(len, short.values()), default=0) > max(width, NAME_WIDTH):
        width += 4
        short = {name: shortened(name, width) for name in names}
    return short


def _differing(names: Sequence[str]) -> dict[str, str]:
    """What the names do not share, between the ends of what they share.

    >>> list(_differing([f"the-run-number-{at}-of-a-long-series" for at in (1, 20)]).values())
    ['the-…ber-1-of-…ries', 'the-…ber-20-of-…ries']
    """
    first = _shared_start(names)
    last = _shared_start([name[len(first) :][::-1] for name in names])[::-1]
    return {
        name: shortened(first, SHARED) + name[len(first) : len(name) - len(last)] + shortened(last, SHARED)
        for name in names
    }


def _shared_start(names: Sequence[str]) -> str:
    """The letters that all names begin with."""
    letters = zip(*names, strict=False)
    return "".join(column[0] for column in takewhile(lambda column: len(set(column)) == 1, letters))


def shortened(name: str, width: int) -> str:
    """The name in at most `width` characters, the middle left out: names of runs mostly differ at either end.

    >>> shortened("runs/smollm2-135m-mini", 15), shortened("gpt2", 15)
    ('runs/sm…5m-mini', 'gpt2')
    """
    if len(name) <= width:
        return name
    room = width - 1
    return f"{name[: room // 2]}…{name[len(name) - (room - room // 2) :]}"


def _last_part(model: str) -> str:
    return model.rstrip("/").rpartition("/")[2] or model
