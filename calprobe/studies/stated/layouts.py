"""The tables of stated confidence of one run: consistency, correlation, fidelity, conditions, reliability, reversal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from calprobe.metrics import Estimate, Metric
from calprobe.metrics.distinct import ValueUse
from calprobe.metrics.error_shown import beside_their_errors, chance_value
from calprobe.metrics.intervals import UNDEFINED
from calprobe.metrics.metric import ReferenceMetric
from calprobe.metrics.stated2025 import ECE_LOWER_EDGES, SMOOTH_ECE_RELPLOT10
from calprobe.show.tables.layout import Cells, Layout, cells, each, where, with_chance_note
from calprobe.show.tables.types import Row, Table
from calprobe.studies.stated.fidelity import MEAN, ORIGINAL, SPLITS
from calprobe.studies.stated.reliability import MAIN
from calprobe.studies.stated.results import (
    LEAST_ANSWERS,
    Deviation,
    Fidelity,
    MeanConfidence,
    PromptDifference,
    PromptReliability,
    StatedRun,
    StatedScope,
)
from calprobe.studies.stated.reversal_check import Reversal
from calprobe.studies.stated.stated_cells import AS_SAID, COMPLETE, WAYS
from calprobe.studies.stated.stated_differences import COMPARED

Splits = Mapping[str, Mapping[str, MeanConfidence]]  # of a condition: by split, prompt and `mean`


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
        yield FIDELITY.of_rows(
            (_of_prompt(run, scope, name, fidelity.prompts), fidelity)
            for scope in run.scopes
            for name, fidelity in scope.fidelity.items()
        )
    if first.conditions:
        yield conditions_table(run)
    yield reliability_table(run, metrics)
    if any(scope.differences for scope in run.scopes):
        yield differences_table(run, metrics)
    if any(scope.reversals for scope in run.scopes):
        yield REVERSED.of_rows(
            (_head(run, scope, reversal.prompt, f"against {reversal.forward}", prompt=reversal.prompt), reversal)
            for scope in run.of(AS_SAID)
            for reversal in scope.reversals
        )


def _together(scopes: Sequence[StatedScope]) -> Sequence[StatedScope]:
    """Those of all sets together, or where there is one set, its own."""
    return [scope for scope in scopes if scope.kind != "set"] or scopes


def _head(run: StatedRun, scope: StatedScope, label: str, note: str = "", **keys: str) -> Row:
    """The head of a row below its scope: its set, macro or pooled, and the way of reading where it is not the first."""
    mixed = len({scope.variant for scope in run.scopes}) > 1
    variant = f"{scope.variant}, " if mixed else ""
    way = f", {WAYS[scope.way]}" if scope.way != AS_SAID else ""
    of_scope = {"set": scope.name, "variant": scope.variant, "reading": scope.way}
    return Row(label, group=f"{variant}{scope.name}{way}", note=note, keys=of_scope | keys)


def _of_prompt(run: StatedRun, scope: StatedScope, prompt: str, prompts: int) -> Row:
    """The head of a prompt's row, or of the mean over prompts; where these are some of all, that says how many."""
    note = _of_prompts(run, prompts) if prompt == MEAN else ""
    return _head(run, scope, "mean over prompts" if prompt == MEAN else prompt, note, prompt=prompt)


def _of_prompts(run: StatedRun, prompts: int) -> str:
    return f"{prompts} of {len(run.prompts)}" if prompts < len(run.prompts) else ""


def consistency_table(run: StatedRun) -> Table:
    """A row a group of prompts: MSD with its share of the largest that so many can have, mean fidelity and Brier."""
    rows = [
        (_head(run, scope, name, group=name), deviation)
        for scope in run.scopes
        for name, deviation in scope.deviations.items()
    ]
    replaced = any(deviation.fidelity is not None for _, deviation in rows)
    groups = "; ".join(
        f"{name}: {', '.join(prompts)}" for name, prompts in run.groups.items() if len(prompts) < len(run.prompts)
    )
    return CONSISTENCY.of_rows(
        rows,
        f"{CONSISTENT} {'F and Brier: means' if replaced else 'Brier: mean'} over the prompts of the group.",
        *[f"Groups: {groups}."] * bool(groups),
    )


