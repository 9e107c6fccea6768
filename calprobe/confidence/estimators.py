"""The table of estimators: what each is, where it comes from, what it needs, and how early it is shown.

Add an estimator as an entry of `ENTRIES`; reports, tables, curves, pages and exports take it from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from calprobe.confidence.distributions import Distributions
from calprobe.confidence.paraphrases import (
    Aggregation,
    aggregations,
    average_confidence,
    consistency_confidence,
    fixed_agreement_confidence,
    fixed_mean_confidence,
    mixture_confidence,
)
from calprobe.confidence.single_template import (
    base_confidence,
    chance_confidence,
    entropy_confidence,
    margin_confidence,
)
from calprobe.confidence.temperature import FOLDS, temperature_confidence, top_temperature_confidence
from calprobe.confidence.types import Confidence, default_row, paraphrase_rows
from calprobe.words import Ties

if TYPE_CHECKING:
    from calprobe.runs import ScoreTable, TemplateRecord

Group = Literal["intrinsic", "consistency", "grounding", "beyond the paper", "given"]
Needs = Literal["closed_set", "given"]  # evidence: the scores of every candidate; or none, a table has the confidences
Scale = Literal["probability", "order"]  # what a confidence means: the probability to be right, or a rank alone

BASE = "base"  # its predictions and accuracy are the run's
PAPER = "Kissling et al. 2026"
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


# A share of T votes is often 1. Its NLL would be set by how far the metric clips a probability of 1 that was wrong.
OF_SHARES = frozenset({"nll"})

AVERAGE = Entry(
    "average_{}",
    "consistency",
    "mean over the paraphrases of the base of those that give {}",
    f"{PAPER}, section 3.2 and appendix C",
    average_confidence,
    of_aggregations,
    headlines={"average_vote_2": Headline.PAPER, "average_min": Headline.BRIEF},
)

# In the order of reports, the members of a group together.
ENTRIES: tuple[Entry, ...] = (
    Entry(
        BASE,
        "intrinsic",
        "largest probability",
        f"{PAPER}, section 3.1",
        base_confidence,
        of_one_template,
        headlines={BASE: Headline.BRIEF},
    ),
    Entry(
        "margin",
        "intrinsic",
        "largest minus second-largest probability",
        f"{PAPER}, section 3.1",
        margin_confidence,
        of_one_template,
        headlines={"margin": Headline.FIRST},
    ),
    AVERAGE,
    Entry(
        "consistency_{}",
        "consistency",
        "share of the paraphrases that give {}",
        f"{PAPER}, section 3.2 and appendix C",
        consistency_confidence,
        of_aggregations,
        lacks=OF_SHARES,
        headlines={"consistency_vote_2": Headline.PAGE, "consistency_min": Headline.PAGE},
    ),
    Entry(
        "marker_{}",
        "grounding",
        "largest probability under the template of {}",
        f"{PAPER}, section 3.3",
        base_confidence,
        of_markers,
    ),
    Entry(
        "mixture",
        "beyond the paper",
        "largest probability of the paraphrases' mean distribution",
        "",
        mixture_confidence,
        of_paraphrases,
    ),
    Entry(
        "fixed_mean",
        "beyond the paper",
        "mean over the paraphrases of the probability of base's answer",
        "",
        fixed_mean_confidence,
        of_one_answer,
    ),
    Entry(
        "fixed_agreement",
        "beyond the paper",
        "share of the paraphrases that give base's answer",
        "",
        fixed_agreement_confidence,
        of_one_answer,
        lacks=OF_SHARES,
    ),
    Entry(
        "entropy",
        "beyond the paper",
        "1 minus entropy over its largest possible value",
        "",
        entropy_confidence,
        of_one_template,
    ),
    Entry(
        "temperature",
        "beyond the paper",
        f"base after temperature scaling, fitted by NLL on the other of {FOLDS} folds",
        "Guo et al. 2017, section 4.2",
        temperature_confidence,
        of_one_template,
    ),
    Entry(
        "temperature_top",
        "beyond the paper",
        f"as temperature, fitted by NLL of right and wrong, on the other of {FOLDS} folds",
        "",
        top_temperature_confidence,
        of_one_template,
    ),
    Entry(
        "chance",
        "beyond the paper",
        "base on a scale from chance (0) to certainty (1)",
        "",
        chance_confidence,
        of_one_template,
        scale="order",  # accuracy does not start at 0 where it does
    ),
)


def headline(level: Headline) -> tuple[str, ...]:
    """The names of the estimators that are shown at a level, in the order of reports.

    >>> headline(Headline.FIRST)
    ('base', 'margin', 'average_min')
    """
    return tuple(name for entry in ENTRIES for name, own in entry.headlines.items() if own <= level)


def available_estimators(templates: Sequence[TemplateRecord]) -> tuple[Estimator, ...]:
    """Every estimator that these templates suffice for, in the order of reports.

    Args:
        templates: the run's, in the order of the rows of its scores.

    >>> from calprobe.runs import TemplateRecord
    >>> paraphrases = [TemplateRecord(3, "paraphrase"), TemplateRecord(4, "paraphrase")]
    >>> {estimator.name: estimator.templates for estimator in available_estimators(paraphrases)}
    {'base': (3,), 'margin': (3,), 'average_vote_2': (3, 4), 'average_min': (3, 4), 'average_max': (3, 4), \
'consistency_vote_2': (3, 4), 'consistency_min': (3, 4), 'consistency_max': (3, 4), 'mixture': (3, 4), \
'fixed_mean': (3, 4), 'fixed_agreement': (3, 4), 'entropy': (3,), 'temperature': (3,), 'temperature_top': (3,), \
'chance': (3,)}
    """
    return tuple(estimator for entry in ENTRIES for estimator in entry.bind(entry, templates))


def estimator_groups(templates: Sequence[TemplateRecord]) -> dict[str, tuple[Estimator, ...]]:
    """The estimators of `available_estimators` by group; no group is empty.

    >>> from calprobe.runs import TemplateRecord
    >>> found = estimator_groups([TemplateRecord(0, "paraphrase"), TemplateRecord(5, "verbal", "possibly")])
    >>> {group: [estimator.name for estimator in estimators] for group, estimators in found.items()}
    {'intrinsic': ['base', 'margin'], 'grounding': ['marker_possibly'], \
'beyond the paper': ['entropy', 'temperature', 'temperature_top', 'chance']}
    """
    groups: dict[str, tuple[Estimator, ...]] = {}
    for estimator in available_estimators(templates):
        groups[estimator.group] = (*groups.get(estimator.group, ()), estimator)
    return groups


def estimate(table: ScoreTable, ties: Ties = "draw") -> dict[str, Confidence]:
    """The confidences of every estimator that the table's templates allow, by name, in the order of reports.

    Args:
        table: a run's scores under one reduction, `run.table(reduction)`. Without instances all arrays are empty.
        ties: which of the candidates that share the largest score is predicted: a drawn one, or the first.

    >>> import numpy as np
    >>> from calprobe.runs import ScoreTable
    >>> from calprobe.runs import TemplateRecord
    >>> paraphrase, scores, p30 = TemplateRecord(0, "paraphrase"), np.log([[0.75, 0.25]]), np.array(["P30"])
    >>> table = ScoreTable(scores, np.array([0, 2]), np.array([0]), p30, np.array([0]), (paraphrase,))
    >>> {name: float(found.confidence[0].round(6)) for name, found in estimate(table).items()}
    {'base': 0.75, 'margin': 0.5, 'entropy': 0.188722, 'temperature': 0.75, 'temperature_top': 0.75, 'chance': 0.5}
    """
    distributions = Distributions.from_table(table, ties)
    return {estimator.name: estimator(distributions) for estimator in available_estimators(table.templates)}
