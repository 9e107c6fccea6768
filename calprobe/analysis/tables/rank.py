"""The metrics of a table of scores and correctness: a row a metric, a column a score; of groups, a row a group."""

from __future__ import annotations

import math
from collections.abc import Iterator

from calprobe.analysis.rank import GroupedRanks, RankReport, ScoreContrast
from calprobe.analysis.tables.types import Column, Row, Table
from calprobe.messages import counted

FAR_BELOW = 0.4  # an AUROC below it, with all of its interval below 0.5, is hardly that of a confidence
P_VALUES = {"p": "p", "p_holm": "Holm p"}


def rank_tables(found: RankReport | GroupedRanks) -> tuple[Table, ...]:
    """The table of metrics, and that of differences from a baseline; of groups, a table for each score."""
    if isinstance(found, GroupedRanks):
        return tuple(_group_tables(found))
    table = Table(
        caption=f"Ranking metrics of {found.label}.",
        label="rank",
        stub="metric",
        columns=tuple(Column(score.name, keys={"score": score.name}) for score in found.scores),
        rows=tuple(
            Row(
                metric.title,
                tuple(score.metrics.get(metric.name) for score in found.scores),
                keys={"metric": metric.name},
            )
            for metric in found.metrics
        ),
        heading=(f"{found.label}: {counted(found.answers, 'answer')}",),
        notes=tuple(_hints(found)),
        general=tuple(_notes(found)),
        best_within=None,
        keys={"file": found.label},
    )
    return (table, _contrast_table(found)) if found.contrasts else (table,)


def _group_tables(found: GroupedRanks) -> Iterator[Table]:
    """A table for each score: a row a group, a column a metric."""
    reports = list(found.groups.values())
    metrics = {metric.name: metric for report in reports for metric in report.metrics}
    answers = sum(report.answers for report in reports)
    for place, score in enumerate(reports[0].scores):
        own = {label: report.scores[place].metrics for label, report in found.groups.items()}
        shown = [metric for name, metric in metrics.items() if any(name in values for values in own.values())]
        yield Table(
            caption=f"Ranking metrics of {score.name} in {found.label}, by {found.column}.",
            label=f"rank-{place}",
            stub=found.column,
            columns=(
                Column("answers", keys={"metric": "answers"}),
                *(Column.of(metric, ranked=False) for metric in shown),
            ),
            rows=tuple(
                Row(
                    label,
                    (found.groups[label].answers, *(values.get(metric.name) for metric in shown)),
                    keys={"group": label},
                )
                for label, values in own.items()
            ),
            heading=(
                f"{found.label}: {counted(answers, 'row')} in {counted(len(reports), 'group')} of {found.column}",
                f"score {score.name}",
            ),
            notes=tuple(
                hint for label, report in found.groups.items() for hint in _hints(report, score.name, f"{label}, ")
            ),
            general=tuple(_notes(reports[0], directions=False)),
            directions=True,
            best_within=None,
            keys={"file": found.label, "score": score.name},
        )


def _contrast_table(found: RankReport) -> Table:
    baseline = str(found.options.baseline)
    tested = any(not math.isnan(contrast.difference.p_value) for contrast in found.contrasts)
    named = {"value": "score", "baseline": baseline, "difference": "difference", **(P_VALUES if tested else {})}
    return Table(
        caption=f"Differences from {baseline} in {found.label}.",
        label="rank-differences",
        stub="metric",
        columns=tuple(Column(title, keys={"quantity": name}) for name, title in named.items()),
        rows=tuple(_contrast_row(contrast, baseline, tested) for contrast in found.contrasts),
        notes=("Differences are of the score minus the baseline, on the same answers.",)
        + (("*: Holm p below 0.05, corrected for all differences of this table.",) if tested else ()),
        best_within=None,
        keys={"file": found.label},
    )


def _contrast_row(contrast: ScoreContrast, baseline: str, tested: bool) -> Row:
    p_values = (contrast.difference.p_value, contrast.p_holm) if tested else ()
    return Row(
        contrast.metric.title,
        (
            contrast.value,
            contrast.baseline,
            contrast.difference,
            *(None if math.isnan(p) else p for p in p_values),
        ),
        group=f"{contrast.score} against {baseline}",
        keys={"score": contrast.score, "metric": contrast.metric.name},
        significant=contrast.p_holm < 0.05,
    )


def _hints(found: RankReport, only: str | None = None, where: str = "") -> Iterator[str]:
    """A sentence for each score that ranks wrong answers first, as an uncertainty does that is read as a confidence."""
    for score in found.scores:
        auroc = score.metrics.get("auroc")
        if only not in (None, score.name) or auroc is None:
            continue
        if auroc.value < FAR_BELOW and not auroc.high >= 0.5:
            turned = found.options.is_uncertainty(score.name)
            question = (
                "is it a confidence? Then give it with --score"
                if turned
                else "is it an uncertainty? Then give --uncertainty"
            )
            yield f"{where}{score.name}: AUROC {auroc.value:.2f} is far below 0.5; {question} {score.name}."


def _notes(found: RankReport, *, directions: bool = True) -> Iterator[str]:
    for better in ("larger", "smaller") if directions else ():
        names = ", ".join(metric.title for metric in found.metrics if metric.better == better)
        yield f"{better.capitalize()} is better: {names}."
    if found.options.resampling.n_resamples:
        resamples = counted(found.options.resampling.n_resamples, "resample")
        yield f"Ranges: 95 % bootstrap intervals ({resamples}, seed {found.options.resampling.seed})."
    ordinal = [score.name for score in found.scores if score.scale != "probability"]
    if turned := [name for name in ordinal if found.options.is_uncertainty(name)]:
        yield f"Larger is less sure, so measured by order alone, without calibration: {', '.join(turned)}."
    if outside := [name for name in ordinal if name not in turned]:
        yield f"Not all in [0, 1], so measured by order alone, without calibration: {', '.join(outside)}."
