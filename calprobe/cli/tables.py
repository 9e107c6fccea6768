"""Tables as plain text, for `calprobe models` and `calprobe probes`."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(rows: Sequence[Sequence[str]], align: str) -> str:
    """Columns two spaces apart, each flush left (`<`) or right (`>`); no blanks at the ends of lines.

    Args:
        rows: one at least, all of one length, the head first.
        align: a `<` or `>` for each column.
    Raises:
        ValueError: rows of different lengths, or another number of columns than `align` has.

    >>> print(text_table([("probe", "facts"), ("mini", "583")], "<>"))
    probe  facts
    mini     583
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    forms = [f"{side}{width}" for side, width in zip(align, widths, strict=True)]
    lines = ("  ".join(map(format, row, forms)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
