"""The study of sampled answers: each response, and one answer a question, with three treatments of failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calprobe.answers.graders import TOLERANCES, GradeRules, grade
from calprobe.arrays import Floats
from calprobe.cells.asked import Asked, AskedCell
from calprobe.confidence.asked.readings import CONCLUDED
from calprobe.confidence.asked.reply_table import FINAL, Row
from calprobe.confidence.asked.sample_readings import GREEDY_READING, MAJORITY
from calprobe.confidence.asked.sampled import SampledQuestion
from calprobe.confidence.samples import frequencies
from calprobe.confidence.tie_breaking import draw_name
from calprobe.measures.chosen import Choice
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Estimate, Metric, bootstrap_many, bootstrap_mean, bootstrap_of_means
from calprobe.metrics.concentration import CENTRED_ECE, frequency_ece
from calprobe.metrics.intervals import UNDEFINED
from calprobe.metrics.registry import named_metrics
from calprobe.studies.answers.results import (
    TREATMENTS,
    AnswerCell,
    AnswerStudy,
    Kind,
    Metrics,
    QuestionLevel,
    ResponseLevel,
)

Names = npt.NDArray[np.str_]
Right = npt.NDArray[np.bool_]
METRICS = ("accuracy", "mean_confidence", "ece_15", "brier", "auroc")
ESTIMATORS = ("stated_", "p_true", "frequency", "ccp", "sequence")  # beginnings of names
_DEGENERATE = 0.02  # share of Yes, or of No, below which verdicts say nothing


def answer_study(asked: Asked, cells: Sequence[AskedCell], options: ReportOptions) -> AnswerStudy | None:
    """The study of a run from its opened cells; None where no cell has conclusions behind sampled replies.

    Questions of different kinds under one variant are studied apart.
    """
    answer_cells = [
        _cell(asked, opened.at(places), kind, options)
        for opened in cells
        if opened.units.clusters is not None and opened.table.has(FINAL)
        for kind, places in _kinds(opened).items()
    ]
    return AnswerStudy(asked.label, asked.model, tuple(answer_cells)) if answer_cells else None


def choose_answers(study: AnswerStudy, choice: Choice) -> AnswerStudy:
    """With the treatments of failures of the chosen estimators alone; the study's own numbers stay."""
    cells = []
    for cell in study.cells:
        treatments = choice.by_estimator(cell.responses.treatments)
        cells.append(replace(cell, responses=replace(cell.responses, treatments=treatments)))
    return replace(study, cells=tuple(cells))


def _kinds(opened: AskedCell) -> dict[Kind, list[int]]:
    """The rows of each kind that is studied: all but choices that no turn asked to conclude from."""
    by_kind: dict[Kind, list[int]] = {}
    names: Mapping[str, Kind] = {"number": "numbers", "open": "texts", "choice": "choices"}
    for place, row in enumerate(opened.table.rows):
        kind: Kind = "claims" if row.question.of else names[row.question.kind]
        if kind != "choices" or opened.read.answers.reader in ("chosen", CONCLUDED):
            by_kind.setdefault(kind, []).append(place)
    return by_kind


def _cell(run: Asked, opened: AskedCell, kind: Kind, options: ReportOptions) -> AnswerCell:
    cell = opened.table
    samples = max((len(question.rows) for question in opened.read.samples), default=0)
    sizes = Counter(
        question.root
        for question_set in run.sets
        if question_set.name == cell.set
        for question in question_set.questions
    )
    answers = list(_options(opened, sizes) if kind == "claims" else _most_frequent(opened))
    responses = _responses(opened, kind, samples, options)
    return AnswerCell(cell.set, cell.variant, kind, samples, responses, _questions(opened, answers, samples, options))


def _roots(rows: Sequence[Row]) -> Names:
    return np.array([row.question.root for row in rows], np.str_)


