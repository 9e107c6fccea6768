"""Which path scores a model: the fastest one that agrees with the model's own untouched forward, checked on every load.

An architecture that nobody has tried is then slow, never wrong.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel
from calprobe.models.head import scoring_head
from calprobe.scoring.executor import Executor
from calprobe.scoring.options import PATHS, Path
from calprobe.scoring.padded import PaddedExecutor
from calprobe.scoring.plain import PlainExecutor
from calprobe.scoring.tree import TreeExecutor
from calprobe.statements.token_rows import TokenRows

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Largest and mean difference of token scores, in nats, that two right paths may show."""

    largest: float
    mean: float


# Right paths differ by the order of sums: 4e-5 in float32 on real models, up to two steps of the logits in the short
# dtypes, whose own logits are rounded in the forward that is the judge here. A wrong mask or position shows as 1 and
# more.
_TOLERANCES = {
    "float32": Tolerance(2e-3, 2e-4),
    "bfloat16": Tolerance(0.6, 0.06),
    "float16": Tolerance(0.1, 0.01),
}


def choose_path(model: LoadedModel, batch_tokens: int, sample: TokenRows, asked: Path | None = None) -> Path:
    """The first path of tree, padded, plain that scores `sample` as the model's own forward does.

    A path that is passed over is said once on the log, with the reason. A path that is `asked` for is the only one
    tried, and its failure is an error (CalprobeError). `plain` is never in question: it is the own forward.
    """
    if asked == "plain":
        return "plain"
    own = PlainExecutor(model, batch_tokens=1).score(sample)  # each statement by itself, without padding
    for path in PATHS[:-1] if asked is None else (asked,):
        reason = _why_not(path, model, batch_tokens, sample, own)
        if reason is None:
            return path
        if asked is not None:
            raise CalprobeError(f"{model.name} cannot be scored on the {path} path: {reason}; leave --path out")
        log.info("%s: not on the %s path (%s)", model.name, path, reason[:200])
    return "plain"


def executor_of(path: Path, model: LoadedModel, batch_tokens: int) -> Executor:
    """The executor of that path. Raises HeadUnusable if the path needs the head taken apart and it cannot be."""
    if path == "plain":
        return PlainExecutor(model, batch_tokens)
    head = scoring_head(model.network, model.device)
    return TreeExecutor(model, head, batch_tokens) if path == "tree" else PaddedExecutor(model, head, batch_tokens)


def _why_not(
    path: Path, model: LoadedModel, batch_tokens: int, sample: TokenRows, own: npt.NDArray[np.float32]
) -> str | None:
    try:
        scores = executor_of(path, model, batch_tokens).score(sample)
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever an unknown model does with a tree: it is not taken then
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
    return disagreement(own, scores, _TOLERANCES[model.dtype])


def disagreement(own: npt.NDArray[np.float32], scores: npt.NDArray[np.float32], tolerance: Tolerance) -> str | None:
    """Why `scores` [tokens] are not the same as `own` [tokens] within the tolerance; None if they are."""
    difference = np.abs(scores.astype(np.float64) - own)
    # Written so that NaN fails.
    if not difference.max(initial=0.0) <= tolerance.largest:
        return f"its token scores differ from the model's own by up to {difference.max():.2g} nats"
    if len(difference) and not difference.mean() <= tolerance.mean:
        return f"its token scores differ from the model's own by {difference.mean():.2g} nats on average"
    return None
