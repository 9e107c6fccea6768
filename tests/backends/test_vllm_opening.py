"""What calprobe says when vLLM cannot load a model; vLLM itself is not needed."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from calprobe.backends import BackendOptions
from calprobe.backends.vllm.vllm_opening import opened
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
