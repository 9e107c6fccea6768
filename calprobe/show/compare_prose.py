"""The sentences of comparisons, shared by all writers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from calprobe.measures.compare_match import ABSOLUTE
from calprobe.measures.compare_numbers import BY_RELATION
from calprobe.measures.compare_results import (
    Agreement,
    Comparison,
    Contrast,
    Corrected,
    PairComparison,
    Scope,
    WithinRun,
)
from calprobe.measures.number_text import number, p_text, ranges
from calprobe.messages import counted
from calprobe.metrics import LEAST_CLUSTERS, Metric
from calprobe.metrics.intervals import FEW, SIGNIFICANT
from calprobe.metrics.metric import RankMetric
from calprobe.show.prose import DRAWN, cluster_notes, error_notes, listed, range_note, score_notes, sentence, size
from calprobe.words import ClusterKind

CORRECTED = {"holm": "Holm p", "max-t": "max-T p"}  # names of corrected p-values

UNITS: Mapping[ClusterKind, str] = {
    "instance": "p per instance",
    "relation": "p per relation",
    "within-relation": "p per instance within relations",
}
_TIE = f"{ABSOLUTE:.0e}".replace("e-0", "e-")  # 1e-4

OWN_ANSWERS = "Each estimator is judged on its own answers: where accuracies differ, Brier and ACE differ too."
TOO_FEW = "With so few resamples"
OF_FEW = f"With fewer than {FEW} right or {FEW} wrong answers"
NO_ANSWER = "they count as incorrect with confidence 0, which makes errors small"


def pair_notes(pair: PairComparison) -> Iterable[str]:
    """Notes on one pair; one clause for each."""
    if pair.differences:
        yield f"compared on what they have in common; they differ in {'; '.join(pair.differences)}"
    if ties := pair.everything.ties:
        yield (
            f"{ties:,} of {counted(pair.everything.instances, 'instance')} have the same scores in both, within the "
            f"error of scores (about {_TIE} nats): they are equal in the differences"
        )
    for name, (first, second) in pair.everything.failed.items():
        yield f"no answer from {name} on {first:,} (A) and {second:,} (B) instances: {NO_ANSWER}"
    if pair.nearest_domain is None:
        yield "no domain: none of the relations has one" if pair.accuracy_of else "no accuracy to choose a domain by"


def within_notes(within: WithinRun) -> Iterator[str]:
    """Notes on contrasts within a run; one clause for each."""
    for name, count in within.failed.items():
        yield f"no answer from {name} on {count:,} instances: {NO_ANSWER}"


def scope_name(scope: Scope) -> str:
    """The domain's name, or all relations."""
    return scope.domain or "all relations"


def scope_unit(scope: Scope, comparison: Comparison) -> str:
    """What the p-values of a scope are by, where scopes of the comparison differ in it; else empty."""
    return f"; {UNITS[scope.unit]}" if len(comparison.units) > 1 else ""


def scope_title(scope: Scope, pair: PairComparison) -> str:
    """The title of a scope: Arts, nearest accuracies: 22 instances in 2 relations."""
    nearest = ", nearest accuracies" if scope.domain is not None and scope.domain == pair.nearest_domain else ""
    return f"{scope_name(scope)}{nearest}: {size(scope)}"


def agreement_shares(shares: Agreement, of: str = "base") -> str:
    """Agreement of two predictions of an estimator or reader, and McNemar's test where it was made."""
    text = (
        f"{of}: same answer {number(shares.same_prediction)}; both right {number(shares.both_right)}, "
        f"only A {number(shares.first_right)}, only B {number(shares.second_right)}"
    )
    return text if math.isnan(shares.mcnemar_p) else f"{text}; McNemar p {p_text(shares.mcnemar_p, 4)}"


def unpaired_notes(comparison: Comparison) -> Iterable[str]:
    """How pairs were chosen where no option says it; the runs without a pair, and the reasons."""
    yield from comparison.remarks
    yield from (f"Unpaired: {label}, {reason}." for label, reason in comparison.unpaired.items())


def _few_relations(comparison: Comparison) -> Iterator[str]:
    """What a handful of relations does to the numbers of a pair or of a run; a clause for each."""
    scopes = [scope for pair in comparison.pairs for scope in pair.scopes]
    drawn = sorted({(scope_name(scope), scope.relations, scope.unit) for scope in scopes})
    if (within := comparison.within) is not None:
        drawn.append((within.run.label, within.run.relations, within.unit))
    for name, relations, unit in drawn:
        scores = replace(comparison.options.scores, cluster=unit)
        yield from (f"{name}: {note}" for note in cluster_notes(relations, scores))


