"""What calprobe says when vLLM cannot load a model; vLLM itself is not needed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from calprobe.backends import BackendOptions
from calprobe.backends.vllm.vllm_opening import _fingerprint, opened
from calprobe.errors import CalprobeError


@pytest.mark.parametrize(
    ("said", "shown"), [("", "RuntimeError"), (" \n", "RuntimeError"), ("No room\nat all", "No room")]
)
def test_the_first_line_of_a_load_error_is_shown(monkeypatch: pytest.MonkeyPatch, said: str, shown: str) -> None:
    def refuses(**_: object) -> None:
        raise RuntimeError(said)

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=refuses))
    with pytest.raises(CalprobeError, match=f"tiny-clm: vLLM cannot load it: {shown}$"):
        opened("tiny-clm", BackendOptions("vllm"), None)


def test_weights_of_a_folder_are_told_apart_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert _fingerprint(tmp_path) is None  # the folder's name then stands for it
    marks = []
    for name in ("consolidated.00.pth", "pytorch_model.bin", "model.safetensors"):
        for weights in (b"1", b"2"):
            (tmp_path / name).write_bytes(weights)
            marks.append(_fingerprint(tmp_path))
    assert None not in marks
    assert len(set(marks)) == 6
    (tmp_path / "pytorch_model.bin").unlink()
    assert _fingerprint(tmp_path) == marks[-1]  # vLLM loads the safetensors beside it
