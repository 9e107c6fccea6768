"""From what the contestants answered to rows: speeds, differences, and a ratio only where the scores are the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from harness.contestants import OURS
from harness.job import Floats, Outcome, speeds, times_as_fast

MAX_DIFFERENCE = 1e-3  # of the sums of one statement in float32, in nats


def rows_of(
    slice_name: str, outcomes: Mapping[str, Outcome], n_statements: int, dtype: str, truth: Floats | None = None
) -> list[dict[str, Any]]:
    """A row for each contestant on one slice; `truth` [statements] are float32 sums, needed where dtype is shorter.

    A peer's `calprobe_is_times_as_fast` is the ratio of the medians, or absent where `why_no_ratio` gives a reason.
    """
    ours = outcomes[OURS]
    n_tokens = ours.facts.get("tokens")
    rows = []
    for name, outcome in outcomes.items():
        row: dict[str, Any] = {"slice": slice_name, "scorer": name, "version": outcome.version, "note": outcome.fault}
        if outcome.fault is None:
            row |= _speeds(outcome, n_statements, n_tokens) | _errors(outcome.sums, truth)
            if name != OURS and ours.fault is None:
                row |= _against(ours, outcome, dtype, truth)
        rows.append(row)
    return rows


def why_no_ratio(ours: Floats, theirs: Floats, dtype: str, truth: Floats | None = None) -> str | None:
    """Why two speeds must not be divided, or None.

    In float32 all sums [statements] have to agree to 1e-3. In a shorter dtype, where everybody rounds, our mean error
    against float32 must not be larger than theirs. NaN anywhere is a reason.
    """
    if ours.shape != theirs.shape:
        return f"{len(theirs)} scores for {len(ours)} statements: no ratio"
    if dtype == "float32":
        apart = float(np.abs(ours - theirs).max(initial=0.0))
        return None if apart <= MAX_DIFFERENCE else f"scores differ by {apart:.2g}: no ratio"
    if truth is None:
        return "nothing in float32 to hold the scores against: no ratio"
    our_error, their_error = float(np.abs(ours - truth).mean()), float(np.abs(theirs - truth).mean())
    if our_error <= their_error:
        return None
    return f"our error against float32 is {our_error:.2g}, theirs {their_error:.2g}: no ratio"


def _speeds(outcome: Outcome, n_statements: int, n_tokens: int | None) -> dict[str, Any]:
    spread = speeds(outcome.seconds, n_statements, 2)
    return {
        "batch_size": outcome.batch_size,
        "statements": n_statements,
        "unit": "statements/s",
        **spread,
        "scored_tokens_per_s": None if n_tokens is None else round(spread["p50"] * n_tokens / n_statements, 1),
        "peak_mib": outcome.peak_mib,
        "gpu_peak_mib": outcome.gpu_peak_mib,
        "load_s": outcome.load_s,
        "trials": outcome.trials,
    }


def _errors(sums: Floats, truth: Floats | None) -> dict[str, float]:
    if truth is None or truth.shape != sums.shape:
        return {}
    error = np.abs(sums - truth)
    return {"largest_error": float(error.max()), "mean_error": float(error.mean())}


def _against(ours: Outcome, theirs: Outcome, dtype: str, truth: Floats | None) -> dict[str, Any]:
    row: dict[str, Any] = {"note": why_no_ratio(ours.sums, theirs.sums, dtype, truth)}
    if ours.sums.shape == theirs.sums.shape:
        apart = np.abs(ours.sums - theirs.sums)
        row |= {"largest_difference": float(apart.max()), "mean_difference": float(apart.mean())}
    if row["note"] is None:
        row["calprobe_is_times_as_fast"] = times_as_fast(ours, theirs)
    return row


def achieved(ours: Outcome) -> dict[str, Any]:
    """Arithmetic that calprobe got through, as far as it had to be done, and its share of the machine's roofs.

    What is done twice, padding and attention's own products are work too, but do not count here.
    """
    facts = ours.facts
    if ours.fault is not None or "roof" not in facts:
        return {}
    speed = facts["flop"] / float(np.median(ours.seconds)) / 1e9
    return {
        "gflop_per_s": round(speed, 1),
        "above_weights_mib": None if ours.peak_mib is None else round(ours.peak_mib - facts["weights_mib"], 1),
        "share_of_peak": round(speed / facts["roof"]["peak_gflop_per_s"], 3),
        "share_of_fastest": round(speed / facts["roof"]["fastest_gflop_per_s"], 3),
        **facts,
    }
