"""Every reader under random damage: a right answer or two lines that name the file, never anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from damage import SAME, bent, holds, lines
from hypothesis import given
from hypothesis import strategies as st
from readers import READERS


@pytest.mark.parametrize("name", READERS)
def test_the_undamaged_file_is_taken(name: str, tmp_path: Path) -> None:
    READERS[name].read(tmp_path, READERS[name].taken)


@pytest.mark.parametrize("name", READERS)
@SAME
@given(data=st.data())
def test_damaged_files_are_read_right_or_refused(name: str, data: st.DataObject) -> None:
    reader = READERS[name]
    damage = bent(reader.taken) if reader.rows is None else lines(reader.rows) | bent(reader.taken)
    content = data.draw(damage)
    holds(lambda folder: reader.read(folder, content))
