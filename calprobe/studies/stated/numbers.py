"""The study of one run: every number by set, over all answers, and as a mean over sets, for each way of reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from calprobe.cells.asked import Asked, AskedCell
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Estimate, Metric
from calprobe.metrics.consistency import largest_deviation
from calprobe.metrics.distinct import value_use
from calprobe.studies.stated.consistency import correlations, deviations, groups_of
from calprobe.studies.stated.drawn import Drawn, macro, over_prompts
from calprobe.studies.stated.fidelity import MEAN, FidelityDraws, condition_means, fidelity
from calprobe.studies.stated.matrices import is_study, prompts_of, stated_cell
from calprobe.studies.stated.reliability import is_always, reliability, reliability_metrics
from calprobe.studies.stated.results import (
    Deviation,
    Fidelity,
    MeanConfidence,
    PairOfPrompts,
    PromptReliability,
    ScopeKind,
    StatedRun,
    StatedScope,
)
from calprobe.studies.stated.reversal_check import reversals
from calprobe.studies.stated.stated_cells import AS_SAID, COMPLETE, EXPECTED, StatedCell, pooled
from calprobe.studies.stated.stated_differences import prompt_differences

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


def stated_run(asked: Asked, cells: Sequence[AskedCell], options: ReportOptions) -> StatedRun | None:
    """The study of a run from its opened cells; None where the run asks nothing of it."""
    if not is_study(asked.prompts, cells):
        return None
    prompts = prompts_of(asked.prompts, cells)
    matrices = [cell for opened in cells if (cell := stated_cell(opened, prompts, asked.prompts)) is not None]
    groups = {} if asked.prompts is None else asked.prompts.groups
    study = _Study(groups, reliability_metrics(options), options)
    scopes = [
        scope
        for variant in dict.fromkeys(matrix.variant for matrix in matrices)
        for scope in study.scopes([matrix for matrix in matrices if matrix.variant == variant])
    ]
    names = [prompt.name for prompt in prompts]
    return StatedRun(asked.label, asked.model, prompts, groups_of(names, groups), tuple(scopes))


@dataclass(frozen=True, slots=True)
class _Study:
    """How one run's numbers are made."""

    groups: Groups
    metrics: Sequence[Metric]
    options: ReportOptions

    def scopes(self, cells: Sequence[StatedCell]) -> list[StatedScope]:
        """The scopes of one variant: for each way of reading, every set and then all sets together."""
        together = pooled(cells)
        scopes = []
        for way in together.ways:
            draws = [self._draws(cell.by(way), way) for cell in cells]
            scopes += [self._scope(drawn, way, "set", drawn.cell.set) for drawn in draws]
            if len(cells) > 1:
                scopes.append(self._scope(self._macro(draws), way, "macro", "macro"))
                scopes.append(self._scope(self._draws(together.by(way), way), way, "pooled", "pooled"))
        return scopes

    def _draws(self, cell: StatedCell, way: str) -> _Draws:
        resampling = self.options.resampling
        of_all = way == COMPLETE  # groups and pairs have their own complete answers
        few = way != AS_SAID
        return _Draws(
            cell,
            {} if of_all else deviations(cell, groups_of(cell.names, self.groups), resampling),
            {}
            if of_all
            else {(first, second): statistics for first, second, *statistics in correlations(cell, resampling)},  # type: ignore[misc]
            {} if of_all else fidelity(cell, resampling),
            {} if of_all else condition_means(cell, resampling),
            reliability(cell, list(filter(is_always, self.metrics)) if few else self.metrics, resampling),
        )

    def _macro(self, draws: Sequence[_Draws]) -> _Draws:
        """The means over sets of what all of them have."""
        seed = self.options.resampling.seed

        def mean(parts: Sequence[Drawn]) -> Drawn:
            return macro(parts, seed)

        return _Draws(
            pooled([of_set.cell for of_set in draws]),
            _common([of_set.deviations for of_set in draws], mean),
            _common(
                [of_set.pairs for of_set in draws],
                lambda parts: (mean([pair[0] for pair in parts]), mean([pair[1] for pair in parts])),
            ),
            _by_prompt(
                [of_set.fidelity for of_set in draws],
                lambda parts: _fidelity_of(parts, mean, sum),
                lambda parts: _fidelity_of(parts, over_prompts, max),
            ),
            _common(
                [of_set.conditions for of_set in draws],
                lambda of_condition: _common(of_condition, lambda of_split: _by_prompt(of_split, mean, over_prompts)),
            ),
            _by_prompt(
                [of_set.reliability for of_set in draws],
                lambda of_prompt: _common(of_prompt, mean),
                lambda of_all: _common(of_all, over_prompts),
            ),
        )

    def _scope(self, drawn: _Draws, way: str, kind: ScopeKind, name: str) -> StatedScope:
        cell = drawn.cell
        groups = groups_of(cell.names, self.groups)
        of_answers = kind != "macro"
        return StatedScope(
            variant=cell.variant,
            way=way,
            kind=kind,
            name=name,
            answers=len(cell),
            deviations={
                group: Deviation(
                    groups[group],
                    draws.answers,
                    draws.estimate,
                    largest_deviation(len(groups[group])),
                    _mean_over(groups[group], {name: of_prompt.rate for name, of_prompt in drawn.fidelity.items()}),
                    _mean_over(
                        groups[group], {name: of_prompt["brier"] for name, of_prompt in drawn.reliability.items()}
                    ),
                )
                for group, draws in drawn.deviations.items()
            },
            pairs=tuple(
                PairOfPrompts(*pair, linear.answers, linear.estimate, ranked.estimate)
                for pair, (linear, ranked) in drawn.pairs.items()
            ),
            fidelity={
                prompt: Fidelity(
                    draws.rate.answers,
                    draws.dropped,
                    draws.rate.estimate,
                    draws.ties.estimate,
                    draws.neutral.estimate,
                    draws.rate.prompts,
                )
                for prompt, draws in drawn.fidelity.items()
            },
            conditions={
                condition: {
                    split: {
                        prompt: MeanConfidence(draws.answers, draws.estimate, draws.prompts)
                        for prompt, draws in means.items()
                    }
                    for split, means in splits.items()
                }
                for condition, splits in drawn.conditions.items()
            },
            reliability={
                prompt: PromptReliability(
                    next(iter(draws.values())).answers,
                    _coverage(cell, prompt),
                    {metric: statistic.estimate for metric, statistic in draws.items()},
                    next(iter(draws.values())).prompts,
                    _mass(cell, prompt) if way == EXPECTED else None,
                )
                for prompt, draws in drawn.reliability.items()
            },
            values={
                prompt: value_use(values[~np.isnan(values)])
                for prompt, values in zip(cell.names, cell.confidence, strict=True)
            }
            if of_answers
            else {},
            reversals=tuple(reversals(cell, self.options.resampling)) if of_answers and way == AS_SAID else (),
            differences=prompt_differences(cell, self.metrics, self.options.resampling)
            if of_answers and way in (AS_SAID, EXPECTED)
            else (),
        )


