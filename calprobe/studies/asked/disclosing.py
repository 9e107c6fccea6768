"""The disclosure of a run's report, from its numbers; how far its automatic grades can be trusted."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from calprobe.answers.graders import MAY_ERR
from calprobe.cells.asked import Asked
from calprobe.measures.options import ReportOptions
from calprobe.messages import counted
from calprobe.metrics import Estimate, Resampling
from calprobe.metrics.judged import JudgedAccuracy, judged_accuracy
from calprobe.questions.summary import one_place
from calprobe.runs.grades import StoredGrade
from calprobe.runs.stages import ANSWER, FINAL, StatedStage
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.disclosure import OWN, PAPER, Disclosure
from calprobe.studies.asked.results import SetReport

STATED2025 = "stated2025"
SCIENCE2026 = (
    "as the study of science questions has it: numbers by the first digits, equal to the right one or wrong; stated "
    "confidence by the first 0, 0.x or 1; rows without an answer are in no metric of a confidence; labels among the 20 "
    "most probable tokens; ccp of five alternatives of each token alone; ECE by the middles of 15 bins and 11 centred "
    "ones. Not as there: prompts are those of the run, and all tokens that are a label are summed"
)


def disclosure(asked: Asked, sets: Mapping[str, SetReport], options: ReportOptions) -> Disclosure:
    """The disclosure of one run's report."""
    cells = [cell for report in sets.values() for cell in report.cells.values()]
    readers = tuple(dict.fromkeys(reader for cell in cells for reader in cell.accuracy)) or options.evaluators
    rates = {name: {v: _rates(cell) for v, cell in report.cells.items()} for name, report in sets.items()}
    grades = asked.grades.values()
    errors = grading_errors(grades, options.resampling)
    sentence = errors_said(errors, grades)
    return Disclosure(
        prompts="" if asked.prompts is None else f"{asked.prompts.name} ({asked.prompts.fingerprint[:12]})",
        variants=tuple(dict.fromkeys(cell.variant for cell in cells)),
        format_changes=tuple(dict.fromkeys(name for report in sets.values() for name in report.format_changes)),
        phrasings=tuple(dict.fromkeys(name.removeprefix("stated_") for cell in cells for name in cell.overconfidence)),
        readers=readers,
        hidden=tuple(dict.fromkeys(name for report in sets.values() for name in report.hidden)),
        read_by={f"{cell.set} {cell.variant}": cell.reader for cell in cells if cell.reader != readers[0]},
        pairing=PAPER if options.by_paper else OWN,
        window=options.window,
        threshold=options.threshold,
        parse_rate=rates,
        below_threshold=tuple(
            f"{report.name} {variant} {means.estimator}"
            for report in sets.values()
            for means in report.means
            for variant in means.left_out
        ),
        unread={
            name: {v: {r: a.unread for r, a in cell.accuracy.items()} for v, cell in report.cells.items()}
            for name, report in sets.items()
        },
        failed={name: {v: dict(cell.failures) for v, cell in report.cells.items()} for name, report in sets.items()},
        intervals=_intervals(options),
        partial=asked.partial,
        reasons=tuple(_reasons(cells).most_common()),
        missing={} if asked.extent is None else asked.extent.missing,
        tokens=_tokens(asked, cells),
        about={
            **asked.about,
            **_one_place(asked),
            **({"grading errors": sentence} if sentence else {}),
            **_study(options),
        },
        judged=errors,
        judge_mass=asked.judge_mass,
        exact={name: report.exact for name, report in sets.items() if report.exact is not None},
        graded={name: {v: _decided(cell) for v, cell in report.cells.items()} for name, report in sets.items()},
    )


def _one_place(asked: Asked) -> dict[str, str]:
    """Sets whose right option is nearly always in one place, as the variants that means are over have it."""
    places = {of.name: one_place(of.questions) for of in asked.sets}
    named = [f"{where} of {name}" for name, where in places.items() if where]
    elsewhere = "; variants +1, +2, .. have it elsewhere" if any(asked.turns.values()) else ""
    return {"right option": f"in {', '.join(named)}; a model may prefer that place{elsewhere}"} if named else {}


def _reasons(cells: Iterable[CellReport]) -> Counter[str]:
    """Requests that failed, by reason."""
    reasons: Counter[str] = Counter()
    for cell in cells:
        reasons.update(cell.failure_reasons)
    return reasons


