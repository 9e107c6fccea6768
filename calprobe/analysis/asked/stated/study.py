"""The study of one run: every number by set, over all answers, and as a mean over sets, for each way of reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from calprobe.analysis.asked.options import AskedOptions
from calprobe.analysis.asked.stated.cells import AS_SAID, COMPLETE, EXPECTED, StatedCell, pooled
from calprobe.analysis.asked.stated.consistency import correlations, deviations, groups_of
from calprobe.analysis.asked.stated.differences import prompt_differences
from calprobe.analysis.asked.stated.drawn import Drawn, macro, over_prompts
from calprobe.analysis.asked.stated.fidelity import MEAN, FidelityDraws, condition_means, fidelity
from calprobe.analysis.asked.stated.matrices import is_study, prompts_of, stated_cell
from calprobe.analysis.asked.stated.reliability import is_always, reliability, reliability_metrics
from calprobe.analysis.asked.stated.results import (
    Deviation,
    Fidelity,
    MeanConfidence,
    PairOfPrompts,
    PromptReliability,
    ScopeKind,
    StatedRun,
    StatedScope,
)
from calprobe.analysis.asked.stated.reversal_check import reversals
from calprobe.cells.asked import Asked, AskedCell
from calprobe.metrics import Estimate, Metric
from calprobe.metrics.consistency import largest_deviation
from calprobe.metrics.distinct import value_use

Groups = Mapping[str, tuple[str, ...]]
Key = TypeVar("Key")
Part = TypeVar("Part")
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class _Draws:
    """All statistics of one cell before their intervals are taken."""

    cell: StatedCell
    deviations: Mapping[str, Drawn]
    pairs: Mapping[tuple[str, str], tuple[Drawn, Drawn]]
    fidelity: Mapping[str, FidelityDraws]
    conditions: Mapping[str, Mapping[str, Mapping[str, Drawn]]]
    reliability: Mapping[str, Mapping[str, Drawn]]


def stated_run(asked: Asked, cells: Sequence[AskedCell], options: AskedOptions) -> StatedRun | None:
    """The study of a run from its opened cells; None where the run asks nothing of it."""
    if not is_study(asked.prompts, cells):
        return None
    prompts = prompts_of(asked.prompts, cells)
    matrices = [found for opened in cells if (found := stated_cell(opened, prompts, asked.prompts)) is not None]
    groups = {} if asked.prompts is None else asked.prompts.groups
    study = _Study(groups, reliability_metrics(options), options)
    scopes = [
        scope
        for variant in dict.fromkeys(own.variant for own in matrices)
        for scope in study.scopes([own for own in matrices if own.variant == variant])
    ]
    names = [prompt.name for prompt in prompts]
    return StatedRun(asked.label, asked.model, prompts, groups_of(names, groups), tuple(scopes))


@dataclass(frozen=True, slots=True)
class _Study:
    """How one run's numbers are made."""

    groups: Groups
    metrics: Sequence[Metric]
    options: AskedOptions

    def scopes(self, cells: Sequence[StatedCell]) -> list[StatedScope]:
        """Those of one variant: by way of reading, each set, then all of them."""
        together = pooled(cells)
        found = []
        for way in together.ways:
            own = [self._draws(cell.by(way), way) for cell in cells]
            found += [self._scope(drawn, way, "set", drawn.cell.set) for drawn in own]
            if len(cells) > 1:
                found.append(self._scope(self._macro(own), way, "macro", "macro"))
                found.append(self._scope(self._draws(together.by(way), way), way, "pooled", "pooled"))
        return found

    def _draws(self, cell: StatedCell, way: str) -> _Draws:
        resampling = self.options.resampling
        of_all = way == COMPLETE  # groups and pairs have their own complete answers
        few = way != AS_SAID
        return _Draws(
            cell,
            {} if of_all else deviations(cell, groups_of(cell.names, self.groups), resampling),
            {} if of_all else {(one, other): two for one, other, *two in correlations(cell, resampling)},  # type: ignore[misc]
            {} if of_all else fidelity(cell, resampling),
            {} if of_all else condition_means(cell, resampling),
            reliability(cell, list(filter(is_always, self.metrics)) if few else self.metrics, resampling),
        )

    def _macro(self, several: Sequence[_Draws]) -> _Draws:
        """The means over sets of what all of them have."""
        seed = self.options.resampling.seed

        def mean(parts: Sequence[Drawn]) -> Drawn:
            return macro(parts, seed)

        return _Draws(
            pooled([own.cell for own in several]),
            _common([own.deviations for own in several], mean),
            _common(
                [own.pairs for own in several],
                lambda parts: (mean([own[0] for own in parts]), mean([own[1] for own in parts])),
            ),
            _by_prompt(
                [own.fidelity for own in several],
                lambda parts: _fidelity_of(parts, mean, sum),
                lambda parts: _fidelity_of(parts, over_prompts, max),
            ),
            _common(
                [own.conditions for own in several],
                lambda of_condition: _common(of_condition, lambda of_split: _by_prompt(of_split, mean, over_prompts)),
            ),
            _by_prompt(
                [own.reliability for own in several],
                lambda of_prompt: _common(of_prompt, mean),
                lambda of_all: _common(of_all, over_prompts),
            ),
        )

    def _scope(self, drawn: _Draws, way: str, kind: ScopeKind, name: str) -> StatedScope:
        cell = drawn.cell
        groups = groups_of(cell.names, self.groups)
        said = kind != "macro"
        return StatedScope(
            variant=cell.variant,
            way=way,
            kind=kind,
            name=name,
            answers=len(cell),
            deviations={
                group: Deviation(
                    groups[group],
                    own.answers,
                    own.estimate,
                    largest_deviation(len(groups[group])),
                    _mean_over(groups[group], {name: found.rate for name, found in drawn.fidelity.items()}),
                    _mean_over(groups[group], {name: found["brier"] for name, found in drawn.reliability.items()}),
                )
                for group, own in drawn.deviations.items()
            },
            pairs=tuple(
                PairOfPrompts(*pair, linear.answers, linear.estimate, ranked.estimate)
                for pair, (linear, ranked) in drawn.pairs.items()
            ),
            fidelity={
                prompt: Fidelity(
                    own.rate.answers,
                    own.dropped,
                    own.rate.estimate,
                    own.ties.estimate,
                    own.neutral.estimate,
                    own.rate.prompts,
                )
                for prompt, own in drawn.fidelity.items()
            },
            conditions={
                condition: {
                    split: {
                        prompt: MeanConfidence(own.answers, own.estimate, own.prompts) for prompt, own in means.items()
                    }
                    for split, means in splits.items()
                }
                for condition, splits in drawn.conditions.items()
            },
            reliability={
                prompt: PromptReliability(
                    next(iter(own.values())).answers,
                    _coverage(cell, prompt),
                    {metric: found.estimate for metric, found in own.items()},
                    next(iter(own.values())).prompts,
                    _mass(cell, prompt) if way == EXPECTED else None,
                )
                for prompt, own in drawn.reliability.items()
            },
            values={
                prompt: value_use(values[~np.isnan(values)])
                for prompt, values in zip(cell.names, cell.confidence, strict=True)
            }
            if said
            else {},
            reversals=tuple(reversals(cell, self.options.resampling)) if said and way == AS_SAID else (),
            differences=prompt_differences(cell, self.metrics, self.options.resampling)
            if said and way in (AS_SAID, EXPECTED)
            else (),
        )


