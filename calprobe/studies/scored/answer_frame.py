"""Every answer of a run as a row: texts, confidences by estimator, and what each template answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.cells.opening import RunLike, open_each_scored
from calprobe.cells.scored import ScoredRun, scored_run
from calprobe.interop.answer_texts import AnswerTexts, texts_of
from calprobe.measures.options import ReportOptions
from calprobe.studies.scored.answers import COLUMNS, Shown, ShowOptions, every_answer, show_answers
from calprobe.words import Compat, Reduction

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_SHOWN = ShowOptions()


def answers(
    run: RunLike,
    estimator: str | None = None,
    *,
    template: int | None = None,
    reduction: Reduction = "sum",
    compat: Compat | None = None,
    probe: str | Path | None = None,
) -> pd.DataFrame:
    """What a model answered to each instance, in words: its answer, the right one, the statement, the confidences.

    Args:
        run: a run folder, open or by path.
        estimator: the one that gives the answers; None: base, else the first that the run has.
        template: the answers of this template, instead of an estimator's.
        reduction: of token scores to a statement's: sum, mean, sum_answer, mean_answer.
        compat: "kissling2026" leaves the first scored token of each statement out.
        probe: where the probe is, if neither the run has its labels nor calprobe finds it.
    Returns:
        A row for each instance, sorted by relation and instance: relation (str), instance (int), subject, answer (the
        right one), predicted (None where failed), statement (with the predicted answer, as scored), correct (bool),
        confidence (of the estimator or template), then the confidence of each estimator under its name, and for each
        template N `predicted_N` and `confidence_N` (its base).
    Raises:
        DataMissingError: no run at the path, or its texts are not known; says what to do.
        UsageError: no such estimator or template, or `probe` is not the one that was scored.

    >>> answers("runs/tiny").set_index("subject").at["Titania", "predicted"]  # doctest: +SKIP
    'Saturn'
    """
    import pandas as pd

    options = ShowOptions(
        estimator=estimator, template=template, top=None, scores=ReportOptions(reduction=reduction, compat=compat)
    )
    scored, texts = open_with_texts(run, options, probe)
    rows = [answer.record() for answer in every_answer(scored, texts, options)]
    numbers = [template.number for template in scored.answered.templates]
    by_template = [f"{name}_{number}" for number in numbers for name in ("predicted", "confidence")]
    return pd.DataFrame(rows, columns=[*COLUMNS, *scored.estimators, *by_template])


def show(
    run: RunLike | Mapping[str, RunLike], options: ShowOptions = DEFAULT_SHOWN, probe: str | Path | None = None
) -> Shown:
    """The answers of a run that the options select, with their texts, sorted by confidence.

    `run` is a run, open or by path, or `{NAME: run}` to give it a name.

    Raises as `answers`, and UsageError for a relation that the run does not have.
    """
    return show_answers(*open_with_texts(run, options, probe), options)


def open_with_texts(
    run: RunLike | Mapping[str, RunLike], options: ShowOptions, probe: str | Path | None = None
) -> tuple[ScoredRun, AnswerTexts]:
    """A run opened for analysis, and the texts of its instances. Raises as `answers`."""
    [(label, opened)] = open_each_scored(run).items()
    scored = scored_run(label, opened, options.scores)
    return scored, texts_of(opened, probe)
