"""How to spend a number of answers: few wordings with many samples each, or many with few, drawn from one large run.

Of each question m = n_p n_s answers are taken, n_s of each of n_p wordings, several times by seed. Plans share the
order in which wordings and samples are drawn, and all have the same questions, so that they differ in the plan alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from calprobe.arrays import Floats, Ints
from calprobe.cells.asked import AskedCell
from calprobe.cells.cell import sample_of
from calprobe.confidence.asked import ReplyTable, asked_estimators
from calprobe.confidence.asked.question_measures import POINTS
from calprobe.confidence.asked.read_cell import Read
from calprobe.confidence.asked.reply_table import GREEDY, Row
from calprobe.confidence.asked.sample_readings import GREEDY_READING, MAJORITY
from calprobe.confidence.asked.sampled import SampledQuestion
from calprobe.confidence.asked.token_estimators import OF_ONE_REPLY
from calprobe.confidence.samples import split_variance, wording_share
from calprobe.confidence.types import Confidence
from calprobe.metrics import Estimate, Resampling, bootstrap_mean
from calprobe.metrics.bootstrap import draw_samples
from calprobe.metrics.intervals import defined, percentiles
from calprobe.metrics.ranking import AUROC
from calprobe.runs.stages import ONCE
from calprobe.studies.wording.numbers import is_family, of_several_wordings
from calprobe.studies.wording.results import BudgetAuroc, BudgetPlan, BudgetShare, CellBudget

Item = TypeVar("Item")
SHARES = ("rho", "ratio_of_sums", "by_chance", "unbiased")


@dataclass(frozen=True, slots=True)
class BudgetOptions:
    """Which numbers of answers are planned, and how often each plan is drawn."""

    answers: tuple[int, ...]  # m of each budget
    draws: int = 5  # of each plan
    forms: tuple[str, ...] = ()  # measures beside the usual ones
    with_original: bool = False  # whether the question's own text is one of the wordings


def cell_budgets(opened: AskedCell, options: BudgetOptions, resampling: Resampling) -> tuple[CellBudget, ...]:
    """A budget for each number of answers that the cell has a plan for; draws are by the resamples' seed."""
    supply = _supply(opened.table)
    if not options.with_original and not is_family(opened.table):
        supply = {name: _paraphrases(wordings) for name, wordings in supply.items()}
    budgets = (_budget(opened, supply, m, options, resampling) for m in options.answers)
    return tuple(budget for budget in budgets if budget is not None)


Supply = Mapping[str, Mapping[int, Sequence[int]]]  # question -> wording -> places of its samples in the cell


def _supply(cell: ReplyTable) -> dict[str, dict[int, list[int]]]:
    supply: dict[str, dict[int, list[int]]] = {}
    for place, row in enumerate(cell.rows):
        supply.setdefault(row.question.id, {}).setdefault(row.paraphrase, []).append(place)
    return supply


def _paraphrases(wordings: dict[int, list[int]]) -> dict[int, list[int]]:
    """The wordings without the question's own text, 0; that alone, where there is no other."""
    return {wording: places for wording, places in wordings.items() if wording} or wordings


