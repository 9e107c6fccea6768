"""The tables of stakes, with a sentence before them that says whether confidences help to decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from calprobe.cells.candidates import LABELS
from calprobe.messages import counted, percent
from calprobe.metrics import MOST_STAKES, Estimate, cost_of_error
from calprobe.show.tables.layout import UNRANKED, Cells, Layout, cells, quantity
from calprobe.show.tables.types import Cell, Row, Table
from calprobe.studies.stakes.results import AtStakes, Decided, StakesReport, Told

TOLD = Layout[Told].given(
    "Asked with the stakes in the prompt: what is answered, and what that is worth",
    "told-stakes",
    "prompt",
    quantity("stakes", lambda told: told.stakes),
    quantity("n", lambda told: told.units),
    cells("abstained", "abstained", lambda told: told.abstained),
    quantity("unparsed", lambda told: told.unread, name="unread"),
    cells("right of answered", "accuracy", lambda told: told.accuracy),
    cells("utility", "utility", lambda told: told.utility),
    notes=(
        "Answering pays where the share of right answers is above the stakes. What could not be parsed is a wrong "
        "answer.",
    ),
    kind="told",
    more={**UNRANKED, "decimals": 3},
)


def stakes_tables(found: StakesReport) -> tuple[Table, ...]:
    """That of confidences, and that of prompts that name stakes."""
    tables = []
    if found.decided:
        rows = ((Row(each.score, group=each.cell, keys=_keys(each)), each) for each in found.decided)
        tables.append(_decided_layout(found.options.at).of_rows(rows))
    if found.told:
        tables.append(
            TOLD.of_rows(
                (Row(told.variant, group=told.cell, keys={"cell": told.cell, "variant": told.variant}), told)
                for told in sorted(found.told, key=lambda told: (told.cell, told.stakes))
            )
        )
    first, *rest = tables
    return (replace(first, lead=tuple(stakes_sentences(found))), *rest)


def _keys(decided: Decided) -> dict[str, str]:
    return {"cell": decided.cell, "estimator": decided.score}


def _decided_layout(at: tuple[float, ...]) -> Layout[Decided]:
    # A narrow terminal shows the largest stakes, which the sentence is of.
    first = sorted(at, reverse=True)
    columns = [cell for stakes in at for cell in _at(stakes, 1 + first.index(stakes))]
    last = 1 + len(at)
    mean = f"mean to {MOST_STAKES:g}"
    return Layout[Decided].given(
        "What answers are worth at stakes, given where the confidence is at least the stakes",
        "stakes",
        "confidence",
        quantity("n", lambda decided: decided.units),
        cells("accuracy", "accuracy", lambda decided: decided.accuracy),
        *columns,
        cells("utility", "mean_utility", lambda decided: decided.mean, heading=mean, priority=last),
        cells("always", "mean_always", lambda decided: decided.mean_always, heading=mean, priority=last),
        notes=(
            "A right answer is worth 1, a wrong one -t / (1 - t), none 0. Always: all answers are given; giving none "
            "is worth 0, and the right ones alone the accuracy.",
        ),
        kind="stakes",
        more={**UNRANKED, "decimals": 3},
    )


def _at(stakes: float, priority: int) -> Iterator[Cells[Decided]]:
    def of(value: Callable[[AtStakes], Cell]) -> Callable[[Decided], Cell]:
        return lambda decided: value(decided.of(stakes))

    where: dict[str, Any] = {"heading": f"t = {stakes:g}", "keys": {"stakes": f"{stakes:g}"}, "priority": priority}
    yield cells("answered", "answered", of(lambda found: found.answered), **where)
    yield cells("utility", "utility", of(lambda found: found.utility), **where)
    yield cells("always", "utility_always", of(lambda found: found.always), **where)


def stakes_sentences(found: StakesReport) -> Iterator[str]:
    """Of one estimator of each cell at the largest stakes, and of the prompts with the largest.

    It is the first one that was named; else `label`, which stands for a run of replies elsewhere, too, or the first.
    """
    stakes = max(found.options.at)
    by_cell: dict[str, dict[str, Decided]] = {}
    for decided in found.decided:
        by_cell.setdefault(decided.cell, {})[decided.score] = decided
    for scores in by_cell.values():
        usual = LABELS if found.options.estimators is None else ()
        decided = scores[next((name for name in usual if name in scores), next(iter(scores)))]
        at = decided.of(stakes)
        cost, given = f"{cost_of_error(stakes):.3g}", f"{percent(at.answered)} of {counted(decided.units, 'answer')}"
        yield (
            f"{decided.cell}, {decided.score}: at stakes of {stakes:g}, where a wrong answer costs {cost}, it gives "
            f"{given}, worth {_mean(at.utility, decided.units)}; answering always is worth {at.always.value:+z.2f}, "
            "never 0."
        )
    last = {told.cell: told for told in sorted(found.told, key=lambda told: told.stakes)}
    for cell, told in last.items():
        abstained, cost = f"{percent(told.abstained.value)} of {told.units:,}", f"{cost_of_error(told.stakes):.3g}"
        yield (
            f"{cell}, told that a wrong answer costs {cost}: abstains in {abstained} replies, worth "
            f"{_mean(told.utility, told.units)}."
        )


def _mean(utility: Estimate, units: int) -> str:
    """Of all units: those without an answer are worth 0."""
    return f"{utility.value:+z.2f} on average over all {units:,}"
