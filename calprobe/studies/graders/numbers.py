"""Every confidence under every grader of the same answers, the order that each puts them in, and what length does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from calprobe.answers.graders import IMPORTED, JUDGE
from calprobe.arrays import Floats, Mask
from calprobe.cells.asked import Asked, AskedCell
from calprobe.cells.regrading import ALL_GRADERS, Regraded, graders_of, regraded
from calprobe.confidence.asked.readings import stage_of
from calprobe.confidence.asked.reply_table import ANSWER, GREEDY
from calprobe.confidence.asked.sample_readings import reading_of, representatives
from calprobe.measures.chosen import Choice
from calprobe.measures.estimates import estimates_of, mean_estimate
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Estimate, bootstrap
from calprobe.metrics.correlation import correlation
from calprobe.metrics.grader_order import StratifiedAuroc, aurocs_within, grader_orders, tenths
from calprobe.metrics.intervals import UNDEFINED
from calprobe.metrics.judged import JudgedConfidence, judged_accuracy, judged_confidences
from calprobe.metrics.registry import named_metrics
from calprobe.progress import Steps, steps
from calprobe.runs.replies import Reply
from calprobe.studies.graders.results import CellGraders, GraderErrors, GraderNumbers, GraderPair, GraderStudy, Metrics

METRICS = named_metrics(("auroc", "prr", "brier"))
OF_JUDGE = named_metrics(("accuracy", "mean_confidence", "ece", "brier", "auroc"))
AFTER = 3  # steps of a cell beside one for each grader
Result = TypeVar("Result")


def grader_study(asked: Asked, cells: Sequence[AskedCell], options: ReportOptions) -> GraderStudy | None:
    """The study of a run; None unless `--graders` asks for it, and of a run that has none of these graders."""
    wanted = {*options.graders}
    graders = [[name for name in graders_of(opened) if {name, ALL_GRADERS} & wanted] for opened in cells]
    chosen = [(opened, names) for opened, names in zip(cells, graders, strict=True) if names and len(opened.table)]
    with steps(sum(len(names) + AFTER for _, names in chosen), "graders", "steps") as work:
        found = tuple(_cell(opened, names, options, work) for opened, names in chosen)
    return GraderStudy(found) if found else None


def choose_graders(study: GraderStudy, choice: Choice) -> GraderStudy:
    """With the numbers of the chosen estimators alone; orders are of all."""
    return GraderStudy(
        tuple(
            replace(
                cell,
                graders={
                    name: replace(
                        grader,
                        estimators=choice.by_estimator(grader.estimators),
                        within_length=choice.by_estimator(grader.within_length),
                    )
                    for name, grader in cell.graders.items()
                },
                with_length=choice.by_estimator(cell.with_length),
                errors={
                    name: replace(errors, confidences=choice.by_estimator(errors.confidences))
                    for name, errors in cell.errors.items()
                },
            )
            for cell in study.cells
        )
    )


def _cell(opened: AskedCell, names: Sequence[str], options: ReportOptions, work: Steps) -> CellGraders:
    def done(result: Result) -> Result:
        work.step(opened.table.variant)
        return result

    graders = {name: regraded(opened, name) for name in names}
    unit, lengths = _lengths(opened)
    within = done(_within_length(graders, lengths, options))
    return CellGraders(
        opened.table.set,
        opened.table.variant,
        {name: done(_numbers(opened, graders[name], lengths, within[name], options)) for name in graders},
        done(tuple(_pairs(opened, graders, options))),
        unit,
        {
            name: _with_length(opened, opened.confidences[name].sureness(opened.estimators[name].scale), of, options)
            for name, of in lengths.items()
            if name
        },
        done(_errors(opened, graders, options)),
    )


def _numbers(
    opened: AskedCell,
    grader: Regraded,
    lengths: Mapping[str, Floats],
    within: Mapping[str, StratifiedAuroc],
    options: ReportOptions,
) -> GraderNumbers:
    cell, known = grader.cell, ~np.isnan(grader.correct)
    estimates = estimates_of(cell, METRICS, options.resampling)
    own = lengths.get("", np.full(len(known), np.nan))
    return GraderNumbers(
        int(known.sum()),
        mean_estimate(grader.correct, known, options.resampling, opened.units.clusters),
        {name: of_name for name, of_name in estimates.items() if cell.confidences[name].read.any()},
        _with_length(opened, grader.correct, own, options),
        within,
    )


def _within_length(
    graders: Mapping[str, Regraded], lengths: Mapping[str, Floats], options: ReportOptions
) -> dict[str, dict[str, StratifiedAuroc]]:
    """By grader and estimator, AUROC within tenths of length."""
    found: dict[str, dict[str, StratifiedAuroc]] = {name: {} for name in graders}
    for estimator, of in ((name, of) for name, of in lengths.items() if name):
        for kept, truths, confidence in _alike(graders, estimator, ~np.isnan(of)):
            clusters = next(iter(graders.values())).cell.units.clusters_of(kept)
            strata = tenths(of[kept])
            for name, value in aurocs_within(confidence, truths, strata, options.resampling, clusters).items():
                found[name][estimator] = value
    return found


def _alike(
    graders: Mapping[str, Regraded], estimator: str, among: Mask
) -> Iterator[tuple[Mask, dict[str, npt.ArrayLike], npt.ArrayLike]]:
    """Graders that have graded the same answers of an estimator: which, what each calls right, and the confidences."""
    alike: dict[bytes, list[str]] = {}
    reads = {name: grader.cell.confidences[estimator].read & among for name, grader in graders.items()}
    for name, read in reads.items():
        alike.setdefault(read.tobytes(), []).append(name)
    for names in alike.values():
        kept = reads[names[0]]
        samples = {name: graders[name].cell.sample(estimator, kept) for name in names}
        yield kept, {name: right for name, (_, right) in samples.items()}, samples[names[0]][0]


def _with_length(opened: AskedCell, values: Floats, lengths: Floats, options: ReportOptions) -> Estimate:
    return correlation(values, lengths, options.resampling, opened.units.clusters).of_ranks


def _lengths(opened: AskedCell) -> tuple[str, dict[str, Floats]]:
    """What lengths are counted in, and by estimator the length of the reply that each row speaks of, NaN where of none.

    "" is each row's own. Characters stand in where the tokens of any reply are not known. None where all are equal.
    """
    rows = opened.table.rows
    own = [row.replies.get(ANSWER) for row in rows]
    counted = all(reply is None or reply.tokens is not None for reply in own)

    def length(reply: Reply | None) -> float:
        if reply is None:
            return float("nan")
        tokens = reply.tokens if counted else len(reply.text)
        return float("nan") if tokens is None else float(tokens)

    each = np.array([length(reply) for reply in own])
    if len(np.unique(each[~np.isnan(each)])) < 2:
        return "", {}
    of_greedy = np.array([length(row.replies.get(GREEDY)) for row in rows])
    by_reading = {"answers": each, "majority": _of_majority(opened, each), "greedy": of_greedy}
    found = {"": each}
    for name in opened.estimators:
        found[name] = by_reading[reading_of(name)]
    return "tokens" if counted else "characters", found


def _of_majority(opened: AskedCell, lengths: Floats) -> Floats:
    """Lengths of the most frequent answers, each at the first row of its question, as `of_majority` has them."""
    found = np.full(len(lengths), np.nan)
    for start, place in representatives(opened.read).items():
        found[start] = lengths[place]
    return found


def _readings(opened: AskedCell) -> tuple[str, ...]:
    """Estimators of one reading have an order; those of several are of different answers."""
    return tuple(dict.fromkeys(map(reading_of, opened.estimators))) or ("answers",)


def _pairs(opened: AskedCell, graders: Mapping[str, Regraded], options: ReportOptions) -> Iterator[GraderPair]:
    clusters = opened.units.clusters
    by_reading = {
        reading: {name: _graded(grader, reading) for name, grader in graders.items()} for reading in _readings(opened)
    }
    orders = {reading: grader_orders(graded, options.resampling, clusters) for reading, graded in by_reading.items()}
    for pair in combinations(graders, 2):
        for reading, of_pairs in orders.items():
            first, second = (_right(graders[name], reading, by_reading[reading][name]) for name in pair)
            both = ~np.isnan(first) & ~np.isnan(second)
            agree = mean_estimate(first == second, both, options.resampling, clusters)
            yield GraderPair(*pair, reading, int(both.sum()), agree, of_pairs[pair])


def _graded(grader: Regraded, reading: str) -> dict[str, tuple[Floats, Floats]]:
    """What `grader_order` takes of each estimator of a reading."""
    cell, found = grader.cell, {}
    for name in (name for name in cell.estimators if reading_of(name) == reading):
        read = cell.confidences[name].read
        sure, right = np.full(len(read), np.nan), np.full(len(read), np.nan)
        sure[read], right[read] = cell.sample(name, read)
        found[name] = sure, right
    return found


def _right(grader: Regraded, reading: str, graded: Mapping[str, tuple[Floats, Floats]]) -> Floats:
    """Whether the answers of a reading are right, at the rows of its estimators; NaN where the grader says nothing."""
    if reading == "answers":
        return grader.correct
    found = np.full(len(grader.correct), np.nan)
    for _, right in graded.values():  # of one answer, whichever of them has a confidence in it
        found = np.where(np.isnan(found), right, found)
    return found


def _errors(opened: AskedCell, graders: Mapping[str, Regraded], options: ReportOptions) -> dict[str, GraderErrors]:
    if IMPORTED not in graders:
        return {}
    hand = graders[IMPORTED]
    judges = {name: grader for name, grader in graders.items() if name != IMPORTED}
    confidences = _confidence_errors(judges, hand, options)
    return {name: _error(opened, name, judges[name], hand, confidences[name], options) for name in judges}


def _error(
    opened: AskedCell,
    name: str,
    grader: Regraded,
    hand: Regraded,
    confidences: Mapping[str, JudgedConfidence],
    options: ReportOptions,
) -> GraderErrors:
    clusters, known = opened.units.clusters, ~np.isnan(grader.correct)
    kept = None if clusters is None else clusters[known]
    scored, score = _score(opened, hand, options) if name == JUDGE else (0, {})
    accuracy = judged_accuracy(grader.correct[known], hand.correct[known], options.resampling, kept)
    return GraderErrors(accuracy, confidences, scored, score)


def _confidence_errors(
    judges: Mapping[str, Regraded], hand: Regraded, options: ReportOptions
) -> dict[str, dict[str, JudgedConfidence]]:
    """By grader and estimator."""
    found: dict[str, dict[str, JudgedConfidence]] = {name: {} for name in judges}
    for name, estimator in hand.cell.estimators.items():
        known, truth = hand.cell.confidences[name].read, hand.cell.confidences[name].correct
        by_hand = np.where(known, truth.astype(np.float64), np.nan)
        for kept, says, confidence in _alike(judges, name, np.ones(len(known), np.bool_)):
            if not kept.any():
                continue
            clusters = hand.cell.units.clusters_of(kept)
            by_judge = judged_confidences(confidence, says, by_hand[kept], options.resampling, clusters)
            for judge, value in by_judge.items():
                if estimator.scale != "probability":  # ranks have no Brier score
                    value = replace(value, brier=UNDEFINED, brier_corrected=UNDEFINED, brier_by_hand=UNDEFINED)
                found[judge][name] = value
    return found


def _score(opened: AskedCell, hand: Regraded, options: ReportOptions) -> tuple[int, Metrics]:
    """The judge's probability that an answer is right, against the imported grades of the answers that it was asked."""
    stage = stage_of(opened.read.answers.reader)
    scores = [
        row.grades[stage].score if stage in row.grades and row.grades[stage].rule == JUDGE else None
        for row in opened.table.rows
    ]
    values = np.array([np.nan if score is None else score for score in scores])
    kept = ~np.isnan(values) & ~np.isnan(hand.correct)
    if not kept.any():
        return 0, {}
    clusters = opened.units.clusters_of(kept)
    return int(kept.sum()), bootstrap(OF_JUDGE, values[kept], hand.correct[kept], options.resampling, clusters)
