"""How much of the uncertainty of a cell's samples comes from the wording, where questions have several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from calprobe.arrays import Floats
from calprobe.cells.asked import AskedCell
from calprobe.confidence.asked import ReplyTable
from calprobe.confidence.asked.question_measures import POINTS
from calprobe.confidence.asked.sampled import SampledQuestion
from calprobe.confidence.samples import exact_wording_share, split_variance, wording_p_value, wording_share
from calprobe.metrics import Difference, Estimate, Resampling, bootstrap_mean, mean_draws
from calprobe.metrics.intervals import UNDEFINED
from calprobe.studies.wording.results import CellWording, QuestionItself, Wordings

EXACT = "exact"  # label probabilities under each wording in place of samples


def cell_wording(opened: AskedCell, resampling: Resampling, with_original: bool = False) -> tuple[CellWording, ...]:
    """The shares of a cell; none where no question has samples of two wordings.

    Questions without an answer, or of which a pair was not judged, are left out. Where label probabilities are known,
    one share is of them: what that of equal answers converges to with more samples at temperature 1. The question's
    own text is no wording of it, unless `with_original`.
    """
    original = with_original or is_family(opened.table)
    questions = of_several_wordings(
        question if original else of_paraphrases(question) for question in opened.read.samples
    )
    wordings = []
    for name, of in POINTS.items() if questions else ():
        pairs = [(points, question.wordings) for question in questions if (points := of(question)) is not None]
        if not pairs:
            continue
        share = wording_share([split_variance(points, groups) for points, groups in pairs])
        permutations = resampling.n_resamples
        p = wording_p_value(pairs, permutations, resampling.seed) if permutations else float("nan")
        wordings.append(CellWording(name, share, p))
    if exact := list(label_distributions(opened, original)):
        wordings.append(CellWording(EXACT, exact_wording_share(exact), float("nan")))
    return tuple(wordings)


def question_itself(opened: AskedCell, resampling: Resampling) -> QuestionItself | None:
    """The question's own text, wording 0, apart from the others; None without both, and in families of variants.

    Agreement is of pairs: where no wording matters, both numbers have one mean. Samples without an answer agree with
    none.
    """
    if is_family(opened.table):
        return None  # the question as it is stands for none of the wordings
    questions = [
        question for question in opened.read.samples if 0 < np.count_nonzero(question.wordings) < len(question.wordings)
    ]
    if not questions:
        return None
    right = opened.read.answers.correct
    pairs = [(question.rows[question.wordings == 0], question.rows[question.wordings > 0]) for question in questions]
    samples = np.array([[len(places) for places in pair] for pair in pairs], np.float64)
    accuracy = np.array([[right[places].mean() for places in pair] for pair in pairs])
    agreement = np.array([_agreement(question) for question in questions])

    def side(at: int) -> Wordings:
        accurate = bootstrap_mean(accuracy[:, at], resampling)
        return Wordings(float(samples[:, at].mean()), accurate, _mean_known(agreement[:, at], resampling))

    differences = _difference(accuracy, resampling), _difference(agreement, resampling)
    return QuestionItself(len(questions), side(0), side(1), *differences)


def _agreement(question: SampledQuestion) -> tuple[float, float]:
    """How often two samples of the question itself are equal, NaN of one; and one of it and one of another wording."""
    is_itself, classes = question.wordings == 0, question.classes
    size = int(classes.max(initial=-1)) + 1
    itself, others = (np.bincount(classes[mask & (classes >= 0)], minlength=size) for mask in (is_itself, ~is_itself))
    n = int(is_itself.sum())
    pairs = float((itself * (itself - 1)).sum() / (n * (n - 1))) if n > 1 else float("nan")
    return pairs, float(itself @ others / (n * (len(classes) - n)))


def _mean_known(values: Floats, resampling: Resampling) -> Estimate:
    finite = values[~np.isnan(values)]
    return bootstrap_mean(finite, resampling) if len(finite) else UNDEFINED


def _difference(sides: Floats, resampling: Resampling) -> Difference:
    """Of the second from the first, [questions, 2]."""
    differences = sides[:, 1] - sides[:, 0]
    finite = differences[~np.isnan(differences)]
    return mean_draws(finite, resampling).difference() if len(finite) else Difference(float("nan"))


def is_family(cell: ReplyTable) -> bool:
    """Whether variants of one family are the wordings of the cell."""
    return any(row.first.variant != cell.variant for row in cell.rows)


def of_paraphrases(own: SampledQuestion) -> SampledQuestion:
    """The samples without those of the question's own text, wording 0; all of a question without other wordings."""
    kept = np.flatnonzero(own.wordings)
    return own.at(kept.tolist(), own.rows[kept].tolist()) if 0 < len(kept) < len(own.wordings) else own


def of_several_wordings(samples: Iterable[SampledQuestion]) -> list[SampledQuestion]:
    """The questions with answers to two wordings or more, which have a share of the wording."""
    return [question for question in samples if question.read and len(set(question.wordings.tolist())) > 1]


def label_distributions(opened: AskedCell, with_original: bool = False) -> Iterator[Floats]:
    """Of each question with label probabilities under two wordings or more: these, raw, [wordings, labels].

    Its own text is none of them, unless `with_original`.
    """
    cell = opened.table
    if not any(row.first.label_scores is not None for row in cell.rows):
        return
    masses = opened.read.first
    usable = masses.covered & (masses.total > 0)
    rows: dict[str, dict[int, int]] = {}
    for place, row in enumerate(cell.rows):
        if usable[place] and (row.paraphrase or with_original):
            rows.setdefault(row.question.id, {}).setdefault(row.paraphrase, place)  # its samples have the same
    for by_wording in rows.values():
        if len(by_wording) > 1:
            places = [by_wording[wording] for wording in sorted(by_wording)]
            # Not normalised: what is off the labels are replies without an answer, which agree with no other sample.
            yield np.asarray(masses.mass[places] / np.maximum(masses.total[places], 1)[:, None], np.float64)
