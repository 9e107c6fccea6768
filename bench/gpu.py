"""What to measure first when a card is there: one command, random weights of real shapes, nothing downloaded.

    python bench/gpu.py --out FILE.json [--bear DIR] [--models gpt2,gemma-7b]      (make bench-gpu)
    python bench/gpu.py --device cpu --tiny --out FILE.json                     (every part here, on toys: no figures)

profile       torch.profiler on three full batches of each model, along both paths over the tree, float32 also with
              --precision ieee, gemma-7b also without fused norms and units: milliseconds of body, head, attention and
              elementwise kernels, how long the card is idle, and the largest kernels by name
attention     a shape's first call and its later ones, with cuDNN and without: what plans for new shapes cost
head          the head in each precision at 8,192 and 32,768 rows, beside torch.mm of the same
asking        bench/asked_waves.py: a wave of prompts and the writing of replies by a model of Llama 3 8B's size
kernels       bench/kernel_times.py, each time the mean of 20 queued launches
side by side  bench/side_by_side.py against lm-pub-quiz, where BEAR and the peer are there
vllm          prompt log-probabilities of vLLM, where it is installed, beside calprobe on the same statements

The file is what `calprobe doctor --report` writes, with these `parts` beside its checks: attach it to an issue. It is
written after each part; a part that fails says why and does not end the others. `simulated` holds what
bench/simulate.py timeline says of the same batches.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile

from calprobe.doctor import examine
from calprobe.kernels import linear_logprob
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.models.attention import AttentionSeen
from calprobe.models.fused_layers import forwards_of
from calprobe.models.placement import float32_products
from calprobe.models.torch_settings import exact_torch
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.executor import score_rows
from calprobe.scoring.options import OVER_TREE
from calprobe.scoring.path_choice import executor_of, paths_of
from calprobe.words import Precision, ScoringPath

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from asked_waves import waves
from harness.machine import PACKAGES, machine
from harness.record import fill_report
from kernel_times import time_ms
from peers.models import load_network
from peers.statements import ModelSpec

HERE = Path(__file__).parent
DTYPES = {"gpt2": ("float32", "bfloat16"), "opt-1.3b": ("float16",), "gemma-7b": ("bfloat16",)}
TINY: Mapping[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 300}  # of gpt2
PRODUCTS: Mapping[str, tuple[Precision, ...]] = {"float32": ("auto", "ieee")}  # of other dtypes there is one
ASKED = {"llama-8b": "bfloat16"}
FUSED: Mapping[str, tuple[bool, ...]] = {"gemma-7b": (True, False)}  # the others have no norms or units to fuse
BATCHES = 3
_LARGEST = 15  # kernels that are named
# What a kernel's name says that it does; the first that fits, else elementwise.
_PARTS = {
    "head": ("_partial_lse", "_target_logprob"),
    "attention": ("fmha", "flash", "attention", "sdpa", "softmax"),
    "body": ("gemm", "cutlass", "cublas", "nvjet", "xmma", "addmm", "aten::mm", "aten::bmm", "linear", "onednn"),
}


@dataclass(frozen=True)
class Given:
    """The command line."""

    device: torch.device
    models: tuple[str, ...]
    batch_tokens: int
    rows: tuple[int, ...]
    bear: str | None
    tiny: bool
    results: Path  # folder of the parts that write files of their own


def random_model(
    shape: str, dtype: str, given: Given, precision: Precision = "auto", fused: bool = True
) -> LoadedModel:
    """Random weights of a known shape on the device; token rows are made directly, so there is no tokenizer.

    float32 is multiplied as `calprobe score --precision` does; `fused` as `LoadOptions` has it.
    """
    spec = ModelSpec(shape, "causal", None, shape, "", dtype, str(given.device))
    network = load_network(spec, **(TINY if given.tiny else {}))
    return LoadedModel(
        name=shape,
        source="random weights",
        kind="causal",
        network=network,
        tokenizer=None,
        start_token_id=0,
        start_token="",
        dtype=dtype,
        device=given.device,
        architecture=type(network).__name__,
        attention="sdpa",
        weights_fingerprint="random",
        tokenizer_fingerprint="",
        max_positions=network.config.max_position_embeddings,
        precision=float32_products(precision, dtype, given.device),
        fused=fused and bool(forwards_of(network)),
    )


def n_words(model: LoadedModel) -> int:
    """Rows of its output embedding."""
    network: Any = model.network
    return int(network.config.vocab_size)


def statements(n_tokens: int, n_words: int) -> TokenRows:
    """Random statements that share beginnings as BEAR's do, with about so many nodes in their prefix tree.

    Contexts of eight tokens with 64 answers of three tokens each, of which the last is not forwarded.
    """
    rng = np.random.default_rng(0)
    n_contexts, n_answers, before, behind = max(1, n_tokens // 136), 64, 8, 3
    contexts = np.repeat(rng.integers(1, n_words, (n_contexts, before)), n_answers, axis=0)
    answers = np.tile(rng.integers(1, n_words, (n_answers, behind)), (n_contexts, 1))
    ids = np.concatenate([contexts, answers], axis=1).astype(np.int32)
    offsets = np.arange(0, ids.size + 1, ids.shape[1], dtype=np.int64)
    return TokenRows(ids.ravel(), np.zeros(ids.size, np.int8), offsets)


def part_of(kernel: str) -> str:
    """body, head, attention or elementwise, by the kernel's name.

    >>> part_of("sm90_xmma_gemm_bf16"), part_of("fmha_cutlassF"), part_of("vectorized_elementwise_kernel")
    ('body', 'attention', 'elementwise')
    """
    name = kernel.lower()
    for part in ("head", "attention", "body"):
        if any(word in name for word in _PARTS[part]):
            return part
    return "elementwise"


def profiled(
    shape: str, dtype: str, precision: Precision, fused: bool, path: ScoringPath, given: Given
) -> dict[str, Any]:
    """Where the time of three full batches goes."""
    model = random_model(shape, dtype, given, precision, fused)
    executor = executor_of(path, model, given.batch_tokens)
    plan = executor.plan(statements(BATCHES * given.batch_tokens, n_words(model)))
    with AttentionSeen() as seen:
        executor.run(plan)  # compiles and plans what it needs
    began = time.perf_counter()
    executor.run(plan).logprobs.cpu()
    wall_ms = (time.perf_counter() - began) * 1e3
    on_card = given.device.type == "cuda"
    with profile(activities=[ProfilerActivity.CUDA if on_card else ProfilerActivity.CPU]) as recorded:
        executor.run(plan).logprobs.cpu()
    times = {
        event.key: (event.self_device_time_total if on_card else event.self_cpu_time_total) / 1e3
        for event in recorded.key_averages()
    }
    parts = dict.fromkeys(("body", "head", "attention", "elementwise"), 0.0)
    for name, spent in times.items():
        parts[part_of(name)] += spent
    places = sum(plan.batch(index).token_ids.size for index in range(plan.n_batches))
    largest = sorted(times, key=lambda name: -times[name])[:_LARGEST]
    return {
        "model": shape,
        "dtype": dtype,
        "precision": model.precision,
        "fused": model.fused,
        "path": path,
        "batches": plan.n_batches,
        "places": places,
        "attention_kernel": seen.kernels,
        "batch_ms": {part: round(spent / plan.n_batches, 3) for part, spent in parts.items()},
        "wall_ms": round(wall_ms, 3),
        "idle_share": round(1 - sum(parts.values()) / wall_ms, 4),
        "places_per_s": round(places / wall_ms * 1e3),
        "largest_ms": {name[:120]: round(times[name], 3) for name in largest},
    }


def attention_plans(given: Given) -> list[dict[str, Any]]:
    """The first call of attention in a new shape, and a later one, in ms of the host and the card together."""
    n_heads, width = (2, 16) if given.tiny else (12, 64)
    dtype = torch.float32 if given.device.type == "cpu" else torch.bfloat16
    found = []
    for row in (24, 40) if given.tiny else (451, 467, 483, 499, 509, 512):
        n_rows = max(1, given.batch_tokens // row)
        query = torch.randn(n_rows, n_heads, row, width, dtype=dtype, device=given.device)
        mask = torch.zeros(n_rows, 1, row, row, dtype=dtype, device=given.device)
        attend = partial(F.scaled_dot_product_attention, query, query, query, attn_mask=mask)
        result: dict[str, Any] = {"rows": n_rows, "width": row}
        with exact_torch():
            result["without_cudnn"] = first_and_later(attend, given.device)
        result["as_torch_chooses"] = first_and_later(attend, given.device)
        found.append(result)
    return found


def first_and_later(run: Callable[[], torch.Tensor], device: torch.device) -> dict[str, Any]:
    """Milliseconds of the first call, of the fastest of five more, and the kernel."""
    spent = []
    for _ in range(6):
        synchronize(device)
        began = time.perf_counter()
        run()
        synchronize(device)
        spent.append((time.perf_counter() - began) * 1e3)
    with AttentionSeen() as seen:
        run()
    return {"first_ms": round(spent[0], 3), "later_ms": round(min(spent[1:]), 3), "kernel": seen.kernels}


def synchronize(device: torch.device) -> None:
    """Wait for a card; a CPU has nothing to wait for."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def heads(given: Given) -> list[dict[str, Any]]:
    """Milliseconds and TFLOP/s of the head in each precision, and of torch.mm, which makes the logits and no more."""
    shapes = {"tiny": (300, 32)} if given.tiny else {"gpt2": (50_257, 768), "gemma-7b": (256_000, 3072)}
    found = []
    for shape, (vocab, dim) in shapes.items():
        for dtype in (torch.float32, torch.bfloat16):
            for n_rows in given.rows:
                found += head_rows(shape, (n_rows, vocab, dim), dtype, given.device)
    return found


