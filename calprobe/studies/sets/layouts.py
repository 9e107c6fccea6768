"""The tables of answer sets, with a sentence before them that says what they come to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from calprobe.messages import counted, percent
from calprobe.metrics import AnswerSets, coverage_range, units_needed
from calprobe.show.tables.layout import UNRANKED, Layout, cells, quantity
from calprobe.show.tables.types import Row, Table
from calprobe.studies.sets.results import CellSets, RuleSets, SetReport, Withheld

CASES = (20, 50, 100, 200, 500, 1000, 2000, 5000)
THREE_DIGITS: Mapping[str, Any] = {**UNRANKED, "decimals": 3}


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A relation or group under one rule: sets by the threshold of all, and by its own."""

    marginal: AnswerSets
    own: AnswerSets
    calibrated: int  # units that its own threshold was fixed on


SETS = Layout[RuleSets].given(
    "Answer sets: how often they hold the right candidate, and how large they are",
    "sets",
    "rule",
    quantity("fixed on", lambda rule: rule.calibrated or None, name="calibrated", priority=4),
    quantity("n", lambda rule: rule.sets.units),
    cells("coverage", "coverage", lambda rule: rule.sets.coverage),
    quantity("expected", lambda rule: None if rule.expected is None else rule.expected.estimate),
    quantity("mean size", lambda rule: rule.sets.mean_size, name="mean_size"),
    quantity("median", lambda rule: rule.sets.median_size, name="median_size", priority=3),
    quantity("of", lambda rule: rule.sets.mean_options, name="mean_options"),
    quantity("single", lambda rule: rule.sets.singletons, name="singletons", priority=1),
    quantity("right of single", lambda rule: rule.sets.singleton_accuracy, name="singleton_accuracy", priority=2),
    quantity("empty", lambda rule: rule.sets.empty, priority=5),
    notes=(
        "Expected: what the promise lets one expect of so many cases, and the middle 95 % of what chance makes of it. "
        "Single: share of the sets with one candidate.",
    ),
    kind="sets",
    more=THREE_DIGITS,
)
STRATA = Layout[AnswerSets].given(
    "Coverage by size of the set (first rule)",
    "set-sizes",
    "candidates",
    quantity("n", lambda sets: sets.units),
    cells("coverage", "coverage", lambda sets: sets.coverage),
    notes=("The promise is of all sets together, and of no size by itself.",),
    kind="sizes",
    more=THREE_DIGITS,
)
WITHHELD = Layout[Withheld].given(
    "Answers that are given or withheld, so that wrong ones are given as seldom as promised",
    "withheld",
    "confidence",
    quantity("fixed on", lambda found: found.calibrated, name="calibrated", priority=2),
    quantity("answer if", lambda found: found.answer_if, name="answer_if", priority=1),
    quantity("threshold", lambda found: found.threshold),
    quantity("n", lambda found: found.units),
    cells("share", "coverage", lambda found: found.coverage, heading="right or withheld"),
    quantity(
        "expected",
        lambda found: None if found.expected is None else found.expected.estimate,
        heading="right or withheld",
    ),
    quantity("answered", lambda found: _share(found.answered, found.units)),
    quantity("wrong of it", lambda found: _share(found.wrong, found.answered), name="wrong"),
    kind="withheld",
    more=THREE_DIGITS,
)


def set_tables(found: SetReport) -> tuple[Table, ...]:
    """All that there is something for; the sentences stand before the first."""
    tables = []
    if found.sets:
        tables.append(SETS.of_rows(_rule_rows(found)))
        tables.append(STRATA.of_rows(_stratum_rows(found)))
        if any(rule.by for sets in found.sets for rule in sets.rules):
            tables.append(_group_table(found))
    if found.withheld:
        tables.append(WITHHELD.of_rows((_head(each, each.score, each.cell), each) for each in found.withheld))
    first, *rest = tables
    return (_with_lead(first, found), *rest)


def _with_lead(table: Table, found: SetReport) -> Table:
    return replace(table, lead=tuple(set_sentences(found)))


def set_sentences(found: SetReport) -> Iterator[str]:
    """What sets by the first rule come to, and what is answered."""
    promised = f"promised {percent(found.options.coverage)}"
    for sets in found.sets:
        yield f"{sets.cell}, {sets.score}: {_of_sets(sets, found.options.coverage)}"
    for each in found.withheld:
        answered, right = percent(_share(each.answered, each.units)), percent(each.coverage.value)
        yield (
            f"{each.cell}, {each.score}: {_answering(each)}, {answered} of {counted(each.units, 'answer')}; "
            f"{right} are right or withheld ({promised}, {_checked(each)})."
        )


