"""The gaps between confidence and accuracy in all slices at once, as a table, and what follows from them in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from calprobe.measures.number_text import short, short_signed
from calprobe.measures.slice_gaps import LEAST_TO_MAP, OwnMaps, SliceGaps
from calprobe.messages import counted
from calprobe.metrics import Difference, Estimate, GroupGap
from calprobe.metrics.calibration import DEBIASED_BINS
from calprobe.metrics.group_gaps import LEAST_OF_GROUP, LEAST_OF_KIND
from calprobe.metrics.intervals import SIGNIFICANT
from calprobe.show.tables.layout import UNRANKED, Layout, cells
from calprobe.show.tables.types import Row, Table, unless_nan

NOTE = (
    "Conf - acc: mean confidence minus accuracy; above 0 the model is too sure. Intervals and p hold for all slices of "
    "a block at once (95 %); *: p below 0.05. p takes the largest gap first and the others after it, so it may find a "
    f"gap whose interval includes 0. A slice without them has fewer than {LEAST_OF_GROUP} answers, or fewer than "
    f"{LEAST_OF_KIND} right or wrong ones, found as well as expected. Debiased ECE: root mean square gap of "
    f"{DEBIASED_BINS} bins less what "
    "chance adds, 0 where that is all."
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
        cells("p", "gap_p", lambda group: unless_nan(group.p_value)),
        cells("debiased ECE", "debiased_ece", lambda group: unless_nan(group.debiased_ece)),
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
    return Row(group.name, group=block, keys=keys, significant=group.p_value < SIGNIFICANT)


def gap_sentences(name: str, gaps: SliceGaps) -> Iterator[str]:
    """What the gaps of one estimator say: the largest one, how many are real, and whether slices need own maps.

    A slice is called too sure or not sure enough only where its interval leaves out 0.
    """
    tested = [group for group in gaps.found.groups if not math.isnan(group.gap.low)]
    if (largest := gaps.found.largest) is None:
        return
    real = sum(group.p_value < SIGNIFICANT for group in tested)
    words = "too sure" if largest.gap.value > 0 else "not sure enough"
    what = f"largest in {largest.name}: {short_signed(largest.gap, 3)}"
    if not real:
        yield f"{name}: no gap can be told from 0 in {counted(len(tested), 'slice')}; {what}."
    else:
        of = f"{real} of {len(tested)} gaps can be told from 0"
        is_told = largest.gap.low > 0 or largest.gap.high < 0
        yield f"{name}: {of}; {what}{f', {words}' if is_told else ''}."
    if gaps.maps is not None:
        loss = gaps.grouping_loss
        # An estimate, above 0 in half of the samples without any: the comparison of maps in front of it is the test.
        grouping = f"grouping loss of the Brier score about {short(loss, 4)}" if loss > 0 else "no grouping loss found"
        yield f"{name}: {_of_maps(gaps.maps)}; {grouping}."


def _of_maps(maps: OwnMaps) -> str:
    """Whether slices need maps of their own."""
    change = Estimate(maps.change.value, maps.change.low, maps.change.high)
    one, own = (short(brier.value, 4) for brier in (maps.one_map, maps.own_maps))
    by = f"by maps of {counted(maps.mapped, 'slice')} of {LEAST_TO_MAP} or more (held out)"
    verdict = ""
    if not math.isnan(change.low):
        which = "own maps are better" if change.high < 0 else "one map for all is better" if change.low > 0 else ""
        verdict = f", {which or 'which cannot be told from 0'}"
    return f"Brier score {one} by one map for all, {own} {by}: {short_signed(change, 4)}{verdict}"