def head_rows(
    shape: str, sizes: tuple[int, int, int], dtype: torch.dtype, device: torch.device
) -> list[dict[str, Any]]:
    """One head at one number of rows."""
    n_rows, vocab, dim = sizes
    hidden, weight = (torch.randn(size, dim, dtype=dtype, device=device) for size in (n_rows, vocab))
    targets = torch.zeros(n_rows, dtype=torch.int64, device=device)
    offsets = torch.arange(n_rows + 1, device=device)
    runs: dict[str, Callable[[], torch.Tensor]] = {"torch.mm": lambda: torch.mm(hidden, weight.T)}
    for precision in ("ieee", "tf32x3") if dtype == torch.float32 else ("ieee",):
        runs[precision] = lambda precision=precision: linear_logprob(  # type: ignore[misc]
            hidden, weight, targets, offsets, precision=precision
        )[1]
    found = []
    for name, run in runs.items():
        run()
        spent = time_ms(run, device)
        row = {"shape": shape, "dtype": str(dtype).removeprefix("torch."), "rows": n_rows, "run": name}
        found.append(row | {"ms": round(spent, 4), "tflop_per_s": round(2e-9 * n_rows * vocab * dim / spent, 2)})
    return found


def asking(shape: str, dtype: str, given: Given) -> dict[str, Any]:
    """bench/asked_waves.py by random weights of that shape; with --tiny by tiny-chat."""
    if given.tiny:
        return waves(load_model("tiny-chat", LoadOptions(device=str(given.device))), short=2, long=3, n_questions=2)
    return waves(random_model(shape, dtype, given), short=8, long=24)


