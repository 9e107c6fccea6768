"""Whether ragged rows give a model's own probabilities: checked on every load, whatever the model is called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from calprobe.backends.local.cache import RaggedCache
from calprobe.backends.local.closed import reply_tree
from calprobe.backends.local.ragged_engine import Engine, NotRagged, log_softmax
from calprobe.backends.local.token_text import Ids
from calprobe.errors import CalprobeError
from calprobe.kernels.arguments import triton_takes
from calprobe.models import LoadedModel
from calprobe.models.head import own_hidden_states
from calprobe.models.loaded_model import Part
from calprobe.models.memory import is_out_of_memory
from calprobe.models.torch_settings import exact_torch
from calprobe.scoring.leaks import has_experts, most_of
from calprobe.scoring.path_choice import (
    FLOORS,
    MOVED,
    Setup,
    Tolerance,
    check_numbers,
    disagreement,
    setups_of,
    tolerance_for,
    tolerance_of_moves,
    warn_of_parts,
)

_SHARED = 5  # tokens that the rows of the check have in common, forwarded once
_LEAKING = 64  # tokens at most of rows that must not see each other: for that, no window has to be left
_SHORT_ROWS, _SHORT = 8, 4  # rows beside the long one, and tokens of their own: of one row chance makes too much
_REPLY_TOKENS, _REPLY_PLACES = 17, 12  # of the closed set
_LONGEST_WINDOW = 1024  # a window longer than this is not outgrown in the check: its mask is that of a shorter one
# The part of the window by which the long row leaves it. By a few tokens only, an engine without windows was off by no
# more than bfloat16 rounds; by a quarter, by 13 nats or more at the most (Gemma 3 270M, 8 texts; `make test-cards`).
_LEFT = 1 / 4
_FLOAT32_LOGITS = 2e-3  # largest difference of float32 logits from products in another order
_ROUNDINGS = 4  # of logits to a short dtype, in units of its last place at the largest one
_SHIFTS_AT_ONCE = 4  # errors of positions whose logits are there at once: 64 rows of the vocabulary
_COMPARED = 64  # tokens of the vocabulary, evenly spread
_MANY_ROWS = 129  # more than the largest tile of the head's kernel has
# Behind few tokens chance makes more than over the sample of a run, and attention by other products more than batches
# do: in bfloat16, on a CPU that multiplies it itself, right engines were off by up to 1.4 nats at most and 0.13 on
# average (Gemma 3 270M, 200 real texts, of which all but one were below 1.1; SmolLM2-135M, as many: 0.47 and 0.057),
# with positions one too large by 0.22 or more on average, of 20. Replies of closed sets were off by up to 0.11 on
# average, of the same texts, and changed by 0.029 with the place of others. In float16 all were off by up to 0.18 and
# 0.021 (SmolLM2-135M, 200 texts, of which one would have been refused by the floor), with positions one too large by
# 0.49 or more. `make test-cards` prints such figures.
_OF_FEW = {**FLOORS, "bfloat16": Tolerance(2.0, 0.15), "float16": Tolerance(0.3, 0.03)}
_MOVED_OF_FEW = {**MOVED, "bfloat16": Tolerance(0.8, 0.06)}
# Other positions are told by where they lead, if they lead twice as far as all that is off otherwise. With Gemma 3 270M
# in bfloat16 that alone told those that were one too large, by each of 8 texts; a right engine went up to 0.14 so far.
_OVER_REST = 2.0


class RightEngine(NamedTuple):
    """An engine that agrees with the model's own forward."""

    engine: Engine
    bytes_of_token: int  # of its keys and values
    by_torch: tuple[Part, ...] = ()  # of the parts that kernels compute on this device


