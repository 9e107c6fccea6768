"""A model without its weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from calprobe.models.sizes import folder_of
from calprobe.models.source import resolve
from calprobe.models.texts import tokenizer_files, without_weights


def test_a_tokenizer_that_the_libraries_cannot_read_is_none(tmp_path: Path) -> None:
    here = folder_of(resolve("tiny-clm"))
    assert here is not None
    assert without_weights("tiny-clm") is not None
    newer = tmp_path / "newer"
    shutil.copytree(here, newer)
    later = json.loads((here / "tokenizer.json").read_text()) | {"pre_tokenizer": {"type": "Later"}}
    (newer / "tokenizer.json").write_text(json.dumps(later))
    assert tokenizer_files(str(newer)) != tokenizer_files("tiny-clm")
    assert without_weights(str(newer)) is None
