"""The kernels alone: those of the head, of sums and of layers against plain torch and what else can be imported.

    python bench/kernel_times.py --out FILE.json [--device cpu|cuda] [--shapes smollm2,gemma3-270m] [--rows 512,4096]

Every row has quantiles of the time in ms (p20, p50, p80; the contestants take turns, so that other work on the machine
meets all alike), GFLOP/s at p50, unit, device and versions. On a card a time is the mean of 20 launches that queue up
behind one another, so that it is the card's and not Python's. Before a ratio is printed, both sides are checked against
float64 on a sample of rows: float32 results must agree to 1e-3 nats; in bf16, where plain torch rounds its logits, ours
must be no further from float64 than the peer. A peer that is not installed, cannot run or disagrees gives a row that
says so, and no ratio. The roof is `torch.mm` of the same hidden states and 4,096 words, on a CPU in float32. Scores of
`gather_reduce` must equal the reference's to the last bit. `rms_norm`, `gated_unit` and `rotary` are timed on a card
alone, in GB/s of what they must read and write: on a CPU nothing calls them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from harness.machine import machine

from calprobe.kernels import (
    RotaryRule,
    gated_unit,
    gather_reduce,
    gather_reduce_reference,
    linear_logprob,
    rms_norm,
    rotary,
)
from calprobe.kernels.arguments import ANSWER

SHAPES = {"gpt2": (50_257, 768), "smollm2": (49_152, 576), "gemma3-270m": (262_144, 640), "gemma-7b": (256_000, 3072)}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
MAX_DIFFERENCE = 1e-3  # nats, float32 against float32
SAMPLE = 64  # rows that are held against float64
ROOF_WORDS = 4096  # of the vocabulary in the roof's product: enough for full speed, and its result is no N x V
STATEMENTS = 209_499  # BEAR's, one template
QUEUED = 20  # launches that are timed together on a card
LONG_MS = 20.0  # of one run that is timed alone: the launch no longer counts
LAYER_ROWS = 32_768  # places of a full batch
NORM_WIDTHS, GATE_WIDTHS = (256, 3072, 4096), (11_008, 24_576)  # gemma-7b's heads and states, a Llama's; their units'

HEADS = ((16, 256), (32, 128))  # gemma-7b's queries, a Llama's
PACKAGES = ("torch", "triton", "cut-cross-entropy", "calprobe")

Run = Callable[[], Tensor]


@dataclass(frozen=True)
class Case:
    """One head and a batch of rows, each with one target; logits have a standard deviation of about 3."""

    shape: str
    dtype: str
    n_rows: int
    device: torch.device

    @property
    def n_flops(self) -> int:
        """Of the head's matrix product, which all contestants do."""
        vocab, dim = SHAPES[self.shape]
        return 2 * self.n_rows * vocab * dim

    @cached_property
    def hidden(self) -> Tensor:
        """[N, D]."""
        return self._normal(0, self.n_rows)

    @cached_property
    def weight(self) -> Tensor:
        """[V, D]."""
        vocab, dim = SHAPES[self.shape]
        weight: Tensor = self._normal(1, vocab) * (3 / dim**0.5)
        return weight

    @cached_property
    def targets(self) -> Tensor:
        """[N]."""
        rng = torch.Generator(self.device).manual_seed(2)
        return torch.randint(0, len(self.weight), (self.n_rows,), generator=rng, device=self.device)

    def error(self, logprobs: Tensor) -> float:
        """Largest difference (nats) from float64 over the first rows."""
        sample = self.hidden[:SAMPLE].double()
        logits = torch.cat([sample @ words.double().T for words in torch.split(self.weight, 16_384)], dim=1)
        truth = logits.log_softmax(-1).gather(1, self.targets[:SAMPLE, None])[:, 0]
        return float((logprobs[:SAMPLE] - truth).abs().max())

    def _normal(self, seed: int, n: int) -> Tensor:
        rng = torch.Generator(self.device).manual_seed(seed)
        return torch.randn(n, SHAPES[self.shape][1], generator=rng, device=self.device).to(DTYPES[self.dtype])


