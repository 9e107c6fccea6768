"""What is said of the same facts in several ways, as plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calprobe.analysis.compare_results import Contrast
from calprobe.analysis.four_ways.ways import View, Way
from calprobe.cells.run_facts import RunFacts
from calprobe.metrics import Difference, Estimate

FEW = 10  # facts below which intervals and p-values say little: of a relation, and of what two confidences share


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run, as headings describe it."""

    label: str
    model: str
    partial: bool
    facts: RunFacts | None  # None: of replies
    state: str = ""  # of replies: complete, or what is missing and what was left out
    how: str = ""  # of replies: how they were asked
    lines: tuple[str, ...] = ()  # of replies: what else there is to say
    asked_in_part: Mapping[str, Any] | None = None  # of replies: what part of each set; None: all of it

    @property
    def limited(self) -> bool:
        """Whether it is of a part of its probe by request."""
        return self.asked_in_part is not None if self.facts is None else self.facts.limited

    @property
    def kind(self) -> str:
        """Of scores or of replies."""
        return "asked" if self.facts is None else "scored"


@dataclass(frozen=True, slots=True)
class ViewNumbers:
    """A confidence in the facts' answers, judged."""

    view: View
    facts: int  # with a confidence
    metrics: Mapping[str, Estimate]  # over these; those that have a meaning for its scale


@dataclass(frozen=True, slots=True)
class WayNumbers:
    """How often a way of answering is right."""

    way: Way
    accuracy: Mapping[str, Estimate]  # of all facts, by estimator or reader, the one that answers first
    unread: int  # facts without an answer, which count as wrong


@dataclass(frozen=True, slots=True)
class ViewPair:
    """Two confidences on the facts that have both: the second way's number minus the first's."""

    first: View
    second: View
    facts: int
    contrasts: tuple[Contrast, ...]  # of the metrics that have a meaning for both; first minus second


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rho of how sure two confidences are, fact by fact."""

    first: View
    second: View
    facts: int  # with both
    rho: Estimate


@dataclass(frozen=True, slots=True)
class RelationGap:
    """How much more often a relation's facts are ranked right than answered right."""

    relation: str
    facts: int
    ranks: float  # share ranked right
    answers: float  # share answered right
    difference: Estimate  # ranks minus answers
    p_value: float  # McNemar's, exact
    p_holm: float  # corrected for the relations of its table

    @property
    def few(self) -> bool:
        """Whether there are too few facts to say much."""
        return self.facts < FEW


@dataclass(frozen=True, slots=True)
class TwoByTwo:
    """Ranked right and answered right, fact by fact. Shares are of all facts unless a condition is named."""

    ranking: Way
    answering: Way
    fair: bool  # whether both choose from the same answers, or the answering way has no options
    facts: int
    counts: tuple[int, int, int, int]  # both right, only ranked right, only answered right, neither
    shares: tuple[Estimate, Estimate, Estimate, Estimate]
    answers_if_ranked: Estimate  # P(answers right | ranks right); NaN without any
    answers_if_not: Estimate  # P(answers right | ranks wrong)
    ranks_if_answered: Estimate  # P(ranks right | answers right)
    ranks_if_not: Estimate  # P(ranks right | answers wrong)
    foretold: Estimate  # AUROC of the ranking's confidence for right answers: does it tell what will be said right?
    difference: Difference  # accuracy of the ranking minus that of the answers
    mcnemar_p: float  # exact; NaN where relations are resampled: it takes single facts
    same_answer: float  # share of the facts with the same answer, right or wrong; NaN of free answers and unknown texts
    ranked_only: tuple[int, ...]  # places of the facts ranked right and answered wrong, the surest ranking first
    answered_only: tuple[int, ...]  # the reverse, likewise
    relations: tuple[RelationGap, ...]  # largest first, those of few facts last; none where it is not fair

    @property
    def title(self) -> str:
        """Both ways, and whether their chances differ."""
        return f"{self.ranking.name}, {self.answering.name}{'' if self.fair else ' (other chances)'}"