def _responses(opened: AskedCell, kind: Kind, samples: int, options: ReportOptions) -> ResponseLevel:
    cell, answers = opened.table, opened.read.answers
    names, right, read, kept = _roots(cell.rows), answers.correct, answers.extracted, answers.asked
    claims = kind == "claims"
    true = np.array([row.question.answer == 0 for row in cell.rows], np.bool_)
    yes = answers.prediction == 0
    shares = [_mean(yes, true & read, names, options), _mean(yes, ~true & read, names, options)] if claims else []
    return ResponseLevel(
        rows=int(kept.sum()),
        failed=int((~read & kept).sum()),
        accuracy=_mean(right, kept, names, options),
        balanced=_balanced(right[kept], true[kept], names[kept], options) if claims else None,
        yes_where_true=shares[0] if claims else None,
        yes_where_false=shares[1] if claims else None,
        degenerate=_degenerate(yes[read]) if claims else "",
        extraction=_mean(read, kept, names, options),
        tolerances=_tolerances(opened, names, options) if kind == "numbers" else {},
        treatments={
            name: {way: _treated(opened, name, way, samples, options) for way in TREATMENTS}
            for name in opened.confidences
            if name.startswith(ESTIMATORS) and opened.estimators[name].scale == "probability"
        },
    )


def _tolerances(opened: AskedCell, names: Names, options: ReportOptions) -> Metrics:
    """The accuracy of numbers by what may be between them and the right ones."""
    pairs = list(zip(opened.read.answers.readings, opened.table.rows, strict=True))
    accuracies = {}
    for name in TOLERANCES:
        rules = GradeRules(tolerance=name)
        right = np.array([grade(reading, row.question, rules=rules).correct for reading, row in pairs], np.bool_)
        accuracies[name] = _mean(right, opened.read.answers.asked, names, options)
    return accuracies


def _degenerate(yes: Right) -> str:
    """Why verdicts that are nearly all the same measure nothing: their accuracy is the share of the options."""
    if not len(yes):
        return "no verdict could be read"
    share = float(yes.mean())
    if min(share, 1 - share) >= _DEGENERATE:
        return ""
    return f"{'Yes' if share > 0.5 else 'No'} in {max(share, 1 - share):.1%} of the verdicts, whatever the option"


def _mean(values: Right, kept: Right, names: Names, options: ReportOptions) -> Estimate:
    if not kept.any():
        return UNDEFINED
    return bootstrap_mean(values[kept].astype(np.float64), options.resampling, names[kept])


