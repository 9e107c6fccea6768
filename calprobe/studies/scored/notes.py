"""The sentences of a report of scored runs: accuracy, the verdict on confidence, remarks on what is lacking."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import pairwise

from calprobe.confidence import BASE, Headline, headline
from calprobe.confidence.temperature import is_at_limit
from calprobe.measures.number_text import interval, number, signed_interval, spelled
from calprobe.messages import counted
from calprobe.metrics import Estimate
from calprobe.metrics.intervals import UNDEFINED
from calprobe.show.prose import score_notes, templates_named, unfinished
from calprobe.show.verdict import Judged, few_answers, sentence_on
from calprobe.studies.scored.results import EstimatorReport, Report, RunReport

GROUPS = {
    "intrinsic": "probabilities under one wording",
    "consistency": "agreement between paraphrases",
    "grounding": "statements that say how sure they are",
}


def accuracies(run: RunReport) -> tuple[str, ...]:
    """Accuracy of base, and mean accuracy over the paraphrases."""
    lines: list[str] = []
    if not run.instances:
        return ()
    if run.accuracy is not None:
        lines.append(f"accuracy {spelled(run.accuracy)}; chance {number(run.facts.chance_accuracy)} (mean 1/K)")
    if run.bear_score is not None:
        over = f"{run.facts.paraphrases} paraphrases"
        if run.facts.has_bear_score:
            lines.append(f"BEAR score {spelled(run.bear_score)}: mean accuracy over BEAR's own {over}")
        else:
            lines.append(f"mean accuracy over {over} {spelled(run.bear_score)}")
    if run.ties is not None and run.ties.instances:
        ties = counted(run.ties.instances, "instance")
        expected = number(run.ties.expected_accuracy)
        lines.append(f"ties: {ties} with several largest scores; expected accuracy {expected}")
    return tuple(lines)


def verdict(run: RunReport, *, several: bool = False) -> tuple[str, ...]:
    """How often a run is right, and what each of its first confidences is worth; of several runs base alone."""
    return (*accuracies(run), *calibration_sentences(run, (BASE,) if several else headline(Headline.FIRST)))


def other_relations(run: RunReport) -> Iterable[str]:
    """The intervals of base over relations, beside those over facts."""
    base = None if run.intervals is None else run.intervals["relation"].estimators.get(BASE)
    if base:
        accuracy, gap = interval(base["accuracy"]), signed_interval(base["confidence_gap"])
        yield (
            f"Intervals are of other facts, taken as independent. Of other relations: accuracy {accuracy}, base "
            f"confidence - accuracy {gap}."
        )


def calibration_sentences(run: RunReport, estimators: Container[str] = (BASE,)) -> tuple[str, ...]:
    """What these confidences are worth; nothing in a report of chosen metrics that lacks what is said of them."""
    accuracy = math.nan if run.accuracy is None else run.accuracy.value
    needed = {"confidence_gap", "ace"}
    return tuple(
        sentence_on(judged_estimator(estimator), accuracy)
        for estimator in run.estimators
        if run.instances and estimator.name in estimators and needed <= estimator.metrics.keys()
    )


def judged_estimator(estimator: EstimatorReport) -> Judged:
    """What a verdict rests on: what it answers alone, since a failure counts as perfectly calibrated in all others."""
    answered = estimator.instances - estimator.failed
    metrics = estimator.answered if estimator.failed else estimator.metrics
    few = _few(metrics, answered)
    return Judged(estimator.name, metrics, answered, "ace", answered=(answered, estimator.instances), rests_on=few)


def _few(metrics: Mapping[str, Estimate], answers: int) -> str:
    """How many right or wrong answers an order rests on, where these are few."""
    accuracy = metrics.get("accuracy", UNDEFINED).value
    if math.isnan(accuracy):
        return ""
    right = round(accuracy * answers)
    return few_answers([min(right, answers - right)], accuracy)


def remarks(run: RunReport) -> Iterable[str]:
    """What a run lacks, and why; one clause for each."""
    if clause := unfinished(run.facts):
        yield clause
    if run.accuracy is None:
        yield "no accuracy and no estimators on one template: the run has neither template 0 nor a paraphrase"
    if run.bear_score is None:
        yield "no mean accuracy over paraphrases and no estimators over them: they need two paraphrases or more"


def report_notes(report: Report) -> Iterable[str]:
    """Notes on the numbers of a report, for all formats."""
    yield from score_notes(report.options.reduction, report.options)
    yield from _unscored_answers(report)
    if any(estimator.failed for run in report.runs for estimator in run.estimators):
        yield (
            "Failed: no prediction (a tied or failed vote, or no scores); counted as incorrect with confidence 0, "
            "which looks perfectly calibrated. So a row with less coverage than others has no mark; the row below it "
            "is of the answered instances alone."
        )
    if any(is_at_limit(value) for run in report.runs for estimator in run.estimators for value in estimator.fitted):
        yield (
            "Limit: no temperature between 0.001 and 1,000 is best on the other folds, as where all of their "
            "predictions are right, or none is, so the end of the search was taken."
        )
    if any(run.ties is not None and run.ties.instances for run in report.runs):
        chosen = "the first" if report.options.ties == "first" else "drawn (--ties first takes the first)"
        yield (
            f"Ties: of candidates that share the largest score, the prediction is {chosen}; expected accuracy counts "
            "the right one of n tied candidates as 1/n."
        )
    runs = [run.facts for run in report.runs]
    if any(run.of_bear and run.paraphrases > 1 and not run.has_bear_score for run in runs):
        yield (
            "NOT A BEAR SCORE: the mean accuracy is of other wordings than BEAR's own, so it is not comparable with "
            "BEAR's leaderboard. Score with --template-set native --templates paraphrases for the BEAR score."
        )


def _unscored_answers(report: Report) -> Iterable[str]:
    """Why instances have no scores under --compat and mean_answer."""
    if report.options.compat is None or report.options.reduction != "mean_answer":
        return
    failed = [e.failed for run in report.runs for e in run.estimators if e.name in (BASE, "mixture")]
    if most := max(failed, default=0):
        yield (
            f"Cause of {counted(most, 'failure')}: compat {report.options.compat} leaves out the first token of each "
            "statement, and an answer of one token that stands first then has no token left for its mean."
        )


def group_title(group: str, estimators: Sequence[EstimatorReport]) -> str:
    """A group with what it reads: intrinsic (probabilities under one wording): template 0."""
    meaning = f" ({GROUPS[group]})" if group in GROUPS else ""
    return f"{group}{meaning}: {templates_read(estimators)}"


def templates_read(estimators: Sequence[EstimatorReport]) -> str:
    """The templates that the estimators of a group use: once for those with the same templates."""
    readers: dict[tuple[int, ...], list[str]] = {}
    for estimator in estimators:
        readers.setdefault(estimator.templates, []).append(estimator.name)
    if len(readers) == 1:
        return templates_named(estimators[0].templates)
    singles = [number for templates in readers for number in templates]
    if len(singles) == len(readers) == len(estimators) and all(a < b for a, b in pairwise(singles)):
        return f"{templates_named(singles)}, one each"
    return " or ".join(templates_named(templates) for templates in readers)


def estimator_notes(estimator: EstimatorReport) -> Iterable[str]:
    """What stands below an estimator's name: 59 failed; T 1.55-1.71, its temperatures; AUROC of 3 right, if few are."""
    if estimator.failed:
        yield f"{estimator.failed:,} failed"
    if estimator.fitted:
        low, high = (
            f"{end:.0f}" if end >= 100 else f"{end:.3g}" for end in (min(estimator.fitted), max(estimator.fitted))
        )
        limit = " (limit)" if any(map(is_at_limit, estimator.fitted)) else ""
        yield f"T {low}{limit}" if low == high else f"T {low}-{high}{limit}"
    few = _few(estimator.metrics, estimator.instances) if "auroc" in estimator.metrics else ""
    if few and not (estimator.failed or estimator.fitted):  # beside other notes there is no room
        yield f"AUROC of {few}"
