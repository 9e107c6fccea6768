"""Groups that are too sure or not sure enough, looked for by shallow trees on one half and named on the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Mask, check_vector
from calprobe.metrics.group_gaps import LEAST_OF_GROUP

DEPTH = 2  # four groups of each half
CUTS = 20  # quantiles that a number is cut at
ERRORS = 2  # standard errors by which the sides of a cut differ, at least
NAMED = 2  # categories that a group's name has
UNCUT = ("a: all", "b: all")  # the one group of a half that nothing cuts


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """What is known of every instance before it is answered."""

    name: str
    values: npt.NDArray[np.float64] | npt.NDArray[np.str_]  # [instances], a number or a category; NaN or "": none

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.values.dtype.kind == "f"


@dataclass(frozen=True, slots=True)
class _Among:
    """Categories that an instance has one of, or none of."""

    categories: frozenset[str]
    inside: bool

    def also(self, other: _Among) -> _Among:
        """Both at once."""
        if self.inside and other.inside:
            return _Among(self.categories & other.categories, True)
        if self.inside or other.inside:
            inner, outer = (self, other) if self.inside else (other, self)
            return _Among(inner.categories - outer.categories, True)
        return _Among(self.categories | other.categories, False)

    def said(self, name: str) -> str:
        """The first categories, and how many more there are."""
        texts = [category or "none" for category in sorted(self.categories)]
        more = f" +{len(texts) - NAMED}" if len(texts) > NAMED else ""
        return f"{name} {'' if self.inside else 'not '}{', '.join(texts[:NAMED])}{more}"


@dataclass(frozen=True, slots=True)
class _Range:
    """Numbers above one and up to another."""

    above: float = -math.inf
    up_to: float = math.inf
    unknown: bool = False  # whether instances without a number are in it

    def also(self, other: _Range) -> _Range:
        """Both at once."""
        unknown = self.unknown and other.unknown
        return _Range(max(self.above, other.above), min(self.up_to, other.up_to), unknown)

    def said(self, name: str) -> str:
        """Both ends, as far as there are."""
        low = "" if math.isinf(self.above) else f"{self.above:,.5g} < " if math.isfinite(self.up_to) else ""
        end = f"{name} <= {self.up_to:,.5g}" if math.isfinite(self.up_to) else f"{name} > {self.above:,.5g}"
        return f"{low}{end}{' or not known' if self.unknown else ''}"


Rules = Mapping[str, _Among | _Range]  # by name of the feature, what all instances of a node have


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """A cut in two, with the rule of each side."""

    gain: float  # by how much it lowers the sum of squares
    name: str
    left: Mask
    rules: tuple[_Among, _Among] | tuple[_Range, _Range]


def gap_tree(gap: npt.ArrayLike, features: Sequence[Feature], half: Mask, depth: int = DEPTH) -> npt.NDArray[np.str_]:
    """A group for each instance, by regression trees of the gap, none of which has seen the instances that it groups.

    A tree is grown on each half and groups the other one, so that the gaps of its groups, which are measured there, owe
    nothing to the search for them. Each cut lowers the sum of squares around the mean gap most, where both sides have
    30 instances with a gap in the half that is searched, and 30 in the other, and differ there by two standard errors.
    Numbers are cut at twentieths of the searched half; categories in the order of their mean gaps there, those that
    only the other half has being on the right. Sources: Breiman et al. 1984 for the tree; Athey and Imbens 2016,
    "Recursive Partitioning for Heterogeneous Causal Effects", for other instances to estimate on.

    Args:
        gap: [instances], such as confidence minus correctness; NaN where not known: such an instance is only grouped.
        features: what groups are made by, [instances] each.
        half: [instances], those of the first half; instances of a cluster belong into one.
        depth: cuts on the way to a group, at most.
    Returns:
        [instances], the name of each one's group: `a: ..` was found in the second half and is of the first, `b: ..` the
        reverse. One group of each half where nothing can be cut.
    Raises:
        ValueError: arrays of different lengths.

    >>> far = np.repeat([0.0, 1.0], 60)
    >>> found = gap_tree(far, [Feature("words", np.repeat([3.0, 9.0], 60))], np.arange(120) % 2 == 0)
    >>> [str(name) for name in np.unique(found)]
    ['a: words <= 3', 'a: words > 3', 'b: words <= 3', 'b: words > 3']
    """
    values = check_vector("gap", gap)
    for column in (half, *(feature.values for feature in features)):
        if np.shape(column) != values.shape:
            raise ValueError(f"features and half must have one entry for each of {len(values)} instances")
    found = np.full(len(values), "", dtype=object)
    for letter, of in (("a", np.asarray(half, np.bool_)), ("b", ~np.asarray(half, np.bool_))):
        for rules, members in _grow(values, features, (~of & ~np.isnan(values), of), depth, {}):
            clauses = [rule.said(name) for name, rule in rules.items()]
            found[members] = f"{letter}: {' and '.join(clauses) or 'all'}"
    return found.astype(np.str_)


def _grow(
    gap: Floats, features: Sequence[Feature], sides: tuple[Mask, Mask], depth: int, rules: Rules
) -> Iterator[tuple[Rules, Mask]]:
    """The leaves below a node: their rules, and those of the other half. `sides` are searched and grouped."""
    splits = [split for feature in features for split in _splits(gap, feature, sides)] if depth else []
    best = max(splits, key=lambda split: split.gain, default=None)
    if best is None:
        yield rules, sides[1]
        return
    pairs: tuple[tuple[_Among | _Range, Mask], ...] = ((best.rules[0], best.left), (best.rules[1], ~best.left))
    for rule, side in pairs:
        inner = (sides[0] & side, sides[1] & side)
        yield from _grow(gap, features, inner, depth - 1, {**rules, best.name: _also(rules.get(best.name), rule)})


def _also(first: _Among | _Range | None, second: _Among | _Range) -> _Among | _Range:
    """Both rules of one feature at once."""
    if isinstance(first, _Among) and isinstance(second, _Among):
        return first.also(second)
    return first.also(second) if isinstance(first, _Range) and isinstance(second, _Range) else second


def _splits(gap: Floats, feature: Feature, sides: tuple[Mask, Mask]) -> Iterator[_Split]:
    searched = np.flatnonzero(sides[0])
    if not len(searched):
        return
    for left, rules in _cuts(gap, feature, searched):
        sizes = [(int((side & left).sum()), int((side & ~left).sum())) for side in sides]
        if min(min(pair) for pair in sizes) < LEAST_OF_GROUP:
            continue
        of = left[searched]
        means, n = (gap[searched][of].mean(), gap[searched][~of].mean()), sizes[0]
        # What the means of both sides take off the sum of squares: n times the square of their distance in errors.
        gain = float(n[0] * n[1] / (n[0] + n[1]) * (means[0] - means[1]) ** 2)
        within = float(gap[searched].var() * len(searched) - gain) / (len(searched) - 2)
        if gain > max(ERRORS**2 * within, 1e-12):
            yield _Split(round(gain, 9), feature.name, left, rules)


def _cuts(
    gap: Floats, feature: Feature, searched: npt.NDArray[np.intp]
) -> Iterator[tuple[Mask, tuple[_Among, _Among] | tuple[_Range, _Range]]]:
    if not feature.numeric:
        values = feature.values.astype(np.str_)
        categories, of = np.unique(values[searched], return_inverse=True)
        mean = np.bincount(of, gap[searched]) / np.bincount(of)
        order = categories[np.lexsort((categories, mean))].tolist()
        for number in range(1, len(order)):
            yield np.isin(values, order[:number]), _sides(order[:number], order[number:])
        return
    numbers = feature.values.astype(np.float64)
    known = numbers[searched][~np.isnan(numbers[searched])]
    unknown = bool(np.isnan(numbers).any())
    # `lower`: a cut is a number that there is, so that its name says what lies on which side.
    for cut in np.unique(np.quantile(known, np.arange(1, CUTS) / CUTS, method="lower")) if len(known) else ():
        with np.errstate(invalid="ignore"):
            yield ~(numbers > cut), (_Range(up_to=float(cut), unknown=unknown), _Range(above=float(cut)))


def _sides(left: Sequence[str], right: Sequence[str]) -> tuple[_Among, _Among]:
    """The fewer categories are named; those that only the other half has are on the right."""
    if len(left) <= len(right):
        return _Among(frozenset(left), True), _Among(frozenset(left), False)
    return _Among(frozenset(right), False), _Among(frozenset(right), True)
