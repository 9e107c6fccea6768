"""The paper's 16 models with its 12 templates on several GPUs.

What is known: the statements, how scoring cuts them into groups, and the tree's nodes for template 0 (measured by
bench/plan_bear.py). What is assumed, and printed with the result: the rate that a GPU reaches in the dtype in which a
checkpoint is stored (`--dtype auto`; BERT, RoBERTa and GPT-2 are in float32), seconds for each batch beside the
products, seconds to start and to read weights. FILE.json replaces the assumption by measured
seconds for a million forwarded tokens: {"gpt2": 1.9, ..}.

Three ways to spread the work are simulated:
    a model a GPU   each model on one GPU, the longest first, each to the GPU that has least (calprobe's `deal`)
    shards          the same with long models cut into shards (`--shard I/N`), each of which loads the model
    all on one      all GPUs on one model after another, groups from a shared queue (`accelerate launch`)
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any

from calprobe.models.aliases import ALIASES
from calprobe.scoring import ScoreOptions
from calprobe.scoring.probe_selection import Selection, select
from calprobe.scoring.scheduling import Group, Schedule, deal, longest_first, piece_cost
from calprobe.words import ModelKind

KINDS: tuple[ModelKind, ...] = ("causal", "masked")
PLAN = Path(__file__).parents[1] / "results" / "plan_bear.json"
# Rows of the output embedding and its width: what a head evaluation multiplies by. Parameters are in the alias table.
HEADS: Mapping[str, tuple[int, int]] = {
    "bert-base-cased": (28996, 768),
    "bert-large-cased": (28996, 1024),
    "roberta-base": (50265, 768),
    "roberta-large": (50265, 1024),
    "xlm-roberta-base": (250002, 768),
    "xlm-roberta-large": (250002, 1024),
    "gpt2": (50257, 768),
    "gpt2-medium": (50257, 1024),
    "gpt2-large": (50257, 1280),
    "gpt2-xl": (50257, 1600),
    "opt-125m": (50272, 768),
    "opt-350m": (50272, 512),
    "opt-1.3b": (50272, 2048),
    "opt-6.7b": (50272, 4096),
    "gemma-2b": (256000, 2048),
    "gemma-7b": (256000, 3072),
}


@dataclass(frozen=True, slots=True)
class Assumed:
    """What no measurement here says."""

    tflops: Mapping[str, float]  # reached in the products of the layers, by dtype
    head_tflops: Mapping[str, float]
    batch_s: float  # for each batch, beside its products
    start_s: float  # Python, imports, the load-time check
    read_gb_s: float  # weights from disk to the GPU
    batch_tokens: int


@dataclass(frozen=True, slots=True)
class Job:
    """One model: seconds to load, and seconds for each of its groups."""

    model: str
    load_s: float
    groups_s: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """On one GPU, from start to end."""
        return self.load_s + sum(self.groups_s)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A simulated way to spread the work."""

    strategy: str
    wall_s: float
    busy_s: float  # over all GPUs, loading included
    idle: float  # share of GPU time in [0, 1]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Forwarded tokens and head evaluations of each group of a run."""

    forwarded: tuple[float, ...]
    heads: tuple[float, ...]


def group_tokens(
    selection: Selection,
    kind: ModelKind,
    batch_tokens: int,
    template_0: Mapping[str, int],
    groups: Sequence[Group] | None = None,
) -> Tokens:
    """Tokens of groups (None: those that scoring makes), by `piece_cost` from the measured totals of template 0.

    Causal: the tree's nodes, each with a head evaluation. Masked: a row for each token, of its statement's length and
    two special tokens, and one head evaluation; that 6 % of the rows are the same on BEAR is left out.
    """
    path = "tree" if kind == "causal" else "masked"
    relations = {relation.name: relation for relation in selection.relations}
    costs = {piece: piece_cost(relations[piece.relation], selection.text(*piece), path) for piece in selection.pieces}
    of_template_0 = sum(cost for (_, number), cost in costs.items() if number == 0)
    forwarded, rows = template_0["nodes"], template_0["nodes"]
    if kind == "masked":
        rows = template_0["tokens"]
        forwarded = round(rows * (template_0["tokens"] / template_0["statements"] + 2))
    groups = groups or Schedule(selection, selection.pieces, path, batch_tokens).groups
    shares = [sum(costs[piece] for piece in group) / of_template_0 for group in groups]
    return Tokens(tuple(share * forwarded for share in shares), tuple(share * rows for share in shares))


def dtype_of(model: str) -> str:
    """The dtype of the published checkpoint, which `--dtype auto` takes on a GPU; from general knowledge."""
    return next((dtype for begin, dtype in _STORED.items() if model.startswith(begin)), "float32")


_STORED = {"opt": "float16", "gemma": "bfloat16"}


def job(model: str, tokens: Tokens, assumed: Assumed, measured: Mapping[str, float]) -> Job:
    """Seconds of a model: measured per million tokens, or its FLOPs over the assumed rate; 2 for each weight."""
    parameters = ALIASES[model].parameters * 1e6
    vocabulary, width = HEADS[model]
    dtype = dtype_of(model)
    seconds = []
    for forwarded, heads in zip(tokens.forwarded, tokens.heads, strict=True):
        if model in measured:
            seconds.append(measured[model] * forwarded / 1e6)
            continue
        of_layers = 2 * forwarded * (parameters - vocabulary * width) / (assumed.tflops[dtype] * 1e12)
        of_head = 2 * heads * vocabulary * width / (assumed.head_tflops[dtype] * 1e12)
        seconds.append(of_layers + of_head + assumed.batch_s * max(1.0, forwarded / assumed.batch_tokens))
    return Job(model, assumed.start_s + 2 * parameters / (assumed.read_gb_s * 1e9), tuple(seconds))


