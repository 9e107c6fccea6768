"""The verdict on a run of replies: how often it is right, and what each of its first confidences is worth."""

from __future__ import annotations

from calprobe.messages import counted
from calprobe.show.verdict import Judged, decimals_of, sentence_on, short, spelled
from calprobe.studies.asked.overall import OF_RUN, Overall, confidence_of, overall_by, overall_of, usual_cells
from calprobe.studies.asked.results import AskedRunReport

MOST = 4  # confidences that a verdict judges
# Other ways to take the confidence of `label`, which stand for no run where that is there.
BESIDE_LABEL = ("label_raw", "label_answer")


def verdict(run: AskedRunReport) -> tuple[str, ...]:
    """How often a run is right, and what each of its first confidences is worth; in few sentences."""
    overall = overall_of(run)
    if overall is None:
        return ()
    n, digits = overall.questions, decimals_of(overall.questions)
    accuracy = overall.metrics["accuracy"]
    over = f", mean over {counted(overall.cells, _parts(run))}" if overall.cells > 1 else ""
    first = (
        f"Accuracy {spelled(accuracy, digits)}{over}; chance {short(overall.chance, digits)}; {counted(n, 'question')}."
    )
    names = _judged(run, overall)
    sentences = [sentence_on(_confidence(run, name), accuracy.value) for name in names[:MOST]]
    more = [f"{counted(len(names) - MOST, 'more confidence')} below."] if len(names) > MOST else []
    return (first, *sentences, *more)


def _parts(run: AskedRunReport) -> str:
    """What the means are over."""
    return "variant" if len(run.sets) == 1 else "set" if len(run.disclosure.variants) == 1 else "variant of a set"


def _judged(run: AskedRunReport, overall: Overall) -> list[str]:
    """The confidences of a run, the one that stands for it first; of those with equal numbers the first."""
    if confidence_of(usual_cells(run)) is None:
        return []
    names = dict.fromkeys(
        name
        for cell in usual_cells(run)
        for name, estimator in cell.estimators.items()
        if estimator.scale == "probability"
    )
    names = dict.fromkeys([overall.of, *names])
    if "label" in names:
        names = dict.fromkeys(name for name in names if name not in BESIDE_LABEL)
    distinct: dict[tuple[float, ...], str] = {}
    for name in names:
        numbers = overall_by(run, name)
        if numbers is not None:
            distinct.setdefault(tuple(numbers.metrics[metric].value for metric in OF_RUN[:3]), name)
    return list(distinct.values())


def _confidence(run: AskedRunReport, name: str) -> Judged:
    overall = overall_by(run, name)
    assert overall is not None  # as it is one of the run's
    estimators = [cell.estimators[name] for cell in usual_cells(run) if name in cell.estimators]
    each = [estimator.metrics for estimator in estimators]
    return Judged(name, overall.metrics, max(estimator.rows for estimator in estimators), overall.error, each)
