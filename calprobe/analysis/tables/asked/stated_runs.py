"""The tables of stated confidence of one run: consistency, correlation, fidelity, conditions, reliability, reversal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from calprobe.analysis.asked.stated.cells import AS_SAID, COMPLETE, WAYS
from calprobe.analysis.asked.stated.differences import COMPARED
from calprobe.analysis.asked.stated.fidelity import MEAN, ORIGINAL, SPLITS
from calprobe.analysis.asked.stated.reliability import MAIN
from calprobe.analysis.asked.stated.results import LEAST_ANSWERS, StatedRun, StatedScope
from calprobe.analysis.tables.layout import with_chance_note
from calprobe.analysis.tables.types import Column, Row, Table
from calprobe.metrics import Estimate, Metric
from calprobe.metrics.error_shown import beside_their_errors, chance_value
from calprobe.metrics.metric import ReferenceMetric
from calprobe.metrics.stated2025 import ECE_LOWER_EDGES, SMOOTH_ECE_RELPLOT10

KINDS = ("consistency", "correlation", "fidelity", "conditions", "reliability", "differences", "reversed")


def scopes_of(run: StatedRun, *ways: str) -> list[tuple[str, dict[str, str], StatedScope]]:
    """The scopes under some ways of reading, or all, each with its title and its keys."""
    several = len({own.variant for own in run.scopes}) > 1
    found = [own for own in run.scopes if not ways or own.way in ways]
    return [(title_of(own, several), keys_of(own), own) for own in found]


def title_of(own: StatedScope, several_variants: bool) -> str:
    """What rows of a scope stand below: its set, macro or pooled, and the way of reading where it is not the first."""
    variant = f"{own.variant}, " if several_variants else ""
    return f"{variant}{own.name}" + (f", {WAYS[own.way]}" if own.way != AS_SAID else "")


def keys_of(own: StatedScope) -> dict[str, str]:
    """Which scope a line of a tidy file is of."""
    return {"set": own.name, "variant": own.variant, "reading": own.way}


def stated_run_tables(run: StatedRun, metrics: Sequence[Metric]) -> Iterator[Table]:
    """Every table of a run's part of the study; captions do not name the run."""
    first = next(iter(run.scopes), None)
    if first is None:
        return
    if run.groups:
        yield consistency_table(run)
    if run.groups and any(run.of(AS_SAID)):
        yield from correlation_tables(run)
    if first.fidelity:
        yield fidelity_table(run)
    if first.conditions:
        yield conditions_table(run)
    yield reliability_table(run, metrics)
    if any(own.differences for own in run.scopes):
        yield differences_table(run, metrics)
    if any(own.reversals for own in run.scopes):
        yield reversed_table(run)


def consistency_table(run: StatedRun) -> Table:
    """A row a group of prompts: MSD with its share of the largest that so many can have, mean fidelity and Brier."""
    replaced = any(own.fidelity is not None for scope in run.scopes for own in scope.deviations.values())
    columns = (
        Column("prompts", keys={"metric": "prompts"}),
        Column("n", keys={"metric": "n"}),
        Column("MSD", better="smaller", keys={"metric": "msd"}),
        Column("largest", keys={"metric": "msd_largest"}),
        Column("share", better="smaller", keys={"metric": "msd_share"}),
        *((Column("F", better="larger", keys={"metric": "fidelity_mean"}),) if replaced else ()),
        Column("Brier", better="smaller", keys={"metric": "brier_mean"}),
    )
    rows = [
        Row(
            name,
            (
                *(len(own.prompts), own.answers, own.msd, own.largest, own.share),
                *((own.fidelity,) if replaced else ()),
                own.brier,
            ),
            group=title,
            keys={**keys, "group": name},
        )
        for title, keys, scope in scopes_of(run)
        for name, own in scope.deviations.items()
    ]
    groups = "; ".join(f"{name}: {', '.join(own)}" for name, own in run.groups.items() if len(own) < len(run.prompts))
    return _table(
        "consistency",
        "Consistency: mean standard deviation (MSD) of the confidences in an answer, within groups of prompts",
        "group",
        columns,
        rows,
        notes=(
            "n: answers with all confidences of the group. Largest: what an MSD of so many prompts can be at most; "
            "share: of it. Groups of different sizes cannot be compared by their MSD. "
            f"{'F and Brier: means' if replaced else 'Brier: mean'} over the prompts of the group.",
            *((f"Groups: {groups}.",) if groups else ()),
        ),
    )


