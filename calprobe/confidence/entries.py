"""What an estimator is, and how an entry of the table is bound to the templates of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from calprobe.confidence.distributions import Distributions
from calprobe.confidence.paraphrases import Aggregation, aggregations
from calprobe.confidence.types import Confidence, default_row, paraphrase_rows

if TYPE_CHECKING:
    from calprobe.runs import TemplateRecord

Group = Literal["intrinsic", "consistency", "grounding", "beyond the paper", "given"]
# Evidence: the scores of every candidate; of candidates that a relation's instances share; or none, a table has the
# confidences.
Needs = Literal["closed_set", "shared_set", "given"]
Scale = Literal["probability", "order"]  # what a confidence means: the probability to be right, or a rank alone

VERBAL = ("possibly", "certainly")


class Headline(IntEnum):
    """How early an estimator is shown. Whatever shows some shows those of its own level and of all before it."""

    BRIEF = 1  # on a page of many runs
    FIRST = 2  # in slices and calibration figures, and before a reader chooses others
    PAPER = 3  # in curves, and in the summary of runs: the columns of the paper's Table 1
    PAGE = 4  # in the figures on a page of few runs


@dataclass(frozen=True, slots=True)
class Estimator:
    """A way from evidence to confidences, bound to the templates of one run that it reads."""

    name: str  # the key in `report --json`
    entry: Entry
    definition: str  # one line
    templates: tuple[int, ...]  # numbers of the templates it reads
    compute: Callable[[Distributions], Confidence]
    marker: str | None = None  # what the template says of its own sureness: possibly, certainly, a percentage
    votes: int | None = None  # paraphrases that must agree; None: an estimator without votes

    @property
    def group(self) -> Group:
        """The group that reports show it in."""
        return self.entry.group

    @property
    def source(self) -> str:
        """Where it is defined; empty for calprobe's own."""
        return self.entry.source

    @property
    def scale(self) -> Scale:
        """What its confidences mean; calibration has a meaning for probabilities alone."""
        return self.entry.scale

    @property
    def lacks(self) -> frozenset[str]:
        """Names of metrics that have no meaning for it."""
        return self.entry.lacks

    @property
    def headline(self) -> Headline | None:
        """How early it is shown; None: where all are."""
        return self.entry.headlines.get(self.name)

    def __call__(self, distributions: Distributions) -> Confidence:
        """The estimator's confidences."""
        return self.compute(distributions)


@dataclass(frozen=True, slots=True, eq=False)  # an entry is equal to itself alone
class Entry:
    """An estimator, or several that differ in what stands for `{}`: an aggregation, a marker."""

    name: str
    group: Group
    definition: str  # one line
    source: str
    compute: Callable[..., Confidence]
    bind: Callable[[Entry, Sequence[TemplateRecord]], Iterator[Estimator]]  # to a run's templates; nothing if they lack
    needs: Needs = "closed_set"
    scale: Scale = "probability"
    lacks: frozenset[str] = frozenset()  # names of metrics that have no meaning for it
    headlines: Mapping[str, Headline] = field(default_factory=dict)  # by the estimator's full name


def of_one_template(entry: Entry, templates: Sequence[TemplateRecord]) -> Iterator[Estimator]:
    """The estimator on template 0, else the first paraphrase."""
    row = default_row(templates)
    if row is not None:
        compute = partial(entry.compute, row=row)
        yield Estimator(entry.name, entry, entry.definition, (templates[row].number,), compute)


def of_paraphrases(entry: Entry, templates: Sequence[TemplateRecord]) -> Iterator[Estimator]:
    """The estimator on all paraphrases, if there are two or more."""
    if rows := paraphrase_rows(templates):
        yield _on_rows(entry, templates, rows)


def of_one_answer(entry: Entry, templates: Sequence[TemplateRecord]) -> Iterator[Estimator]:
    """The estimator on base's answer over all paraphrases, if there are two or more."""
    row = default_row(templates)
    if row is not None and (rows := paraphrase_rows(templates)):
        numbers = tuple(sorted({templates[place].number for place in (row, *rows)}))
        yield Estimator(entry.name, entry, entry.definition, numbers, partial(entry.compute, rows=rows, row=row))


def of_aggregations(entry: Entry, templates: Sequence[TemplateRecord]) -> Iterator[Estimator]:
    """An estimator for each aggregation of the paraphrases, if there are two or more."""
    if rows := paraphrase_rows(templates):
        yield from (_on_rows(entry, templates, rows, aggregation) for aggregation in aggregations(len(rows)))


def of_markers(entry: Entry, templates: Sequence[TemplateRecord]) -> Iterator[Estimator]:
    """An estimator for each epistemic template: possibly, certainly, then percentages ascending.

    Of several templates with one marker, the first.
    """
    first: dict[str, int] = {}
    for row, template in enumerate(templates):
        if template.marker is not None:
            first.setdefault(template.marker, row)
    percentages = sorted((marker for marker in first if marker not in VERBAL), key=int)
    for marker in (*(marker for marker in VERBAL if marker in first), *percentages):
        row = first[marker]
        definition = entry.definition.format(marker if marker in VERBAL else f"{marker} %")
        compute = partial(entry.compute, row=row)
        name = entry.name.format(marker)
        yield Estimator(name, entry, definition, (templates[row].number,), compute, marker=marker)


def _on_rows(
    entry: Entry, templates: Sequence[TemplateRecord], rows: tuple[int, ...], aggregation: Aggregation | None = None
) -> Estimator:
    chosen: dict[str, Any] = {} if aggregation is None else {"choose": aggregation.choose}
    return Estimator(
        name=entry.name.format(aggregation.name if aggregation else ""),
        entry=entry,
        definition=entry.definition.format(aggregation.meaning if aggregation else ""),
        templates=tuple(templates[row].number for row in rows),
        compute=partial(entry.compute, rows=rows, **chosen),
        votes=aggregation.votes if aggregation else None,
    )
