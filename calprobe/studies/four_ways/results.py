"""What is said of the same facts in several ways, as plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from calprobe.measures.compare_results import Contrast
from calprobe.measures.json_values import record_json, value_json
from calprobe.metrics import LEAST_CLUSTERS, Difference, Estimate
from calprobe.studies.four_ways.shared_facts import Fact
from calprobe.studies.four_ways.ways import View, Way

# Facts below which intervals and p-values say little: of a relation, and of what two confidences share.
FEW = LEAST_CLUSTERS


@dataclass(frozen=True, slots=True)
class ViewNumbers:
    """A confidence in the facts' answers, judged."""

    JSON: ClassVar = (
        "way=view.way estimator=view.name definition=view.estimator.definition scale=view.estimator.scale"
        " n=facts coverage metrics"
    )

    view: View
    facts: int  # with a confidence
    metrics: Mapping[str, Estimate]  # over these; those that have a meaning for its scale

    @property
    def coverage(self) -> float:
        """The share of the facts that have it."""
        return self.facts / len(self.view.confidence.correct)


@dataclass(frozen=True, slots=True)
class WayNumbers:
    """How often a way of answering is right."""

    JSON: ClassVar = (
        "kind=way.kind run=way.run model=way.cell.model variant options_of by=way.by chance=way.chance"
        " accuracy unread most_frequent_of_samples=way.sampled"
    )

    way: Way
    accuracy: Mapping[str, Estimate]  # of all facts, by estimator or reader, the one that answers first
    unread: int  # facts without an answer, which count as wrong

    @property
    def variant(self) -> str | None:
        """Of replies."""
        return self.way.cell.variant or None

    @property
    def options_of(self) -> list[str] | None:
        """Of a ranking of options: the letters of the ways that offer them."""
        return self.way.of.split(", ") if self.way.of else None


@dataclass(frozen=True, slots=True)
class ViewPair:
    """Two confidences on the facts that have both: the second way's number minus the first's."""

    JSON: ClassVar = "first=first.number second=second.number n=facts metrics"

    first: View
    second: View
    facts: int
    contrasts: tuple[Contrast, ...]  # of the metrics that have a meaning for both; first minus second

    @property
    def metrics(self) -> dict[str, Contrast]:
        """The contrasts by metric."""
        return {contrast.metric: contrast for contrast in self.contrasts}


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rho of how sure two confidences are, fact by fact."""

    JSON: ClassVar = "first=first.number second=second.number n=facts spearman=rho"

    first: View
    second: View
    facts: int  # with both
    rho: Estimate


@dataclass(frozen=True, slots=True)
class RelationGap:
    """How much more often a relation's facts are ranked right than answered right."""

    JSON: ClassVar = "relation n=facts ranks_right=ranks answers_right=answers difference p=p_value p_holm"

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

    CELLS: ClassVar = ("both_right", "only_ranked_right", "only_answered_right", "neither_right")
    JSON: ClassVar = (
        "answers_if_ranked answers_if_not ranks_if_answered ranks_if_not foretold difference mcnemar_p same_answer"
    )

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

    def to_json(self, facts: Sequence[Fact]) -> dict[str, Any]:
        """The object of a list, with the ids of the facts where one alone is right."""
        numbers = record_json(self)
        numbers["difference"]["p"] = value_json(self.difference.p_value)
        return {
            "ranking": self.ranking.letter,
            "answering": self.answering.letter,
            "fair": self.fair,
            "n": self.facts,
            "counts": dict(zip(self.CELLS, self.counts, strict=True)),
            "shares": value_json(dict(zip(self.CELLS, self.shares, strict=True))),
            **numbers,
            "only_ranked_right": [facts[place].id for place in self.ranked_only],
            "only_answered_right": [facts[place].id for place in self.answered_only],
            "relations": value_json(self.relations),
        }
