"""What torch is set to while calprobe computes, and that it is set back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest
import torch
from tiny_classifiers import tiny_nli

import calprobe
from calprobe import QuestionOptions, ScoreOptions
from calprobe.backends.local.local_backend import open_backend
from calprobe.models import LoadOptions
from calprobe.models.pair_classifier import load_pair_classifier
from calprobe.models.torch_settings import exact_torch

BY_BACKEND = hasattr(torch.backends.cuda.matmul, "fp32_precision")  # torch 2.9 and later


def set_by_backend() -> None:
    if BY_BACKEND:
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        torch.backends.mkldnn.matmul.fp32_precision = torch.backends.mkldnn.conv.fp32_precision = "bf16"


WAYS: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "high": lambda: torch.set_float32_matmul_precision("high"),
    "medium": lambda: torch.set_float32_matmul_precision("medium"),
    "allow_tf32": lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
    "no convolutions": lambda: setattr(torch.backends.cudnn, "allow_tf32", False),
    "by backend": set_by_backend,
}


def settings() -> list[object]:
    found: list[object] = [torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cudnn.allow_tf32]
    try:
        found.append(torch.get_float32_matmul_precision())
    except RuntimeError:  # both ways were used
        found.append("mixed")
    if BY_BACKEND:
        cuda, mkldnn, cudnn = torch.backends.cuda, torch.backends.mkldnn, torch.backends.cudnn
        found += [each.fp32_precision for each in (cuda.matmul, mkldnn.matmul, cudnn.conv, cudnn.rnn)]
        found += [each.fp32_precision for each in (mkldnn.conv, mkldnn.rnn)]
    return found


@pytest.fixture(autouse=True)
def settings_as_they_were() -> Iterator[None]:
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = True
    if BY_BACKEND:
        torch.backends.cudnn.conv.fp32_precision = torch.backends.cudnn.rnn.fp32_precision = "tf32"
        torch.backends.mkldnn.conv.fp32_precision = "none"


@pytest.mark.parametrize("way", WAYS)
def test_products_are_in_full_inside_and_as_before_outside(way: str) -> None:
    WAYS[way]()
    before = settings()
    with exact_torch():
        assert torch.get_float32_matmul_precision() == "highest"
        assert not torch.backends.cudnn.allow_tf32
        assert not BY_BACKEND or set(settings()[3:]) == {"ieee"}
    assert settings() == before


@pytest.mark.skipif(not BY_BACKEND, reason="torch 2.9 and later")
def test_what_followed_the_backend_s_precision_still_does() -> None:
    mkldnn = torch.backends.mkldnn
    try:
        mkldnn.matmul.fp32_precision = "none"
        mkldnn.fp32_precision = "bf16"  # type: ignore[assignment]
        with exact_torch():
            assert mkldnn.conv.fp32_precision == "ieee"
        assert mkldnn.conv.fp32_precision == mkldnn.matmul.fp32_precision == "bf16"
        mkldnn.fp32_precision = "tf32"  # type: ignore[assignment]
        assert mkldnn.conv.fp32_precision == mkldnn.matmul.fp32_precision == "tf32"
    finally:
        mkldnn.fp32_precision = "none"  # type: ignore[assignment]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_autocast_is_off_inside_and_as_before_outside(device: str) -> None:
    def found() -> list[object]:
        return [torch.is_autocast_enabled(device), torch.get_autocast_dtype(device), torch.is_autocast_cache_enabled()]

    usual = found()
    torch.set_autocast_enabled(device, True)  # as `torch.autocast` does where there is such a device
    torch.set_autocast_dtype(device, torch.float16)
    try:
        before = found()
        with suppress(ZeroDivisionError), exact_torch():
            assert not torch.is_autocast_enabled(device)
            assert torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype == torch.float32
            raise ZeroDivisionError
        assert found() == before
    finally:
        torch.set_autocast_enabled(device, usual[0])
        torch.set_autocast_dtype(device, usual[1])


@pytest.mark.parametrize("before", [True, False])
def test_cudnn_is_kept_out_and_let_in_again_also_after_an_error(before: bool) -> None:
    def fail() -> None:
        with exact_torch(), exact_torch():
            assert not torch.backends.cuda.cudnn_sdp_enabled()
            raise ZeroDivisionError

    enabled = torch.backends.cuda.cudnn_sdp_enabled()
    try:
        torch.backends.cuda.enable_cudnn_sdp(before)
        with pytest.raises(ZeroDivisionError):
            fail()
        assert torch.backends.cuda.cudnn_sdp_enabled() is before
    finally:
        torch.backends.cuda.enable_cudnn_sdp(enabled)


def test_blocks_of_two_threads_that_overlap_leave_all_as_it_was() -> None:
    enabled, began, ended = torch.backends.cuda.cudnn_sdp_enabled(), Event(), Event()

    def scores_beside() -> None:
        with exact_torch():
            began.set()
            ended.wait(10)

    try:
        torch.backends.cuda.enable_cudnn_sdp(True)
        other = Thread(target=scores_beside)
        with exact_torch():
            other.start()
            began.wait(10)
        assert not torch.backends.cuda.cudnn_sdp_enabled()
        ended.set()
        other.join()
        assert torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(enabled)


def test_a_notebook_s_default_device_changes_nothing(tmp_path: Path) -> None:
    """In a thread of its own, whose default device that is: the next tests keep the CPU."""
    options, nli = ScoreOptions(relations=("month",), limit=2), str(tiny_nli(tmp_path / "nli"))

    def scores(device: str) -> bytes:
        torch.set_default_device(device)
        draw = QuestionOptions(draw=2)
        calprobe.ask(open_backend("tiny-chat"), "mini", tmp_path / f"asked-{device}", question_options=draw)
        load_pair_classifier(nli, LoadOptions()).probabilities([("a", "b")])
        return calprobe.score("tiny-clm", "mini", tmp_path / device, options).table().scores.tobytes()

    with ThreadPoolExecutor(1) as thread:
        usual, on_meta = (thread.submit(scores, device).result() for device in ("cpu", "meta"))
    assert usual == on_meta
