"""Which path scores a model: the fastest one that agrees with the model's own untouched forward, checked on every load.

An untested architecture is then slow, never wrong. On a card a path is tried with calprobe's kernels, then with torch
in the place of some of them: a kernel that cannot be compiled there, or is wrong, costs its own part and no path.
"""

from __future__ import annotations

import logging
import pathlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from calprobe.errors import CalprobeError
from calprobe.kernels.arguments import triton_takes
from calprobe.models import LoadedModel
from calprobe.models.attention import KINDS_WITH_MASKS, AttentionSeen, layer_kinds
from calprobe.models.head import scoring_head
from calprobe.models.loaded_model import Part
from calprobe.models.memory import is_out_of_memory
from calprobe.planning.filled_rows import FilledPlan
from calprobe.planning.token_rows import TokenRows
from calprobe.scoring.executor import Executor, score_rows
from calprobe.scoring.leaks import has_experts, why_leaking
from calprobe.scoring.masked import MaskedExecutor, PlainMaskedExecutor
from calprobe.scoring.options import DEFAULT_METRIC, NOTHING_MASKED, PATHS_OF, Masking, Path
from calprobe.scoring.padded import PaddedExecutor, PlainExecutor
from calprobe.scoring.tree import CPU_ROW_LENGTH, GPU_ROW_LENGTH, TreeExecutor, are_shallow

log = logging.getLogger(__name__)
OnPass = Callable[[Path, str], object]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Largest and mean difference of token scores, in nats, that two right paths may show."""

    largest: float
    mean: float


# Right paths differ by rounding alone: 7e-5 nats in float32 on real models; in bfloat16, where a CPU multiplies it
# itself, by up to 0.88 at most and 0.072 on average (SmolLM2-135M, 200 samples of real text; Gemma 3 270M, as many:
# 0.63 and 0.050; `make test-cards` prints such figures), in float16 by 0.099 and 0.011 (SmolLM2-135M, 200 samples).
# Made errors (`SCORE_ERRORS` of test_false_refusals.py): in bfloat16 by 1.6 and 0.082 or more, of 50 samples. So these
# are floors, for the dtype ..
FLOORS: Mapping[str, Tolerance] = {
    "float32": Tolerance(2e-3, 2e-4),
    "bfloat16": Tolerance(1.0, 0.08),
    "float16": Tolerance(0.2, 0.02),
}
# .. and a multiple of the difference between the model's batched and unbatched forward passes, if that is larger.
_TIMES_OWN_NOISE = 3.0
# Tokens of a batch of the model's own forward in float32: each has a row of logits, 1 MB of them in large vocabularies.
_OWN_TOKENS = 128
# A masked model forwards a row for each of these, three times: a few statements, several rows of one length.
_MASKED_SAMPLE_TOKENS = 48
# What a right path may change where only places change, since shapes, and so the kernels, are the same: on a CPU, in
# bfloat16, up to 0.47 nats at most and 0.022 on average (SmolLM2-135M, 200 samples; Gemma 3 270M, 200: 0.29 and 0.013).
# A model with little noise may change less: no more on average than a multiple of what other shapes change.
MOVED: Mapping[str, Tolerance] = {
    "float32": Tolerance(2e-3, 2e-4),
    "bfloat16": Tolerance(0.8, 0.03),
    "float16": Tolerance(0.12, 0.01),
}
_TIMES_NOISE_OF_SHAPES = 2.0
_KINDS_ON_TREES = KINDS_WITH_MASKS | {"chunked_attention"}  # a statement is shorter than such a chunk


def tolerance_for(
    dtype: str,
    own_noise: npt.NDArray[np.float64],
    floors: Mapping[str, Tolerance] = FLOORS,
    experts: bool = False,
) -> Tolerance:
    """The tolerance for a dtype and the differences `own_noise` [tokens], >= 0, between two own forward passes.

    A token that is about as near to another of a model's `experts` goes there by rounding and is then far off, so in
    short dtypes the mean alone tells.
    """
    floor = floors[dtype]
    if dtype == "float32":  # there such differences are a fault
        return floor
    largest, mean = (_TIMES_OWN_NOISE * float(of(own_noise)) if own_noise.size else 0.0 for of in (np.max, np.mean))
    return Tolerance(np.inf if experts else max(floor.largest, largest), max(floor.mean, mean))


def tolerance_of_moves(most: Tolerance, own: npt.NDArray[np.float32], moved: npt.NDArray[np.float32]) -> Tolerance:
    """The tolerance, `most` or less, for scores of the same shapes at other places than those of `moved` [tokens].

    `own` [tokens] are the model's own: how far `moved` is off them tells what other shapes change.
    """
    noise = _TIMES_NOISE_OF_SHAPES * float(np.abs(moved.astype(np.float64) - own).mean())
    return Tolerance(most.largest, min(most.mean, max(FLOORS["float32"].mean, noise)))


def tolerance_of_few(of_all: Tolerance, noise: npt.NDArray[np.float64]) -> Tolerance:
    """The tolerance for some of the tokens that `of_all` is for, which were off by `noise` [tokens], >= 0, before.

    Statements with a common beginning round alike, so that a mean over few is off by more than one over many: by up to
    0.18 over 80 tokens in bfloat16 (SmolLM2-135M, 200 samples of 590 tokens, which were off by up to 0.071).
    """
    return Tolerance(of_all.largest, max(of_all.mean, _TIMES_NOISE_OF_SHAPES * float(noise.mean())))


def paths_of(model: LoadedModel) -> tuple[Path, ...]:
    """The paths that are tried for a model where none is typed; flat attention only where its kernel is compiled."""
    return tuple(path for path in PATHS_OF[model.kind] if path != "flat" or _compiles(model.device))


def _compiles(device: torch.device) -> bool:
    return device.type == "cuda" and triton_takes(torch.empty(0, device=device))


class Checked(NamedTuple):
    """A path that agrees with the model's own forward, and what its check has seen."""

    path: Path
    attention_kernel: str | None  # of torch's attention, at the run's own row length; None: not seen
    by_torch: tuple[Part, ...] = ()  # of the parts that kernels compute on this device