def _mean_over(prompts: Sequence[str], found: Mapping[str, Drawn]) -> Estimate | None:
    """The mean over these prompts; None where one has no value."""
    return over_prompts([found[name] for name in prompts]).estimate if found.keys() >= set(prompts) else None


def _coverage(cell: StatedCell, prompt: str) -> float:
    """The share of the answers asked that have a confidence; of a mean over prompts that of all their requests."""
    places = [cell.names.index(prompt)] if prompt in cell.names else range(len(cell.names))
    asked = cell.asked[places]
    read = ~np.isnan(cell.confidence[places]) & asked
    return float(read.sum() / asked.sum()) if asked.any() else float("nan")


def _mass(cell: StatedCell, prompt: str) -> float | None:
    """The mean probability of all replies of a prompt's scale; of a mean over prompts that over all of them."""
    if cell.mass is None:
        return None
    values = cell.mass[[cell.names.index(prompt)] if prompt in cell.names else range(len(cell.names))]
    return float(np.nanmean(values)) if not np.isnan(values).all() else None


def _common(several: Sequence[Mapping[Key, Part]], of: Callable[[list[Part]], Made]) -> dict[Key, Made]:
    """What is made of the parts that all have, by key."""
    keys = [key for key in several[0] if all(key in own for own in several)]
    return {key: of([own[key] for own in several]) for key in keys}


def _by_prompt(
    several: Sequence[Mapping[str, Part]],
    over_sets: Callable[[list[Part]], Part],
    over_all: Callable[[list[Part]], Part],
) -> dict[str, Part]:
    """Means over sets of the prompts that all sets have, and behind them the mean over these prompts."""
    found = _common([{name: part for name, part in own.items() if name != MEAN} for own in several], over_sets)
    return found | ({MEAN: over_all(list(found.values()))} if found else {})


def _fidelity_of(
    parts: Sequence[FidelityDraws],
    mean: Callable[[Sequence[Drawn]], Drawn],
    dropped: Callable[[Iterable[int]], int],
) -> FidelityDraws:
    rate, ties, neutral = (mean([getattr(own, name) for own in parts]) for name in ("rate", "ties", "neutral"))
    return FidelityDraws(rate, ties, neutral, dropped(own.dropped for own in parts))