def _balanced(right: Right, true: Right, names: Names, options: ReportOptions) -> Estimate:
    """Mean of two accuracies, so that always saying No has 0.5; resamples draw questions."""
    if true.all() or not true.any():
        return UNDEFINED
    values = np.array([right & true, true, right & ~true, ~true], np.float64)

    def mean(means: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            accuracy: Floats = (means[:, 0] / means[:, 1] + means[:, 2] / means[:, 3]) / 2
        return accuracy

    return bootstrap_of_means(values, mean, options.resampling, names)


def _treated(opened: AskedCell, name: str, way: str, samples: int, options: ReportOptions) -> Metrics:
    """The metrics of an estimator, its rows without an answer or a confidence treated in one of the three ways.

    An answer that was not read is wrong. Whether another is right does not depend on its confidence. One row a
    question has the most frequent answer, or the greedy one, whatever was read off the sample that it stands at.
    """
    confidence = opened.confidences[name]
    is_of_questions = name.endswith((MAJORITY, GREEDY_READING))
    extracted = confidence.asked if is_of_questions else opened.read.answers.extracted
    failed, right = ~confidence.read | ~extracted, confidence.correct & extracted
    kept = confidence.asked & ~failed if way == "dropped" else confidence.asked
    filling = np.where(right, 0.0, 1.0) if way == "worst" else 0.0
    filled = np.where(failed, filling, confidence.confidence)
    by = frequency_ece(samples) if name.startswith("frequency") else CENTRED_ECE
    return _metrics(filled[kept], right[kept], _roots(opened.table.rows)[kept], options, by)


def _metrics(confidence: Floats, right: Right, names: Names | None, options: ReportOptions, centred: Metric) -> Metrics:
    """With ECE over centred bins."""
    if not len(confidence):
        return {}
    sample = {"": (confidence, right)}
    return bootstrap_many([*named_metrics(METRICS), centred], sample, options.resampling, names)[""]


@dataclass(frozen=True, slots=True)
class _Answer:
    """The one answer to a question."""

    right: bool
    share: float  # NaN: no answer
    normalised: float = float("nan")
    all_right: bool = False
    tied: bool = False  # drawn among several that have that share


def _questions(opened: AskedCell, answers: Sequence[_Answer], samples: int, options: ReportOptions) -> QuestionLevel:
    claims = opened.table.judges_options
    share = np.array([answer.share for answer in answers], np.float64)
    normalised = np.array([answer.normalised for answer in answers], np.float64)
    right = np.array([answer.right for answer in answers], np.bool_)
    unanswered = np.isnan(share)
    kept = np.ones(len(answers), np.bool_) if options.by_study else ~unanswered
    all_right = np.array([answer.all_right for answer in answers], np.float64)
    centred = frequency_ece(samples)

    def metrics(confidence: Floats) -> Metrics:
        """Of the questions with an answer, undefined without any; the study's rule gives the others confidence 0."""
        if not kept.any():
            return {metric.name: UNDEFINED for metric in [*named_metrics(METRICS), centred]}
        return _metrics(np.where(unanswered, 0.0, confidence)[kept], right[kept], None, options, centred)

    return QuestionLevel(
        rows=len(answers),
        tied=sum(answer.tied for answer in answers),
        unanswered=int(unanswered.sum()),
        accuracy=bootstrap_mean(right.astype(np.float64), options.resampling),
        all_right=bootstrap_mean(all_right, options.resampling) if claims else None,
        share=metrics(share),
        normalised=metrics(normalised) if claims else None,
    )


def _most_frequent(opened: AskedCell) -> Iterator[_Answer]:
    """The most frequent answer to each question with its frequency; classes are those of equal answers."""
    for question in opened.read.samples:
        if question.majority < 0:
            yield _Answer(right=False, share=float("nan"))
            continue
        place = int(np.nonzero(question.classes == question.majority)[0][0])
        share = float(frequencies(question.classes, len(question.classes))[place])
        yield _Answer(bool(opened.read.answers.correct[question.rows[place]]), share, tied=question.is_tied)


def _options(opened: AskedCell, sizes: Mapping[str, int]) -> Iterator[_Answer]:
    """The option of each question with most Yes; where several have as many, one of them, drawn.

    Questions with an option of which no sample is there (every request failed) are left out. Without any verdict that
    could be read there is no answer: a draw would be right by chance.
    """
    for name, claims in _by_question(opened.read.samples).items():
        if len(claims) < sizes[name]:
            continue
        if not any(opened.read.answers.extracted[claim.rows].any() for claim in claims):
            yield _Answer(right=False, share=float("nan"))
            continue
        yes = np.array([_share_of_yes(opened, claim) for claim in claims])
        right = [2 * int(opened.read.answers.correct[claim.rows].sum()) > len(claim.rows) for claim in claims]
        best = np.nonzero(yes == yes.max())[0].tolist()
        chosen = best[draw_name([claims[place].question.id for place in best], opened.table.set, name)]
        share, total = float(yes[chosen]), float(yes.sum())
        normalised = share / total if total else 1 / len(yes)
        yield _Answer(claims[chosen].question.answer == 0, share, normalised, all(right), tied=len(best) > 1)


def _by_question(samples: Sequence[SampledQuestion]) -> Mapping[str, list[SampledQuestion]]:
    by_question: dict[str, list[SampledQuestion]] = {}
    for question in samples:
        by_question.setdefault(question.question.root, []).append(question)
    return by_question


def _share_of_yes(opened: AskedCell, claim: SampledQuestion) -> float:
    """Of the samples, those without a verdict counted."""
    return float((opened.read.answers.prediction[claim.rows] == 0).mean())
