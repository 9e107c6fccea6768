"""The metrics of a table of scores and correctness: a row a metric, a column a score; of groups, a row a group."""

from __future__ import annotations

import math
from collections.abc import Iterator

from calprobe.measures.compare_results import Contrast
from calprobe.messages import counted
from calprobe.metrics import Estimate, Metric
from calprobe.metrics.intervals import FEW
from calprobe.show.prose import range_note
from calprobe.show.tables.layout import UNRANKED, Cells, Layout, cells, filled, metrics, quantity
from calprobe.show.tables.types import Column, Row, Table, unless_nan
from calprobe.studies.rank.rank_runs import GroupedRanks, RankReport
from calprobe.studies.scored.results import EstimatorReport

FAR_BELOW = 0.4  # an AUROC below it, with all of its interval below 0.5, is hardly that of a confidence
NEAR_0 = 0.1  # the same of one without an interval, which few right or few wrong answers put below 0.4 by chance
P_VALUES: tuple[Cells[Contrast], ...] = (
    quantity("p", lambda contrast: unless_nan(contrast.difference.p_value)),
    quantity("Holm p", lambda contrast: unless_nan(contrast.p_holm), name="p_holm"),
)


def rank_tables(found: RankReport | GroupedRanks) -> tuple[Table, ...]:
    """The table of metrics, and that of differences from a baseline; of groups, a table for each score."""
    if isinstance(found, GroupedRanks):
        return tuple(_group_table(found, place) for place in range(len(next(iter(found.groups.values())).scores)))
    table = Layout[Metric](
        f"Ranking metrics of {found.label}.",
        "rank",
        "metric",
        lambda metric: Row(metric.title, keys={"metric": metric.name}),
        tuple(map(_of_score, found.scores)),
        tuple(_hints(found)),
        more=UNRANKED,
    ).table(
        found.metrics,
        heading=(f"{found.label}: {counted(found.answers, 'answer')}",),
        general=tuple(_notes(found)),
        keys={"file": found.label},
    )
    return (table, _contrast_table(found)) if found.contrasts else (table,)


def _of_score(score: EstimatorReport) -> Cells[Metric]:
    return Cells(Column(score.name, keys={"score": score.name}), lambda metric: score.metrics.get(metric.name))


def _group_table(ranks: GroupedRanks, place: int) -> Table:
    """The table of the score at a place: a row a group, a column a metric."""
    reports = list(ranks.groups.values())
    score = reports[0].scores[place].name
    by_name = {metric.name: metric for report in reports for metric in report.metrics}
    columns: tuple[Cells[str], ...] = (
        cells("answers", "answers", lambda label: ranks.groups[label].answers),
        *metrics(by_name.values(), lambda label: ranks.groups[label].scores[place].metrics, ranked=False),
    )
    answers = sum(report.answers for report in reports)
    return Layout[str](
        f"Ranking metrics of {score} in {ranks.label}, by {ranks.column}.",
        f"rank-{place}",
        ranks.column,
        lambda label: Row(label, keys={"group": label}),
        filled(columns, list(ranks.groups)),
        tuple(hint for label, report in ranks.groups.items() for hint in _hints(report, score, f"{label}, ")),
        more=UNRANKED,
    ).table(
        ranks.groups,
        heading=(
            f"{ranks.label}: {counted(answers, 'row')} in {counted(len(reports), 'group')} of {ranks.column}",
            f"score {score}",
        ),
        general=tuple(_notes(reports[0], directions=False)),
        directions=True,
        keys={"file": ranks.label, "score": score},
    )


def _contrast_table(report: RankReport) -> Table:
    baseline = str(report.options.baseline)
    tested = any(not math.isnan(contrast.difference.p_value) for contrast in report.contrasts)
    titles = {metric.name: metric.title for metric in report.metrics}
    layout = Layout[Contrast](
        f"Differences from {baseline} in {report.label}.",
        "rank-differences",
        "metric",
        lambda contrast: Row(
            titles[contrast.metric],
            group=f"{contrast.estimator} against {baseline}",
            keys={"score": str(contrast.estimator), "metric": contrast.metric},
            significant=contrast.significant,
        ),
        (
            quantity("score", lambda contrast: contrast.first, name="value"),
            quantity(baseline, lambda contrast: contrast.second, name="baseline"),
            quantity("difference", lambda contrast: contrast.difference),
            *(P_VALUES if tested else ()),
        ),
        ("Differences are of the score minus the baseline, on the same answers.",),
        more=UNRANKED,
    )
    star = "*: Holm p below 0.05, corrected for all differences of this table."
    return layout.table(report.contrasts, *([star] if tested else []), keys={"file": report.label})


def _hints(report: RankReport, only: str | None = None, where: str = "") -> Iterator[str]:
    """A sentence for each score that ranks wrong answers first, as an uncertainty does that is read as a confidence."""
    for score in report.scores:
        auroc = score.metrics.get("auroc")
        if only not in (None, score.name) or auroc is None:
            continue
        if auroc.value < NEAR_0 or (auroc.value < FAR_BELOW and auroc.high < 0.5):
            turned = report.options.is_uncertainty(score.name)
            question = (
                "is it a confidence? Then give it with --score"
                if turned
                else "is it an uncertainty? Then give --uncertainty"
            )
            yield f"{where}{score.name}: AUROC {auroc.value:.2f} is far below 0.5; {question} {score.name}."


def _lacks_interval(estimate: Estimate | None) -> bool:
    return estimate is not None and not math.isnan(estimate.value) and math.isnan(estimate.low)


def _notes(report: RankReport, *, directions: bool = True) -> Iterator[str]:
    for better in ("larger", "smaller") if directions else ():
        names = ", ".join(metric.title for metric in report.metrics if metric.better == better)
        yield f"{better.capitalize()} is better: {names}."
    if report.options.resampling.n_resamples:
        yield range_note(report.options.resampling)
        if any(_lacks_interval(score.metrics.get("auroc")) for score in report.scores):
            yield (
                f"With fewer than {FEW} right or {FEW} wrong answers, metrics of the order have no interval, and their "
                "differences are not tested."
            )
    ordinal = [score.name for score in report.scores if score.scale != "probability"]
    if turned := [name for name in ordinal if report.options.is_uncertainty(name)]:
        yield f"Larger is less sure, so measured by order alone, without calibration: {', '.join(turned)}."
    if outside := [name for name in ordinal if name not in turned]:
        yield f"Not all in [0, 1], so measured by order alone, without calibration: {', '.join(outside)}."
