"""Speeds side by side, and a ratio only where the answers are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from harness.contestants import OURS
from harness.job import Outcome, speeds, times_as_fast

from askers.contestants import OneByOne

MAX_DIFFERENCE = 1e-3  # of a letter's log-probability, in nats
TIE = 1e-4  # nats between two next tokens: less than what batches and orders of summation change
GOALS = {"labels": 2.0, "replies": 1.3}  # times as fast as the fastest peer


class Agreement(NamedTuple):
    """How far answers are the truth's."""

    why_not: str | None  # None: they are the same
    figures: dict[str, Any]


def labels_agree(found: Outcome, truth: Outcome) -> Agreement:
    """Letter log-probabilities within `MAX_DIFFERENCE` of the plain forward's."""
    if found.sums.shape != truth.sums.shape:
        return Agreement(f"{found.sums.shape} labels for {truth.sums.shape}", {})
    apart = float(np.abs(found.sums - truth.sums).max())
    # NaN fails this form.
    why_not = None if apart <= MAX_DIFFERENCE else f"labels differ from a plain forward's by {apart:.2g}"
    return Agreement(why_not, {"largest_difference": apart})


def texts_agree(found: Outcome, truth: Outcome, prompts: Sequence[str], model: OneByOne) -> Agreement:
    """The texts of `generate` one at a time, but where two next tokens tie within `TIE`."""
    ours, theirs = found.facts["texts"], truth.facts["texts"]
    differing = [place for place, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a.strip() != b.strip()]
    gaps = {place: gap_where_they_part(prompts[place], ours[place], theirs[place], model) for place in differing}
    figures = {"ties": {str(place): gap for place, gap in gaps.items() if gap <= TIE}}
    others = [place for place, gap in gaps.items() if not gap <= TIE]
    if others:
        why = f"{len(others)} replies differ from generate's (question {others[0]}: {gaps[others[0]]:.2g} nats apart)"
        return Agreement(why, figures)
    return Agreement(None, figures)


@torch.inference_mode()
def gap_where_they_part(prompt: str, one: str, other: str, model: OneByOne) -> float:
    """Nats between the two most probable tokens where two replies part, by a plain forward pass."""
    tokenizer = model.tokenizer
    a, b = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (one, other))
    shared = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    ids = tokenizer(model.rendered(prompt), add_special_tokens=False)["input_ids"] + a[:shared]
    logprobs = model.network(input_ids=torch.tensor([ids]), logits_to_keep=1).logits[0, -1].log_softmax(0)
    first, second = logprobs.topk(2).values.tolist()
    return float(first - second)


def rows_of(task: str, outcomes: Mapping[str, Outcome], agree: Mapping[str, Agreement], n: int) -> list[dict[str, Any]]:
    """A row for each contestant; `calprobe_is_times_as_fast` in a peer's only where both gave the right answers."""
    rows = []
    for name, outcome in outcomes.items():
        row: dict[str, Any] = {"task": task, "contestant": name, "version": outcome.version, "note": outcome.fault}
        if outcome.fault is None:
            row |= {"unit": "replies/s", **speeds(outcome.seconds, n)}
            row |= {"replies": n, "batch_size": outcome.batch_size}
            row |= {"trials": outcome.trials, "load_s": outcome.load_s, "peak_mib": outcome.peak_mib}
            row |= agree[name].figures | {"note": agree[name].why_not}
            if name != OURS and agree[name].why_not is None and agree[OURS].why_not is None:
                row["calprobe_is_times_as_fast"] = times_as_fast(outcomes[OURS], outcome)
        rows.append(row)
    return rows
