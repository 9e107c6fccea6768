"""Every fact in every way as a table: a row a fact, for work elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calprobe.analysis.four_ways.joint import FourWays

if TYPE_CHECKING:
    import pandas as pd


def facts_frame(found: FourWays) -> pd.DataFrame:
    """A row for each fact that all runs have, sorted by relation and line number.

    Columns: id, relation, instance, subject, answer; of each way LETTER_said and LETTER_correct; of each view
    NUMBER_ESTIMATOR, its confidence (NaN where there is none; of an uncertainty larger is less sure), and
    NUMBER_ESTIMATOR_correct, of the answer that it speaks of.
    """
    import pandas as pd

    columns: dict[str, object] = {
        name: [getattr(fact, name) for fact in found.facts]
        for name in ("id", "relation", "instance", "subject", "answer")
    }
    for own in found.ways:
        columns |= {f"{own.way.letter}_said": list(own.way.said), f"{own.way.letter}_correct": own.way.correct}
    for each in found.views:
        name = f"{each.view.number}_{each.view.name}"
        columns |= {name: each.view.confidence.confidence, f"{name}_correct": each.view.confidence.correct}
    return pd.DataFrame(columns)
