"""The study with some prompts and metrics alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from calprobe.analysis.asked.stated.cells import EXPECTED
from calprobe.analysis.asked.stated.results import StatedRun, StatedScope
from calprobe.analysis.chosen import Choice

T = TypeVar("T")


def choose_stated(run: StatedRun, choice: Choice) -> StatedRun | None:
    """A run's part of the study with the chosen estimators and metrics. None if no prompt is left.

    `stated_PROMPT` is a prompt's replies, `stated_PROMPT.expected` the means over its scale. Groups and means over
    prompts stay where all of their prompts do.
    """
    own = [prompt.name for prompt in run.prompts]

    def prompts(way: str) -> list[str]:
        end = ".expected" if way == EXPECTED else ""
        return [name for name in own if choice.shows(f"stated_{name}{end}")]

    scopes = [_scope(each, kept, own, choice) for each in run.scopes if (kept := prompts(each.way))]
    left = {name for each in run.scopes for name in prompts(each.way)}
    if not left:
        return None
    return replace(
        run,
        prompts=tuple(prompt for prompt in run.prompts if prompt.name in left),
        groups={name: members for name, members in run.groups.items() if left.issuperset(members)},
        scopes=tuple(scopes),
        chosen=choice.metrics,
    )


def _scope(scope: StatedScope, prompts: Sequence[str], every: Sequence[str], choice: Choice) -> StatedScope:
    kept = {*prompts} | ({"mean"} if len(prompts) == len(every) else set())

    def some(found: Mapping[str, T]) -> dict[str, T]:
        return {name: value for name, value in found.items() if name in kept}

    return replace(
        scope,
        deviations={name: own for name, own in scope.deviations.items() if kept.issuperset(own.prompts)},
        pairs=tuple(own for own in scope.pairs if kept.issuperset((own.first, own.second))),
        fidelity=some(scope.fidelity),
        conditions={
            condition: {split: some(means) for split, means in splits.items()}
            for condition, splits in scope.conditions.items()
        },
        reliability={
            name: replace(own, metrics=choice.by_metric(own.metrics)) for name, own in some(scope.reliability).items()
        },
        values=some(scope.values),
        reversals=tuple(own for own in scope.reversals if own.prompt in kept),
        differences=tuple(
            replace(own, metrics=choice.by_metric(own.metrics), p_holm=choice.by_metric(own.p_holm))
            for own in scope.differences
            if kept.issuperset((own.first, own.second))
        ),
    )