def plans_of(answers: int, supply: Supply) -> tuple[tuple[BudgetPlan, ...], tuple[str, ...]]:
    """The plans of so many answers that most questions allow, and the questions that allow all of these.

    >>> plans_of(4, {"q": {0: [0, 1], 1: [2, 3], 2: [4, 5], 3: [6, 7]}})[0]
    (BudgetPlan(wordings=2, samples=2), BudgetPlan(wordings=4, samples=1))
    """
    candidates = [BudgetPlan(n, answers // n) for n in range(1, answers + 1) if answers % n == 0]
    plans = tuple(
        plan for plan in candidates if sum(_allows(wordings, plan) for wordings in supply.values()) * 2 > len(supply)
    )
    questions = (name for name, wordings in supply.items() if all(_allows(wordings, plan) for plan in plans))
    return plans, tuple(questions) if plans else ()


def _allows(wordings: Mapping[int, Sequence[int]], plan: BudgetPlan) -> bool:
    return sum(len(places) >= plan.samples for places in wordings.values()) >= plan.wordings


def _budget(
    opened: AskedCell, supply: Supply, answers: int, options: BudgetOptions, resampling: Resampling
) -> CellBudget | None:
    plans, questions = plans_of(answers, supply)
    if not questions:
        return None
    aurocs: list[BudgetAuroc] = []
    shares: list[BudgetShare] = []
    for plan in plans:
        reads = [
            _drawn(opened.read, {name: supply[name] for name in questions}, plan, (resampling.seed, draw))
            for draw in range(options.draws)
        ]
        aurocs += _aurocs(plan, reads, options, resampling)
        shares += _shares(plan, reads) if plan.wordings > 1 else ()
    accuracy = _accuracy(opened, [supply[name] for name in questions], resampling)
    return CellBudget(answers, options.draws, len(questions), plans, accuracy, tuple(aurocs), tuple(shares))


def _accuracy(opened: AskedCell, questions: Sequence[Mapping[int, Sequence[int]]], resampling: Resampling) -> Estimate:
    """Of the answers that plans are drawn from: each question counts alike, and each of its wordings."""
    right, asked = opened.read.answers.correct, opened.read.answers.asked
    shares = [
        [right[kept].mean() for places in wordings.values() if len(kept := [at for at in places if asked[at]])]
        for wordings in questions
    ]
    return bootstrap_mean(np.array([np.mean(share) for share in shares if share], np.float64), resampling)


def _drawn(read: Read, supply: Supply, plan: BudgetPlan, seed: tuple[int, int]) -> Read:
    """The replies of one draw; a question's greedy answer stays with the first of them.

    Where each wording has a greedy answer, of a family of variants, it stays with the first reply to that wording.
    """
    greedy, sampled = _greedy_of(read.table), {question.question.id: question for question in read.samples}
    places: list[int] = []
    rows: list[Row] = []
    samples: list[SampledQuestion] = []
    for name, wordings in supply.items():
        chosen = _chosen(wordings, plan, np.random.default_rng([*seed, zlib.crc32(name.encode())]))
        if name in sampled and (question := _some_samples(sampled[name], chosen, len(places))) is not None:
            samples.append(question)
        places += chosen
        for at, place in enumerate(chosen):
            row = read.table.rows[place]
            is_first = not at or read.table.rows[chosen[at - 1]].paraphrase != row.paraphrase
            of_row = greedy.get((name, row.paraphrase)) if is_first else None
            of_row = greedy.get((name, None)) if of_row is None and not at else of_row
            rows.append(_with_greedy(row, of_row))
    cell = replace(read.table, rows=tuple(rows))
    return replace(read, table=cell, answers=read.answers.at(places), drawn=tuple(samples))


def _some_samples(question: SampledQuestion, chosen: Sequence[int], start: int) -> SampledQuestion | None:
    """A question's samples at these places of the cell, which stand in a row from `start` on; None without any."""
    sample = {place: at for at, place in enumerate(question.rows.tolist())}
    pairs = [(sample[place], row) for row, place in enumerate(chosen, start) if place in sample]
    return question.at([at for at, _ in pairs], [row for _, row in pairs]) if pairs else None


def _greedy_of(cell: ReplyTable) -> dict[tuple[str, int | None], Row]:
    """The row with the greedy answer of each question and wording; of a question's only one, by None."""
    by_question: dict[str, list[Row]] = {}
    for row in cell.rows:
        if GREEDY in row.replies:
            by_question.setdefault(row.question.id, []).append(row)
    return {
        (name, row.paraphrase if len(rows) > 1 else None): row for name, rows in by_question.items() for row in rows
    }


def _with_greedy(row: Row, source: Row | None) -> Row:
    """The row with the greedy answer of another row, or with none."""
    if source is row or (source is None and not any(stage in row.replies for stage in ONCE)):
        return row

    def joined(items: Mapping[str, Item], greedy: Mapping[str, Item]) -> dict[str, Item]:
        repeated = {stage: item for stage, item in items.items() if stage not in ONCE}
        return repeated | {stage: item for stage, item in greedy.items() if stage in ONCE}

    replies, grades = ({}, {}) if source is None else (source.replies, source.grades)
    return replace(row, replies=joined(row.replies, replies), grades=joined(row.grades, grades))


def _chosen(wordings: Mapping[int, Sequence[int]], plan: BudgetPlan, rng: np.random.Generator) -> list[int]:
    """The places of a question's draw, in their order. Each plan takes the first of the same two orders."""
    order = [int(at) for at in rng.permutation(sorted(wordings))]
    samples = {wording: [int(at) for at in rng.permutation(wordings[wording])] for wording in sorted(wordings)}
    able = [wording for wording in order if len(samples[wording]) >= plan.samples][: plan.wordings]
    return sorted(place for wording in able for place in samples[wording][: plan.samples])


def _aurocs(
    plan: BudgetPlan, reads: Sequence[Read], options: BudgetOptions, resampling: Resampling
) -> Iterator[BudgetAuroc]:
    """The AUROC of each uncertainty, mean and deviation over the draws, with an interval by question of the mean."""
    estimators = [asked_estimators(read, options.forms) for read in reads]
    questions = [np.unique([row.question.root for row in read.table.rows], return_inverse=True)[1] for read in reads]
    names = [
        name
        for name, estimator in estimators[0].items()
        if estimator.scale == "uncertainty" and not name.startswith(OF_ONE_REPLY) and _has_part(name, plan)
    ]
    for name in names:
        draws = [
            _auroc(of_read[name].compute(read), of, resampling)
            for read, of_read, of in zip(reads, estimators, questions, strict=True)
            if name in of_read
        ]
        values = np.array([value for value, _ in draws])
        resampled = np.mean([of_draw for _, of_draw in draws], axis=0) if draws else np.empty(0)
        finite = defined(resampled)
        low, high = percentiles(finite) if len(finite) else (float("nan"), float("nan"))
        measure, reading = _reading(name)
        spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
        yield BudgetAuroc(plan, measure, reading, Estimate(float(values.mean()), low, high), spread)


def _has_part(name: str, plan: BudgetPlan) -> bool:
    """Whether a plan has that part of the variance: none between one wording."""
    return plan.wordings > 1 or not name.startswith("variance_between")


def _reading(name: str) -> tuple[str, str]:
    for end in (MAJORITY, GREEDY_READING):
        if name.endswith(end):
            return name.removesuffix(end), end.removeprefix(".")
    return name, "pooled"


def _auroc(confidence: Confidence, questions: Ints, resampling: Resampling) -> tuple[float, Floats]:
    """Of one draw: the value, and those of resampled questions [rows]."""
    kept = confidence.read
    if not kept.any():
        return float("nan"), np.full(resampling.n_resamples, np.nan)
    sample = {"": sample_of(confidence, kept, "uncertainty")}
    auroc = draw_samples((AUROC,), sample, resampling, questions[kept])[""][AUROC.name]
    resampled = auroc.resampled if len(auroc.resampled) else np.full(resampling.n_resamples, np.nan)
    return auroc.value, resampled


def _shares(plan: BudgetPlan, reads: Sequence[Read]) -> Iterator[BudgetShare]:
    """The shares of the wording, mean and deviation over the draws."""
    for name, of in POINTS.items():
        shares = []
        for read in reads:
            questions = of_several_wordings(read.samples)
            pairs = [(points, question.wordings) for question in questions if (points := of(question)) is not None]
            if pairs:
                shares.append(wording_share([split_variance(points, groups) for points, groups in pairs]))
        if shares:
            values = np.array([[getattr(share, field) for field in SHARES] for share in shares])
            deviations = values.std(axis=0, ddof=1) if len(shares) > 1 else np.full(len(SHARES), np.nan)
            yield BudgetShare(
                plan,
                name,
                dict(zip(SHARES, values.mean(axis=0).tolist(), strict=True)),
                dict(zip(SHARES, deviations.tolist(), strict=True)),
            )
