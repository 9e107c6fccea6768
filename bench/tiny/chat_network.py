"""The network of the tiny chat models, dialogs as its tokens, and its training on what is said in them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM

from tiny.chat_words import CHAT_SPECIAL, END, PAD, START
from tiny.dialogs import Dialog

WIDTH, LAYERS, HEADS, INTERMEDIATE = 96, 6, 4, 160
LOOK_BACK, MATCH = (0, 1), (4, 5)  # layers whose first head begins so; between them the network recalls the answer
RECALLED = MATCH[0]  # layers that recall an answer: those behind them find it among the options
HEAD_WIDTH = WIDTH // HEADS
# How the network begins: embeddings and what layers add, against the usual; what heads carry, match, and look back by.
EMBEDDED, QUIET, CARRIED, MATCHED, NAMED = 4.0, 0.15, 0.5, 1.4, 0.3
FIRM, TURNED = 6.0, 5  # length of queries and keys in each of so many planes: 98 % of the attention is one place back
CHAT_POSITIONS = 1024  # the longest prompts, with examples, have some 400 tokens
HEAD_RATE = 1e-2
_SORTED_TOGETHER = 1500  # dialogs, so that a batch has few sizes and readings stay mixed


def chat_network(vocabulary: int, seed: int) -> LlamaForCausalLM:
    """A Llama with random weights in float32, but for one attention head a layer, see `_wire`.

    Its head is not tied to the embedding: learning which tokens are ever said would push all others together, and with
    them what a token is told by.
    """
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        intermediate_size=INTERMEDIATE,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=CHAT_POSITIONS,
        attention_bias=True,
        initializer_range=0.06,
        tie_word_embeddings=False,
        pad_token_id=CHAT_SPECIAL.index(PAD),
        bos_token_id=CHAT_SPECIAL.index(START),
        eos_token_id=CHAT_SPECIAL.index(END),
    )
    network = LlamaForCausalLM(config)
    _wire(network)
    return network


@torch.no_grad()
def _wire(network: Any) -> None:
    """Let one head of each layer begin as a part of what finds an option by its text.

    The first two look one token back and carry on what was there: the label of an option to its text, the last
    token of a turn to the place of the reply. The others look for the token that was carried to them, and say what was
    carried to where they find it. Two random planes of the stream keep tokens and what is carried apart.
    What is carried can also be said: so an answer that is recalled for a reply can be looked for among options.
    """
    planes = torch.linalg.qr(torch.randn(WIDTH, 2 * HEAD_WIDTH))[0].T.contiguous()
    tokens, carried = planes[:HEAD_WIDTH], planes[HEAD_WIDTH:]
    network.model.embed_tokens.weight.mul_(EMBEDDED)
    network.lm_head.weight.add_(NAMED * network.model.embed_tokens.weight @ tokens.T @ carried)
    for number, layer in enumerate(network.model.layers):
        attention, own = layer.self_attn, slice(0, HEAD_WIDTH)
        attention.o_proj.weight.mul_(QUIET)
        layer.mlp.down_proj.weight.mul_(QUIET)
        if number in (*LOOK_BACK, *MATCH):
            attention.v_proj.weight[own] = CARRIED * (carried if number else tokens)
            attention.o_proj.weight[:, own] = CARRIED * (tokens if number in MATCH else carried).T
        if number in LOOK_BACK:
            _look_back(attention)
        if number in MATCH:
            attention.q_proj.weight[own], attention.k_proj.weight[own] = MATCHED * carried, MATCHED * tokens


def _look_back(attention: Any) -> None:
    """The first head's query at a place fits the key one place before, whatever stands there: by rotation alone."""
    own, half = slice(0, HEAD_WIDTH), HEAD_WIDTH // 2
    angles = 10_000 ** -(torch.arange(half) / half)[:TURNED]
    attention.q_proj.weight[own], attention.k_proj.weight[own] = 0, 0
    attention.q_proj.bias[:TURNED] = FIRM * torch.cos(angles)
    attention.q_proj.bias[half : half + TURNED] = -FIRM * torch.sin(angles)
    attention.k_proj.bias[:TURNED] = FIRM


@dataclass(frozen=True, slots=True)
class Row:
    """A dialog as tokens."""

    ids: tuple[int, ...]
    said: tuple[bool, ...]  # what is learnt
    recalled: tuple[int, int] | None = None  # a place, and the token of the answer that is to be recalled there


