"""How a figure is wanted: its width as a column or page of a paper, its title, what runs are called, a style file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

COLUMN_INCHES = 3.3  # of a paper in two columns
PAGE_INCHES = 6.8  # both columns
NO_LABELS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Look:
    """What is asked of a figure beside its numbers.

    >>> Look(width=3.3).title is None
    True
    """

    width: float = PAGE_INCHES  # inches
    title: str | None = None  # above all panels; None: the model where the figure is of one run, else nothing
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)  # what runs are called, by the run as typed
    limited: frozenset[str] = frozenset()  # runs, as typed, of a part of their probe: their names say LIMITED
    partial: frozenset[str] = frozenset()  # runs, as typed, that are not complete: their names say PARTIAL
    style: Path | None = None  # a style file of matplotlib, over calprobe's own settings
    form: Literal["panels", "overlay"] = "panels"  # calibration: a panel for each estimator, or all in one


DEFAULT_LOOK = Look()
Draw = Callable[[Look], Any]  # -> a figure of matplotlib