def correlation_tables(run: StatedRun) -> Iterator[Table]:
    """Pearson's and Spearman's matrix, over all answers and as means over sets."""
    names = [prompt.name for prompt in run.prompts]
    scopes = [found for found in scopes_of(run, AS_SAID) if found[2].kind != "set"] or scopes_of(run, AS_SAID)
    columns = [Column(str(at), keys={"prompt_2": name}) for at, name in enumerate(names, 1)]
    for metric, stub, title in (
        ("pearson", "Pearson's r", "Pearson's correlation"),
        ("spearman", "Spearman's rho", "Spearman's rank correlation"),
    ):
        rows = [
            Row(
                f"{at} {name}",
                tuple(_correlation(scope, metric, name, other) for other in names),
                group=title_of_scope,
                keys={**keys, "metric": metric, "prompt": name},
            )
            for title_of_scope, keys, scope in scopes
            for at, name in enumerate(names, 1)
        ]
        yield _table(
            "correlation",
            f"{title} of the confidences under each two prompts",
            stub,
            columns,
            rows,
            label=f"correlation-{metric}",
            intervals=False,
            notes=(
                "Over the answers that have both confidences; undefined where one of them is always the same. "
                f"-: fewer than {LEAST_ANSWERS} answers have both.",
            )
            if metric == "pearson"
            else (),
        )


def _correlation(scope: StatedScope, metric: str, first: str, second: str) -> Estimate | None:
    """The number of two prompts; None of a prompt with itself, of one that this scope lacks, and of too few answers."""
    found = next((own for own in scope.pairs if {own.first, own.second} == {first, second}), None)
    return None if found is None or not found.enough else getattr(found, metric)


def fidelity_table(run: StatedRun) -> Table:
    """A row a prompt, and their mean: F, ties, and F with half of the ties."""
    columns = (
        Column("n", keys={"metric": "n"}),
        Column("dropped", keys={"metric": "dropped"}),
        Column("F", better="larger", keys={"metric": "fidelity"}),
        Column("ties", keys={"metric": "ties"}),
        Column("F, half of ties", better="larger", keys={"metric": "fidelity_half"}),
    )
    rows = [
        Row(
            _spelled(name),
            (own.answers, own.dropped, own.rate, own.ties, own.neutral),
            group=title,
            note=_of_prompts(run, name, own.prompts),
            keys={**keys, "prompt": name},
        )
        for title, keys, scope in scopes_of(run)
        for name, own in scope.fidelity.items()
    ]
    return _table(
        "fidelity",
        "Fidelity: how often the confidence in the model's own answer is above that in a counterfactual one",
        "prompt",
        columns,
        rows,
        notes=(
            "F counts a tie as not above, so a model that always says the same has F 0; with half of the ties it has "
            "0.5. Dropped: the counterfactual answer repeats the model's own, or is right itself.",
        ),
    )


