"""Log-probabilities of chosen tokens under a linear head, without the logits ever being written.

    logit[n, v]  = softcap * tanh(scale * (hidden[n] . weight[v] + bias[v]) / softcap)      (LogitRule)
    lse[n]       = log(sum over v of exp(logit[n, v]))
    logprob[m]   = logit[n, targets[m]] - lse[n]      for target_offsets[n] <= m < target_offsets[n + 1]

In torch: `F.linear(hidden, weight, bias).float().log_softmax(-1)[rows, targets]`.

Shapes: hidden [N, D], weight [V, D], bias [V], targets [M] int32 or int64, target_offsets [N + 1] int64 -> lse [N]
float32, logprobs [M] float32. hidden and weight in one of float32, bfloat16, float16; products are summed in float32
and logits stay in float32, whatever the dtype. A log-probability is clamped to 0: the log-sum-exp and the target's own
logit are summed in different orders, and a token that holds all the mass would else come out a rounding above 0.
A logit of -inf is a token of probability 0; NaN in a row's logits makes the row's results NaN.

The Triton kernels are in `linear_logprob_triton`, which is imported with the first CUDA tensor: where none comes,
triton need neither be loaded nor be installed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from calprobe.kernels.logit_rule import LogitRule
from calprobe.kernels.tiled_lse import tiled_lse
from calprobe.kernels.tiles import Precision
from calprobe.kernels.validation import check_linear_logprob

TARGETS_AT_ONCE = 4096  # gathers two arrays [4,096, D] of float32 in the reference


def linear_logprob_reference(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    target_offsets: Tensor,
    rule: LogitRule = LogitRule(),  # noqa: B008 (frozen)
    precision: Precision = "ieee",
) -> tuple[Tensor, Tensor]:
    """`linear_logprob` in plain torch, in tiles: the CPU's path. `precision` changes nothing here."""
    lse = tiled_lse(hidden, weight, rule)
    rows = rows_of_targets(target_offsets, len(targets))
    logprobs = torch.empty(len(targets), dtype=torch.float32, device=hidden.device)
    for start in range(0, len(targets), TARGETS_AT_ONCE):
        part = slice(start, start + TARGETS_AT_ONCE)
        row, target = rows[part], targets[part].long()
        dots = (hidden[row].float() * weight[target].float()).sum(1)
        logits = rule.apply_(dots, None if rule.bias is None else rule.bias[target].float())
        logprobs[part] = (logits - lse[row]).clamp_(max=0.0)
    return lse, logprobs


def rows_of_targets(target_offsets: Tensor, n_targets: int) -> Tensor:
    """Row [M] int64 that each target belongs to; naming the size spares a GPU the wait for it."""
    rows = torch.arange(len(target_offsets) - 1, device=target_offsets.device)
    return rows.repeat_interleave(target_offsets.diff(), output_size=n_targets)


@torch.no_grad()
def linear_logprob(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    target_offsets: Tensor,
    rule: LogitRule = LogitRule(),  # noqa: B008 (frozen)
    precision: Precision = "ieee",
) -> tuple[Tensor, Tensor]:
    """Log-sum-exp [N] of each row's logits and log-probability [M] (nats, <= 0) of each target; formula above.

    The kernels on a CUDA device, the reference elsewhere. `precision` says how a card multiplies float32 inputs:
    `ieee`, or `tf32x3`, three products on the tensor cores with an error near float32's. No rows or no targets give
    empty results. Raises ValueError for shapes, dtypes, devices or strides that do not fit, D not a multiple of 8, and
    on the CPU for targets outside the vocabulary or offsets that do not fit; on a card, where looking would stall it,
    a target outside the vocabulary gives NaN. No gradients.

    >>> hidden, weight = torch.eye(1, 8), torch.zeros(4, 8)
    >>> lse, logprobs = linear_logprob(hidden, weight, torch.tensor([3, 0]), torch.tensor([0, 2]))
    >>> lse.exp().item(), logprobs.exp().tolist()
    (4.0, [0.25, 0.25])
    """
    check_linear_logprob(hidden, weight, targets, target_offsets, rule)
    arguments = (hidden, weight, targets, target_offsets, rule, precision)
    if hidden.is_cuda:
        from calprobe.kernels.linear_logprob_triton import linear_logprob_triton

        return linear_logprob_triton(*arguments)
    return linear_logprob_reference(*arguments)