CONSISTENT = (
    "n: answers with all confidences of the group. Largest: the most that the MSD of so many prompts can be; share: "
    "the MSD as a share of it. Groups of different sizes cannot be compared by their MSD."
)
CONSISTENCY = Layout[Deviation].given(
    "Consistency: mean standard deviation (MSD) of the confidences in an answer, within groups of prompts",
    "consistency",
    "group",
    cells("prompts", "prompts", lambda deviation: len(deviation.prompts)),
    cells("n", "n", lambda deviation: deviation.answers),
    cells("MSD", "msd", lambda deviation: deviation.msd, "smaller"),
    cells("largest", "msd_largest", lambda deviation: deviation.largest),
    cells("share", "msd_share", lambda deviation: deviation.share, "smaller"),
    *where(
        lambda deviation: deviation.fidelity is not None,
        cells("F", "fidelity_mean", lambda deviation: deviation.fidelity, "larger"),
    ),
    cells("Brier", "brier_mean", lambda deviation: deviation.brier, "smaller"),
    kind="consistency",
)


def correlation_tables(run: StatedRun) -> Iterator[Table]:
    """Pearson's and Spearman's matrix, over all answers and as means over sets."""
    yield _correlation(
        run,
        "pearson",
        "Pearson's r",
        "Pearson's correlation",
        "Over the answers that have both confidences; undefined where one of them is always the same. "
        f"-: fewer than {LEAST_ANSWERS} answers have both.",
    )
    yield _correlation(run, "spearman", "Spearman's rho", "Spearman's rank correlation")


def _correlation(run: StatedRun, metric: str, stub: str, title: str, *notes: str) -> Table:
    names = [prompt.name for prompt in run.prompts]
    layout = Layout[Mapping[str, Estimate]].given(
        f"{title} of the confidences under each two prompts",
        f"correlation-{metric}",
        stub,
        *each(
            {name: str(at) for at, name in enumerate(names, 1)},
            lambda row, prompt: row.get(prompt),
            lambda prompt: {"prompt_2": prompt},
        ),
        kind="correlation",
        more={"intervals": False},
    )
    rows = (
        (
            replace(_head(run, scope, name, metric=metric, prompt=name), label=f"{at} {name}"),
            _correlations(scope, metric, name),
        )
        for scope in _together(list(run.of(AS_SAID)))
        for at, name in enumerate(names, 1)
    )
    return layout.of_rows(rows, *notes)


def _correlations(scope: StatedScope, metric: str, prompt: str) -> dict[str, Estimate]:
    """A prompt's numbers with others that this scope has; not of too few answers."""
    return {
        pair.second if pair.first == prompt else pair.first: pair.pearson if metric == "pearson" else pair.spearman
        for pair in scope.pairs
        if prompt in (pair.first, pair.second) and pair.enough
    }


FIDELITY = Layout[Fidelity].given(
    "Fidelity: how often the confidence in the model's own answer is above that in a counterfactual one",
    "fidelity",
    "prompt",
    cells("n", "n", lambda fidelity: fidelity.answers),
    cells("dropped", "dropped", lambda fidelity: fidelity.dropped),
    cells("F", "fidelity", lambda fidelity: fidelity.rate, "larger"),
    cells("ties", "ties", lambda fidelity: fidelity.ties),
    cells("F, half of ties", "fidelity_half", lambda fidelity: fidelity.neutral, "larger"),
    notes=(
        "F counts a tie as not above, so a model that always says the same has F 0; with half of the ties it has "
        "0.5. Dropped: the counterfactual answer repeats the model's own, or is right itself.",
    ),
    kind="fidelity",
)


