"""Confidences as a tidy table: the columns of `calprobe export --what confidences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calprobe.confidence.estimators import estimate

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from calprobe.runs import Run, ScoreTable
    from calprobe.runs.run import Compat, Reduction
    from calprobe.words import Ties


def confidences(
    source: Run | ScoreTable | str | Path,
    reduction: Reduction = "sum",
    compat: Compat | None = None,
    ties: Ties = "draw",
) -> pd.DataFrame:
    """Prediction and confidence of every instance under every estimator that the run's templates allow.

    Args:
        source: a run's folder, a run (`calprobe.open_run`), or the score table of one, which has its reduction already.
        reduction: of token scores to a statement's: sum, mean, sum_answer, mean_answer (docs/methods/estimators.md,
            "Reductions of token scores").
        compat: "kissling2026" leaves the first scored token of each statement out, as lm-pub-quiz 0.3 does.
        ties: which of the candidates that share the largest score is predicted: a drawn one, or the first.
    Returns:
        A row an (instance, estimator): relation (str), instance (int32, line number in the relation's file), estimator
        (str), prediction (int32, place in the answer space; -1 where failed), confidence (float64, [0, 1], higher is
        surer; 0 where failed), correct and failed (bool). Sorted by relation and instance, estimators in the order of
        reports. Relations that lack a template's scores are left out; no rows where none is left.
    Raises:
        ValueError: no such reduction, compat or ties. DataMissingError: no run at the path. CalprobeError: the run is
            an import without the scores this needs.

    >>> import numpy as np
    >>> from calprobe.runs import ScoreTable
    >>> from calprobe.runs import TemplateRecord
    >>> table = ScoreTable(np.array([[-1.0, -2.0]]), np.array([0, 2]), np.array([0]), np.array(["P30"]), np.array([7]),
    ...                    (TemplateRecord(0, "paraphrase"),))
    >>> confidences(table)[["relation", "instance", "estimator", "prediction", "correct"]].head(2).values.tolist()
    [['P30', 7, 'base', 0, True], ['P30', 7, 'margin', 0, True]]
    """
    import pandas as pd

    from calprobe.runs.run import read_table

    table = read_table(source, reduction, compat)
    estimates = estimate(table, ties)
    order = np.lexsort((table.instance, table.relation))

    def flat(name: str, dtype: type[np.generic]) -> np.ndarray[Any, Any]:
        """One field of all estimators, instance-major."""
        by_estimator = [getattr(confidence, name)[order] for confidence in estimates.values()]
        return np.array(by_estimator, dtype).reshape(len(estimates), len(order)).T.ravel()

    return pd.DataFrame(
        {
            "relation": np.repeat(table.relation[order], len(estimates)).astype(object),
            "instance": np.repeat(table.instance[order], len(estimates)).astype(np.int32),
            "estimator": np.tile(np.array(list(estimates), dtype=object), len(order)),
            "prediction": flat("prediction", np.int32),
            "confidence": flat("confidence", np.float64),
            "correct": flat("correct", np.bool_),
            "failed": flat("failed", np.bool_),
        }
    )
