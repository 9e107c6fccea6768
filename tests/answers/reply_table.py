"""Replies with the values that are wanted from them, and how often a reader finds these.

A line of `replies/*.jsonl`: `reader`, `text`, `wanted` (null: nothing is to be read), `source` (`hand`, or a model and
what it was asked), what the reader needs beside the text (`labels`, `options`, `scale`, `lenient`, `accepted`, `cut`),
and `known`, which says why a value that is not found is accepted. `make readings` prints a line for each reader and
kind of source; with PYTHONPATH it reads with another checkout of calprobe.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from calprobe.answers import Reading

FOLDER = Path(__file__).parent / "replies"
Row = dict[str, Any]


def rows() -> Iterator[Row]:
    """All lines, each with the name of its file and its number."""
    for file in sorted(FOLDER.glob("*.jsonl")):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            yield {"where": f"{file.stem}:{number}", **json.loads(line)}


def reading(row: Row) -> Reading:
    """What the line's reader finds in its text."""
    return READ[row["reader"]](row)


def is_as_wanted(row: Row) -> bool:
    value, wanted = reading(row).value, row["wanted"]
    if row["reader"] == "short" and value is not None and wanted is not None:
        from calprobe.answers import comparable

        return comparable(str(value)) == comparable(wanted)
    if isinstance(wanted, int | float) and isinstance(value, int | float):
        return abs(value - wanted) <= 1e-12 * max(1.0, abs(wanted))
    return value == wanted


def _number(row: Row) -> Reading:
    from calprobe.answers.number_reader import read_number

    return read_number(row["text"])


def _extracted(row: Row) -> Reading:
    from calprobe.answers.number_reader import read_extracted

    return read_extracted(row["text"])


def _last_marker(row: Row) -> Reading:
    from calprobe.answers.label_patterns import labels_of
    from calprobe.answers.last_marker import read_last_marker

    found = read_last_marker(row["text"], labels_of(tuple(row["labels"])), cut=row.get("cut", False))
    if found.status != "none" or "options" not in row:
        return found
    from calprobe.answers.option_text import read_option_text

    return read_option_text(row["text"], row["labels"], row["options"])


def _yes_no(row: Row) -> Reading:
    from calprobe.answers.yes_no import read_yes_no

    return read_yes_no(row["text"])


def _short(row: Row) -> Reading:
    from calprobe.answers import read_short

    return read_short(row["text"])


def _graded(row: Row) -> Reading:
    """The verdict of a grader as the value: true, or false."""
    from calprobe.answers import grade, read_short
    from calprobe.questions import Question

    question = Question("1", "?", "open", accepted=tuple(row["accepted"]))
    found = grade(read_short(row["text"]), question, row["reader"])
    return Reading(float(found.correct), "ok", found.rule)


def _stated(row: Row) -> Reading:
    from calprobe.answers import read_stated

    return read_stated(row["text"], row["scale"])


def _on_scale(row: Row) -> Reading:
    from calprobe.answers import read_on_scale
    from calprobe.prompts import load_prompts

    expressions = next(own.expressions for own in load_prompts("stated").stated if own.expressions)
    return read_on_scale(row["text"], row["scale"], expressions, lenient=row.get("lenient", False))


def _stated_line(row: Row) -> Reading:
    from calprobe.answers import read_stated_line

    return read_stated_line(row["text"])


READ: dict[str, Callable[[Row], Reading]] = {
    "number": _number,
    "extracted": _extracted,
    "last_marker": _last_marker,
    "yes_no": _yes_no,
    "short": _short,
    "exact": _graded,
    "contains": _graded,
    "stated": _stated,
    "on_scale": _on_scale,
    "stated_line": _stated_line,
}


def rates() -> str:
    """A line for each reader and kind of source: lines, wrong values, unread ones that were clear."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in rows():
        key = (row["reader"], "hand" if row["source"] == "hand" else "models")
        counts[*key, "lines"] += 1
        if not is_as_wanted(row):
            counts[*key, "unread" if _is_unread(row) else "wrong"] += 1
    shown = [f"{'reader':<16} {'source':<8} {'lines':>6} {'wrong':>6} {'unread though clear':>20}"]
    for reader, source in sorted({key[:2] for key in counts}):
        of = [counts[reader, source, what] for what in ("lines", "wrong", "unread")]
        shown.append(f"{reader:<16} {source:<8} {of[0]:>6} {of[1]:>6} {of[2]:>20}")
    return "\n".join(shown)


def _is_unread(row: Row) -> bool:
    """Whether a clear value was missed, and no other was taken for it; of a grader: a right answer called wrong."""
    value = reading(row).value
    return value is None or (row["reader"] in ("exact", "contains") and not value)


if __name__ == "__main__":
    print(rates())
