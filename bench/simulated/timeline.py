"""How long a card works and waits on BEAR, with gpt2 and gemma-7b.

FLOPs and bytes of a batch are counted on tensors without storage, through transformers' own forward without the
head. Groups are those into which scoring cuts the probe; nodes are those planned for template 0
(bench/plan_bear.py). All rates are assumed, of an H100, and printed. Groups are prepared, computed and written by three
parties, each of which takes one at a time and in order; a group waits for the party before it.

before    each group is written before the next one is computed; cuDNN makes a plan for each new shape of a batch;
          tokens come from transformers' own loop; groups are large
pipeline  none of these
kernels   the pipeline, and float32 as three products on tensor cores, tanh-GELU, RMSNorm, gated units and rotary
          positions in one kernel each, and attention over the tree in preorder instead of rows of 512 places
workers   the kernels, and tokens from four processes
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from calprobe.kernels import RotaryRule
from calprobe.models.activations import fast_activations
from calprobe.models.forwards import Forward, other_forwards
from calprobe.models.fused_layers import norms_among, unit_forward, units_among
from calprobe.models.fused_rotary import rotary_forward, rotary_layers_among
from calprobe.scoring import ScoreOptions
from calprobe.scoring.probe_selection import Selection, select
from calprobe.scoring.scheduling import Group, Schedule, groups_of
from simulated.many_models import HEAD, LAYERS, PLAN, group_tokens

PLACES = 32768  # of a batch
ROW = 512
KEYS_IN_TREE = 80  # that a block of 64 queries reads in preorder: its own 64 and the ancestors above them


@dataclass(frozen=True, slots=True)
class Rates:
    """What no measurement here says, of one H100 with 16 cores beside it. TFLOP/s are by dtype."""

    tflops: Mapping[str, float]  # of the products of a layer
    head_tflops: Mapping[str, float]
    attention_tflops: Mapping[str, float]  # heads of 256 reach less
    wide_attention_tflops: float = 70.0
    elementwise_tb_s: float = 2.8
    gap_s: float = 0.0045  # between two batches, host and card
    plan_s: float = 0.06  # cuDNN's, for a shape that is new
    new_shapes: float = 0.8  # share of the batches with one; 0: no cuDNN
    prepare_ms: float = 0.0525  # for a statement: text, tokens, tree
    write_s: float = 0.015  # for a piece
    start_s: float = 11.0  # Python, imports, weights, the self-check


BEFORE = Rates(
    tflops={"float32": 50.0, "bfloat16": 620.0},
    head_tflops={"float32": 23.0, "bfloat16": 430.0},
    attention_tflops={"float32": 38.0, "bfloat16": 120.0},
)
PIPELINE = replace(BEFORE, gap_s=0.001, new_shapes=0.0, prepare_ms=0.019)
KERNELS = replace(
    PIPELINE,
    tflops=LAYERS,  # float32 by three products in TF32
    head_tflops=HEAD,
)
# A statement takes 0.015 ms of Python and 0.024 of the tokenizer's threads (measured), of which a worker has three.
WORKERS = replace(KERNELS, prepare_ms=(0.015 + 0.024 / 3) / 4)
SCENARIOS = {"before": BEFORE, "pipeline": PIPELINE, "kernels": KERNELS, "workers": WORKERS}
_FUSED = ("kernels", "workers")


@dataclass(frozen=True, slots=True)
class Counted:
    """The work of one batch of `PLACES`."""

    products_flops: float
    elementwise_bytes: float
    attention_flops: float
    head_flops: float
    head_width: int  # of an attention head


class _Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts products by their FLOPs, everything else by the bytes that it reads and writes; views are free."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flops = self.n_bytes = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        given = [value for value in _flat((args, kwargs)) if isinstance(value, torch.Tensor)]
        made = [value for value in _flat(found) if isinstance(value, torch.Tensor)]
        if name in ("mm", "addmm", "bmm", "baddbmm"):
            self.flops += 2.0 * made[0].numel() * given[-2].shape[-1]
        elif name not in _FREE and not _is_view(func):
            self.n_bytes += sum(value.numel() * value.element_size() for value in (*given, *made))
        return found


_FREE = ("_unsafe_view", "empty", "empty_like", "embedding")  # the last reads rows, not its table


class _Attention(TorchFunctionMode):
    """Counts attention apart, over all pairs of places in a row, and leaves it out."""

    flops, width = 0.0, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not F.scaled_dot_product_attention:
            return func(*args, **(kwargs or {}))
        query, key = args[:2]
        self.flops += 4.0 * query.numel() * key.shape[-2]
        self.width = query.shape[-1]
        return torch.empty_like(query)


def _flat(values: Any) -> Iterator[Any]:
    if isinstance(values, dict):
        values = tuple(values.values())
    if isinstance(values, tuple | list):
        for value in values:
            yield from _flat(value)
    else:
        yield values


def _is_view(func: Any) -> bool:
    """Whether the result shares memory with an argument that is not written."""
    return any(result.alias_info is not None and not result.alias_info.is_write for result in func._schema.returns)


def counted(config: Any, dtype: torch.dtype, fused: bool) -> Counted:
    """The work of a batch of `PLACES` in rows of `ROW`, through the network of that config.

    `fused`: activations, norms, gated units and rotary positions are one kernel each.
    """
    from transformers import AutoModelForCausalLM

    config._attn_implementation = "sdpa"
    with torch.device("meta"):
        network = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
        rows = torch.zeros(PLACES // ROW, ROW, dtype=torch.int64)
        mask = torch.zeros(len(rows), 1, ROW, ROW, dtype=dtype)
    activations = fast_activations(network) if fused else nullcontext()
    layers = other_forwards(one_kernel_each(network) if fused else [])
    with torch.no_grad(), activations, layers, _Counting() as counting, _Attention() as attention:
        network.base_model(input_ids=rows, position_ids=rows, attention_mask=mask, use_cache=False)
    head = network.get_output_embeddings().weight
    return Counted(counting.flops, counting.n_bytes, attention.flops, 2.0 * PLACES * head.numel(), attention.width)


def one_kernel_each(network: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, Forward]]:
    """The modules of `fused_layers`, each with one kernel that reads and writes as many bytes."""
    modules = list(network.modules())
    yield from ((norm, torch.neg) for norm in norms_among(modules))
    yield from ((unit, unit_forward(unit, torch.mul)) for unit, _ in units_among(modules))
    yield from ((layer, rotary_forward(layer, _turn)) for layer in rotary_layers_among(modules))


def _turn(heads: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, rule: RotaryRule) -> torch.Tensor:
    torch.add(cos, sin)  # reads them, and writes a little that the kernel does not
    return heads.neg()


def batch_s(work: Counted, rates: Rates, dtype: str, in_preorder: bool) -> dict[str, float]:
    """Seconds of the card for a full batch, by what it does."""
    attention = rates.wide_attention_tflops if work.head_width > 128 else rates.attention_tflops[dtype]
    pairs = work.attention_flops * (KEYS_IN_TREE / ROW if in_preorder else 1.0)
    return {
        "body": work.products_flops / (rates.tflops[dtype] * 1e12),
        "head": work.head_flops / (rates.head_tflops[dtype] * 1e12),
        "attention": pairs / (attention * 1e12),
        "elementwise": work.elementwise_bytes / (rates.elementwise_tb_s * 1e12),
    }


@dataclass(frozen=True, slots=True)
class Timeline:
    """What the simulation says of a run, in seconds."""

    wall_s: float
    busy_s: float  # the card computes
    duty: float  # share of the time after the start in which it does
    waits_for_preparation_s: float
    waits_for_writing_s: float
    waits_between_batches_s: float  # plans of cuDNN among them


def timeline(groups: Sequence[Mapping[str, float]], card_s: float, rates: Rates, behind: bool) -> Timeline:
    """Groups one after another through preparation, card and disk.

    Args:
        groups: of each group `statements`, `pieces`, and forwarded `places`.
        card_s: for a full batch.
        rates: the assumptions.
        behind: whether a group is written while the next one is computed; else the card waits.
    """
    prepared = free = written = rates.start_s
    busy = for_preparation = for_writing = between = 0.0
    for group in groups:
        prepared += group["statements"] * rates.prepare_ms / 1e3
        batches = ceil(group["places"] / PLACES)
        work = card_s * group["places"] / PLACES
        pauses = batches * (rates.gap_s + rates.new_shapes * rates.plan_s)
        begin = max(free, prepared)
        for_preparation += begin - free
        free = begin + work + pauses
        busy += work
        between += pauses
        begin = max(free, written)  # at most one group is being written
        written = begin + group["pieces"] * rates.write_s
        waited = (begin if behind else written) - free
        for_writing += waited
        free += waited
    wall = max(free, written)
    return Timeline(wall, busy, busy / (wall - rates.start_s), for_preparation, for_writing, between)


def run_groups(selection: Selection, large: bool) -> list[dict[str, float]]:
    """The groups of a run; `large`: of a full batch of statements, as they were before."""
    plan = json.loads(PLAN.read_text("utf-8"))
    wasted = next(
        found["wasted"]
        for found in plan["plans"]
        if (found["scope"], found["row_length"], found["batch_tokens"]) == ("together", ROW, PLACES)
    )
    schedule = Schedule(selection, selection.pieces, "tree", PLACES)
    cut: Sequence[Group] = schedule.groups
    if large:
        counts = schedule._n_statements
        templates = sorted({piece.template for piece in counts})
        each = ({piece: n for piece, n in counts.items() if piece.template == number} for number in templates)
        cut = [group for pieces in each for group in groups_of(pieces, PLACES)]
    nodes = group_tokens(selection, "causal", PLACES, plan["tree"], cut).forwarded
    return [
        {"statements": schedule.n_statements([group]), "pieces": len(group), "places": n * (1 + wasted)}
        for group, n in zip(cut, nodes, strict=True)
    ]


def models(tiny: bool = False) -> dict[str, tuple[Callable[[], Any], str, str]]:
    """Config, dtype that `--dtype auto` takes, and templates of each run."""
    from transformers import GemmaConfig, GPT2Config

    if tiny:
        small = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 100}
        return {"gpt2": (lambda: GPT2Config(**small), "float32", "0")}
    return {
        "gpt2": (GPT2Config, "float32", "0"),
        "gpt2, 12 templates": (GPT2Config, "float32", "all"),
        "gpt2 --dtype bfloat16": (GPT2Config, "bfloat16", "0"),
        "gemma-7b": (GemmaConfig, "bfloat16", "all"),
    }


def simulated(probe: str, template_set: str, tiny: bool = False) -> Iterator[dict[str, Any]]:
    """A row for each model and scenario."""
    from calprobe.probes import load_probe

    loaded = load_probe(probe)
    for name, (config, dtype, templates) in models(tiny).items():
        selection = select(loaded, ScoreOptions(templates=templates, template_set=template_set))
        for scenario, rates in SCENARIOS.items():
            work = counted(config(), getattr(torch, dtype), fused=scenario in _FUSED)
            parts = batch_s(work, rates, dtype, in_preorder=scenario in _FUSED)
            groups = run_groups(selection, large=scenario == "before")
            found = timeline(groups, sum(parts.values()), rates, behind=scenario != "before")
            yield {
                "model": name,
                "templates": templates,
                "scenario": scenario,
                "counted": asdict(work),
                "batch_ms": {part: round(seconds * 1e3, 1) for part, seconds in parts.items()},
                "groups": len(groups),
                **{key: round(value, 3) for key, value in asdict(found).items()},
            }


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("--probe", default="bear", help="what `calprobe score --probe` takes (default: bear)")
    parser.add_argument("--template-set", default="calprobe", help="likewise (default: calprobe)")
    parser.add_argument("--tiny", action="store_true", help="a tiny model alone, to try the script")


def simulate(given: argparse.Namespace) -> dict[str, Any]:
    """Print and return the timelines."""
    from calprobe.models.libraries import quiet_libraries

    with quiet_libraries(True):
        rows = list(simulated(given.probe, given.template_set, given.tiny))
    print("model                  scenario   body   head   att.  elem. batch ms  card s  wall s duty")
    for row in rows:
        parts = row["batch_ms"]
        times = " ".join(f"{parts[part]:6.1f}" for part in ("body", "head", "attention", "elementwise"))
        print(f"{row['model']:22} {row['scenario']:8} {times} {sum(parts.values()):8.1f} {row['busy_s']:7.1f}", end=" ")
        print(f"{row['wall_s']:7.1f} {row['duty']:.0%}")
    return {"assumed": {name: asdict(rates) for name, rates in SCENARIOS.items()}, "rows": rows}
