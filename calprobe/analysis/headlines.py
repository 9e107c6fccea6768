"""The two numbers that a run is known by in a list: how often it is right, and how far its confidence is from that."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from calprobe.analysis.asked.folder import asked_of
from calprobe.analysis.asked.opened import Asked, read_sets
from calprobe.analysis.asked.options import DEFAULT_ASKED, AskedOptions
from calprobe.analysis.asked.results import CellReport, OpenedCell
from calprobe.analysis.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.analysis.scored_run import ScoredRun, scored_run
from calprobe.confidence import BASE
from calprobe.metrics import ace
from calprobe.runs import AskedRun, Run

# Estimators of replies that stand for a run in a list, the best known first; of others the first that there is.
_FIRST = ("label", "label_final")


@dataclass(frozen=True, slots=True)
class RunHeadline:
    """Accuracy and adaptive calibration error of a run, without intervals."""

    n: int  # instances; of replies, rows of all sets and variants
    accuracy: float | None  # of replies the mean over sets and variants; None without any
    ace: float | None  # likewise, of those whose replies have the confidence; None without any
    of: str  # reader and estimator: base; last_marker, label


NOTHING = RunHeadline(0, None, None, "")


def headline_of(run: Run | AskedRun) -> RunHeadline:
    """The headline of a run as far as it has got: over its complete relations, or the replies that are there.

    Raises CalprobeError as `Run.table`, and where the questions of a run of replies are missing or damaged.
    """
    if isinstance(run, AskedRun):
        return asked_headline(asked_of(str(run.path), run))
    return scored_headline(scored_run(str(run.path), run, DEFAULT_OPTIONS))


def scored_headline(run: ScoredRun, options: ReportOptions = DEFAULT_OPTIONS) -> RunHeadline:
    """By the estimator whose predictions are the run's: base, else its first one."""
    name = BASE if BASE in run.estimators else next(iter(run.estimators), None)
    if name is None or not len(run.instances):
        return NOTHING
    found = run.confidence(name)
    error = ace(found.confidence, found.correct, options.ace_bins).value
    return RunHeadline(len(run.instances), float(found.correct.mean()), None if math.isnan(error) else error, name)


def asked_headline(asked: Asked, options: AskedOptions = DEFAULT_ASKED) -> RunHeadline:
    """By the reader that confidences go by and the first estimator of confidence, in the mean over the cells."""
    cells = list(_cells(asked, options))
    if not cells:
        return NOTHING
    name = confidence_of(cell for _, _, cell in cells)
    errors = [_error(cell, name, options) for _, _, cell in cells if name in cell.confidences]
    of = ", ".join(text for text in (cells[0][0], name) if text)
    return RunHeadline(
        n=sum(len(cell.cell) for _, _, cell in cells),
        accuracy=_mean([accuracy for _, accuracy, _ in cells]),
        ace=_mean(errors),
        of=of,
    )


def confidence_of(cells: Iterable[OpenedCell | CellReport]) -> str | None:
    """The estimator that stands for the cells of a run, of those that are probabilities; None of none."""
    return first_estimator(
        dict.fromkeys(name for cell in cells for name, own in cell.estimators.items() if own.scale == "probability")
    )


def first_estimator(given: Collection[str]) -> str | None:
    """The estimator of replies that stands for a run; None of none.

    >>> first_estimator(["label_raw", "label"]), first_estimator(["stated_percent"])
    ('label', 'stated_percent')
    """
    return next((name for name in _FIRST if name in given), next(iter(given), None))


def _cells(asked: Asked, options: AskedOptions) -> Iterator[tuple[str, float | None, OpenedCell]]:
    """Reader, accuracy and contents of each set under each variant."""
    for own in read_sets(asked, options):
        for variant, cell in own.cells.items():
            reader, answers = next(iter(own.answers[variant].items()))
            yield reader, _mean(answers.correct[answers.asked].tolist()), cell


def _error(cell: OpenedCell, name: str | None, options: AskedOptions) -> float:
    found = cell.confidences[name or ""]
    return ace(found.confidence[found.read], found.correct[found.read], options.ace_bins).value


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return sum(known) / len(known) if known else None