class Setup(NamedTuple):
    """A path, and which parts torch computes on it that kernels of calprobe could."""

    path: Path
    by_torch: tuple[Part, ...] = ()

    def __str__(self) -> str:
        parts = f" with {_shown(self.by_torch)} by torch" if self.by_torch else ""
        return f"{self.path} path{parts}"


_SHOWN: dict[Part, str] = {"layers": "norms, gated units and positions", "head": "the head"}


def _shown(parts: Sequence[Part]) -> str:
    return " and ".join(_SHOWN[part] for part in parts)


def setups_of(model: LoadedModel, path: Path) -> list[Setup]:
    """The path with all kernels that the model has there, and with fewer and fewer, the cheapest to lose first."""
    parts: list[Part] = ["layers"] if model.fused and path in ("flat", "tree", "padded") else []
    if path != "plain" and model.head_by_kernel and triton_takes(torch.empty(0, device=model.device)):
        parts.append("head")
    subsets = (subset for n_parts in range(len(parts) + 1) for subset in combinations(parts, n_parts))
    return [Setup(path, subset) for subset in subsets]


def checked_path(
    model: LoadedModel,
    batch_tokens: int,
    sample: TokenRows,
    among: Sequence[Path],
    masking: Masking = NOTHING_MASKED,
    on_pass: OnPass = lambda path, reason: None,
    failed: Setup | None = None,
) -> Checked:
    """The first of the paths that scores `sample` as the model's own forward does, with as many kernels as do.

    Causal: flat, tree, padded, plain. Masked: masked, plain, on the first tokens of the sample, since each is a row. A
    rejected path, and a part that is not left to its kernel, is logged once with the reason. `on_pass` also gets that
    of a path; that of the last one raises CalprobeError. `plain` is not checked: it is the own forward; if that gives
    NaN, no path is right, and CalprobeError is raised.

    `failed` is what failed in the middle of a run, on the first of the paths: only what is behind it is tried.
    """
    if model.kind == "masked":
        sample = _first_tokens(sample, _MASKED_SAMPLE_TOKENS)
    truth = _own_forward(model, batch_tokens, sample, masking)
    for path in among:
        if path == "plain":
            break
        setups, reasons = setups_of(model, path), list[str]()
        for setup in setups[setups.index(failed) + 1 :] if failed in setups else setups:
            seen = AttentionSeen()
            reason = _why_not(path, model.by_torch(setup.by_torch), batch_tokens, truth, masking, seen)
            if reason is None:
                warn_of_parts(model, setup, reasons)
                return Checked(path, seen.kernels, setup.by_torch)
            reasons.append(reason)
        if not reasons:
            continue
        reason = reasons[-1]  # which is not that of a part
        if path == among[-1]:
            raise CalprobeError(f"{model.name} cannot be scored on the {path} path: {reason}; leave --path out")
        log.warning("%s: not on the %s path (%s)", model.name, path, reason[:200])
        on_pass(path, reason)
    return Checked("plain", None)


