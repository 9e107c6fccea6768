"""Whether ragged rows give a model's own probabilities: checked on every load, whatever the model is called."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.engine import Engine, NotRagged
from calprobe.models import LoadedModel
from calprobe.models.memory import is_out_of_memory
from calprobe.models.torch_settings import exact_torch
from calprobe.scoring.path_choice import disagreement, tolerance_for

_SHARED = 5  # tokens that the two rows of the check have in common, forwarded once
_LONGEST_WINDOW = 1024  # a window longer than this is not outgrown in the check: its mask is that of a shorter one
_COMPARED = 64  # tokens of the vocabulary, evenly spread


def ragged_engine(model: LoadedModel) -> tuple[Engine, int] | str:
    """An engine that agrees with the model's own forward, and the bytes of a token's keys and values; or why not.

    Two rows of different lengths share a beginning, go on by several tokens and then by one, as conversations do.

    In a model with a short sliding window the longer one leaves it.
    """
    try:
        engine = Engine(model)
        rows = _rows(engine)
        cache = RaggedCache()
        cache.reserve(len(rows), max(map(len, rows)))
        found = _found(engine, cache, rows)
        return _disagreement(model, rows, found) or (engine, cache.bytes_of_token)
    except NotRagged as error:
        return str(error)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"


def _rows(engine: Engine) -> list[list[int]]:
    model, window = engine.model, engine.windows.size or 0
    length = _SHARED + 8 + (window if window <= _LONGEST_WINDOW else 0)
    if model.max_positions is not None:
        length = min(length, model.max_positions)
    tokens = np.random.default_rng(0).integers(0, model.embedding_rows or engine.n_tokens, length + 2).tolist()
    shared = [model.start_token_id, *tokens[: _SHARED - 1]]
    return [shared + tokens[_SHARED : length - 1], shared + tokens[-4:]]


def _found(engine: Engine, cache: RaggedCache, rows: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
    """Log-probabilities behind all tokens but the last, and behind all, of each row."""
    engine.forward(cache, 0, [0], [rows[0][:_SHARED]])
    cache.copy(cache, [(0, 1, _SHARED)])
    behind_all_but_last = engine.extend(cache, 0, [_SHARED] * len(rows), [row[_SHARED:-1] for row in rows])
    behind_all = engine.extend(cache, 0, [len(row) - 1 for row in rows], [row[-1:] for row in rows])
    return _compared(torch.cat([behind_all_but_last, behind_all]))


@torch.inference_mode()
@exact_torch()
def _disagreement(model: LoadedModel, rows: Sequence[Sequence[int]], found: npt.NDArray[np.float32]) -> str | None:
    own = [model.network(input_ids=torch.tensor([row], device=model.device), use_cache=False).logits for row in rows]
    both = [torch.stack([logits[0, place] for logits in own]) for place in (-2, -1)]
    truth = _compared(torch.cat(both))
    return disagreement(truth, found, tolerance_for(model.dtype, np.zeros(0)))


def _compared(logits: torch.Tensor) -> npt.NDArray[np.float32]:
    logprobs = logits.float().log_softmax(1)
    step = max(1, logprobs.shape[1] // _COMPARED)
    values: npt.NDArray[np.float32] = logprobs[:, ::step].flatten().cpu().numpy()
    return values
