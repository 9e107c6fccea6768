"""The verdict on a run of replies: how often it is right, and what each of its first confidences is worth."""

from __future__ import annotations

import math
from dataclasses import replace

from calprobe.measures.number_text import short, short_spelled
from calprobe.messages import counted
from calprobe.show.verdict import Judged, decimals_of, few_answers, sentence_on
from calprobe.studies.asked.overall import OF_RUN, Overall, overall_by, overall_of, probabilities_of, usual_cells
from calprobe.studies.asked.results import AskedRunReport

MOST = 4  # confidences that a verdict judges
# Other ways to take the confidence of `label`, which stand for no run where that is there.
BESIDE_LABEL = ("label_raw", "label_answer")


def verdict(run: AskedRunReport, most: int = MOST) -> tuple[str, ...]:
    """How often a run is right, and what each of its first confidences is worth; in few sentences, `most` of these."""
    overall = overall_of(run)
    if overall is None:
        return run.warnings
    names = _names(run, overall)
    accuracy = _accuracy_of(run, overall).metrics["accuracy"].value
    judgements = [judged(run, name) for name in names[:most]]
    few = judgements[0].rests_on if len(judgements) > 1 and len({of.rests_on for of in judgements}) == 1 else ""
    once = [f"AUROC has no interval (only {few})."] if few else []
    sentences = [sentence_on(replace(of, rests_on="") if few else of, accuracy) for of in judgements]
    more = [f"{counted(len(names) - most, 'more confidence')} below."] if len(names) > most else []
    return (_on_accuracy(run, overall), *run.warnings, *sentences, *more, *once)


def verdict_beside_numbers(run: AskedRunReport) -> tuple[str, ...]:
    """The verdict where the accuracy stands as a number: its sentence only where replies as read have another."""
    overall = overall_of(run)
    if overall is None or overall.few or _beside_read(run, overall, decimals_of(overall.questions)):
        return verdict(run)
    return verdict(run)[1:]


def _accuracy_of(run: AskedRunReport, overall: Overall) -> Overall:
    """Whose accuracy is the run's: where few answers have the confidence, that of all of them as they are read."""
    return (overall_by(run, None) if overall.few else None) or overall


def _on_accuracy(run: AskedRunReport, overall: Overall) -> str:
    first_of = _accuracy_of(run, overall)  # and so is chance
    digits = decimals_of(overall.questions)
    accuracy = first_of.metrics["accuracy"]
    beside = f" by {first_of.of}" if overall.few else _beside_read(run, overall, digits)
    over = f", mean over {first_of.cells} {_parts(run)}" if first_of.cells > 1 else ""
    n = sum(report.answered for report in run.sets.values())
    chance = "unknown" if math.isnan(first_of.chance) else short(first_of.chance, digits)
    return f"Accuracy {short_spelled(accuracy, digits)}{beside}{over}; chance {chance}; {counted(n, 'question')}."


def _beside_read(run: AskedRunReport, overall: Overall, digits: int) -> str:
    """Whose answers the accuracy is of, and that of what is read from replies, where the two differ."""
    read = overall_by(run, None)
    if read is None:
        return ""
    own, other = (short(numbers.metrics["accuracy"].value, digits) for numbers in (overall, read))
    return "" if own == other else f" by {overall.of}, {other} by {read.of}"


def _parts(run: AskedRunReport) -> str:
    """What the means are over, in the plural."""
    return "variants" if len(run.sets) == 1 else "sets" if len(run.disclosure.variants) == 1 else "variants of sets"


def _names(run: AskedRunReport, overall: Overall) -> list[str]:
    """The confidences of a run, the one that stands for it first; of those with equal numbers the first."""
    names = probabilities_of(usual_cells(run))
    if not names:
        return []
    names = dict.fromkeys([overall.of, *names])
    if "label" in names:
        names = dict.fromkeys(name for name in names if name not in BESIDE_LABEL)
    distinct: dict[tuple[float, ...], str] = {}
    for name in names:
        numbers = overall_by(run, name)
        if numbers is not None:
            distinct.setdefault(tuple(numbers.metrics[metric].value for metric in OF_RUN[:3]), name)
    return list(distinct.values())


def judged(run: AskedRunReport, name: str) -> Judged:
    """One of the run's confidences that are probabilities, with all that a verdict on it rests on."""
    overall = overall_by(run, name)
    assert overall is not None  # as it is one of the run's
    estimators = [cell.estimators[name] for cell in usual_cells(run) if name in cell.estimators]
    each = [estimator.metrics for estimator in estimators]
    questions = min(overall.questions, max(estimator.rows for estimator in estimators))
    sampled = any(cell.samples is not None for cell in usual_cells(run))
    rarer = [estimator.rarer for estimator in estimators]
    rests_on = few_answers(rarer, overall.metrics["accuracy"].value, of_questions=sampled)
    answered = overall.rows, overall.asked
    return Judged(name, overall.metrics, questions, overall.error, each, _parts(run), answered, rests_on)