def ragged_engine(model: LoadedModel, failed: Sequence[Part] | None = None) -> RightEngine | str:
    """An engine that agrees with the model's own forward; or why there is none.

    A long row and short ones share a beginning, go on by several tokens and then by one, as conversations do.

    In a model with a short sliding window the long one leaves it. On a card, where a kernel of calprobe's does not
    run or is wrong, torch takes its part over: the layers', the head's, or both. Raises CalprobeError for a model whose
    own forward gives NaN.

    `failed` are the parts that torch computed in an engine that failed in the middle of a run: only what is behind it
    is tried, and nothing said, since another part may have failed.
    """
    setups, refusals = setups_of(model, "tree"), list[str]()
    if failed is not None:
        setups, refusals = setups[setups.index(Setup("tree", tuple(failed))) + 1 :], ["torch computes all parts"]
    for setup in setups:
        engine = _agreeing_engine(model.by_torch(setup.by_torch))
        if not isinstance(engine, str):
            if failed is None:
                warn_of_parts(model, setup, refusals)
            return engine._replace(by_torch=setup.by_torch)
        refusals.append(engine)
    return refusals[-1]  # which is not that of a kernel


def _agreeing_engine(model: LoadedModel) -> RightEngine | str:
    try:
        engine = Engine(model)
        rows = _rows(engine)
        cache = RaggedCache()
        cache.reserve(len(rows), max(map(len, rows)) + _REPLY_PLACES)
        logprobs = _found(engine, cache, rows)
        why_not = (
            _disagreement(engine, rows, logprobs)
            or _wrong_replies(engine, cache, rows)
            or _why_leaking(engine, cache, [rows[0][:_LEAKING], rows[1]])
        )
        return why_not or RightEngine(engine, cache.bytes_of_token)
    except CalprobeError:
        raise
    except NotRagged as error:
        return str(error)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"


# Ordinary words: tokens drawn at random are so improbable that rounding alone moves them far.
_TEXT = (
    "The harbour lies below the old town, and in the morning the boats come back with what they caught in the night. "
    "A woman from the office counts the boxes, writes the number of each in a book, and gives the men a receipt. When "
    "the wind is from the north, nobody goes out; then they mend nets in the shed behind the church, drink tea, and "
    "talk about engines, prices and the weather. Question: how many boats are there? Answer: seven, of which two are "
    "new. "
)