def kernels(given: Given) -> dict[str, Any]:
    """bench/kernel_times.py, into a file of its own."""
    return ran("kernel_times.py", ["--device", str(given.device)], given, "kernels_gpu.json")


def side_by_side(given: Given) -> dict[str, Any]:
    """bench/side_by_side.py with random gpt2, into a file of its own."""
    if given.bear is None and not given.tiny:
        return {"skipped": "no --bear"}
    arguments = ["--random", "gpt2", "--device", str(given.device), "--bear", given.bear or "bear"]
    arguments += ["--scorers", "lm-pub-quiz", "--slices", "P36:10", "P30:100", "--scaling", ""]
    return ran("side_by_side.py", arguments, given, "side_by_side_gpu.json")


def ran(script: str, arguments: list[str], given: Given, file: str) -> dict[str, Any]:
    """The outcome of another benchmark; with --tiny its options are tried alone."""
    command = [sys.executable, str(HERE / script), *arguments, "--out", str(given.results / file)]
    ended = subprocess.run([*command, *(["--help"] if given.tiny else [])], capture_output=True, text=True, check=False)
    said = (ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1:]
    return {"exit": ended.returncode, "file": file} | ({"said": said[0][:300]} if ended.returncode else {})


def vllm(given: Given) -> dict[str, Any]:
    """Statements a second of vLLM's prompt log-probabilities and of calprobe, on the same random gpt2 and tokens."""
    if find_spec("vllm") is None:
        return {"skipped": "vllm is not installed"}
    from vllm import LLM, SamplingParams

    model = random_model("gpt2", "float32" if given.device.type == "cpu" else "bfloat16", given)
    rows = statements(given.batch_tokens, n_words(model))
    prompts = [
        {"prompt_token_ids": [model.start_token_id, *rows.token_ids[begin:end].tolist()]}
        for begin, end in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    ]
    executor = executor_of(paths_of(model)[0], model, given.batch_tokens)
    own = score_rows(executor, rows)
    began = time.perf_counter()
    score_rows(executor, rows)
    own_s = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        network: Any = model.network
        network.save_pretrained(folder)
        engine = LLM(model=folder, skip_tokenizer_init=True, dtype=model.dtype, gpu_memory_utilization=0.6)
        asked = SamplingParams(max_tokens=1, prompt_logprobs=0, detokenize=False)
        engine.generate(prompts[:8], asked, use_tqdm=False)
        began = time.perf_counter()
        answers = engine.generate(prompts, asked, use_tqdm=False)
        other_s = time.perf_counter() - began
    other = [
        entry[token].logprob
        for prompt, answer in zip(prompts, answers, strict=True)
        for token, entry in zip(prompt["prompt_token_ids"][1:], answer.prompt_logprobs[1:], strict=True)
    ]
    return {
        "statements": rows.n_statements,
        "calprobe_per_s": round(rows.n_statements / own_s, 1),
        "vllm_per_s": round(rows.n_statements / other_s, 1),
        "largest_difference_nats": float(np.abs(own - np.asarray(other)).max()),
    }