def model_a_gpu(jobs: Sequence[Job], gpus: int) -> Outcome:
    """Each model on one GPU."""
    return _dealt("a model a GPU", [job.seconds for job in jobs], gpus)


def shards(jobs: Sequence[Job], gpus: int) -> Outcome:
    """As that, but a model of more than half a GPU's fair share is cut into shards of about that length."""
    half = sum(job.seconds for job in jobs) / gpus / 2
    parts = [
        job.load_s + sum(job.groups_s[place] for place in share)
        for job in jobs
        for share in deal(job.groups_s, ceil(job.seconds / half))
        if share
    ]
    return _dealt("shards", parts, gpus)


def all_on_one(jobs: Sequence[Job], gpus: int) -> Outcome:
    """All GPUs load a model, take its groups from one queue, longest first, and wait for the last before the next."""
    wall = busy = 0.0
    for job in jobs:
        free = [job.load_s] * gpus
        for place in longest_first(job.groups_s):
            heapq.heappush(free, heapq.heappop(free) + job.groups_s[place])
        wall += max(free)
        busy += job.load_s * gpus + sum(job.groups_s)
    return Outcome("all on one", wall, busy, 1 - busy / (wall * gpus))


def _dealt(strategy: str, seconds: Sequence[float], gpus: int) -> Outcome:
    loads = [sum(seconds[place] for place in share) for share in deal(seconds, gpus)]
    return Outcome(strategy, max(loads), sum(loads), 1 - sum(loads) / (max(loads) * gpus))


# Assumed of an H100, here and in timeline.py; float32 as three products in TF32, the default.
LAYERS = {"float32": 100.0, "bfloat16": 620.0}
HEAD = {"float32": 72.0, "bfloat16": 430.0}
RATES, HEAD_RATES = ({**each, "float16": each["bfloat16"]} for each in (LAYERS, HEAD))


def rates(text: str) -> dict[str, float]:
    """`float32=100,bfloat16=620` as a mapping."""
    found = {dtype: float(rate) for dtype, _, rate in (part.partition("=") for part in text.split(","))}
    if unknown := found.keys() - RATES:
        raise argparse.ArgumentTypeError(f"{sorted(unknown)[0]!r} is none of {', '.join(RATES)}")
    return found


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("--probe", default="bear", help="what `calprobe score --probe` takes")
    parser.add_argument("--template-set", default="calprobe", help="likewise (default: calprobe)")
    parser.add_argument("--templates", default="all", help="likewise (default: all, twelve on BEAR)")
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--tflops", type=rates, default=RATES, metavar="DTYPE=RATE,..", help="reached by layers")
    parser.add_argument("--head-tflops", type=rates, default=HEAD_RATES, metavar="DTYPE=RATE,..", help="by the head")
    parser.add_argument("--batch-s", type=float, default=0.02)
    parser.add_argument("--start-s", type=float, default=30.0)
    parser.add_argument("--read-gb-s", type=float, default=2.0)
    parser.add_argument("--batch-tokens", type=int, default=32768)
    parser.add_argument("--measured", type=Path, help="JSON: model -> seconds for a million forwarded tokens")


def simulate(given: argparse.Namespace) -> dict[str, Any]:
    """Print and return what each strategy takes."""
    from calprobe.probes import load_probe

    reached = {**RATES, **given.tflops}, {**HEAD_RATES, **given.head_tflops}
    assumed = Assumed(*reached, given.batch_s, given.start_s, given.read_gb_s, given.batch_tokens)
    measured = json.loads(given.measured.read_text("utf-8")) if given.measured else {}
    options = ScoreOptions(templates=given.templates, template_set=given.template_set)
    selection = select(load_probe(given.probe), options)
    template_0 = json.loads(PLAN.read_text("utf-8"))["tree"]
    tokens = {kind: group_tokens(selection, kind, given.batch_tokens, template_0) for kind in KINDS}
    jobs = [job(model, tokens[ALIASES[model].kind], assumed, measured) for model in HEADS]
    outcomes = [strategy(jobs, given.gpus) for strategy in (model_a_gpu, shards, all_on_one)]
    in_head = {f"{dtype} in the head": rate for dtype, rate in assumed.head_tflops.items()}
    others = {name: value for name, value in asdict(assumed).items() if not name.endswith("tflops")}
    shown = ", ".join(f"{name} {value:g}" for name, value in {**assumed.tflops, **in_head, **others}.items())
    print(f"assumed: {shown} (rates in TFLOP/s)" + (f"; measured: {', '.join(measured)}" if measured else ""))
    print(f"{'model':18} {'groups':>6} {'M tokens':>9} {'load s':>7} {'score s':>8}")
    for one in jobs:
        forwarded = sum(tokens[ALIASES[one.model].kind].forwarded) / 1e6
        print(f"{one.model:18} {len(one.groups_s):6} {forwarded:9.1f} {one.load_s:7.0f} {sum(one.groups_s):8.0f}")
    for outcome in outcomes:
        print(f"{outcome.strategy:14} wall {outcome.wall_s / 60:6.1f} min, idle {outcome.idle:5.1%}")
    return {
        "gpus": given.gpus,
        "assumed": asdict(assumed),
        "measured": measured,
        "outcomes": [asdict(outcome) for outcome in outcomes],
        "seconds_by_model": {one.model: round(one.seconds, 1) for one in jobs},
    }