def conditions_table(run: StatedRun) -> Table:
    """A row for what stood in the answer's place: mean confidence over the prompts, and of the first prompt alone."""
    first = run.prompts[0].name
    layout = Layout[Splits].given(
        "Mean confidence by what stood in the place of the answer",
        "conditions",
        "condition",
        cells("n", "n", lambda splits: _mean_of(splits).answers),
        *_splits(MEAN, "mean over prompts"),
        *_splits(first, first),
        notes=(
            f"All questions, and those that the model's own answer ({ORIGINAL}) is right or wrong on. Where it is "
            "right, target and original say the same: compare these two on the wrong ones. n: answers with a "
            "confidence under every condition, for the prompt that has the fewest. Left out are answers that the "
            "counterfactual one repeats, and those whose counterfactual is right. All conditions are of the same "
            "answers.",
        ),
        kind="conditions",
    )
    return layout.of_rows(
        (_head(run, scope, name, _of_prompts(run, _mean_of(splits).prompts), condition=name), splits)
        for scope in run.scopes
        for name, splits in scope.conditions.items()
    )


def _mean_of(splits: Splits) -> MeanConfidence:
    """The mean over prompts of all answers; of none where no prompt has any."""
    return splits["all"].get(MEAN) or MeanConfidence(0, UNDEFINED, 0)


def _splits(prompt: str, heading: str) -> tuple[Cells[Splits], ...]:
    return each(
        {split: split for split in SPLITS},
        lambda splits, split: splits[split][prompt].value if prompt in splits[split] else None,
        lambda split: {"prompt": prompt, "answers": split, "metric": "mean_confidence"},
        heading=heading,
    )


@dataclass(frozen=True, slots=True)
class Reliable:
    """A prompt's reliability, and how many values there are."""

    numbers: PromptReliability
    use: ValueUse | None


def reliability_table(run: StatedRun, metrics: Sequence[Metric]) -> Table:
    """A row a prompt, and their mean: coverage, metrics, and how many values there are."""
    rows = [
        (_of_prompt(run, scope, name, numbers.prompts), Reliable(numbers, scope.values.get(name)))
        for scope in run.scopes
        for name, numbers in scope.reliability.items()
        if scope.way != COMPLETE or numbers.answers
    ]
    has_mass = any(row.numbers.mass is not None for _, row in rows)
    layout = Layout[Reliable].given(
        "Reliability: stated confidence against the correctness of the answers, by prompt",
        "reliability",
        "prompt",
        cells("n", "n", lambda row: row.numbers.answers, priority=1),
        cells("coverage", "coverage", lambda row: row.numbers.coverage, priority=2),
        *where(lambda row: has_mass, cells("mass", "mass", lambda row: row.numbers.mass, priority=3)),
        *(_metric(metric, run) for metric in _with_chance(run, _shown(run, metrics))),
        cells("values", "distinct_values", lambda row: None if row.use is None else row.use.distinct, priority=4),
        cells("mode", "mode", lambda row: None if row.use is None else row.use.mode, priority=40),
        cells("its share", "mode_share", lambda row: None if row.use is None else row.use.mode_share, priority=8),
        notes=(
            "n: answers with a confidence that could be read; coverage: their share. Brier skill: against always "
            "saying the accuracy. Values: how many different confidences there are; mode: the most frequent one.",
            *["Mass: mean probability of all replies of the scale; the rest is of replies that are none."] * has_mass,
            *(f"Warning: {text}." for text in run.warnings),
        ),
        kind="reliability",
        more={"directions": True},
    )
    return with_chance_note(layout.of_rows(rows))


PLACES = {name: 10 + place for place, name in enumerate(("brier", "ece", "auroc", "brier_skill", "mean_confidence"))}
FIRST_OF_PAPER = {ECE_LOWER_EDGES.name: 16, SMOOTH_ECE_RELPLOT10.name: 17}


