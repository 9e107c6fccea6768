"""Which runs are compared with which: pairs that were named, and pairs of similar accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from calprobe.analysis.options import Pair
from calprobe.arrays import Floats
from calprobe.errors import UsageError


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
