"""When vLLM is said to be faster: by hand, for a model of eight billion parameters on three cards."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
from asked_samples import PROMPTS, question_set
from tiny_backends import TEMPLATE, tiny_backend, tiny_model

from calprobe.asking import AskOptions, ask
from calprobe.backends.local import TransformersBackend, writing_time
from calprobe.backends.local.limits import Limits
from calprobe.backends.local.plain import PlainRunner
from calprobe.backends.local.ragged import RaggedRunner
from calprobe.backends.local.writing_time import Writer, faster_in_vllm

GB = 10**9


def writer(speed: float, room: float) -> Writer:
    """Weights of 16 GB in 32 layers, 131,072 bytes a token."""
    limits = Limits(256, 512, 8192, 4096, 131_072, 4096, int(room))
    return Writer(16 * GB, 32, speed, limits)


def test_seconds_by_hand() -> None:
    large = writer(2500 * GB, 56 * GB)  # 256 rows in both, which read 13.42 GB
    assert large.seconds_here(2_560_000) == pytest.approx(10_000 * 32 * 0.7e-3)
    assert large.seconds_in_vllm(2_560_000) == pytest.approx(75 + 10_000 * (16 + 13.4218) / 2000, rel=1e-4)
    small = writer(250 * GB, 5.24288 * GB)  # 50 rows here, 90 in vLLM
    assert small.seconds_here(50_000) == pytest.approx(1000 * (16 + 2.62144) / 200)
    assert small.seconds_in_vllm(90_000) == pytest.approx(75 + 1000 * (16 + 4.718592) / 200)


def test_one_line_where_it_is_clearly_less(monkeypatch: pytest.MonkeyPatch) -> None:
    large = writer(2500 * GB, 56 * GB)
    monkeypatch.setattr(writing_time, "find_spec", lambda name: None)
    assert faster_in_vllm(large, 6_200_000) == (
        'up to 6.2 M tokens to write: about 9 min here, 7.2 with --backend vllm (pip install "calprobe[vllm]"); its'
        " replies are another run"
    )
    monkeypatch.setattr(writing_time, "find_spec", lambda name: name)
    assert "pip" not in (faster_in_vllm(large, 6_200_000) or "")
    for few in (0, 70_210, 1_000_000):  # labels of MMLU under five variants; less than a minute is saved
        assert faster_in_vllm(large, few) is None


def test_cards_that_share_a_model_work_in_turn_here_and_at_once_in_vllm() -> None:
    # 140 GB in 80 layers on 4 cards; 163,840 bytes a token, 40 GB beside the weights of each card.
    limits = Limits(256, 512, 8192, 4096, 163_840, 4096, 40 * GB)
    spread = Writer(140 * GB, 80, 2500 * GB, limits, n_cards=4)
    read_s = (140 + 256 * 400 * 163_840 / GB) / 2000
    assert spread.seconds_here(2_560_000) == pytest.approx(10_000 * read_s)
    assert spread.seconds_in_vllm(2_560_000) == pytest.approx(75 + 10_000 * read_s / 4)
    line = faster_in_vllm(spread, 2_560_000)
    assert line is not None
    assert "about 13 min here, 4.5 with --backend vllm --backend-option tensor-parallel=4" in line
    small = replace(spread, limits=replace(limits, room=limits.bytes_of_token * 400 * 10))
    rows_here, rows_there = 5, 36  # half of one card's room, 0.9 of that of four
    assert small.seconds_here(rows_here) == pytest.approx((140 + rows_here * 0.065536) / 2000)
    assert small.seconds_in_vllm(rows_there) == pytest.approx(75 + (140 + rows_there * 0.065536) / 8000)


def test_a_run_says_it_once_of_what_it_lacks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class OnACard(TransformersBackend):
        asked_of: ClassVar[list[int]] = []

        def settings(self) -> Mapping[str, object]:
            return {**super().settings(), "device": "cuda"}

        def faster_elsewhere(self, n_tokens: int) -> str | None:
            self.asked_of.append(n_tokens)
            return "faster elsewhere" if n_tokens > 20 else None

    caplog.set_level(logging.INFO)
    backend = OnACard(tiny_model(template=TEMPLATE))
    options = AskOptions(prompts=PROMPTS, collect=("labels", "answer"), variants=("direct",), quiet=True)
    ask(backend, question_set(2), tmp_path / "run", options)
    assert "faster" not in caplog.text
    for _ in range(2):
        ask(backend, question_set(5), tmp_path / "run", options)
    assert backend.asked_of == [2 * 8, 3 * 8]  # and nothing of a run that lacks nothing
    assert caplog.text.count("faster elsewhere") == 1


def backend_on(card: Any, monkeypatch: pytest.MonkeyPatch, architecture: str = "llama") -> TransformersBackend:
    backend = tiny_backend(architecture, TEMPLATE)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    backend._loaded = replace(backend._loaded, device=torch.device("cuda", 0))
    return backend


def test_the_speed_is_the_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    h100 = SimpleNamespace(memory_clock_rate=2_619_000, memory_bus_width=5120)
    backend = backend_on(h100, monkeypatch)
    assert isinstance(backend._runner, RaggedRunner)
    found = Writer.of(backend._loaded, backend._runner.limits)
    assert found is not None
    assert found.speed == pytest.approx(3.352e12, rel=1e-3)
    assert found.weight_bytes == sum(parameter.nbytes for parameter in backend._loaded.network.parameters())
    assert backend.faster_elsewhere(10**9) is not None
    assert Writer.of(backend_on(SimpleNamespace(), monkeypatch)._loaded, backend._runner.limits) is None
    assert tiny_backend().faster_elsewhere(10**9) is None  # on a CPU


def test_one_reply_at_a_time_takes_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = replace(writer(2500 * GB, 56 * GB), alone=True)
    assert alone.seconds_here(10_000) == pytest.approx(10_000 * 32 * 0.7e-3)
    assert alone.seconds_in_vllm(10_000) == pytest.approx(75 + 10_000 / 256 * (16 + 13.4218) / 2000, rel=1e-4)
    line = faster_in_vllm(alone, 10_000)
    assert line is not None
    assert "about 3.7 min here, 1.3 with --backend vllm" in line
    assert line.endswith(", if it knows the architecture; its replies are another run")
    h100 = SimpleNamespace(memory_clock_rate=2_619_000, memory_bus_width=5120)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (60 * GB, 80 * GB))
    for architecture, n_bytes in (("mamba", 0), ("mpt", None)):
        backend = backend_on(h100, monkeypatch, architecture)
        assert isinstance(backend._runner, PlainRunner)
        found = Writer.of(backend._loaded, None)
        assert found is not None
        config: Any = backend._loaded.network.config
        keys_and_values = 2 * config.num_hidden_layers * config.hidden_size * 4 if n_bytes is None else n_bytes
        assert (found.alone, found.limits.bytes_of_token) == (True, keys_and_values)
        assert "if it knows the architecture" in (backend.faster_elsewhere(10**6) or "")
        assert backend.faster_elsewhere(100) is None
        assert tiny_backend(architecture).faster_elsewhere(10**6) is None  # on a CPU


@pytest.mark.parametrize(
    ("others", "n_cards"),
    [(["cuda:1"], 2), (["cuda:1", "cuda:2"], None), (["cpu"], None), (["meta"], None)],  # three cards, and four heads
)
def test_a_model_on_cards_alone_is_estimated(
    others: list[str], n_cards: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = backend_on(SimpleNamespace(memory_clock_rate=2_619_000, memory_bus_width=5120), monkeypatch)
    network: Any = backend._loaded.network
    assert network.config.num_attention_heads == 4
    placed = [SimpleNamespace(device=torch.device(name), nbytes=10) for name in ("cuda:0", *others)]
    monkeypatch.setattr(network, "parameters", lambda: iter(placed))
    assert isinstance(backend._runner, RaggedRunner)
    found = Writer.of(backend._loaded, backend._runner.limits)
    assert (found and (found.n_cards, found.weight_bytes)) == (n_cards and (n_cards, 10 * len(placed)))
    unlike = SimpleNamespace(num_attention_heads=[4, 2], num_hidden_layers=2)  # a list of each layer's
    monkeypatch.setattr(network, "config", SimpleNamespace(get_text_config=lambda: unlike))
    assert Writer.of(backend._loaded, backend._runner.limits) is None


class Ambiguous:
    """A configuration whose layers differ, as of transformers 5.23: to read their number of heads is an error."""

    hidden_size, num_hidden_layers = 64, 2

    def get_text_config(self) -> Ambiguous:
        return self

    @property
    def num_attention_heads(self) -> int:
        raise RuntimeError("ambiguous")


def test_a_configuration_that_does_not_name_its_sizes_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (60 * GB, 80 * GB))
    for config in (SimpleNamespace(get_text_config=lambda: SimpleNamespace()), Ambiguous()):
        backend = backend_on(SimpleNamespace(memory_clock_rate=2_619_000, memory_bus_width=5120), monkeypatch, "mamba")
        monkeypatch.setattr(backend._loaded.network, "config", config)
        assert backend.faster_elsewhere(10**9) is None
