"""Runs in pairs: base against instruct, checkpoint against checkpoint, causal against masked; and which are a pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from calprobe.analysis.compare_match import Comparable, Shared, comparable_part, shared_part
from calprobe.analysis.compare_numbers import Comparison, PairComparison, Scope, accuracy_shares, compare_pair
from calprobe.analysis.options import DEFAULT_COMPARISON, CompareOptions, Pair
from calprobe.analysis.scored_run import RunLike, open_scored_runs
from calprobe.arrays import Floats
from calprobe.confidence import BASE, Headline, available_estimators, headline
from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.metrics import Metric, holm, standard_metrics
from calprobe.runs import Run

METRICS = ("brier", "ace")


def compare(
    runs: Sequence[RunLike] | Mapping[str, RunLike], options: CompareOptions = DEFAULT_COMPARISON
) -> Comparison:
    """Accuracy, Brier score and ACE of runs in pairs, with paired bootstrap differences and corrected p-values.

    Two runs are a pair, whatever they are. Of more, each masked run is compared with the causal run of the nearest
    accuracy (`match_nearest`), unless pairs are named: the paper's section 6. Accuracy is the BEAR score or, where a
    pair has fewer than two paraphrases, that of base. Beside all relations stands the domain whose accuracies differ
    least; a relation of two domains counts in both. Differences are first less second on the same resamples
    (`calprobe.metrics.paired_differences`), and Holm's correction counts every p-value of the comparison.

    Args:
        runs: run folders, open or by path; two or more, each once.
        options: pairs, what to do with runs that are not alike, estimators, domains, how to read the scores.
    Returns:
        The pairs in the order in which they were named, or of their masked runs. Without instances all values are NaN.
    Raises:
        UsageError: fewer than two runs, one named twice, pairs or estimators that there are not, no pair to be found,
            or runs of other probes, instances or templates, unless `options.intersect` is set and they have some in
            common. DataMissingError: no run at a path. CalprobeError: a run is damaged, or an import that lacks the
            scores which reduction and compat need.

    `compare(["runs/gpt2-bear", "runs/bert-base-cased-bear"]).pairs[0].everything.accuracy` is a contrast of accuracies.
    """
    if isinstance(runs, Run | str | Path) or len(runs) < 2:
        raise UsageError("compare: name two runs or more")
    scored = {run.label: Comparable(run) for run in open_scored_runs(runs, options.scores)}
    pairs, unpaired = _chosen_pairs(scored, options)
    shared = {pair: comparable_part(scored[pair[0]], scored[pair[1]], options.intersect) for pair in pairs}
    estimators = _chosen_estimators(shared, scored, options)
    metrics = _metrics(options)
    found = [
        compare_pair((scored[first].run, scored[second].run), part, estimators, metrics, options)
        for (first, second), part in shared.items()
    ]
    facts = tuple(found.run.facts for found in scored.values())
    return Comparison(facts, _corrected(found), unpaired, metrics, options)


def _chosen_pairs(scored: Mapping[str, Comparable], options: CompareOptions) -> tuple[Sequence[Pair], dict[str, str]]:
    """The pairs, and for each run in none of them the reason."""
    if options.pairs is not None:
        check_pairs(options.pairs, list(scored))
        named = {label for pair in options.pairs for label in pair}
        return options.pairs, {label: "in none of the pairs named" for label in scored if label not in named}
    if len(scored) == 2:
        first, second = scored
        return [(first, second)], {}
    return _pairs_by_accuracy(scored, options)


def _pairs_by_accuracy(
    scored: Mapping[str, Comparable], options: CompareOptions
) -> tuple[Sequence[Pair], dict[str, str]]:
    """(causal, masked) pairs of nearest accuracy, see `match_nearest`."""
    kinds = {label: run.manifest.model.kind for label, run in scored.items()}
    masked, causal = ([label for label in scored if kinds[label] == kind] for kind in ("masked", "causal"))
    if not (masked and causal):
        what = "masked" if causal else "causal"
        raise UsageError(
            f"compare: {counted(len(scored), 'run')}, none of them {what}; name pairs with --pairs A:B,C:D"
        )
    gaps = np.array([[_gap(scored[one], scored[other], options) for one in causal] for other in masked])
    pairs = [(causal[taken], masked[place]) for place, taken in match_nearest(gaps)]
    if not pairs:
        raise UsageError(
            "compare: no causal and masked run have an accuracy on the same instances; name pairs (--pairs)"
        )
    unknown = {label: "its kind, causal or masked, is not known" for label, kind in kinds.items() if kind is None}
    return pairs, why_unpaired(gaps, masked, causal) | unknown


def _gap(first: Comparable, second: Comparable, options: CompareOptions) -> float:
    """How far the accuracies of two runs lie apart on what they share; NaN if there is none."""
    part = shared_part(first, second) if options.intersect else comparable_part(first, second, False)
    own, other = accuracy_shares(first.run, part.first), accuracy_shares(second.run, part.second)
    if part.empty or own is None or other is None:
        return float("nan")
    return float(abs(own.mean() - other.mean()))


def _chosen_estimators(
    shared: Mapping[Pair, Shared], scored: Mapping[str, Comparable], options: CompareOptions
) -> tuple[str, ...]:
    """The estimators asked for, or the paper's, as far as the pairs' templates give them."""
    given = {
        estimator.name: None  # a dict keeps their order
        for (first, _), part in shared.items()
        for estimator in available_estimators([scored[first].run.table.templates[row] for row in part.first.rows])
    }
    # Those of Kissling et al. 2026, Table 2: base stands there as the accuracy.
    asked = [name for name in headline(Headline.FIRST) if name != BASE]
    asked = asked if options.estimators is None else list(options.estimators)
    known = tuple(name for name in asked if name in given)
    if not known or (options.estimators is not None and len(known) < len(asked)):
        lacking = ", ".join(name for name in asked if name not in given)
        raise UsageError(f"compare: no pair has the templates for {lacking}; give --estimator of {', '.join(given)}")
    return known


def _metrics(options: CompareOptions) -> tuple[Metric, ...]:
    by_name = {metric.name: metric for metric in standard_metrics(options.scores.ace_bins)}
    return tuple(by_name[name] for name in METRICS)


def _corrected(pairs: Iterable[PairComparison]) -> tuple[PairComparison, ...]:
    """The pairs with Holm's correction over all of their p-values."""
    found = tuple(pairs)
    p_values = [c.difference.p_value for pair in found for scope in pair.scopes for c in scope.contrasts]
    adjusted = iter(holm(p_values).tolist())

    def corrected(scope: Scope) -> Scope:
        return replace(scope, contrasts=tuple(replace(c, p_holm=next(adjusted)) for c in scope.contrasts))

    return tuple(
        replace(pair, everything=corrected(pair.everything), domains=tuple(map(corrected, pair.domains)))
        for pair in found
    )