def _shown(run: StatedRun, metrics: Sequence[Metric]) -> list[Metric]:
    """The metrics as they were chosen, or those of the study first."""
    if run.chosen is None:
        return sorted(metrics, key=lambda metric: MAIN.index(metric.name) if metric.name in MAIN else len(MAIN))
    by_name = {metric.name: metric for metric in metrics}
    return [by_name[name] for name in run.chosen if name in by_name]


def _with_chance(run: StatedRun, metrics: Sequence[Metric]) -> Sequence[Metric]:
    """Where none were chosen, behind each error what chance makes of it, if that was drawn of few answers."""
    if run.chosen is not None:
        return metrics

    def is_shown(metric: Metric) -> bool:
        return not isinstance(metric, ReferenceMetric) or any(
            chance_value(metric.name, scope.answers, reliability.metrics) is not None
            for scope in run.scopes
            for reliability in scope.reliability.values()
        )

    return list(filter(is_shown, beside_their_errors(metrics)))


def _metric(metric: Metric, run: StatedRun) -> Cells[Reliable]:
    """A metric's column; where there is no room for all, those of the study come first."""
    name = metric.of if isinstance(metric, ReferenceMetric) else metric.name
    return cells(
        metric.title,
        metric.name,
        lambda row: row.numbers.metrics.get(metric.name),
        metric.better,
        printed=run.chosen is not None or name in MAIN or name in FIRST_OF_PAPER,
        priority=({"smooth_ece": 15, "ece_values": 18, "accuracy": 19} | PLACES | FIRST_OF_PAPER).get(name, 100),
    )


def differences_table(run: StatedRun, metrics: Sequence[Metric]) -> Table:
    """A row for each two prompts: what the first one's metrics have more than the second one's."""
    compared = [metric for metric in _shown(run, metrics) if metric.name in COMPARED]
    layout = Layout[PromptDifference].given(
        "Differences between prompts: the first one's metric minus the second one's, of the same answers",
        "differences",
        "prompts",
        cells("n", "n", lambda difference: difference.answers),
        *(column for metric in compared for column in _difference(metric.name, metric.title)),
        notes=(
            "n: answers with both confidences. Both see the same resamples of questions; p is corrected by Holm for "
            "all pairs and metrics of a block.",
        ),
        kind="differences",
    )
    return layout.of_rows(
        (
            _head(
                run,
                scope,
                f"{difference.first} - {difference.second}",
                prompt=difference.first,
                prompt_2=difference.second,
            ),
            difference,
        )
        for scope in _together(run.scopes)
        for difference in scope.differences
    )


def _difference(name: str, title: str) -> tuple[Cells[PromptDifference], Cells[PromptDifference]]:
    return (
        cells("A - B", f"{name}_difference", lambda difference: difference.metrics[name], heading=title),
        cells("p", f"{name}_difference_p_holm", lambda difference: difference.p_holm[name], heading=title),
    )


# A row a reversed prompt: whether its numbers are those of the prompt that asks the other way round.
REVERSED = Layout[Reversal].given(
    "Reversed scales: did the model turn its number round?",
    "reversed",
    "prompt",
    cells("n", "n", lambda reversal: reversal.answers),
    cells("compared", "compared", lambda reversal: reversal.compared),
    cells("same number", "same_number", lambda reversal: reversal.same_number),
    cells("turned", "turned", lambda reversal: reversal.turned),
    cells("not reversed", "nearer_to_same", lambda reversal: reversal.nearer, "smaller"),
    cells("r", "reversal_pearson", lambda reversal: reversal.pearson, "larger"),
    notes=(
        "Same number: the reply to the reversed prompt is the number that the other one got; turned: it is 1 minus "
        "that. Not reversed: it is nearer to the same number; above 0.5, metrics of that prompt are of the wrong "
        "direction. Answers with 0.5 under the other prompt tell nothing: these shares are of the others (compared). "
        "r: of both confidences, of all n.",
    ),
    kind="reversed",
)