def conditions_table(run: StatedRun) -> Table:
    """A row for what stood in the answer's place: mean confidence over the prompts, and of the first prompt alone."""
    first = run.prompts[0].name
    columns = [
        Column("n", keys={"metric": "n"}),
        *(
            Column(split, heading=heading, keys={"prompt": prompt, "answers": split, "metric": "mean_confidence"})
            for heading, prompt in (("mean over prompts", MEAN), (first, first))
            for split in SPLITS
        ),
    ]
    rows = [
        Row(
            condition,
            (
                0 if (mean := splits["all"].get(MEAN)) is None else mean.answers,
                *(
                    None if (found := splits[split].get(prompt)) is None else found.value
                    for prompt in (MEAN, first)
                    for split in SPLITS
                ),
            ),
            group=title,
            note=_of_prompts(run, MEAN, 0 if mean is None else mean.prompts),
            keys={**keys, "condition": condition},
        )
        for title, keys, scope in scopes_of(run)
        for condition, splits in scope.conditions.items()
    ]
    return _table(
        "conditions",
        "Mean confidence by what stood in the place of the answer",
        "condition",
        columns,
        rows,
        notes=(
            f"All questions, and those that the model's own answer ({ORIGINAL}) is right or wrong on. Where it is "
            "right, target and original say the same: compare these two on the wrong ones. n: answers with a "
            "confidence under every condition, of the prompt that has the fewest, without those that a counterfactual "
            "answer repeats, and those whose counterfactual is right. All conditions are of the same answers.",
        ),
    )


def reliability_table(run: StatedRun, metrics: Sequence[Metric]) -> Table:
    """A row a prompt, and their mean: coverage, metrics, and how many values there are."""
    shown = _with_chance(run, _shown(run, metrics))
    has_mass = any(own.mass is not None for scope in run.scopes for own in scope.reliability.values())
    columns = [
        Column("n", keys={"metric": "n"}, priority=1),
        Column("coverage", keys={"metric": "coverage"}, priority=2),
        *((Column("mass", keys={"metric": "mass"}, priority=3),) if has_mass else ()),
        *(_metric_column(metric, run.chosen is not None) for metric in shown),
        Column("values", keys={"metric": "distinct_values"}, priority=4),
        Column("mode", keys={"metric": "mode"}, priority=40),
        Column("its share", keys={"metric": "mode_share"}, priority=8),
    ]
    rows = [
        Row(
            _spelled(name),
            (
                own.answers,
                own.coverage,
                *((own.mass,) if has_mass else ()),
                *(own.metrics.get(metric.name) for metric in shown),
                *_use(scope, name),
            ),
            group=title,
            note=_of_prompts(run, name, own.prompts),
            keys={**keys, "prompt": name},
        )
        for title, keys, scope in scopes_of(run)
        for name, own in scope.reliability.items()
        if scope.way != COMPLETE or own.answers
    ]
    table = _table(
        "reliability",
        "Reliability: stated confidence against the correctness of the answers, by prompt",
        "prompt",
        columns,
        rows,
        directions=True,
        notes=(
            "n: answers with a confidence that could be read; coverage: their share. Brier skill: against always "
            "saying the accuracy. Values: how many different confidences there are; mode: the most frequent one.",
            *(
                ("Mass: mean probability of all replies of the scale; the rest is of replies that are none.",)
                * has_mass
            ),
            *(f"Warning: {text}." for text in run.warnings),
        ),
    )
    return with_chance_note(table)


PLACES = {name: 10 + place for place, name in enumerate(("brier", "ece", "auroc", "brier_skill", "mean_confidence"))}
FIRST_OF_PAPER = {ECE_LOWER_EDGES.name: 16, SMOOTH_ECE_RELPLOT10.name: 17}


def _shown(run: StatedRun, metrics: Sequence[Metric]) -> list[Metric]:
    """The metrics as they were chosen, or those of the study first."""
    if run.chosen is None:
        return sorted(metrics, key=lambda own: MAIN.index(own.name) if own.name in MAIN else len(MAIN))
    by_name = {metric.name: metric for metric in metrics}
    return [by_name[name] for name in run.chosen if name in by_name]


def _with_chance(run: StatedRun, metrics: Sequence[Metric]) -> Sequence[Metric]:
    """Where none were chosen, behind each error what chance makes of it, if that was drawn of few answers."""
    if run.chosen is not None:
        return metrics

    def is_shown(metric: Metric) -> bool:
        return not isinstance(metric, ReferenceMetric) or any(
            chance_value(metric.name, scope.answers, own.metrics) is not None
            for scope in run.scopes
            for own in scope.reliability.values()
        )

    return list(filter(is_shown, beside_their_errors(metrics)))


