"""Tables as a pipe gets them: no terminal, so no colours."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console

from calprobe.show.tables import Table
from calprobe.show.tables.text import print_tables


def printed(tables: Sequence[Table], width: int = 80) -> str:
    out = io.StringIO()
    print_tables(tables, Console(file=out, width=width))
    return out.getvalue()
