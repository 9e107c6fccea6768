"""Stated confidence of several runs side by side: a table for each quantity, a column for each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from calprobe.measures.run_names import last_names
from calprobe.metrics import Estimate
from calprobe.show.tables.layout import UNRANKED, Layout, each
from calprobe.show.tables.types import Better, Row, Table
from calprobe.studies.stated.fidelity import MEAN
from calprobe.studies.stated.results import StatedRun, StatedScope, StatedStudy
from calprobe.studies.stated.stated_cells import AS_SAID

Values = Callable[[StatedScope], Mapping[str, Estimate]]  # by group or prompt


def models_tables(study: StatedStudy) -> Iterator[Table]:
    """MSD, fidelity and the metrics of the study's tables, a row a group or prompt; none of one run."""
    if len(study.runs) < 2:
        return
    yield _table(study, "msd", "MSD within groups of prompts", "group", "smaller", _deviations)
    if any(scope.fidelity for run in study.runs for scope in run.scopes):
        yield _table(study, "fidelity", "Fidelity rate", "prompt", "larger", _fidelity)
    for metric in study.metrics:
        if metric.name in ("brier", "brier_skill", "ece", "ece_values", "smooth_ece", "auroc"):
            yield _table(study, metric.name, metric.title, "prompt", metric.better, _metric(metric.name))


def _deviations(scope: StatedScope) -> dict[str, Estimate]:
    return {name: deviation.msd for name, deviation in scope.deviations.items()}


def _fidelity(scope: StatedScope) -> dict[str, Estimate]:
    return {name: fidelity.rate for name, fidelity in scope.fidelity.items()}


def _metric(name: str) -> Values:
    return lambda scope: {prompt: reliability.metrics[name] for prompt, reliability in scope.reliability.items()}


def _table(study: StatedStudy, metric: str, caption: str, stub: str, better: Better | None, values: Values) -> Table:
    names = last_names([run.label for run in study.runs])
    by_run = {run.label: _by_scope(run, values) for run in study.runs}
    scopes = dict.fromkeys(scope for by_scope in by_run.values() for scope in by_scope)
    partial = {
        scope
        for scope in scopes
        if len({frozenset(by_scope[scope]) for by_scope in by_run.values() if scope in by_scope}) > 1
    }
    models = {run.label: run.model for run in study.runs}
    layout = Layout[Mapping[str, Estimate]].given(
        f"{caption}, run by run.",
        f"stated-runs-{metric.replace('_', '-')}",
        stub,
        *each(names, lambda row, run: row.get(run), lambda run: {"run": run, "model": models[run]}, better),
        kind="models",
        more={"tidy": False, **UNRANKED},  # its numbers are those of the runs' own tables
    )
    rows = (
        (
            Row(
                "mean over prompts" if name == MEAN else name,
                group=scope,
                keys={"set": scope, stub: name, "metric": metric},
            ),
            {run: by_scope[scope][name] for run, by_scope in by_run.items() if name in by_scope.get(scope, {})},
        )
        for scope in scopes
        for name in dict.fromkeys(name for by_scope in by_run.values() for name in by_scope.get(scope, {}))
        if name != MEAN or scope not in partial
    )
    lacking = "No mean over prompts where a run lacks one that another has."
    return layout.of_rows(rows, *[lacking] * bool(partial and stub == "prompt"))


def _by_scope(run: StatedRun, values: Values) -> dict[str, Mapping[str, Estimate]]:
    mixed = len({scope.variant for scope in run.scopes}) > 1
    return {(f"{scope.variant}, {scope.name}" if mixed else scope.name): values(scope) for scope in run.of(AS_SAID)}