def _metric_column(metric: Metric, chosen: bool) -> Column:
    """A metric's column; where there is no room for all, those of the study come first."""
    name = metric.of if isinstance(metric, ReferenceMetric) else metric.name
    priority = ({"smooth_ece": 15, "ece_values": 18, "accuracy": 19} | PLACES | FIRST_OF_PAPER).get(name, 100)
    return Column(
        metric.title,
        metric.better,
        keys={"metric": metric.name},
        printed=chosen or name in MAIN or name in FIRST_OF_PAPER,
        priority=priority,
    )


def _use(scope: StatedScope, prompt: str) -> tuple[int | None, float | None, float | None]:
    use = scope.values.get(prompt)
    return (None, None, None) if use is None else (use.distinct, use.mode, use.mode_share)


def differences_table(run: StatedRun, metrics: Sequence[Metric]) -> Table:
    """A row for each two prompts: what the first one's metrics have more than the second one's."""
    compared = [metric for metric in _shown(run, metrics) if metric.name in COMPARED]
    columns = [Column("n", keys={"metric": "n"})]
    for metric in compared:
        columns.append(Column("A - B", heading=metric.title, keys={"metric": f"{metric.name}_difference"}))
        columns.append(Column("p", heading=metric.title, keys={"metric": f"{metric.name}_difference_p_holm"}))
    scopes = [found for found in scopes_of(run) if found[2].kind != "set"] or scopes_of(run)
    rows = [
        Row(
            f"{own.first} - {own.second}",
            (own.answers, *(cell for one in compared for cell in (own.metrics[one.name], own.p_holm[one.name]))),
            group=title,
            keys={**keys, "prompt": own.first, "prompt_2": own.second},
        )
        for title, keys, scope in scopes
        for own in scope.differences
    ]
    return _table(
        "differences",
        "Differences between prompts: the first one's metric minus the second one's, of the same answers",
        "prompts",
        columns,
        rows,
        notes=(
            "n: answers with both confidences. Both see the same resamples of questions; p is corrected by Holm for "
            "all pairs and metrics of a block.",
        ),
    )


def reversed_table(run: StatedRun) -> Table:
    """A row a reversed prompt: whether its numbers are those of the prompt that asks the other way round."""
    columns = (
        Column("n", keys={"metric": "n"}),
        Column("same number", keys={"metric": "same_number"}),
        Column("turned", keys={"metric": "turned"}),
        Column("not reversed", better="smaller", keys={"metric": "nearer_to_same"}),
        Column("r", better="larger", keys={"metric": "reversal_pearson"}),
    )
    rows = [
        Row(
            found.prompt,
            (found.answers, found.same_number, found.turned, found.nearer, found.pearson),
            group=title,
            note=f"against {found.forward}",
            keys={**keys, "prompt": found.prompt},
        )
        for title, keys, scope in scopes_of(run, AS_SAID)
        for found in scope.reversals
    ]
    return _table(
        "reversed",
        "Reversed scales: did the model turn its number round?",
        "prompt",
        columns,
        rows,
        notes=(
            "Same number: the reply to the reversed prompt is the number that the other one got; turned: it is 1 minus "
            "that. Not reversed: it is nearer to the same number; above 0.5, metrics of that prompt are of the wrong "
            "direction. Answers with 0.5 under the other prompt tell nothing and are left out; r: of both confidences.",
        ),
    )


def _table(kind: str, caption: str, stub: str, columns: Sequence[Column], rows: Sequence[Row], **more: Any) -> Table:
    """A table whose label is its kind."""
    return Table(
        caption, more.pop("label", kind), stub, tuple(columns), tuple(rows), kind=kind, best_within=None, **more
    )


def _spelled(prompt: str) -> str:
    return "mean over prompts" if prompt == MEAN else prompt


def _of_prompts(run: StatedRun, prompt: str, prompts: int) -> str:
    """Of a mean over some of the prompts, over how many."""
    return f"{prompts} of {len(run.prompts)}" if prompt == MEAN and prompts < len(run.prompts) else ""