def warn_of_parts(model: LoadedModel, setup: Setup, reasons: list[str]) -> None:
    """Say which parts of a setup torch computes, with the first of the reasons why kernels do not."""
    if setup.by_torch and reasons:
        parts = _shown(setup.by_torch)
        what = "%s: torch computes %s in the place of a kernel (%s): right, but slower; calprobe doctor says more"
        log.warning(what, model.name, parts, reasons[0][:200])


def executor_of(
    path: Path,
    model: LoadedModel,
    batch_tokens: int,
    row_length: int | None = None,
    masking: Masking = NOTHING_MASKED,
) -> Executor:
    """The executor of that path. `row_length` is for the tree paths, None for the device's default; `masking` is for a
    masked model, and optional for the default metric.

    Raises HeadUnusable if the path needs the parts of the head and cannot get them.
    """
    metric = masking.metric or DEFAULT_METRIC
    if path == "plain":
        is_masked = model.kind == "masked"
        return PlainMaskedExecutor(model, metric, batch_tokens) if is_masked else PlainExecutor(model, batch_tokens)
    head = scoring_head(model.network, model.device, model.precision, model.head_by_kernel)
    if path == "masked":
        return MaskedExecutor(model, head, metric, batch_tokens)
    if path == "padded":
        return PaddedExecutor(model, head, batch_tokens)
    suitable = CPU_ROW_LENGTH if model.device.type == "cpu" else GPU_ROW_LENGTH
    return TreeExecutor(model, head, batch_tokens, row_length or suitable, flat=path == "flat")


@dataclass(frozen=True, slots=True)
class _Truth:
    """What a path is held to: the model's own scores of the sample, and how near is near enough."""

    sample: TokenRows
    own: npt.NDArray[np.float32]  # [tokens]
    tolerance: Tolerance

    def of(self, statements: npt.NDArray[np.bool_]) -> _Truth:
        """That of some of the statements, given as a mask of at least one."""
        is_of = np.repeat(statements, self.sample.scored.lengths)
        return replace(self, sample=_some_of(self.sample, statements), own=self.own[is_of])


def _some_of(rows: TokenRows, statements: npt.NDArray[np.bool_]) -> TokenRows:
    return TokenRows.joined([rows.part(s, s + 1) for s in np.flatnonzero(statements).tolist()])


def _own_forward(model: LoadedModel, batch_tokens: int, sample: TokenRows, masking: Masking) -> _Truth:
    # Without padding. In float32 it does not matter what else is in a batch, so that no noise has to be estimated; in
    # short dtypes each row is by itself.
    if model.dtype == "float32":
        own = _unpadded(executor_of("plain", model, _OWN_TOKENS, masking=masking), sample)
        check_numbers(model, own, "tokens")
        return _Truth(sample, own, FLOORS["float32"])
    own = score_rows(executor_of("plain", model, 1, masking=masking), sample)
    check_numbers(model, own, "tokens")
    batched = score_rows(executor_of("plain", model, batch_tokens, masking=masking), sample)
    noise = np.abs(batched.astype(np.float64) - own)
    return _Truth(sample, own, tolerance_for(model.dtype, noise, experts=has_experts(model.network)))


def _unpadded(plain: Executor, rows: TokenRows) -> npt.NDArray[np.float32]:
    """Scores [scored tokens] of rows that go through the model beside others of their length only."""
    own = np.empty(rows.scored.lengths.sum(), np.float32)
    for length in np.unique(rows.lengths).tolist():
        of_length = rows.lengths == length
        own[np.repeat(of_length, rows.scored.lengths)] = score_rows(plain, _some_of(rows, of_length))
    return own


def check_numbers(model: LoadedModel, own: npt.NDArray[np.float32], of_what: str) -> None:
    """Raise CalprobeError where a model's own forward gives NaN: no path, and no engine, can be right then."""
    if n_failed := int(np.isnan(own).sum()):
        fix = "copy or download them again" if model.dtype == "float32" else "try --dtype float32"
        many = f"{n_failed} of the first {len(own)} {of_what}"
        raise CalprobeError(
            f"{model.name}: its own forward in {model.dtype} gives NaN for {many}\n"
            f"its weights are damaged, or too large for the dtype: {fix}"
        )


def _first_tokens(rows: TokenRows, at_most: int) -> TokenRows:
    """The first `at_most` tokens of `rows`; the last statement may be cut."""
    return TokenRows(
        rows.token_ids[:at_most],
        rows.roles[:at_most],
        np.unique(np.minimum(rows.offsets, at_most)),
        None if rows.words is None else rows.words[:at_most],
    )


