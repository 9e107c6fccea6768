"""Every reader finds the wanted value in each line of the table of replies, but for those that say why not."""

from __future__ import annotations

import pytest
from answers.reply_table import FOLDER, Row, is_as_wanted, reading, rows

ROWS = list(rows())


@pytest.mark.parametrize("file", sorted(file.stem for file in FOLDER.glob("*.jsonl")))
def test_the_wanted_value_is_read(file: str) -> None:
    of_file = [row for row in ROWS if row["where"].startswith(f"{file}:")]
    missed = [row for row in of_file if is_as_wanted(row) == ("known" in row)]
    assert not missed, "\n".join(map(shown, missed))


def shown(row: Row) -> str:
    found = reading(row)
    return f"{row['where']} {row['reader']} {row['text']!r}: {found.value!r} ({found.rule}), wanted {row['wanted']!r}"


def test_a_line_stands_once() -> None:
    keys = [str(sorted((name, str(value)) for name, value in row.items() if name != "where")) for row in ROWS]
    assert len(keys) == len(set(keys))
