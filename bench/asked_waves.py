"""Waves of asked prompts, as `calprobe ask` computes them: seconds, steps of writing, launches and waits of the host.

A wave of prompts, each question under five variants with letters as labels, is answered by random weights of a known
size. `bench/gpu.py` has it as a part.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from calprobe.backends import Decoding, Dialogue, Message, Pending
from calprobe.backends.local import TransformersBackend
from calprobe.models import LoadedModel, load_model

VARIANTS = 5
LETTERS = ("A", "B", "C", "D")
# What the host asks of CUDA, by the beginnings of the calls' names.
CALLS = {
    "launches": ("cudaLaunchKernel", "cuLaunchKernel"),
    "copies": ("cudaMemcpy",),
    "waits": ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"),
}


@dataclass(frozen=True)
class Wave:
    """What was answered at once, and how long it took."""

    seconds: float
    prompts: int
    tokens: int  # that were written


def dialogues(tokens: int, n_questions: int) -> list[Dialogue]:
    """Each question under each variant, of which each has an opening of its own; replies of so many tokens."""
    rng = random.Random(0)
    questions = ["".join(rng.choices("abcdefghij ", k=110)) for _ in range(n_questions)]
    openings = [f"Answer with a letter: {'x' * (20 + 20 * variant)}" for variant in range(VARIANTS)]
    return [
        Dialogue(
            set="random",
            question=f"{number}",
            variant=f"{variant}",
            messages=(Message("user", f"{opening} {text}?"),),
            decoding=Decoding(tokens),
            labels=LETTERS,
        )
        for number, text in enumerate(questions)
        for variant, opening in enumerate(openings)
    ]


def answered(backend: TransformersBackend, asked: Iterable[Dialogue]) -> Wave:
    """All of them, waiting for the card at the end."""
    began = time.perf_counter()
    replies = list(backend.replies(map(Pending, asked)))
    seconds = time.perf_counter() - began
    return Wave(seconds, len(replies), sum(len(reply.token_ids or ()) for reply in replies))


def waves(model: LoadedModel, short: int, long: int, n_questions: int = 51) -> dict[str, Any]:
    """Label probabilities of a wave, replies of `short` and of `long` tokens, and a profile of each of the first two.

    The model needs no tokenizer: tiny-chat's is used. A step's time is that between replies of `long` tokens and
    of `short` ones.
    """
    tiny = load_model("tiny-chat").tokenizer
    rows = model.network.get_input_embeddings().weight.shape[0]  # type: ignore[operator]
    began = time.perf_counter()
    backend = TransformersBackend(replace(model, tokenizer=tiny, embedding_rows=rows))
    checked_s = time.perf_counter() - began
    try:
        by_tokens = {count: dialogues(count, n_questions) for count in (1, short, long)}
        for asked in by_tokens.values():
            answered(backend, asked)  # compiles and reserves what it needs
        labels, few, many = (answered(backend, asked) for asked in by_tokens.values())
        return {
            "path": backend.settings()["path"],
            "fused": model.fused,
            "loaded_and_checked_s": round(checked_s, 2),
            "prompts": labels.prompts,
            "labels_s": round(labels.seconds, 4),
            "prompts_per_s": round(labels.prompts / labels.seconds, 1),
            "tokens": {"short": few.tokens, "long": many.tokens},
            "step_ms": round((many.seconds - few.seconds) / (long - short) * 1e3, 3),
            "tokens_per_s": round((many.tokens - few.tokens) / (many.seconds - few.seconds)),
            "labels": counted(backend, by_tokens[1], model.device),
            "short": counted(backend, by_tokens[short], model.device),
        }
    finally:
        backend.close()


def counted(backend: TransformersBackend, asked: Iterable[Dialogue], device: torch.device) -> dict[str, Any]:
    """Launches, copies and waits of the host, and how long the card worked, in ms."""
    activity = ProfilerActivity.CUDA if device.type == "cuda" else ProfilerActivity.CPU
    with profile(activities=[activity]) as recorded:
        wave = answered(backend, asked)
    found: Counter[str] = Counter()
    busy_us = 0.0
    largest: Counter[str] = Counter()
    for event in recorded.key_averages():
        for name, beginnings in CALLS.items():
            found[name] += event.count * event.key.startswith(beginnings)
        busy_us += event.self_device_time_total
        largest[event.key[:120]] += event.self_device_time_total
    return {
        **{name: found[name] for name in CALLS},
        "card_ms": round(busy_us / 1e3, 3),
        "wall_ms": round(wave.seconds * 1e3, 3),  # with the profiler, which takes time of its own
        "largest_ms": {name: round(spent / 1e3, 3) for name, spent in largest.most_common(15) if spent},
    }