def plain(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """Logits in memory: a matrix product in the inputs' dtype, a float32 log-softmax, a gather."""
    return F.linear(hidden, weight).float().log_softmax(-1).gather(1, targets[:, None])[:, 0]


def cut_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """The same by the package of that name."""
    from cut_cross_entropy import linear_cross_entropy  # type: ignore[import-not-found]

    result: Tensor = -linear_cross_entropy(hidden, weight, targets, reduction="none")
    return result


def contestants(case: Case) -> dict[str, Run]:
    """Ours first, then whoever gives the same numbers [N]; `roof` gives none, and sets the scale."""
    inputs = (case.hidden, case.weight, case.targets)
    offsets = torch.arange(case.n_rows + 1, device=case.device)
    compiled = torch.compile(plain)
    runs: dict[str, Run] = {
        "calprobe": lambda: linear_logprob(*inputs, offsets)[1],
        "torch": lambda: plain(*inputs),
        "torch.compile": lambda: compiled(*inputs),
    }
    rows, words = case.hidden, case.weight[:ROOF_WORDS].T
    if case.device.type == "cuda":
        runs["cut_cross_entropy"] = lambda: cut_cross_entropy(*inputs)
    else:
        rows, words = rows.float(), words.float()
    return runs | {"roof": lambda: torch.mm(rows, words)}


def head_rows(case: Case, repeats: int) -> Iterator[dict[str, Any]]:
    """One result a contestant of `linear_logprob`."""
    runs = contestants(case)
    faults, errors = {}, {}
    own = runs["calprobe"]()
    errors["calprobe"] = case.error(own)
    for name in [name for name in runs if name not in ("calprobe", "roof")]:
        try:
            other = runs[name]()
        except (RuntimeError, ImportError, AssertionError) as failure:
            faults[name] = f"did not run: {str(failure).strip().splitlines()[0][:120]}"
            continue
        errors[name] = case.error(other)
        apart = float((own - other).abs().max())
        if case.dtype == "float32" and not apart <= MAX_DIFFERENCE:
            faults[name] = f"no ratio: scores differ by {apart:.1e}"
        elif case.dtype != "float32" and not errors["calprobe"] <= errors[name]:
            faults[name] = f"no ratio: our error {errors['calprobe']:.1e}, theirs {errors[name]:.1e}"
    times = timed({name: run for name, run in runs.items() if name == "roof" or name in errors}, case.device, repeats)
    for name in runs:
        row: dict[str, Any] = {"kernel": "linear_logprob", "contestant": name, "shape": case.shape}
        in_float32 = name == "roof" and case.device.type == "cpu"
        row |= {"dtype": "float32" if in_float32 else case.dtype, "rows": case.n_rows, "note": faults.get(name)}
        if name in times:
            flops = case.n_flops * (ROOF_WORDS / SHAPES[case.shape][0] if name == "roof" else 1)
            row |= times[name] | {"gflop_per_s": round(flops / times[name]["p50"] / 1e6, 1)}
            row["error_nats"] = errors.get(name)
        if name in times and name not in faults and name not in ("calprobe", "roof"):
            row["times_as_slow_as_calprobe"] = round(times[name]["p50"] / times["calprobe"]["p50"], 2)
        yield row


def reduce_rows(device: torch.device, repeats: int) -> Iterator[dict[str, Any]]:
    """`gather_reduce` over as many statements as BEAR's; against its torch reference on a card, NumPy on a CPU."""
    rng = torch.Generator().manual_seed(0)
    lengths = torch.randint(5, 21, (STATEMENTS,), generator=rng)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    n_tokens, n_edges = int(offsets[-1]), 3 * STATEMENTS
    arrays = (
        -10 * torch.rand(n_edges, generator=rng),
        torch.randint(n_edges, (n_tokens,), generator=rng, dtype=torch.int32),
        torch.randint(0, 3, (n_tokens,), generator=rng, dtype=torch.int8),
        offsets,
    )
    tokens = tuple(array.to(device) for array in arrays)
    for mine, right in zip(gather_reduce(*tokens), gather_reduce_reference(*arrays), strict=True):
        torch.testing.assert_close(mine.cpu(), right, rtol=0, atol=0, equal_nan=True)
    runs: dict[str, Run] = {"calprobe": lambda: gather_reduce(*tokens).sum}
    if device.type == "cuda":
        runs["torch"] = lambda: gather_reduce_reference(*tokens).sum
    else:
        runs["numpy"] = lambda: sums_by_numpy(*arrays)[0]
        for mine, right in zip(gather_reduce(*tokens)[:2], sums_by_numpy(*arrays), strict=True):
            torch.testing.assert_close(mine, right, rtol=0, atol=1e-10)
    found = timed(runs, device, repeats)
    for name, times in found.items():
        row = {"kernel": "gather_reduce", "contestant": name, "statements": STATEMENTS, "tokens": n_tokens} | times
        if name != "calprobe":
            row["times_as_slow_as_calprobe"] = round(times["p50"] / found["calprobe"]["p50"], 2)
        yield row


def layer_rows(device: torch.device, repeats: int, n_rows: int = LAYER_ROWS) -> Iterator[dict[str, Any]]:
    """`rms_norm` and `gated_unit` in bfloat16, against the steps in which models write them."""
    for width in (*NORM_WIDTHS, *GATE_WIDTHS):
        rng = torch.Generator(device).manual_seed(width)
        x, other = (torch.randn(n_rows, width, generator=rng, device=device).bfloat16() for _ in range(2))
        is_norm = width in NORM_WIDTHS
        truth, runs = norm_runs(x, other[0] / 4) if is_norm else gate_runs(x, other)
        errors = {name: float((run()[:SAMPLE] - truth).abs().max()) for name, run in runs.items()}
        found = timed(runs, device, repeats)
        for name, times in found.items():
            row: dict[str, Any] = {"kernel": "rms_norm" if is_norm else "gated_unit", "contestant": name}
            row |= {"dtype": "bfloat16", "rows": n_rows, "width": width, "error": errors[name]} | times
            row["gb_per_s"] = round((2 if is_norm else 3) * x.nbytes / times["p50"] / 1e6, 1)
            if name != "calprobe" and errors["calprobe"] <= 1.01 * errors[name]:
                row["times_as_slow_as_calprobe"] = round(times["p50"] / found["calprobe"]["p50"], 2)
            yield row


def rotary_rows(device: torch.device, repeats: int, n_places: int = LAYER_ROWS) -> Iterator[dict[str, Any]]:
    """`rotary` in bfloat16, against the steps in which models write it: the bits must be theirs."""
    for n_heads, width in HEADS:
        rng = torch.Generator(device).manual_seed(width)
        x = torch.randn(1, n_places, n_heads, width, generator=rng, device=device).bfloat16().transpose(1, 2)
        angles = torch.randn(1, n_places, width, generator=rng, device=device)
        cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
        runs: dict[str, Run] = {
            "calprobe": partial(rotary, x, cos, sin, RotaryRule()),
            "torch": partial(turned, x, cos[:, None], sin[:, None]),
        }
        if not torch.equal(runs["calprobe"](), runs["torch"]()):
            raise SystemExit(f"rotary has other bits than torch's steps, with heads of {width}")
        found = timed(runs, device, repeats)
        for name, times in found.items():
            row = {"kernel": "rotary", "contestant": name, "dtype": "bfloat16", "places": n_places}
            row |= {"heads": n_heads, "width": width} | times
            row["gb_per_s"] = round((2 * x.nbytes + cos.nbytes + sin.nbytes) / times["p50"] / 1e6, 1)
            if name != "calprobe":
                row["times_as_slow_as_calprobe"] = round(times["p50"] / found["calprobe"]["p50"], 2)
            yield row


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Llama's positions, in their steps."""
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


def norm_runs(x: Tensor, weight: Tensor) -> tuple[Tensor, dict[str, Run]]:
    """The first rows in float64, and who computes them all."""
    runs: dict[str, Run] = {
        "calprobe": lambda: rms_norm(x, weight, 1e-6, one_plus=True),
        "torch": lambda: normed(x.float(), weight.float()).bfloat16(),
    }
    return normed(x[:SAMPLE].double(), weight.double()), runs


def gate_runs(gate: Tensor, up: Tensor) -> tuple[Tensor, dict[str, Run]]:
    """As `norm_runs`."""
    runs: dict[str, Run] = {
        "calprobe": lambda: gated_unit(gate, up, "gelu_tanh"),
        "torch": lambda: F.gelu(gate, approximate="tanh") * up,
    }
    return F.gelu(gate[:SAMPLE].double(), approximate="tanh") * up[:SAMPLE].double(), runs


def normed(x: Tensor, weight: Tensor) -> Tensor:
    """Gemma's norm, in its steps."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (1.0 + weight)


def sums_by_numpy(edge_logprobs: Tensor, edge_of_token: Tensor, roles: Tensor, offsets: Tensor) -> list[Tensor]:
    """The two sums of `gather_reduce`, by NumPy; no statement may be empty."""
    logprobs = edge_logprobs.numpy()[edge_of_token.numpy()].astype(np.float64)
    of_answers, starts = np.where(roles.numpy() == ANSWER, logprobs, 0.0), offsets.numpy()[:-1]
    return [torch.from_numpy(np.add.reduceat(values, starts)) for values in (logprobs, of_answers)]


def timed(runs: dict[str, Run], device: torch.device, repeats: int) -> dict[str, dict[str, Any]]:
    """Quantiles of the time and peak memory of each run, already warm; in turns, round by round."""
    measured: dict[str, list[float]] = {name: [] for name in runs}
    peaks: dict[str, int] = {}
    for _ in range(repeats):
        for name, run in runs.items():
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats(device)
                before = torch.cuda.memory_allocated(device)
            measured[name].append(time_ms(run, device))
            if device.type == "cuda":
                peaks[name] = (torch.cuda.max_memory_allocated(device) - before) // 2**20
    found = {}
    for name, values in measured.items():
        p20, p50, p80 = torch.tensor(values).quantile(torch.tensor([0.2, 0.5, 0.8])).tolist()
        found[name] = {
            "unit": "ms",
            "p20": round(p20, 4),
            "p50": round(p50, 4),
            "p80": round(p80, 4),
            "repeats": repeats,
        }
        found[name] |= {"peak_mib": peaks[name]} if name in peaks else {}
    return found


def time_ms(run: Run, device: torch.device) -> float:
    """Milliseconds of one run; on a card by its own clock, a short run as the mean of `QUEUED` in a row."""
    if device.type != "cuda":
        start = time.perf_counter()
        run()
        return (time.perf_counter() - start) * 1e3
    alone = _queued_ms(run, 1, device)
    return alone if alone > LONG_MS else _queued_ms(run, QUEUED, device)


def _queued_ms(run: Run, count: int, device: torch.device) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    torch.cuda.synchronize(device)
    begin.record()
    for _ in range(count):
        run()
    end.record()
    torch.cuda.synchronize(device)
    return float(begin.elapsed_time(end)) / count


def line(row: dict[str, Any]) -> str:
    """One result for people."""
    what = " ".join(str(row[key]) for key in ("kernel", "shape", "dtype", "rows", "width") if key in row)
    text = f"{what:46} {row['contestant']:18}"
    if "p50" in row:
        text += f"{row['p50']:10.3f} ms"
    if "gflop_per_s" in row:
        text += f"{row['gflop_per_s']:11.1f} GFLOP/s"
    if "gb_per_s" in row:
        text += f"{row['gb_per_s']:11.1f} GB/s"
    if row.get("error_nats") is not None:
        text += f"  error {row['error_nats']:.1e}"
    if "times_as_slow_as_calprobe" in row:
        text += f"  {row['times_as_slow_as_calprobe']} times calprobe's time"
    return f"{text}  {row.get('note') or ''}".rstrip()


def main() -> int:
    """Run, print, and write the rows."""
    on_card = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shapes, rows = (",".join(SHAPES), "16,512,8192") if on_card else ("smollm2,gemma3-270m", "64,512")
    here = "(default here: %(default)s)"
    parser.add_argument("--device", default="cuda" if on_card else "cpu", help=f"cpu or cuda {here}")
    parser.add_argument("--shapes", default=shapes, metavar="A,B", help=f"heads, of {','.join(SHAPES)} {here}")
    parser.add_argument("--dtypes", default=",".join(DTYPES), metavar="A,B", help=f"of these {here}")
    parser.add_argument("--rows", default=rows, metavar="N,M", help=f"hidden states in one call {here}")
    parser.add_argument("--repeats", type=int, default=50 if on_card else 10, help=f"timed calls of each {here}")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    for option, given, known in (("--shapes", options.shapes, SHAPES), ("--dtypes", options.dtypes, DTYPES)):
        if unknown := [name for name in given.split(",") if name not in known]:
            parser.error(f"{option}: {unknown[0]!r} is none of {', '.join(known)}")
    if options.device.startswith("cuda") and not on_card:
        parser.error(f"--device {options.device}: torch sees no GPU here")
    device = torch.device(options.device)
    results: list[dict[str, Any]] = []
    with torch.inference_mode():
        for shape in options.shapes.split(","):
            for dtype in options.dtypes.split(","):
                for n_rows in map(int, options.rows.split(",")):
                    results += show(head_rows(Case(shape, dtype, n_rows, device), options.repeats))
        results += show(reduce_rows(device, options.repeats))
        if device.type == "cuda":
            results += show(layer_rows(device, options.repeats))
            results += show(rotary_rows(device, options.repeats))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        own = machine(options.device, PACKAGES) | {"threads": torch.get_num_threads()}
        options.out.write_text(json.dumps({"machine": own, "rows": results}, indent=1) + "\n")
    return 0


def show(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Print results as they come."""
    for row in rows:
        print(line(row), flush=True)
        yield row


if __name__ == "__main__":
    sys.exit(main())