def _decided(cell: CellReport) -> Mapping[str, tuple[int, int]]:
    return cell.accuracy[cell.reader].decided if cell.accuracy else {}


def _rates(cell: CellReport) -> dict[str, float]:
    return {name: cell.estimators[name].coverage.value for name in cell.overconfidence}


def _tokens(run: Asked, cells: Iterable[CellReport]) -> dict[str, dict[str, dict[str, int]]]:
    """The budget of each stage that has text, by set and variant; the largest, where forms of questions differ."""
    if run.prompts is None:
        return {}
    prompts, tokens = run.prompts, defaultdict[str, dict[str, dict[str, int]]](dict)
    stages = {(reply.set, reply.variant, reply.stage) for reply in run.replies}
    behind = {StatedStage(prompt.name).stage: prompt.max_new_tokens for prompt in prompts.stated}
    behind = {FINAL: prompts.final_max_new_tokens, **behind}
    questions = {question_set.name: question_set.questions for question_set in run.sets}
    for cell in cells:
        names = run.perturbations.get(cell.variant, (cell.variant,))
        variants = [variant for variant in prompts.variants if variant.name in names]
        answers = [variant.of(question).max_new_tokens for variant in variants for question in questions[cell.set]]
        budgets = {ANSWER: max(answers, default=0), **behind}
        tokens[cell.set][cell.variant] = {
            stage: budget
            for stage, budget in budgets.items()
            if any((cell.set, name, stage) in stages for name in names)
        }
    return dict(tokens)


def _study(options: ReportOptions) -> dict[str, str]:
    """What the rules of a study add to the report."""
    if options.by_study:
        return {"science2026": SCIENCE2026}
    if options.compat != STATED2025:
        return {}
    return {
        STATED2025: "ece_lower_edges (bins [a, b), exact decimal edges) and smooth_ece_relplot10 (smooth ECE of "
        "relplot 1.0, too small near 0 and 1) serve for comparison with that paper alone"
    }


def _intervals(options: ReportOptions) -> str:
    resampling = options.resampling
    if not resampling.n_resamples:
        return "none asked for"
    plain = "; of spread, ECE gap and shift plain percentiles (audit2026)" if options.by_paper else ""
    return f"95 % bootstrap, {resampling.n_resamples:,} resamples of questions, seed {resampling.seed}{plain}"


def grading_errors(grades: Iterable[StoredGrade], resampling: Resampling) -> JudgedAccuracy | None:
    """Accuracy corrected for the errors of rules and judge; None where no part, or all, was graded by hand.

    Resamples draw questions, each with all of its answers.
    """
    rows = sorted(grades, key=lambda row: row.key)
    by_hand = np.array([math.nan if row.imported is None else float(row.imported) for row in rows])
    if not rows or np.isnan(by_hand).all() or not np.isnan(by_hand).any():
        return None
    clusters = np.array([f"{row.set}\0{row.question}" for row in rows], np.str_)
    repeated = len(np.unique(clusters)) < len(rows)
    return judged_accuracy([row.automatic for row in rows], by_hand, resampling, clusters if repeated else None)


def errors_said(found: JudgedAccuracy | None, grades: Iterable[StoredGrade]) -> str:
    """A sentence for the disclosure; empty where nothing fallible decides any answer."""
    fallible = sum(row.imported is None and row.rule in MAY_ERR for row in grades)
    if found is not None and not math.isnan(found.accuracy.value):
        return (
            f"on {found.right:,} right and {found.wrong:,} wrong answers by hand sensitivity "
            f"{_said(found.sensitivity)}, specificity {_said(found.specificity)}; accuracy corrected for them (Rogan "
            f"and Gladen) {_said(found.accuracy)}, before {found.judged.value:.3f}; tables are not corrected"
        )
    if not fallible:
        return ""
    return (
        f"{counted(fallible, 'answer')} by a rule or judge that may be wrong; its errors are in no interval: import "
        "grades by hand of a random part, right and wrong ones (calprobe grade RUN --grades FILE.jsonl)"
    )


def _said(estimate: Estimate) -> str:
    interval = "" if math.isnan(estimate.low) else f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    return f"{estimate.value:.3f}{interval}"
