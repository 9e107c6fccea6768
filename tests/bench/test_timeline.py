"""The simulated timeline: counts and waits by hand, and that it calls itself a simulation."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import simulate
import torch
from simulated.timeline import BEFORE, PLACES, ROW, counted, timeline
from transformers import GemmaConfig, GPT2Config

SMALL = {"n_embd": 32, "n_layer": 3, "n_head": 2, "vocab_size": 100}
GROUP = {"statements": 1000, "pieces": 10, "places": PLACES}
RATES = replace(BEFORE, gap_s=0.5, plan_s=1.0, new_shapes=0.5, prepare_ms=2.0, write_s=0.1, start_s=10.0)


def test_the_work_of_a_batch_by_hand() -> None:
    work = counted(GPT2Config(**SMALL), torch.float32, fused=False)
    assert work.products_flops == 2 * PLACES * 12 * 32**2 * 3  # 12 D^2 weights a layer
    assert work.attention_flops == 4 * PLACES * ROW * 32 * 3
    assert (work.head_flops, work.head_width) == (2 * PLACES * 100 * 32, 16)
    fused = counted(GPT2Config(**SMALL), torch.float32, fused=True)
    assert fused.products_flops == work.products_flops
    # Seven kernels fewer in each layer, most of which read and write [places, 4 D] in float32.
    saved = (work.elementwise_bytes - fused.elementwise_bytes) / (3 * PLACES * 4 * 32 * 4)
    assert 14 <= saved <= 21


def test_norms_gated_units_and_positions_of_a_batch_by_hand() -> None:
    dim, inner, half = 32, 96, 2
    small = {"hidden_size": dim, "intermediate_size": inner, "num_attention_heads": 2, "head_dim": 16}
    small["num_key_value_heads"] = 1
    own, fused = (
        counted(GemmaConfig(**small, num_hidden_layers=n, vocab_size=100), torch.bfloat16, fused=fused)
        for n, fused in ((3, False), (3, True))
    )
    assert fused.products_flops == own.products_flops
    # Of a norm in steps: to float32 6, square 8, mean 4, product 8, factor 8, back 6 bytes a value; as a kernel 4. Of a
    # unit in steps: 4 and 6, as a kernel 6. The sum, the root and the weight are a value a row, or one row.
    norms, units = (3 * 2 + 1) * (40 - 2 * half), 3 * 2 * half
    # Of positions in steps: half negated 2, put together 4, times cosine and sine 8, sum 6; as a kernel 4.
    heads, turned = 2 * 16 + 1 * 16, 3 * (20 - 2 * half)
    assert own.elementwise_bytes - fused.elementwise_bytes == pytest.approx(
        PLACES * (norms * dim + units * inner + turned * heads), rel=0.02
    )


@pytest.mark.parametrize("behind", [False, True])
def test_who_waits_for_whom_by_hand(behind: bool) -> None:
    found = timeline([GROUP, GROUP], 3.0, RATES, behind)
    # Prepared at 12 and 14. The card works 3 s and pauses 0.5 + 0.5 for a group, and a group is written in 1 s.
    ends = [12 + 4, 16 + 4] if behind else [16 + 1, 17 + 4]
    assert found.wall_s == pytest.approx(ends[1] + 1)
    assert found.busy_s == 6.0
    assert found.waits_for_preparation_s == pytest.approx(2.0)
    assert found.waits_between_batches_s == pytest.approx(2.0)
    assert found.waits_for_writing_s == pytest.approx(0.0 if behind else 2.0)
    assert found.duty == pytest.approx(6 / (found.wall_s - 10))


def test_the_card_waits_where_writing_takes_longer() -> None:
    found = timeline([GROUP] * 3, 3.0, replace(RATES, write_s=0.6), behind=True)
    # Scored at 16, written 16 to 22; scored at 20, waits until 22; scored at 26, waits until 28, written at 34.
    assert found.waits_for_writing_s == pytest.approx(4.0)
    assert found.wall_s == pytest.approx(34.0)


def test_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "timeline.json"
    monkeypatch.setattr(sys, "argv", ["simulate.py", "timeline", "--probe", "mini", "--tiny", "--out", str(out)])
    simulate.main()
    assert capsys.readouterr().out.startswith("A SIMULATION: nothing here was measured on a GPU\n")
    figures = json.loads(out.read_text())
    assert figures["simulation"] is True
    assert [row["scenario"] for row in figures["rows"]] == list(figures["assumed"])
    walls = [row["wall_s"] for row in figures["rows"]]
    assert walls == sorted(walls, reverse=True)