def basis_notes(comparison: Comparison) -> Iterator[str]:
    """What all numbers are made of: templates, reduction, resamples."""
    scores, units = comparison.options.scores, comparison.units
    if comparison.pairs:
        templates = sorted({pair.templates for pair in comparison.pairs})
        yield f"Templates: {'; '.join(map(ranges, templates))}."
    yield from map(sentence, _few_relations(comparison))
    if len(units) < 2:
        yield from score_notes(scores.reduction, replace(scores, cluster=next(iter(units), None)))
        return
    yield from score_notes(scores.reduction, replace(scores, resampling=replace(scores.resampling, n_resamples=0)))
    if scores.resampling.n_resamples:
        yield range_note(scores.resampling, drawn_in(comparison))


def drawn_in(comparison: Comparison) -> str:
    """What is resampled for the intervals."""
    units = comparison.units
    if len(units) < 2:
        return DRAWN[next(iter(units), None)]
    return f"complete relations where there are {BY_RELATION} or more, else the instances"


def correction_notes(comparison: Corrected) -> Iterator[str]:
    """How the p-values are corrected, and whether there are enough resamples for it."""
    options, tests = comparison.options, comparison.tests
    by_holm = comparison.correction == "holm"
    how = "" if by_holm else ", by the largest difference on each resample (Westfall and Young)"
    yield (
        "A - B: difference on the same resamples, with the two-sided p-value of no difference; "
        f"{CORRECTED[comparison.correction]}: corrected for {counted(tests, 'p-value')}{how}, * below {SIGNIFICANT}."
    )
    if options.margin is not None:
        yield (
            f"{within_name(options.margin)}: Holm-corrected p-value of a difference of {options.margin:g} or more (two "
            f"one-sided tests); below {SIGNIFICANT}, A and B are equivalent within {options.margin:g}."
        )
    if options.scores.resampling.n_resamples and any(
        _is_order_of_few(contrast, comparison) for contrast in comparison.contrasts
    ):
        yield f"{OF_FEW} on a side, a difference of metrics of the order has no interval and is not tested."
    least = 2 * tests / (1 + options.scores.resampling.n_resamples)
    if by_holm and least >= SIGNIFICANT:
        enough = math.ceil(2 * tests / SIGNIFICANT / 1000) * 1000
        floor = math.floor(min(least, 1) * 1000) / 1000  # down: no p-value of a table is below what is said
        yield (f"{TOO_FEW} no corrected p-value is below {floor:.3f}: use --bootstrap {enough} or --correction max-t.")


def _is_order_of_few(contrast: Contrast, comparison: Corrected) -> bool:
    """Whether a difference is not tested since the order of few answers says little; fewer instances are said apart."""
    orders = [metric.name for metric in comparison.metrics if isinstance(metric, RankMetric)]
    is_known = not math.isnan(contrast.difference.value) and not contrast.few
    return contrast.metric in orders and is_known and math.isnan(contrast.difference.p_value)


def within_name(margin: float) -> str:
    """The head of the column of equivalence.

    >>> within_name(0.01)
    'p ±.01'
    """
    return f"p ±{margin:g}".replace("±0.", "±.")


def comparison_notes(comparison: Comparison) -> Iterator[str]:
    """Notes on all pairs, for tables with columns A and B."""
    yield from basis_notes(comparison)
    within = comparison.within
    yield from contrast_notes(comparison, OWN_ANSWERS if within is not None and within.estimators else "")
    scopes = [scope for pair in comparison.pairs for scope in pair.scopes]
    agreements = [scope.agreement for scope in scopes if scope.agreement]
    if within is not None:
        agreements += [pair.agreement for pair in within.templates if pair.agreement]
    if agreements:
        tested = any(not math.isnan(agreement.mcnemar_p) for agreement in agreements)
        exact = " McNemar p: exact, of equal accuracy of base, not corrected." if tested else ""
        if tested and any(scope.ties for scope in scopes):
            exact += " Instances with the same scores are equal in it; the shares count their answers as they are."
        yield f"Same answer, both right, only A, only B: shares of the instances, by base.{exact}"


def contrast_notes(comparison: Corrected, own_answers: str = "") -> Iterator[str]:
    """Notes on differences and p-values; `own_answers` is a sentence on contrasts of estimators."""
    if comparison.options.scores.resampling.n_resamples:
        if comparison.tests:
            yield from correction_notes(comparison)
        if any(isinstance(contrast, Contrast) and contrast.few for contrast in comparison.contrasts):
            few = f"fewer than {LEAST_CLUSTERS} facts, questions or relations"
            yield f"Differences of {few} have neither interval nor p-value."
    yield from direction_notes(comparison.metrics)
    if own_answers:
        yield own_answers
    if any(isinstance(contrast, Contrast) and contrast.by_chance for contrast in comparison.contrasts):
        yield from error_notes(few_values=False, chance=True)


def direction_notes(metrics: Iterable[Metric]) -> Iterator[str]:
    """Which side a difference favours."""
    metrics = tuple(metrics)
    for better, sign in (("smaller", "below"), ("larger", "above")):
        if titles := [metric.title for metric in metrics if metric.better == better]:
            yield sentence(f"{listed(titles)}: {better} is better; a difference {sign} 0 favours A")
