"""The table of estimators of scores: what each is, where it comes from, what it needs, and how early it is shown.

Add an estimator as an entry of `ENTRIES`; reports, tables, curves, pages and exports take it from there. Those
of replies are in `asked/reply_estimators.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calprobe.confidence.distributions import Distributions
from calprobe.confidence.estimator import Entry, Estimator, Headline
from calprobe.confidence.paraphrases import (
    average_confidence,
    consistency_confidence,
    fixed_agreement_confidence,
    fixed_mean_confidence,
    mixture_confidence,
)
from calprobe.confidence.prior import pmi_confidence
from calprobe.confidence.single_template import (
    base_confidence,
    chance_confidence,
    entropy_confidence,
    margin_confidence,
)
from calprobe.confidence.temperature import FOLDS, temperature_confidence, top_temperature_confidence
from calprobe.confidence.template_entries import (
    Templates,
    of_aggregations,
    of_markers,
    of_one_answer,
    of_one_template,
    of_paraphrases,
)
from calprobe.confidence.types import Confidence
from calprobe.words import Ties

if TYPE_CHECKING:
    from calprobe.runs import ScoreTable

BASE = "base"  # its predictions and accuracy are the run's
PAPER = "Kissling et al. 2026"


# A share of T votes is often 1. Whatever takes its logarithm or logit would be set by how far a 1 is clipped.
OF_SHARES = frozenset({"nll", "nll_mcb", "cox_intercept", "cox_slope", "platt", "beta", "temperature"})
# What an estimator may need of the candidates: that instances share them, so that each has a mean over subjects.
SHARED = "shared candidates"

INTRINSIC, PARAPHRASES = f"{PAPER}, section 3.1", f"{PAPER}, section 3.2 and appendix C"

AVERAGES = "average_"  # how the names of averages over the paraphrases begin

# In the order of reports, the members of a group together.
ENTRIES: tuple[Entry, ...] = (
    Entry(
        Estimator(BASE, "largest probability", "intrinsic", base_confidence, INTRINSIC),
        of_one_template,
        {BASE: Headline.BRIEF},
    ),
    Entry(
        Estimator("margin", "largest minus second-largest probability", "intrinsic", margin_confidence, INTRINSIC),
        of_one_template,
        {"margin": Headline.FIRST},
    ),
    Entry(
        Estimator(
            f"{AVERAGES}{{}}",
            "mean over the paraphrases of the base of those that give {}",
            "consistency",
            average_confidence,
            PARAPHRASES,
        ),
        of_aggregations,
        {"average_vote_2": Headline.PAPER, "average_min": Headline.BRIEF},
    ),
    Entry(
        Estimator(
            "consistency_{}",
            "share of the paraphrases that give {}",
            "consistency",
            consistency_confidence,
            PARAPHRASES,
            lacks=OF_SHARES,
        ),
        of_aggregations,
        {"consistency_vote_2": Headline.PAGE, "consistency_min": Headline.PAGE},
    ),
    Entry(
        Estimator(
            "marker_{}",
            "largest probability under the template of {}",
            "grounding",
            base_confidence,
            f"{PAPER}, section 3.3",
        ),
        of_markers,
    ),
    Entry(
        Estimator(
            "mixture",
            "largest probability of the paraphrases' mean distribution",
            "beyond the paper",
            mixture_confidence,
        ),
        of_paraphrases,
    ),
    Entry(
        Estimator(
            "fixed_mean",
            "mean over the paraphrases of the probability of base's answer",
            "beyond the paper",
            fixed_mean_confidence,
        ),
        of_one_answer,
    ),
    Entry(
        Estimator(
            "fixed_agreement",
            "share of the paraphrases that give base's answer",
            "beyond the paper",
            fixed_agreement_confidence,
            lacks=OF_SHARES,
        ),
        of_one_answer,
    ),
    Entry(
        Estimator("entropy", "1 minus entropy over its largest possible value", "beyond the paper", entropy_confidence),
        of_one_template,
    ),
    Entry(
        Estimator(
            "temperature",
            f"base after temperature scaling, fitted by NLL on the other of {FOLDS} folds",
            "beyond the paper",
            temperature_confidence,
            "Guo et al. 2017, section 4.2",
            fitted=True,
        ),
        of_one_template,
    ),
    Entry(
        Estimator(
            "temperature_top",
            f"as temperature, fitted by NLL of right and wrong, on the other of {FOLDS} folds",
            "beyond the paper",
            top_temperature_confidence,
            fitted=True,
        ),
        of_one_template,
    ),
    Entry(
        Estimator(
            "chance",
            "base on a scale from chance (0) to certainty (1)",
            "beyond the paper",
            chance_confidence,
            scale="order",  # accuracy does not start at 0 where it does
        ),
        of_one_template,
    ),
    Entry(
        Estimator(
            "pmi",
            "largest probability, each candidate's divided by its mean over the relation's other subjects",
            "beyond the paper",
            pmi_confidence,
            "Holtzman et al. 2021, section 2; prior as Zhou et al. 2024",
            needs=frozenset({SHARED}),
        ),
        of_one_template,
    ),
)


def headline(level: Headline) -> tuple[str, ...]:
    """The names of the estimators that are shown at a level, in the order of reports.

    >>> headline(Headline.FIRST)
    ('base', 'margin', 'average_min')
    """
    return tuple(name for entry in ENTRIES for name, least in entry.headlines.items() if least <= level)


def available_estimators(templates: Templates, *, shared: bool = True) -> tuple[Estimator, ...]:
    """Every estimator that these templates suffice for, in the order of reports.

    Args:
        templates: the run's, in the order of the rows of its scores.
        shared: whether instances share candidates, so that a candidate's probability has a mean over subjects.

    >>> from calprobe.runs import TemplateRecord
    >>> paraphrases = [TemplateRecord(3, "paraphrase"), TemplateRecord(4, "paraphrase")]
    >>> {estimator.name: estimator.templates for estimator in available_estimators(paraphrases)}
    {'base': (3,), 'margin': (3,), 'average_vote_2': (3, 4), 'average_min': (3, 4), 'average_max': (3, 4), \
'consistency_vote_2': (3, 4), 'consistency_min': (3, 4), 'consistency_max': (3, 4), 'mixture': (3, 4), \
'fixed_mean': (3, 4), 'fixed_agreement': (3, 4), 'entropy': (3,), 'temperature': (3,), 'temperature_top': (3,), \
'chance': (3,), 'pmi': (3,)}
    """
    entries = (entry for entry in ENTRIES if shared or SHARED not in entry.estimator.needs)
    return tuple(estimator for entry in entries for estimator in entry.bind(entry, templates))


def estimator_groups(templates: Templates) -> dict[str, tuple[Estimator, ...]]:
    """The estimators of `available_estimators` by group; no group is empty.

    >>> from calprobe.runs import TemplateRecord
    >>> found = estimator_groups([TemplateRecord(0, "paraphrase"), TemplateRecord(5, "verbal", "possibly")])
    >>> {group: [estimator.name for estimator in estimators] for group, estimators in found.items()}
    {'intrinsic': ['base', 'margin'], 'grounding': ['marker_possibly'], \
'beyond the paper': ['entropy', 'temperature', 'temperature_top', 'chance', 'pmi']}
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
    estimators = available_estimators(table.templates, shared=table.shares_candidates)
    return {estimator.name: estimator(distributions) for estimator in estimators}
