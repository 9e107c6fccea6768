"""What the page is made of: text ready to be shown, as plain frozen data. The templates escape all of it."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from calprobe.analysis.tables import Table


@dataclass(frozen=True, slots=True)
class Definition:
    """What a number means; `key` names it within the page."""

    key: str
    title: str
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A series of a figure that the reader may show or hide."""

    name: str
    place: int  # in the palette
    key: Markup  # its line and mark
    shown: bool = True


@dataclass(frozen=True, slots=True)
class FigureView:
    """A figure with its legend."""

    title: str
    svg: Markup
    caption: str
    choices: tuple[Choice, ...] = ()
    choosable: bool = True  # False: the legend explains only


@dataclass(frozen=True, slots=True)
class BigNumber:
    """One of the numbers that a run is known by."""

    name: str
    value: str
    note: str
    definition: str  # key of one
    lesser: bool = False  # not the run's own, but what it is held against


@dataclass(frozen=True, slots=True)
class WordingView:
    """What the paraphrases change."""

    title: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """One run."""

    anchor: str
    label: str
    state: str  # complete, or PARTIAL or LIMITED and how much of it
    partial: bool  # whether anything of the probe is left out
    how: str
    lines: tuple[str, ...]
    numbers: tuple[BigNumber, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[FigureView, ...] = ()
    errors: Table | None = None  # its surest
    wording: WordingView | None = None
    slices: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class PairView:
    """Two runs side by side."""

    table: Table
    figure: FigureView | None


@dataclass(frozen=True, slots=True)
class SectionView:
    """A part of an overview: one task, or what is over all."""

    anchor: str
    title: str
    tables: tuple[Table, ...]
    lines: tuple[str, ...] = ()  # before the tables
    link: str = ""  # to a page of its own
    figures: tuple[FigureView, ...] = ()  # of the details
    details: tuple[Table, ...] = ()  # that the reader opens
    warning: bool = False  # whether the title is a warning


@dataclass(frozen=True, slots=True)
class PageView:
    """The page."""

    title: str
    subtitle: str
    contents: tuple[tuple[str, str], ...]  # anchor and name of each section
    runs: tuple[RunView, ...]
    notes: tuple[str, ...]
    definitions: tuple[Definition, ...]
    made: tuple[tuple[str, str], ...]  # options, versions
    manifests: tuple[tuple[str, str], ...]  # label, JSON
    summary: Table | None = None  # of several runs, a row for each
    figures: tuple[FigureView, ...] = ()  # over all runs
    pairs: tuple[PairView, ...] = ()  # of a comparison
    across: tuple[Table, ...] = ()  # of several runs: models and averages; of asked ones all that is across them
    sections: tuple[SectionView, ...] = ()  # of an overview

    @property
    def keys(self) -> frozenset[str]:
        """The definitions that the page has."""
        return frozenset(definition.key for definition in self.definitions)
