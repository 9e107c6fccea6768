"""What a threshold says, in words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from calprobe.messages import counted, percent
from calprobe.metrics import Kept, answers_needed
from calprobe.show.prose import listed
from calprobe.studies.threshold.numbers import CellThreshold, Thresholds

WIDTH = 80
ERRORS = (0, 1, 2, 5, 10, 20)


def threshold_text(found: Thresholds) -> str:
    """The paragraphs of `calprobe threshold`."""
    options = found.options
    head = f"Wanted: at most {percent(options.risk)} wrong of the answers given, at {percent(options.level)} certainty."
    paragraphs = [head, *(line for names, cell in _alike(found) for line in _sentences(names, cell))]
    if len(found.cells) > 1:
        paragraphs.append("Each promise is for a score that was chosen beforehand, not for the best of these.")
    return "\n".join(textwrap.fill(text, WIDTH, subsequent_indent="  ") for text in paragraphs)


def _alike(found: Thresholds) -> Iterator[tuple[str, CellThreshold]]:
    """The thresholds of which something different is said, each with the scores that it is said of."""
    scores: dict[tuple[str, ...], list[CellThreshold]] = {}
    for cell in found.cells:
        scores.setdefault((cell.cell, *_sentences("", cell)), []).append(cell)
    for cells in scores.values():
        yield listed([cell.score for cell in cells]), cells[0]


def _sentences(scores: str, cell: CellThreshold) -> Iterator[str]:
    tested, name = cell.fixed.tested, f"{cell.cell}, {scores}"
    if cell.checked is None:
        answers = counted(tested.answers, "answer")
        surest = f"of {answers} tested, {tested.wrong:,} of the {tested.kept:,} surest are wrong"
        if not cell.clustered:
            surest = surest if tested.kept else f"here are {tested.answers:,}"
            why = f". That takes {cell.needed:,} tested answers without an error above it, or more; {surest}"
        elif tested.kept:
            why = f"; {surest}, so of further questions or relations up to {percent(tested.upper)} can be"
        else:
            why = f" with {answers} tested, of too few questions or relations"
        yield f"{name}: no threshold will do{why}."
        return
    side = "at least" if cell.at_least else "at most"
    yield f"{name}: answer where it is {side} {cell.threshold:.4g}. On {cell.on}: {_kept_text(cell.checked)}."
    for group, kept in cell.groups.items():
        yield f"  {group}: {_kept_text(kept)}"
    if not cell.held_out:
        yield (
            f"NOT HELD OUT: {cell.on} has the same answers, or the same model's to the same facts, which fixed the "
            "threshold; only other facts would test it."
        )


def _kept_text(kept: Kept) -> str:
    """Coverage, risk and its bound, where it has one."""
    if not kept.kept:
        return f"answers none of {kept.answers:,}"
    bound = "" if math.isnan(kept.upper) else f", at most {percent(kept.upper)}"
    return (
        f"answers {percent(kept.coverage)} ({kept.kept:,} of {kept.answers:,}), of which {percent(kept.risk)} "
        f"({kept.wrong:,}) wrong{bound}"
    )


def needed_text(risk: float, level: float) -> str:
    """How many answers have to be checked by hand, by how many of them turn out wrong."""
    lines = [
        f"Answers to check above a threshold, for a risk of at most {percent(risk)} at {percent(level)}:",
        "  wrong among them   answers needed",
        *(f"  {wrong:16,}   {answers_needed(risk, level, wrong):14,}" for wrong in ERRORS),
    ]
    return "\n".join(lines)
