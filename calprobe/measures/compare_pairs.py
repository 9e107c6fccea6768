"""Which runs are compared with which: by name, all, with a baseline, or causal with masked of the nearest accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from calprobe.arrays import Floats
from calprobe.errors import UsageError
from calprobe.measures.compare_match import Comparable, comparable_part, shared_part
from calprobe.measures.compare_numbers import accuracy_shares
from calprobe.measures.options import CompareOptions, Pair
from calprobe.measures.run_names import names_to_labels
from calprobe.messages import counted


@dataclass(frozen=True, slots=True)
class ChosenPairs:
    """The pairs of a comparison, and how they came about."""

    pairs: Sequence[Pair]
    unpaired: Mapping[str, str] = field(default_factory=dict)  # the reason, by the label of a run in none of them
    remark: str = ""  # a sentence on the rule, where no option names it


def chosen_pairs(scored: Mapping[str, Comparable], options: CompareOptions) -> ChosenPairs:
    """The pairs that the options name; without any, the two runs, or those that `auto` finds. Raises UsageError."""
    labels = list(scored)
    pairs = wanted_pairs(labels, options)
    if pairs is None:
        return _pairs_by_kind(scored, options)
    paired = {label for pair in pairs for label in pair}
    return ChosenPairs(pairs, {label: "in none of the pairs named" for label in labels if label not in paired})


def wanted_pairs(labels: Sequence[str], options: CompareOptions) -> list[Pair] | None:
    """The pairs of runs that the options name, or the two runs; None of more, where none are named.

    Raises UsageError for names of no run.
    """
    if options.baseline is not None:
        return pairs_with(named_run(options.baseline, labels), labels)
    if isinstance(options.pairs, tuple):
        check_pairs(options.pairs, labels)
        return list(options.pairs)
    return list(combinations(labels, 2)) if options.pairs == "all" or len(labels) == 2 else None


def pairs_with(baseline: str, names: Sequence[str]) -> list[Pair]:
    """Each of the others with the baseline, in their order. Raises UsageError if there is no other.

    >>> pairs_with("base", ["base", "step-1", "step-2"])
    [('step-1', 'base'), ('step-2', 'base')]
    """
    pairs = [(name, baseline) for name in names if name != baseline]
    if not pairs:
        raise UsageError(f"--baseline {baseline}: nothing is left to compare with it")
    return pairs


def _pairs_by_kind(scored: Mapping[str, Comparable], options: CompareOptions) -> ChosenPairs:
    """Causal and masked runs of the nearest accuracy, see `match_nearest`; of one kind, each with the first run."""
    kinds = {label: run.manifest.model.kind for label, run in scored.items()}
    masked, causal = ([label for label in scored if kinds[label] == kind] for kind in ("masked", "causal"))
    if not (masked and causal):
        first = next(iter(scored))
        missing_kind = "masked" if causal else "causal"
        remark = (
            f"None of {counted(len(scored), 'run')} is {missing_kind}: each is compared with the first one, {first}. "
        )
        return ChosenPairs(
            pairs_with(first, list(scored)), remark=f"{remark}--baseline names another, --pairs all compares all."
        )
    gaps = np.array(
        [
            [_gap(scored[causal_label], scored[masked_label], options) for causal_label in causal]
            for masked_label in masked
        ]
    )
    pairs = [(causal[taken], masked[place]) for place, taken in match_nearest(gaps)]
    if not pairs:
        raise UsageError(
            "compare: no causal and masked run have an accuracy on the same instances; name pairs (--pairs)"
        )
    unknown = {label: "its kind, causal or masked, is not known" for label, kind in kinds.items() if kind is None}
    return ChosenPairs(pairs, why_unpaired(gaps, masked, causal) | unknown)


def _gap(first: Comparable, second: Comparable, options: CompareOptions) -> float:
    """How far the accuracies of two runs lie apart on what they share; NaN if there is none."""
    shared = shared_part(first, second) if options.intersect else comparable_part(first, second, False)
    first_shares, second_shares = accuracy_shares(first.run, shared.first), accuracy_shares(second.run, shared.second)
    if shared.empty or first_shares is None or second_shares is None:
        return float("nan")
    return float(abs(first_shares.mean() - second_shares.mean()))


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
    distances = np.where(np.isnan(gaps), np.inf, gaps)
    if not distances.size:
        return ()
    nearest, distance = distances.argmin(axis=1), distances.min(axis=1)
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


def named_pairs(text: str, labels: Sequence[str], paths: Sequence[str] = ()) -> tuple[Pair, ...]:
    """The pairs of `--pairs A:B,C:D`.

    Args:
        text: each run as its label or, where no other run has it, the last name of its path.
        labels: of the runs.
        paths: of the runs, where the labels are other names.
    Raises:
        UsageError: not of this form, a name of no run or of several, a run against itself, or a pair twice.

    >>> named_pairs("gpt2:bert", ["runs/gpt2", "runs/bert"])
    (('runs/gpt2', 'runs/bert'),)
    """
    pairs = tuple(_named_pair(clause, names_to_labels(labels, paths)) for clause in text.split(","))
    check_pairs(pairs, labels)
    return pairs


def named_run(text: str, labels: Sequence[str], paths: Sequence[str] = ()) -> str:
    """The label of the run that has this label or, as the only one, this last name of its path; UsageError for none.

    `paths` are those of runs that have other names as labels, in the order of the labels.

    >>> named_run("gpt2", ["runs/gpt2", "runs/bert"])
    'runs/gpt2'
    """
    names = names_to_labels(labels, paths)
    if text not in names:
        raise UsageError(f"--baseline {text!r}: give one of {', '.join(sorted(names))}")
    return names[text]


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


def _named_pair(clause: str, names: Mapping[str, str]) -> Pair:
    # A path may hold colons: the one that parts two runs has a run on either side.
    splits = [(clause[:at], clause[at + 1 :]) for at, letter in enumerate(clause) if letter == ":"]
    pairs = [(names[first], names[second]) for first, second in splits if first in names and second in names]
    if len(pairs) != 1:
        raise UsageError(f"--pairs {clause!r}: give A:B with A and B of {', '.join(sorted(names))}")
    return pairs[0]
