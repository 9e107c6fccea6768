"""Tables of the pages that show what was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = False) -> str:
    """A Markdown table; `numbers`: all columns but the first are set to the right."""
    lines = [head, ["---", *["---:" if numbers else "---"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