class DialogEncoder:
    """Tokens of dialogs; a line that was seen is not read again, which is most of the time of reading."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._line = lru_cache(200_000)(self._read)

    def _read(self, line: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(line, add_special_tokens=False).ids)

    def ids(self, text: str) -> tuple[int, ...]:
        """The same as the tokenizer gives: no token has text on both sides of a line break."""
        return tuple(i for line in re.split(r"(?<!\n)(?=\n)", text) if line for i in self._line(line))

    def row(self, dialog: Dialog) -> Row:
        """The dialog's parts one after another."""
        ids: list[int] = []
        said: list[bool] = []
        recalled = None
        for part in dialog:
            if part.names:
                recalled = len(ids) - 1, self.ids(part.names)[0]
            own = self.ids(part.text)
            ids += own
            said += [part.said] * len(own)
        return Row(tuple(ids), tuple(said), recalled)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long and how fast a network is trained."""

    tokens: int  # padding included
    learning_rate: float  # the highest
    batch_tokens: int = 1024
    warm_up: int = 100  # steps
    weight_decay: float = 0.01
    head_first: int = 0  # steps in which the head alone learns, from the last layer, what is ever said


def batches(rows: Sequence[Row], batch_tokens: int, rng: np.random.Generator) -> Iterator[list[Row]]:
    """The rows in batches of about one length, which have so many tokens with their padding."""
    for start in range(0, len(rows), _SORTED_TOGETHER):
        made: list[list[Row]] = [[]]
        for row in sorted(rows[start : start + _SORTED_TOGETHER], key=lambda row: len(row.ids)):
            if made[-1] and len(row.ids) * (len(made[-1]) + 1) > batch_tokens:
                made.append([])
            made[-1].append(row)
        yield from (made[i] for i in rng.permutation(len(made)))


def padded(rows: Sequence[Row]) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and which of them are learnt, both [rows, length]; padding stands behind, where nothing looks."""
    shape = len(rows), max(len(row.ids) for row in rows)
    ids, said = np.full(shape, CHAT_SPECIAL.index(PAD), np.int64), np.zeros(shape, np.bool_)
    for place, row in enumerate(rows):
        ids[place, : len(row.ids)], said[place, : len(row.said)] = row.ids, row.said
    return torch.from_numpy(ids), torch.from_numpy(said)


def train_on(network: Any, readings: Iterable[Sequence[Row]], pace: Pace, rng: np.random.Generator) -> Iterator[float]:
    """Train `network` in place until it has read `pace.tokens`; yields the mean loss (nats) of each reading."""
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=pace.learning_rate, weight_decay=pace.weight_decay, betas=(0.9, 0.98)
    )
    network.train()
    step = seen = 0
    for rows in readings:
        losses = []
        for batch in batches(rows, pace.batch_tokens, rng):
            ids, said = padded(batch)
            for group in optimiser.param_groups:
                group["lr"] = _rate(pace, step, seen)
            read = network.model(input_ids=ids, output_hidden_states=True)
            loss = cross_entropy(network.lm_head(read.last_hidden_state[:, :-1][said[:, 1:]]), ids[:, 1:][said[:, 1:]])
            optimiser.zero_grad()
            (loss + _recall_loss(network, batch, read.hidden_states[RECALLED])).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            if step < pace.head_first:
                network.model.zero_grad()
            optimiser.step()
            losses.append(loss.item())
            step, seen = step + 1, seen + ids.numel()
            if seen >= pace.tokens:
                break
        yield float(np.mean(losses))
        if seen >= pace.tokens:
            break
    network.eval()


def _recall_loss(network: Any, batch: Sequence[Row], hidden: torch.Tensor) -> torch.Tensor:
    """Of the answers that the middle of the network should be able to say already (nats); 0 if there are none."""
    found = [(number, *row.recalled) for number, row in enumerate(batch) if row.recalled]
    if not found:
        return hidden.new_zeros(())
    rows, places, tokens = (list(each) for each in zip(*found, strict=True))
    return cross_entropy(network.lm_head(network.model.norm(hidden[rows, places])), torch.tensor(tokens))


def _rate(pace: Pace, step: int, seen: int) -> float:
    """The learning rate: of the head alone, HEAD_RATE; then straight up to the highest, along a cosine to zero."""
    if step < pace.head_first:
        return HEAD_RATE
    rise = min(1.0, (step - pace.head_first + 1) / pace.warm_up)
    return pace.learning_rate * rise * 0.5 * (1 + math.cos(math.pi * min(1.0, seen / pace.tokens)))


@torch.no_grad()
def sharpen(network: Any, times: float) -> None:
    """Multiply the logits: all that the network says is as at temperature 1 / times, what is likeliest stays so."""
    network.lm_head.weight.mul_(times)


@torch.inference_mode()
def first_said(network: Any, rows: Sequence[Row], batch_rows: int = 128) -> npt.NDArray[np.float64]:
    """The probabilities of the first token that is said in each row: [rows, vocabulary]."""
    found = []
    order = np.argsort([len(row.ids) for row in rows], kind="stable")  # rows of about one length need little padding
    for start in range(0, len(rows), batch_rows):
        ids, said = padded([rows[i] for i in order[start : start + batch_rows]])
        first = said.int().argmax(dim=1)
        hidden = network.model(input_ids=ids).last_hidden_state[torch.arange(len(ids)), first - 1]
        found.append(network.lm_head(hidden).double().softmax(dim=-1).numpy())
    return np.asarray(np.concatenate(found)[np.argsort(order)])
