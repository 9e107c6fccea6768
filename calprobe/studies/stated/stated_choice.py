"""The study with some prompts and metrics alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from calprobe.measures.chosen import Choice
from calprobe.studies.stated.results import StatedRun, StatedScope
from calprobe.studies.stated.stated_cells import EXPECTED

T = TypeVar("T")


def choose_stated(run: StatedRun, choice: Choice) -> StatedRun | None:
    """A run's part of the study with the chosen estimators and metrics. None if no prompt is left.

    `stated_PROMPT` is a prompt's replies, `stated_PROMPT.expected` the means over its scale. Groups and means over
    prompts stay where all of their prompts do.
    """
    names = [prompt.name for prompt in run.prompts]

    def prompts(way: str) -> list[str]:
        end = ".expected" if way == EXPECTED else ""
        return [name for name in names if choice.shows(f"stated_{name}{end}")]

    scopes = [_scope(scope, kept, names, choice) for scope in run.scopes if (kept := prompts(scope.way))]
    remaining = {name for scope in run.scopes for name in prompts(scope.way)}
    if not remaining:
        return None
    return replace(
        run,
        prompts=tuple(prompt for prompt in run.prompts if prompt.name in remaining),
        groups={name: members for name, members in run.groups.items() if remaining.issuperset(members)},
        scopes=tuple(scopes),
        chosen=choice.metrics,
    )


def _scope(scope: StatedScope, prompts: Sequence[str], all_prompts: Sequence[str], choice: Choice) -> StatedScope:
    kept = {*prompts} | ({"mean"} if len(prompts) == len(all_prompts) else set())

    def chosen(by_prompt: Mapping[str, T]) -> dict[str, T]:
        return {name: value for name, value in by_prompt.items() if name in kept}

    return replace(
        scope,
        deviations={name: record for name, record in scope.deviations.items() if kept.issuperset(record.prompts)},
        pairs=tuple(record for record in scope.pairs if kept.issuperset((record.first, record.second))),
        fidelity=chosen(scope.fidelity),
        conditions={
            condition: {split: chosen(means) for split, means in splits.items()}
            for condition, splits in scope.conditions.items()
        },
        reliability={
            name: replace(record, metrics=choice.by_metric(record.metrics))
            for name, record in chosen(scope.reliability).items()
        },
        values=chosen(scope.values),
        reversals=tuple(record for record in scope.reversals if record.prompt in kept),
        differences=tuple(
            replace(record, metrics=choice.by_metric(record.metrics), p_holm=choice.by_metric(record.p_holm))
            for record in scope.differences
            if kept.issuperset((record.first, record.second))
        ),
    )