def simulated() -> dict[str, Any]:
    """What bench/simulate.py timeline has said of the same batches."""
    file = HERE / "results" / "timeline_simulated.json"
    rows = json.loads(file.read_text("utf-8"))["rows"]
    return {f"{row['model']}, {row['scenario']}": row["batch_ms"] for row in rows}


def measured(given: Given) -> dict[str, Callable[[], Any]]:
    """The parts, by name, in order."""
    profiles = [(shape, dtype) for shape in given.models for dtype in (("float32",) if given.tiny else DTYPES[shape])]
    return {
        **{
            f"profile {shape} {dtype} {path}{' ieee' * (products == 'ieee')}{' own layers' * (not fused)}": partial(
                profiled, shape, dtype, products, fused, path, given
            )
            for shape, dtype in profiles
            for path in OVER_TREE
            for products in PRODUCTS.get(dtype, ("auto",))
            for fused in FUSED.get(shape, (True,))
        },
        "attention": partial(attention_plans, given),
        "head": partial(heads, given),
        **{f"asking {shape} {dtype}": partial(asking, shape, dtype, given) for shape, dtype in ASKED.items()},
        "kernels": partial(kernels, given),
        "side by side": partial(side_by_side, given),
        "vllm": partial(vllm, given),
        "simulated": simulated,
    }


def main() -> int:
    """Measure part by part; the file is whole after each. The exit code is 1 if one failed, 2 without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N; cpu with --tiny (default: cuda)")
    parser.add_argument("--models", default=",".join(DTYPES), help=f"of {','.join(DTYPES)} (default: all)")
    parser.add_argument("--parts", default="", metavar="A,B", help="beginnings of their names (default: all)")
    parser.add_argument("--bear", help="BEAR's folder, for the side by side (default: none)")
    parser.add_argument("--tiny", action="store_true", help="toys, to try the script: its figures mean nothing")
    parser.add_argument("--out", type=Path, required=True, help="JSON; other benchmarks write beside it")
    asked = parser.parse_args()
    if not re.fullmatch(r"cpu|cuda(:\d+)?", asked.device):
        parser.error(f"--device: {asked.device!r} is none of cuda, cuda:N, cpu")
    if asked.device == "cpu" and not asked.tiny:
        parser.error("--device cpu: on a CPU --tiny alone makes sense; add it")
    if asked.device != "cpu" and not torch.cuda.is_available():
        print("bench-gpu: torch sees no GPU here; --device cpu --tiny tries the script", file=sys.stderr)
        return 2
    names = ("gpt2",) if asked.tiny else tuple(asked.models.split(","))
    if unknown := [name for name in names if name not in DTYPES]:
        parser.error(f"--models: {unknown[0]!r} is none of {', '.join(DTYPES)}")
    device = torch.device("cuda", torch.cuda.current_device()) if asked.device == "cuda" else torch.device(asked.device)
    batch_tokens, rows = (256, (64,)) if asked.tiny else (32768, (8192, 32768))
    given = Given(device, names, batch_tokens, rows, asked.bear, asked.tiny, asked.out.parent)
    wanted = tuple(asked.parts.split(","))
    parts = {name: part for name, part in measured(given).items() if name.startswith(wanted)}
    if not parts:
        parser.error(f"--parts: none begins with {asked.parts}; there are {', '.join(measured(given))}")
    only = ("versions", "machine", "gpu", "kernels", "places")
    report = examine(only=only).to_json() | {"tiny": asked.tiny, "machine": machine(str(device), (*PACKAGES, "vllm"))}
    return fill_report(report, parts, asked.out)


if __name__ == "__main__":
    sys.exit(main())
