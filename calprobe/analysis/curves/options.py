"""Answer-option curves of runs: accuracy, confidence and ACE against the number of candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calprobe.analysis.answer_options import MEASURED, OPTION_COUNTS, OPTION_SEEDS, AnswerOptions, answer_option_curve
from calprobe.analysis.curves.results import DEFAULT_CURVE_OPTIONS, CurveOptions, OptionNumbers, Options, OptionsLine
from calprobe.analysis.curves.scored import chosen_estimators, lead_of, read_runs
from calprobe.analysis.scored_run import RunLike, ScoredRun
from calprobe.errors import UsageError

FEW = 2 * OPTION_COUNTS[0]  # with fewer candidates, steps of five would make no curve: every number of them then


def options_curve(runs: RunLike | Sequence[RunLike], options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Options:
    """Accuracy, mean confidence and ACE among k options: the right answer and k - 1 others at random, three times.

    Kissling et al. 2026, section 5.4 (`answer_option_curve`). k = 5, 10, .. up to 60 or the run's largest answer space;
    every k takes the same instances, those of all relations with enough candidates for the largest k. On BEAR they are
    the paper's 14 relations of 60 candidates, on `mini` two of 40 and more.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, number of ACE's bins; estimators, base and margin or one of them.
    Returns:
        A line for each run and estimator.
    Raises:
        UsageError: a run whose largest answer space has fewer than two candidates, or which lacks template 0 and
            paraphrases; another estimator; no run, or one named twice. DataMissingError, CalprobeError: as `report`.
    """
    lines: list[OptionsLine] = []
    for run in read_runs(runs, options.scores):
        chosen = chosen_estimators(run, options, MEASURED, among=MEASURED)
        found = answer_option_curve(run.table, option_counts(run), OPTION_SEEDS, options.scores)
        lines += [
            OptionsLine(
                *lead_of(run, estimator),
                relations=found.relations,
                instances=found.instances,
                options=found.means["options"].to_numpy(np.int64),
                seeds=OPTION_SEEDS,
                means=_numbers(found, estimator.name, None),
                draws=tuple(_numbers(found, estimator.name, seed) for seed in OPTION_SEEDS),
            )
            for estimator in chosen
        ]
    return Options(tuple(lines))


def option_counts(run: ScoredRun) -> tuple[int, ...]:
    """The numbers of options that the run's largest answer spaces have room for, ascending.

    Raises UsageError where none has two candidates.
    """
    largest = int(run.widths.max(initial=0))
    if largest < 2:
        found = f"the largest answer space has {largest}" if largest else "it has no complete relation"
        raise UsageError(f"{run.label}: a curve of answer options needs two candidates; {found}")
    return tuple(range(2, largest + 1)) if largest < FEW else tuple(k for k in OPTION_COUNTS if k <= largest)


def _numbers(found: AnswerOptions, estimator: str, seed: int | None) -> OptionNumbers:
    """One draw's numbers, or the means over the seeds."""
    rows = found.means if seed is None else found.draws[found.draws["seed"] == seed]
    columns = (rows[name].to_numpy(np.float64) for name in ("accuracy", f"mean_{estimator}", f"ace_{estimator}"))
    return OptionNumbers(*columns)
