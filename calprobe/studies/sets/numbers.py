"""Answer sets of runs: thresholds fixed on one half of a cell, or on one run, and the sets that they make of others."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Mask
from calprobe.cells.candidates import Candidates, GroupedCell, pair_of, run_cells
from calprobe.cells.cell import Units
from calprobe.cells.opening import RunLike, open_runs
from calprobe.errors import UsageError
from calprobe.measures.chosen import known_estimators
from calprobe.measures.halves import check_promised, cluster_names, half_of, with_answers
from calprobe.measures.options import DEFAULT_OPTIONS
from calprobe.metrics import (
    SetRule,
    answer_sets,
    conformal_threshold,
    covered_law,
    covered_share,
    set_scores,
)
from calprobe.runs import AskedRun
from calprobe.studies.sets.results import (
    DEFAULT_SETS,
    CellSets,
    Expected,
    GroupSets,
    RuleSets,
    SetOptions,
    SetReport,
    Withheld,
)

# Estimators that sets are made of, if none is named: the first that a cell has.
USUAL = ("base", "label", "label_final", "frequency.majority")
TAIL = 0.025  # on either side of what chance makes of a coverage


def run_answer_sets(
    run: RunLike | AskedRun, on: RunLike | AskedRun | None = None, options: SetOptions = DEFAULT_SETS
) -> SetReport:
    """Sets of candidates that hold the right one with the promised probability, from scores or label probabilities.

    Thresholds are fixed on a half of the run and checked on the other half, or fixed on the run and checked on another.
    Estimators that are no largest probability of candidates, such as the frequency of an answer among samples, decide
    instead which answers are withheld. docs/methods/sets.md has the rules and their sources.

    Args:
        run: of scores or replies, open or by path.
        on: another run of the same kind; None: the other half.
        options: coverage, rules, groups, estimators, seed.
    Raises:
        UsageError: an estimator or a group that the run lacks, or nothing to make sets of. DataMissingError,
            CalprobeError: as `report`.

    Example:
        >>> calprobe.answer_sets("runs/clm").sets[0].rules[0].sets.mean_size  # doctest: +SKIP
    """
    opened = [
        run_cells(label, each, DEFAULT_OPTIONS)
        for source in ([run] if on is None else [run, on])
        for label, each in open_runs(source).items()
    ]
    return cells_answer_sets(opened[0], opened[1] if on is not None else None, options)


def cells_answer_sets(
    cells: Sequence[GroupedCell], others: Sequence[GroupedCell] | None, options: SetOptions
) -> SetReport:
    """The same of cells; those of another run are found by set and variant, one alone whatever its names."""
    sets: list[CellSets] = []
    withheld: list[Withheld] = []
    for cell in cells:
        other = None if others is None else pair_of(cell, others)
        for name in _estimators(cell, options):
            for part in (cell, *([] if other is None else [other])):
                check_promised(part.cell, name)
            if cell.candidates(name) is not None:
                sets.append(_CellPair.of(cell, other, name, options).sets())
            else:
                withheld.append(_withheld(cell, other, name, options))
    if not sets and not withheld:
        raise UsageError("no candidates, labels or samples to make answer sets of; name an estimator")
    return SetReport(options, tuple(sets), tuple(withheld))


def _estimators(cell: GroupedCell, options: SetOptions) -> tuple[str, ...]:
    if options.estimators is not None:
        return known_estimators(cell.cell.run, options.estimators, cell.cell.estimators)
    if not cell.by:
        return tuple(cell.cell.estimators)  # a table has the scores that were named
    return tuple(name for name in USUAL if name in cell.cell.estimators)[:1]


@dataclass(frozen=True)
class _Side:
    """Units that thresholds are fixed on, or checked on."""

    units: Units
    candidates: Candidates
    groups: npt.NDArray[np.str_]  # [units]
    clusters: npt.NDArray[np.generic] | None  # [units]

    @classmethod
    def of(cls, cell: GroupedCell, candidates: Candidates) -> _Side:
        units = cell.cell.units.at(candidates.places)
        return cls(units, candidates, cell.groups[candidates.places], _clusters(units))

    def names(self, where: Mask) -> npt.NDArray[np.generic] | None:
        """Labels of the clusters of some units."""
        return None if self.clusters is None else self.clusters[where]


def _clusters(units: Units) -> npt.NDArray[np.generic] | None:
    return cluster_names(units, np.ones(len(units), np.bool_))


@dataclass(frozen=True)
class _CellPair:
    """What thresholds are fixed on, and what they are checked on."""

    cell: GroupedCell
    name: str
    options: SetOptions
    first: _Side
    second: _Side
    fixing: Mask  # [units of the first]
    checking: Mask  # [units of the second]
    on: str
    held_out: bool = True

    @classmethod
    def of(cls, cell: GroupedCell, other: GroupedCell | None, name: str, options: SetOptions) -> _CellPair:
        first = _side(cell, name, options)
        if other is None:
            half = half_of(first.units, options.seed)
            return cls(cell, name, options, first, first, half, ~half, "the other half")
        second = _side(other, name, options)
        all_first, all_second = (np.ones(len(side.units), np.bool_) for side in (first, second))
        held_out = not cell.shares_facts(other)
        return cls(cell, name, options, first, second, all_first, all_second, other.cell.run, held_out)

    def sets(self) -> CellSets:
        """By every rule, with one threshold, and with one for each group where that is asked for."""
        kinds = [""] if self.options.by is None else ["", self.options.by]
        rules = tuple(
            self._by_rule(rule, by) for rule in self.options.rules for by in kinds if rule != "naive" or not by
        )
        return CellSets(self.cell.name, self.name, self.on, self.second.clusters is not None, rules, self.held_out)

    def _by_rule(self, rule: SetRule, by: str) -> RuleSets:
        seed, coverage = self.options.seed, self.options.coverage
        scores = [_scores(side, rule, seed) for side in (self.first, self.second)]
        of_right = [_of_right(side, strange) for side, strange in zip((self.first, self.second), scores, strict=True)]
        unscored = [np.isinf(strange) for strange in of_right]

        def threshold(where: Mask, strangeness: Floats = of_right[0]) -> float:
            if rule == "naive":  # below the coverage itself
                return math.nextafter(coverage, 0)
            return conformal_threshold(strangeness[where], coverage, self.first.names(where))

        names = np.unique(self.second.groups).tolist() if self.options.by else []
        inside = {name: self.checking & (self.second.groups == name) for name in names}
        fixing = {name: self.fixing & (self.first.groups == name) for name in names} if by else {}
        limits = {name: threshold(where) for name, where in fixing.items()}
        alone = math.nan if by else threshold(self.fixing)
        per_unit = np.array([limits.get(name, alone) for name in self.second.groups.tolist()], np.float64)
        checked = self.second.candidates
        every = answer_sets(scores[1], checked.offsets, checked.answer_idx, per_unit, self.second.clusters)
        sets = every.at(self.checking)
        groups = {
            name: GroupSets(int(fixing.get(name, self.fixing).sum()), limits.get(name, alone), every.at(where))
            for name, where in inside.items()
        }
        expected = None
        clustered = self.first.clusters is not None or self.second.clusters is not None
        if rule != "naive" and self.held_out and not clustered:
            parts = [(fixing[name], inside[name]) for name in fixing] or [(self.fixing, self.checking)]
            if not any(np.isinf(per_unit[on]).any() and _any_at(unscored, (of, on)) for of, on in parts):
                pairs = [(int(of.sum()), int(on.sum())) for of, on in parts]
                expected = expected_coverage(pairs, sets.covered, coverage)
        return RuleSets(
            rule,
            by,
            0 if rule == "naive" else int(self.fixing.sum()),
            alone,
            sets,
            expected,
            groups,
            unscored=0 if rule == "naive" else int(unscored[0][self.fixing].sum()),
            too_few=math.isinf(threshold(self.fixing, np.zeros(len(of_right[0])))),
        )


def _of_right(side: _Side, scores: Floats) -> Floats:
    """[units], how strange the right candidate is; infinite where a unit has no probabilities."""
    right: Floats = scores[side.candidates.offsets[:-1] + side.candidates.answer_idx]
    return right


def _any_at(flags: Sequence[Mask], where: Sequence[Mask]) -> bool:
    return any(bool(flag[at].any()) for flag, at in zip(flags, where, strict=True))


def _side(cell: GroupedCell, name: str, options: SetOptions) -> _Side:
    candidates = cell.candidates(name)
    if candidates is None:
        raise UsageError(f"{cell.cell.run}: {name} has no probabilities of candidates")
    side = _Side.of(cell, candidates)
    if options.by is not None and (options.by != cell.by or len(np.unique(side.groups)) < 2):
        kinds = "runs of scores have relation, runs of replies group"
        raise UsageError(f"--by {options.by}: {cell.cell.run} has none; {kinds}")
    return side


def _scores(side: _Side, rule: SetRule, seed: int) -> Floats:
    uniform = unit_draws(side.units, seed) if rule == "aps_random" else None
    return set_scores(side.candidates.probabilities, side.candidates.offsets, rule, uniform)


def unit_draws(units: Units, seed: int) -> Floats:
    """A number in [0, 1) for each unit, by a hash of the seed and of what the unit is, whatever others there are."""
    keys = (f"{seed}\0{group}\0{key}" for group, key in zip(units.group.tolist(), units.id.tolist(), strict=True))
    digests = (hashlib.blake2b(key.encode("utf-8", "backslashreplace"), digest_size=8).digest() for key in keys)
    return np.array([(int.from_bytes(digest, "little") >> 11) * 2.0**-53 for digest in digests], np.float64)


def expected_coverage(pairs: Sequence[tuple[int, int]], covered: npt.ArrayLike, coverage: float) -> Expected | None:
    """What the promise lets one expect, of groups with thresholds of their own together; None without units.

    Args:
        pairs: calibrated and checked units of each threshold.
        covered: [checked units], what was found.
        coverage: the promise.
    """
    law = np.ones(1)
    for calibrated, checked in pairs:
        law = np.convolve(law, covered_law(calibrated, checked, coverage))
    number = len(law) - 1
    if not number:
        return None
    upto = np.minimum(np.cumsum(law), 1.0)
    low, high = (int(np.searchsorted(upto, share)) for share in (TAIL, 1 - TAIL))
    mean = float((law * np.arange(number + 1)).sum()) / number
    return Expected(mean, low / number, min(high, number) / number, float(upto[int(np.sum(covered))]))


def _withheld(cell: GroupedCell, other: GroupedCell | None, name: str, options: SetOptions) -> Withheld:
    """A wrong answer is as strange as it is sure, a right one is not strange at all: so few wrong ones are given."""
    if options.by is not None:
        raise UsageError(f"--by {options.by}: is of sets of candidates, which {name} has none of; leave it out")
    sides = [_Answers.of(part, name) for part in (cell, *([] if other is None else [other]))]
    first, second = sides[0], sides[-1]
    half = half_of(first.units, options.seed)
    fixing, checking = (half, ~half) if other is None else (np.ones_like(half), np.ones(len(second.units), np.bool_))
    clusters = None if first.clusters is None else first.clusters[fixing]
    limit = conformal_threshold(first.strangeness[fixing], options.coverage, clusters)
    good = second.strangeness[checking] <= limit
    answered = second.sureness[checking] > limit
    clustered = first.clusters is not None or second.clusters is not None
    pairs = [(int(fixing.sum()), int(checking.sum()))]
    held_out = other is None or not cell.shares_facts(other)
    return Withheld(
        cell=cell.name,
        score=name,
        on="the other half" if other is None else other.cell.run,
        clustered=clustered,
        at_least=cell.cell.estimators[name].scale != "uncertainty",
        calibrated=int(fixing.sum()),
        limit=limit,
        units=int(checking.sum()),
        answered=int(answered.sum()),
        wrong=int((~good).sum()),
        coverage=covered_share(good, None if second.clusters is None else second.clusters[checking]),
        expected=None if clustered or not held_out else expected_coverage(pairs, good, options.coverage),
        held_out=held_out,
    )


@dataclass(frozen=True)
class _Answers:
    """Single answers with how sure they are; those without a confidence are withheld."""

    units: Units
    sureness: Floats  # [units], minus infinity where there is none
    correct: Mask  # [units]
    clusters: npt.NDArray[np.generic] | None

    @classmethod
    def of(cls, cell: GroupedCell, name: str) -> _Answers:
        answers = with_answers(cell.cell, name)
        confidence, units = answers.confidences[name], answers.units
        sureness = confidence.sureness(answers.estimators[name].scale)
        return cls(units, np.where(np.isnan(sureness), -np.inf, sureness), confidence.correct, _clusters(units))

    @property
    def strangeness(self) -> Floats:
        """[units], see `conformal_threshold`."""
        return np.where(self.correct, -np.inf, self.sureness)