def _mean_over(prompts: Sequence[str], by_prompt: Mapping[str, Drawn]) -> Estimate | None:
    """The mean over these prompts; None where one has no value."""
    return over_prompts([by_prompt[name] for name in prompts]).estimate if by_prompt.keys() >= set(prompts) else None


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


def _common(mappings: Sequence[Mapping[Key, Part]], of: Callable[[list[Part]], Made]) -> dict[Key, Made]:
    """What is made of the parts that all have, by key."""
    keys = [key for key in mappings[0] if all(key in mapping for mapping in mappings)]
    return {key: of([mapping[key] for mapping in mappings]) for key in keys}


def _by_prompt(
    mappings: Sequence[Mapping[str, Part]],
    over_sets: Callable[[list[Part]], Part],
    over_all: Callable[[list[Part]], Part],
) -> dict[str, Part]:
    """Means over sets of the prompts that all sets have, and behind them the mean over these prompts."""
    means = _common([{name: part for name, part in mapping.items() if name != MEAN} for mapping in mappings], over_sets)
    return means | ({MEAN: over_all(list(means.values()))} if means else {})


def _fidelity_of(
    parts: Sequence[FidelityDraws],
    mean: Callable[[Sequence[Drawn]], Drawn],
    dropped: Callable[[Iterable[int]], int],
) -> FidelityDraws:
    rate, ties, neutral = (mean([getattr(part, name) for part in parts]) for name in ("rate", "ties", "neutral"))
    return FidelityDraws(rate, ties, neutral, dropped(part.dropped for part in parts))