def _rows(engine: Engine) -> list[list[int]]:
    model, window = engine.model, _window(engine)
    length = _SHARED + 8 + (math.ceil((1 + _LEFT) * window) if window <= _LONGEST_WINDOW else 0)
    if model.max_positions is not None:
        if model.max_positions < _SHARED + _SHORT + _REPLY_PLACES:
            raise NotRagged(f"its {model.max_positions} positions are too few for the check")
        length = min(length, model.max_positions - _REPLY_PLACES)
    words = _words(engine)
    tokens = words * (1 + max(length, _SHORT * _SHORT_ROWS) // len(words))
    shared = [model.start_token_id, *tokens[: _SHARED - 1]]
    ends = range(len(tokens), len(tokens) - _SHORT * _SHORT_ROWS, -_SHORT)
    return [shared + tokens[_SHARED : length - 1], *(shared + tokens[end - _SHORT : end] for end in ends)]


def _window(engine: Engine) -> int:
    """The window that the long row leaves: of the engine, or of a name that it does not know; 0 if there is none."""
    if engine.windows.size is not None:
        return engine.windows.size
    sizes = engine.network.config.get_text_config().to_dict()
    names = [name for name in sizes if name.endswith(("window", "window_size")) and type(sizes[name]) is int]
    return max((sizes[name] for name in names if sizes[name] <= _LONGEST_WINDOW), default=0)


def _words(engine: Engine) -> list[int]:
    words: list[int] = engine.model.tokenizer(_TEXT, add_special_tokens=False, verbose=False)["input_ids"]
    return words


def _found(engine: Engine, cache: RaggedCache, rows: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
    """Log-probabilities behind all tokens but the last, and behind all, of each row."""
    engine.forward(cache, 0, [0], [rows[0][:_SHARED]])
    cache.copy(cache, [(0, slot, _SHARED) for slot in range(1, len(rows))])
    behind_all_but_last = [
        engine.extend(cache, first, [_SHARED] * len(some), [row[_SHARED:-1] for row in some])
        for first, some in ((0, rows[:2]), (2, rows[2:]))  # a row is padded to the longest that it is extended with
        if some
    ]
    behind_all = engine.extend(cache, 0, [len(row) - 1 for row in rows], [row[-1:] for row in rows])
    return _compared(torch.cat([*behind_all_but_last, behind_all]))


@torch.inference_mode()
@exact_torch()
def _wrong_replies(engine: Engine, cache: RaggedCache, rows: Sequence[Sequence[int]]) -> str | None:
    """Why replies of a closed set behind the rows, which the cache holds, are not as probable as the model has them.

    Other replies of the set stand in front of those that are compared or behind them, or are others: only rounding may
    follow from the first, nothing from the second. Layers that measure by slots are told by that.
    """
    dtype, experts = engine.model.dtype, has_experts(engine.network)
    tokens = sorted(list(dict.fromkeys([*_words(engine), *range(engine.n_tokens)]))[:_REPLY_TOKENS])
    low, *firsts, high = tokens[:4]
    seconds, others, more = tokens[4:7], tokens[7:12], tokens[12:]
    replies = [(firsts[0], seconds[0]), (firsts[0], seconds[1], seconds[2]), (firsts[1],), (firsts[1], seconds[0])]
    in_front, behind, changed = (
        _logprobs_of(engine, cache, rows, [*replies, *((first, second) for second in of_first)], len(replies))
        for first, of_first in ((low, others), (high, others), (low, more))
    )
    own = _own_of_replies(engine, rows[1:3], replies)
    tolerance = tolerance_for(dtype, np.empty(0), _OF_FEW, experts)
    of_moves = tolerance_of_moves(tolerance if experts else _MOVED_OF_FEW[dtype], own, behind)
    why_not = disagreement(own, in_front, tolerance) or disagreement(
        behind, in_front, of_moves, "those at other places of the set"
    )
    if why_not is None and not (nats := float(np.abs(changed - in_front).max())) <= most_of(engine.network):
        why_not = f"they change by {nats:.2g} nats with other replies"
    return why_not and f"closed sets: {why_not}"


def _logprobs_of(
    engine: Engine, cache: RaggedCache, rows: Sequence[Sequence[int]], replies: Sequence[Ids], n_compared: int
) -> npt.NDArray[np.float32]:
    """Of each token of the first replies of a closed set, behind the short ones of the first rows: [tokens]."""
    tree = reply_tree([(str(reply),) for reply in replies], {str(reply): reply for reply in replies}.__getitem__, ())
    some = rows[:3]
    edges = engine.tree(cache, 0, [len(row) - 1 for row in some], [row[-1] for row in some], tree)
    paths = [edge for (form,) in tree.forms[:n_compared] for edge in form.path]
    return edges[1:, paths].flatten().float().numpy()


def _own_of_replies(engine: Engine, rows: Sequence[Sequence[int]], replies: Sequence[Ids]) -> npt.NDArray[np.float32]:
    """What `_logprobs_of` gives, by the model's own forward of each row with all replies, padded on the right."""
    width = max(map(len, replies))
    last = torch.tensor([len(reply) for reply in replies])
    batch = torch.tensor([[*reply, *(reply[-1:] * (width - len(reply)))] for reply in replies])
    is_token = torch.arange(width) < last[:, None]
    of_reply, place = is_token.nonzero(as_tuple=True)
    found = []
    for row in rows:
        ids = torch.cat([torch.tensor(row).expand(len(replies), -1), batch], 1)
        is_row = torch.ones(len(replies), len(row), dtype=torch.bool)
        hidden = _own_hidden(engine, ids, torch.cat([is_row, is_token], 1))
        logprobs = log_softmax(engine.logits(hidden, of_reply, len(row) - 1 + place)).cpu()
        found.append(logprobs[torch.arange(len(place)), batch[is_token]])
    return torch.cat(found).float().numpy()


def _why_leaking(engine: Engine, cache: RaggedCache, rows: Sequence[Sequence[int]]) -> str | None:
    """Why a row says something else when the other one's tokens change, and what a cache held before; None if it does
    not. No rounding explains a difference: shapes are the same (`calprobe.scoring.leaks`).
    """
    before, turned = [rows[0]] * len(rows), [_turned(row) for row in rows]
    says = _said_over(engine, cache, before, rows)
    changes = []
    for place in range(len(rows)):
        changed_rows = [row if index == place else turned[index] for index, row in enumerate(rows)]
        again = _said_over(engine, cache, turned[:1] * len(rows), changed_rows)
        changes.append(np.abs(again[place].astype(np.float64) - says[place]).max())
    if (nats := float(np.max(changes))) <= most_of(engine.network):  # false for NaN
        return None
    return f"what a row says changes by {nats:.2g} nats with the tokens of others"


def _said_over(
    engine: Engine, cache: RaggedCache, before: Sequence[Sequence[int]], rows: Sequence[Sequence[int]]
) -> npt.NDArray[np.float32]:
    """Log-probabilities behind each row, [rows, compared], whose slots held the rows `before`, as long as the longest.

    Each row goes in by itself, so that what was there stays behind the end of the shorter ones.
    """
    engine.forward(cache, 0, [0] * len(before), before)
    engine.forward(cache, 0, [0], [rows[0][:_SHARED]])
    cache.copy(cache, [(0, 1, _SHARED)])
    for index, row in enumerate(rows):
        engine.forward(cache, index, [_SHARED], [row[_SHARED:-1]])
    behind = engine.extend(cache, 0, [len(row) - 1 for row in rows], [row[-1:] for row in rows])
    return _compared(behind).reshape(len(rows), -1)


def _turned(row: Sequence[int]) -> list[int]:
    """The row with its own tokens, behind those that rows share, in the order from last to first."""
    return [*row[:_SHARED], *reversed(row[_SHARED:])]


@torch.inference_mode()
@exact_torch()
def _disagreement(engine: Engine, rows: Sequence[Sequence[int]], logprobs: npt.NDArray[np.float32]) -> str | None:
    # In float32 it does not matter what else is in a batch, so that no noise has to be estimated; in short dtypes each
    # row is by itself.
    is_exact = engine.model.dtype == "float32"
    expected = _own(engine, [rows[:1], rows[1:]] if is_exact else [[row] for row in rows])
    check_numbers(engine.model, expected, "probabilities")
    batched = expected if is_exact else _own(engine, [rows[:2], rows[2:]])
    noise = np.abs(batched.astype(np.float64) - expected)
    tolerance = tolerance_for(engine.model.dtype, noise, _OF_FEW, has_experts(engine.network))
    return (
        _wrong_head(engine, rows[-1])
        or disagreement(expected, logprobs, tolerance)
        or _wrong_place(engine, rows, expected, logprobs, noise)
    )


def _wrong_place(
    engine: Engine,
    rows: Sequence[Sequence[int]],
    expected: npt.NDArray[np.float32],
    found: npt.NDArray[np.float32],
    noise: npt.NDArray[np.float64],
) -> str | None:
    """The place of short rows from which on positions are one off; None if they are right, or too weak to be heard.

    Among few tokens a position says most. What the model itself gives with positions one off from each place on shows
    in which direction such an error goes: along it rounding, which goes anywhere, hardly reaches halfway. The first
    place is left out: one off from there on, only the start token is nearer or farther, which moves a model no more
    than rounding does, and the same way (of one short row in bfloat16 a right engine went all of it, by 3 texts of 8).
    """
    number, width = len(rows) - 1, len(rows[-1])
    own, by_engine, rounding = (
        values.reshape(2, len(rows), -1)[:, 1:].ravel().astype(np.float64) for values in (expected, found, noise)
    )
    shifts = [(place, by) for by in (1, -1) for place in range(2, width)]
    ids = torch.tensor(rows[1:]).repeat(len(shifts), 1)
    positions = torch.tensor([[at + by * (at >= place) for at in range(width)] for place, by in shifts])
    positions = positions.repeat_interleave(number, 0).to(engine.model.device)
    hidden = _own_hidden(engine, ids, torch.ones_like(ids), position_ids=positions)
    off: list[npt.NDArray[np.float64]] = []
    for some in torch.split(torch.arange(len(ids)).view(-1, number), _SHIFTS_AT_ONCE):
        of_shifts = some[:, None].expand(-1, 2, -1).flatten()
        ends = torch.tensor([width - 2, width - 1])[None, :, None].expand(len(some), -1, number).flatten()
        off.extend(_compared(engine.logits(hidden, of_shifts, ends)).reshape(len(some), -1).astype(np.float64) - own)
    least = max(np.linalg.norm(rounding), _FLOAT32_LOGITS * len(own) ** 0.5)
    likely: list[tuple[float, int, int]] = []
    for (place, by), direction in zip(shifts, off, strict=True):
        reach = float(np.linalg.norm(direction))
        part = float((by_engine - own) @ direction) / max(reach, least) ** 2
        rest = float(np.linalg.norm(by_engine - own - part * direction))
        if part > 0.5 and reach > max(least, _OVER_REST * rest):
            likely.append((rest, place, by))
    if not likely:
        return None
    _, place, by = min(likely)
    return f"its probabilities are those of positions one too {'large' if by > 0 else 'small'} from {place} on"


def _own(engine: Engine, batches: Sequence[Sequence[Sequence[int]]]) -> npt.NDArray[np.float32]:
    """What `_found` gives, by the model's own forward of complete rows, batch by batch, padded on the right.

    Its hidden states go through the engine's float32 head: logits rounded to bfloat16 have steps of 0.06 to 0.125.
    """
    last_two = []
    for batch in batches:
        lengths = torch.tensor([len(row) for row in batch])
        width = int(lengths.max())
        ids = torch.tensor([[*row, *(row[-1:] * (width - len(row)))] for row in map(list, batch)])
        hidden = _own_hidden(engine, ids, torch.arange(width) < lengths[:, None])
        last_two.append([engine.logits(hidden, torch.arange(len(batch)), lengths - back) for back in (2, 1)])
    return _compared(torch.cat([torch.cat(pair) for pair in zip(*last_two, strict=True)]))


def _own_hidden(engine: Engine, ids: torch.Tensor, is_token: torch.Tensor, **others: torch.Tensor) -> torch.Tensor:
    device = engine.model.device
    inputs = {"input_ids": ids.to(device), "attention_mask": is_token.long().to(device), "use_cache": False, **others}
    if engine.head is None:
        everywhere: torch.Tensor = engine.network(**inputs).logits
        return everywhere
    with own_hidden_states(engine.network) as keeper:
        engine.network(**inputs)
    return keeper.hidden


def _wrong_head(engine: Engine, row: Sequence[int]) -> str | None:
    """Why the engine's float32 logits are not the model's own but for their rounding to the dtype; None if they are."""
    ids = torch.tensor([list(row)], device=engine.model.device)
    own_logits = engine.network(input_ids=ids, use_cache=False).logits[0, -1]
    hidden = _own_hidden(engine, ids, torch.ones_like(ids))
    logits = engine.logits(hidden, torch.tensor([0]), torch.tensor([len(row) - 1]))[0]
    limit = max(_FLOAT32_LOGITS, _ROUNDINGS * torch.finfo(own_logits.dtype).eps * float(own_logits.abs().max()))
    difference = float((own_logits.float() - logits.to(own_logits.device)).abs().max())
    if not difference <= limit:
        return f"its logits differ from the model's own by up to {difference:.2g}"
    if engine.head is None:
        return None
    logprobs = _every_few(log_softmax(logits))
    words = _every_few(torch.arange(len(logits), device=hidden.device))
    differences = []
    for n_rows in (1, _MANY_ROWS) if engine.head.by_kernel and triton_takes(hidden) else (1,):
        offsets = len(words) * torch.arange(n_rows + 1, device=hidden.device)
        by_head = engine.head.logprobs(hidden[0, -1:].repeat(n_rows, 1), words.repeat(n_rows), offsets)
        differences.append(float((by_head.view(n_rows, -1).to(logprobs.device) - logprobs).abs().max()))
    if max(differences) <= limit:
        return None
    return f"its head's log-probabilities are off by up to {max(differences):.2g} nats"


def _compared(logits: torch.Tensor) -> npt.NDArray[np.float32]:
    values: npt.NDArray[np.float32] = _every_few(log_softmax(logits.float())).flatten().cpu().numpy()
    return values


def _every_few(of_words: torch.Tensor) -> torch.Tensor:
    """The values [.., vocab] of the tokens that are compared."""
    return of_words[..., :: max(1, of_words.shape[-1] // _COMPARED)]