def needed_text(coverage: float) -> str:
    """What the number of calibration cases does to the coverage that one calibration gives."""
    least = units_needed(coverage)
    lines = [
        f"Sets that hold the right candidate in {percent(coverage)}: by the cases that the threshold is",
        "fixed on, where the coverage of one calibration lies in nine of ten:",
        "  cases   coverage",
        *(_range_line(cases, coverage) for cases in CASES if cases >= least),
        f"With fewer than {least:,} cases sets have all candidates.",
    ]
    return "\n".join(lines)


def _range_line(cases: int, coverage: float) -> str:
    low, high = coverage_range(cases, coverage)
    return f"  {cases:5,}   {100 * low:.1f} to {100 * high:.1f} %"


def _of_sets(found: CellSets, coverage: float) -> str:
    promised = f"promised {percent(coverage)}"
    rule = found.rules[0]
    sets = rule.sets
    if not sets.units:
        return "nothing to check sets on."
    if math.isinf(rule.threshold) and not rule.too_few:
        return (
            f"no threshold keeps the promise of {percent(coverage)}: {rule.unscored:,} of the "
            f"{counted(rule.calibrated, 'case')} to fix it on have no probabilities. Sets have all candidates, none "
            f"where probabilities are missing, and hold the right one in {percent(sets.coverage.value)} of "
            f"{counted(sets.units, 'case')} ({_checked(found)})."
        )
    if math.isinf(rule.threshold):
        unit = "questions or relations" if found.clustered else "cases"
        return (
            f"no candidate can be left out ({promised}): that takes {units_needed(coverage):,} {unit} or more to fix a "
            f"threshold on, here are {counted(rule.calibrated, 'case')}."
        )
    return (
        f"the set of {sets.mean_size:.1f} candidates (of {sets.mean_options:.1f}) holds the right one in "
        f"{percent(sets.coverage.value)} of {counted(sets.units, 'case')} "
        f"({promised}; rule {rule.rule}, {_checked(found)})."
    )


def _checked(found: CellSets | Withheld) -> str:
    if found.held_out:
        return f"checked on {found.on}"
    return f"on {found.on}, NOT HELD OUT: the same answers, or the same model's to the same facts, fixed the threshold"


def _answering(found: Withheld) -> str:
    if found.threshold is None:
        return "answer always" if found.answer_if == "always" else "answer never"
    return f"answer where it is {found.answer_if} {found.threshold:.4g}"


def _head(found: CellSets | Withheld, label: str, title: str, **keys: str) -> Row:
    return Row(label, group=title, keys={"cell": found.cell, "estimator": found.score, **keys})


def _rule_rows(found: SetReport) -> Iterator[tuple[Row, RuleSets]]:
    for sets in found.sets:
        for rule in sets.rules:
            yield _head(sets, rule.title, f"{sets.cell}, {sets.score}", rule=rule.title), rule


def _stratum_rows(found: SetReport) -> Iterator[tuple[Row, AnswerSets]]:
    for sets in found.sets:
        rule = sets.rules[0]
        for least, most, inside in rule.sets.by_size():
            size = f"{least}" if most == least else f"{least} or more" if most is None else f"{least} to {most}"
            yield _head(sets, size, f"{sets.cell}, {sets.score}, {rule.title}", rule=rule.title, size=size), inside


def _group_table(found: SetReport) -> Table:
    by = str(found.options.by)
    layout = Layout[GroupRow].given(
        f"Sets of each {by}, by one threshold for all and by thresholds of their own (first rule)",
        "set-groups",
        by,
        quantity("n", lambda row: row.marginal.units),
        cells("coverage", "coverage", lambda row: row.marginal.coverage, heading="one threshold", keys={"by": "all"}),
        quantity("size", lambda row: row.marginal.mean_size, name="mean_size", heading="one threshold"),
        quantity("fixed on", lambda row: row.calibrated, name="calibrated", heading="its own"),
        cells("coverage", "coverage_own", lambda row: row.own.coverage, heading="its own", keys={"by": by}),
        quantity("size", lambda row: row.own.mean_size, name="mean_size_own", heading="its own"),
        kind="groups",
        more=THREE_DIGITS,
    )
    return layout.of_rows(_group_rows(found))


def _group_rows(found: SetReport) -> Iterator[tuple[Row, GroupRow]]:
    for sets in found.sets:
        marginal, own = sets.rules[0], next((r for r in sets.rules if r.by and r.rule == sets.rules[0].rule), None)
        for name, group in own.groups.items() if own is not None else ():
            head = _head(sets, name, f"{sets.cell}, {sets.score}, {marginal.rule}", rule=marginal.rule, group=name)
            yield head, GroupRow(marginal.groups[name].sets, group.sets, group.calibrated)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
