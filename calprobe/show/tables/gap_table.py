"""The gaps between confidence and accuracy in all slices at once, as a table, and what follows from them in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from calprobe.measures.number_text import short, short_signed
from calprobe.measures.slice_gaps import LEAST_TO_MAP, OwnMaps, SliceGaps
from calprobe.messages import counted
from calprobe.metrics import Difference, Estimate, GroupGap
from calprobe.metrics.group_gaps import LEAST_OF_GROUP, LEAST_OF_KIND
from calprobe.show.tables.layout import UNRANKED, Layout, cells
from calprobe.show.tables.types import Row, Table

BELOW = 0.05
NOTE = (
    "Intervals and p hold for all slices of a block at once (95 %); *: p below 0.05. p takes the largest gap first and "
    "the others after it, so it may find a gap whose interval includes 0. A slice without them has fewer than "
    f"{LEAST_OF_GROUP} answers or fewer than {LEAST_OF_KIND} that are right, or wrong."
)


def slice_gaps_table(
    found: Mapping[str, Mapping[str, SliceGaps]], by: str, caption: str, label: str, stub: str, **fields: Any
) -> Table | None:
    """A row a slice, in a block for each estimator; None where no slice has an interval.

    Args:
        found: by what is sliced (a variant, or "" for all), then by estimator.
        by: what the slices are by.
        caption: of the table.
        label: its name in a paper.
        stub: above the slices' names.
        fields: of the table.
    """
    several = len(found) > 1
    blocks = {
        (f"{whole}, {name}" if several else name): (whole, name, gaps)
        for whole, of_whole in found.items()
        for name, gaps in of_whole.items()
    }
    if not any(gaps.found.largest for _, _, gaps in blocks.values()):
        return None
    layout = Layout[GroupGap].given(
        caption,
        label,
        stub,
        cells("n", "n", lambda group: group.instances),
        cells("accuracy", "accuracy", lambda group: group.accuracy),
        cells("conf - acc", "gap", _gap),
        cells("p", "gap_p", lambda group: group.p_value if group.p_value <= 1 else None),
        cells("debiased ECE", "debiased_ece", lambda group: group.debiased_ece),
        kind="slices",
        more=UNRANKED,
    )
    rows = [
        (_row(block, whole if several else "", name, by, group), group)
        for block, (whole, name, gaps) in blocks.items()
        for group in gaps.found.groups
    ]
    sentences = [sentence for block, (_, _, gaps) in blocks.items() for sentence in gap_sentences(block, gaps)]
    return layout.of_rows(rows, *sentences, NOTE, **fields)


def _gap(group: GroupGap) -> Difference:
    return Difference(group.gap.value, group.gap.low, group.gap.high, group.p_value)


def _row(block: str, whole: str, name: str, by: str, group: GroupGap) -> Row:
    keys = ({"variant": whole} if whole else {}) | {"estimator": name, "covariate": by, "slice": group.name}
    return Row(group.name, group=block, keys=keys, significant=group.p_value < BELOW)


def gap_sentences(name: str, gaps: SliceGaps) -> Iterator[str]:
    """What the gaps of one estimator say: the largest one, how many are real, and whether slices need own maps.

    A slice is called too sure or not sure enough only where its interval leaves out 0.
    """
    tested = [group for group in gaps.found.groups if not math.isnan(group.gap.low)]
    if (largest := gaps.found.largest) is None:
        return
    real = sum(group.p_value < BELOW for group in tested)
    words = "too sure" if largest.gap.value > 0 else "not sure enough"
    what = f"largest in {largest.name}: {short_signed(largest.gap, 3)}"
    if not real:
        yield f"{name}: no gap can be told from 0 in {counted(len(tested), 'slice')}; {what}."
    else:
        of = f"{real} of {len(tested)} gaps can be told from 0"
        yield f"{name}: {of}; {what}{f', {words}' if largest.p_value < BELOW else ''}."
    if gaps.maps is not None:
        yield f"{name}: {_of_maps(gaps.maps)}; grouping loss at least {gaps.grouping_loss:.4f}."


def _of_maps(maps: OwnMaps) -> str:
    change = Estimate(maps.change.value, maps.change.low, maps.change.high)
    one, own = (short(brier.value, 4) for brier in (maps.one_map, maps.own_maps))
    slices = f"{counted(maps.mapped, 'slice')} of {LEAST_TO_MAP} or more"
    return f"Brier {one} by one map for all, {own} by maps of {slices} (held out): {short_signed(change, 4)}"
