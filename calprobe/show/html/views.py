"""What a page is made of, as plain frozen data in the order in which it is read. The template escapes all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from calprobe.measures.number_text import interval, number
from calprobe.messages import counted
from calprobe.metrics import Estimate
from calprobe.show.tables import Table


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

    @classmethod
    def of(cls, name: str, estimate: Estimate, definition: str) -> BigNumber:
        """An estimate, with its interval as the note."""
        return cls(name, number(estimate.value), interval(estimate), definition)


@dataclass(frozen=True, slots=True)
class RunHead:
    """What a run is, how much of it there is, and the numbers that it is known by."""

    place: int  # among the runs
    label: str
    state: str  # complete, or PARTIAL or LIMITED and how much of it
    how: str
    lines: tuple[str, ...] = ()
    numbers: tuple[BigNumber, ...] = ()
    verdict: tuple[str, ...] = ()  # sentences on what its confidences are worth
    replies: str = ""  # address of the page of its replies, if there is one
    figure: FigureView | None = None  # of the only run of a page: the first that a reader looks at

    @property
    def partial(self) -> bool:
        """Whether anything is left out; questions that are held back as examples are not."""
        return not self.state.startswith("complete")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section."""

    text: str | Markup  # see `with_name`


@dataclass(frozen=True, slots=True)
class Facts:
    """Names, each with what is said of it."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a page's numbers say, in sentences."""

    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """Details that the reader opens."""

    summary: str
    parts: tuple[Part, ...]


# A text is a paragraph; figures in a tuple stand side by side, as many as the window is wide.
Part = str | Heading | Facts | Table | FigureView | tuple[FigureView, ...] | RunHead | Verdict | Folded


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page that its contents lead to."""

    anchor: str
    title: str
    parts: tuple[Part, ...]
    heading: str | None = None  # None: the title
    mark: str = ""  # its class in the style sheet: `many` runs, a `warning`
    lead: str = ""  # what is to be read first
    link: str = ""  # to a page of its own
    folded: bool = False  # opened by the reader, by a link to it, and for printing


@dataclass(frozen=True, slots=True)
class Page:
    """A page; definitions and how it was made stand at the end of each."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    definitions: tuple[Definition, ...]
    made: tuple[tuple[str, str], ...]  # options
    manifests: tuple[tuple[str, str], ...] = ()  # label, JSON

    @property
    def keys(self) -> frozenset[str]:
        """The definitions that the page has."""
        return frozenset(definition.key for definition in self.definitions)


def by_run(parts: Mapping[str, Iterable[Part]]) -> tuple[Part, ...]:
    """The parts of each run, by its label, under its name where there are several runs."""
    by_label = {label: of_run for label, run_parts in parts.items() if (of_run := tuple(run_parts))}
    heads = {label: [Heading(with_name("{}", label))] if len(parts) > 1 else [] for label in by_label}
    return tuple(part for label, of_run in by_label.items() for part in (*heads[label], *of_run))


def side_by_side(figures: Iterable[FigureView]) -> tuple[Part, ...]:
    """The figures as one part of a section; none without figures."""
    return (views,) if (views := tuple(figures)) else ()


def filled(*sections: Section) -> tuple[Section, ...]:
    """The sections that have something to show."""
    return tuple(section for section in sections if section.parts)


def with_name(text: str, *names: str) -> Markup:
    """A text with names in place of each `{}`; they stay text, whoever gave them and in whatever direction they run.

    >>> with_name("A {}", "<b>")
    Markup('A <bdi>&lt;b&gt;</bdi>')
    """
    return Markup(text.replace("{}", "<bdi>{}</bdi>")).format(*names)


def few(names: Iterable[str], what: str) -> str:
    """One name or two, or how many there are; each counts once.

    >>> few(["a", "b", "a"], "model"), few("abc", "model")
    ('a and b', '3 models')
    """
    distinct = list(dict.fromkeys(names))
    return " and ".join(distinct) if len(distinct) < 3 else counted(len(distinct), what)