def match_nearest(gaps: Floats) -> tuple[tuple[int, int], ...]:
    """Each masked run with the causal run of the nearest accuracy, every run in one pair at most.

    Where several masked runs have the same nearest causal run, the nearest of them keeps it and the others stay alone:
    a second choice, further away, would compare what is not alike. Kissling et al. 2026, section 6, name no rule; this
    one finds their five pairs (and leaves out xlm-roberta-base, as they do) from the accuracies of their Table 3.

    Args:
        gaps: [masked, causal], how far the accuracies lie apart, >= 0; NaN where two runs cannot be compared.
    Returns:
        (masked, causal) places, masked ascending. On a tie the first one wins, among causal as among masked.

    >>> match_nearest(np.array([[0.1, 0.3], [0.2, 0.5], [0.9, 0.4]]))
    ((0, 0), (2, 1))
    """
    known = np.where(np.isnan(gaps), np.inf, gaps)
    if not known.size:
        return ()
    nearest, distance = known.argmin(axis=1), known.min(axis=1)
    return tuple(
        (masked, int(causal))
        for masked, causal in enumerate(nearest)
        if distance[masked] < np.inf and masked == int(np.where(nearest == causal, distance, np.inf).argmin())
    )


def why_unpaired(gaps: Floats, masked: Sequence[str], causal: Sequence[str]) -> dict[str, str]:
    """The reason why a run is in none of the pairs of `match_nearest`, by its label, masked runs first."""
    pairs = dict(match_nearest(gaps))
    takers = {taken: masked[place] for place, taken in pairs.items()}
    reasons = {}
    for place in set(range(len(masked))) - pairs.keys():
        if np.isnan(gaps[place]).all():
            reasons[masked[place]] = "no causal run has an accuracy on the same instances"
        else:
            nearest = int(np.nanargmin(gaps[place]))
            reasons[masked[place]] = f"its nearest causal run, {causal[nearest]}, is nearer to {takers[nearest]}"
    alone = set(range(len(causal))) - takers.keys()
    return reasons | {causal[place]: "the nearest causal run of no masked one" for place in sorted(alone)}


def named_pairs(text: str, labels: Sequence[str]) -> tuple[Pair, ...]:
    """The pairs of `--pairs A:B,C:D`.

    Args:
        text: each run as its label or, where no other run has it, the last name of its path.
        labels: of the runs.
    Raises:
        UsageError: not of this form, a name of no run or of several, a run against itself, or a pair twice.

    >>> named_pairs("gpt2:bert", ["runs/gpt2", "runs/bert"])
    (('runs/gpt2', 'runs/bert'),)
    """
    pairs = tuple(_named_pair(clause, labels) for clause in text.split(","))
    check_pairs(pairs, labels)
    return pairs


def check_pairs(pairs: Sequence[Pair], labels: Sequence[str]) -> None:
    """Raises UsageError for no pair, a name of no run, a run against itself, or a pair twice, in any order."""
    if not pairs:
        raise UsageError("pairs: name one or more")
    for first, second in pairs:
        for name in (first, second):
            if name not in labels:
                raise UsageError(f"pairs: {name!r} is none of the runs; they are {', '.join(labels)}")
        if first == second:
            raise UsageError(f"pairs: {first} against itself; name two runs")
    if len({frozenset(pair) for pair in pairs}) < len(pairs):
        raise UsageError("pairs: two runs are paired twice; name each pair once")


def _named_pair(clause: str, labels: Sequence[str]) -> Pair:
    names = _names(labels)
    # A path may hold colons: the one that parts two runs has a run on either side.
    splits = [(clause[:at], clause[at + 1 :]) for at, letter in enumerate(clause) if letter == ":"]
    found = [(names[first], names[second]) for first, second in splits if first in names and second in names]
    if len(found) != 1:
        raise UsageError(f"--pairs {clause!r}: give A:B with A and B of {', '.join(sorted(names))}")
    return found[0]


def _names(labels: Sequence[str]) -> Mapping[str, str]:
    """Label by what a run may be called: the last name of its path, where it is one run's only, and the label."""
    last = [Path(label).name for label in labels]
    return {name: label for name, label in zip(last, labels, strict=True) if last.count(name) == 1} | {
        label: label for label in labels
    }