def _why_not(
    path: Path, model: LoadedModel, batch_tokens: int, truth: _Truth, masking: Masking, seen: AttentionSeen
) -> str | None:
    try:
        executor = executor_of(path, model, batch_tokens, masking=masking)
        if not isinstance(executor, TreeExecutor):
            with seen:
                return disagreement(truth.own, score_rows(executor, truth.sample), truth.tolerance)
        return _why_not_over_tree(executor, truth, seen)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return what_failed(error)


def _why_not_over_tree(executor: TreeExecutor, truth: _Truth, seen: AttentionSeen) -> str | None:
    """What is wrong in short rows, and in rows as long and as full as the run's."""
    if others := layer_kinds(executor.model.network) - _KINDS_ON_TREES:
        return f"it has layers of {', '.join(sorted(others))}"
    parts = [truth]
    if executor.flat:  # deep statements are in rows with a mask, and would take the shallow ones along
        is_shallow = are_shallow(truth.sample)
        if not is_shallow.any():
            return "none of the statements it was to be checked with is short enough for flat attention"
        parts = [truth.of(which) for which in (is_shallow, ~is_shallow) if which.any()]
    in_short_rows = [_in_short_rows(executor, part.sample) for part in parts]
    for part, scores in zip(parts, in_short_rows, strict=True):
        if reason := disagreement(part.own, scores, part.tolerance):
            return reason
    for part, scores in zip(parts, in_short_rows, strict=True):
        if reason := _why_not_in_full_rows(executor, part, scores, seen):
            return reason
    return None


def _in_short_rows(executor: TreeExecutor, sample: TokenRows) -> npt.NDArray[np.float32]:
    """Scores [tokens] in rows so short that the sample fills several: packing, padding, prefixes that are repeated."""
    length = int(sample.lengths.max(initial=0)) + 8
    short = replace(executor, batch_tokens=length) if executor.flat else replace(executor, row_length=length)
    return score_rows(short, sample)


def _why_not_in_full_rows(
    executor: TreeExecutor, truth: _Truth, in_short_rows: npt.NDArray[np.float32], seen: AttentionSeen
) -> str | None:
    # As long as the run's, where other kernels may be chosen. As many of the statements as fit take half a row, others
    # the rest of it.
    width = min(executor.width(truth.sample), executor.batch_tokens)
    n_fit = int(np.searchsorted(truth.sample.offsets, width // 2))
    truth = truth.of(np.arange(len(truth.sample.lengths)) < max(1, n_fit))
    noise = np.abs(in_short_rows[: len(truth.own)].astype(np.float64) - truth.own)
    tolerance = tolerance_of_few(truth.tolerance, noise)
    width = max(width, int(truth.sample.lengths.max(initial=0)) + 1 + width // 2)  # room for others in any case
    plan = FilledPlan(replace(executor, batch_tokens=width, row_length=width).plan(truth.sample), width)
    with seen:
        scores = executor.run(plan)
    of_tokens = scores.of_tokens().cpu().numpy()
    moved = executor.run(replace(plan, at_end=True)).of_tokens().cpu().numpy()
    most = truth.tolerance if has_experts(executor.model.network) else MOVED[executor.model.dtype]
    of_moves = tolerance_of_moves(most, truth.own, moved)
    reason = (
        disagreement(truth.own, of_tokens, tolerance)
        or disagreement(moved, of_tokens, of_moves, "those at other places of the row")
        or why_leaking(executor, plan, scores.logprobs.cpu().numpy())
    )
    return reason and f"in rows of {width} {reason}"


def what_failed(error: BaseException) -> str:
    """The error's type and the first line of its message; of a program that was called, what it is and needs."""
    if isinstance(error, subprocess.CalledProcessError):  # its message is a command of a thousand letters
        program = pathlib.Path(str(error.cmd[0] if isinstance(error.cmd, list) else error.cmd)).name
        return f"{program} ended with {error.returncode}: Triton needs a C compiler, Python's headers and the driver"
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"


def disagreement(
    own: npt.NDArray[np.float32],
    scores: npt.NDArray[np.float32],
    tolerance: Tolerance,
    others: str = "the model's own",
) -> str | None:
    """Why `scores` [tokens] are not `own` [tokens], which are `others`, within the tolerance; None if they are."""
    difference = np.abs(scores.astype(np.float64) - own)
    # This form fails for NaN.
    if not difference.max(initial=0.0) <= tolerance.largest:
        return f"its token scores differ from {others} by up to {difference.max():.2g} nats"
    if len(difference) and not difference.mean() <= tolerance.mean:
        return f"its token scores differ from {others} by {difference.mean():.2g} nats on average"
    return None
