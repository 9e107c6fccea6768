"""Training of either network on the same rows: AdamW, warm-up, cosine; one batch holds rows of one length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy

from calprobe.statements import Statement
from tiny.vocabulary import MASK, SPECIAL

IGNORED = -100  # targets that count for nothing, as PyTorch has it
MASK_ID = SPECIAL.index(MASK)
# Of 10 epochs each: with half of the rows in the answer and other words lost with 10 % besides, a model knew 24 % of 6
# relations; without the other words 29 %; with these shares 46 %. Most other words are the template's, soon learnt.
ANSWER_SHARE, SPAN_SHARE = 0.7, 0.15

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast a network is trained."""

    epochs: int  # times that the corpus is read
    learning_rate: float  # the highest
    batch_rows: int = 32
    warm_up: float = 0.05  # share of the steps
    weight_decay: float = 0.01


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one length, so that nothing is padded."""

    ids: Ids  # [rows, length], special tokens included
    words: Ids  # [rows, length]: number of the token's word within its row; -1 for special tokens
    answers: npt.NDArray[np.bool_]  # [rows, length]: token of the answer


Examples = Callable[[Batch], tuple[Ids, Ids]]  # a batch -> inputs, targets, both [rows, length]


def causal_examples(batch: Batch) -> tuple[Ids, Ids]:
    """Every token from those before it, the end included; the start token is given."""
    targets = np.full_like(batch.ids, IGNORED)
    targets[:, :-1] = batch.ids[:, 1:]
    return batch.ids, targets


def masked_examples(rng: np.random.Generator) -> Examples:
    """Masks as scoring uses them: the tail of a word, a whole word, or a span of words, one of these in each row.

    ANSWER_SHARE of the rows lose a word of the answer, the others any word; SPAN_SHARE of them go on from there for one
    to four more words. Half of the lost words lose a tail only: the scored token and what follows it in its word, as in
    within_word_l2r. What is lost is always replaced by the mask token: scoring shows the model no random words.
    """

    def examples(batch: Batch) -> tuple[Ids, Ids]:
        tail = _place_in_word(batch.words) >= _first_masked(batch.words, rng)
        masked = _chosen_words(batch, rng) & tail & (batch.words >= 0)
        return np.where(masked, MASK_ID, batch.ids), np.where(masked, batch.ids, IGNORED)

    return examples


def _chosen_words(batch: Batch, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """[rows, length]: tokens of words that are masked, the same for all tokens of a word."""
    words, n_rows = batch.words, len(batch.words)
    in_answer = batch.answers & (rng.random((n_rows, 1)) < ANSWER_SHARE)
    eligible = np.where(in_answer.any(axis=1, keepdims=True), in_answer, words >= 0)
    drawn = np.where(eligible, rng.random(words.shape), -1.0).argmax(axis=1)
    first = np.take_along_axis(words, drawn[:, None], axis=1)
    more = np.where(rng.random(n_rows) < SPAN_SHARE, rng.integers(1, 5, n_rows), 0)[:, None]
    return (words >= first) & (words <= first + more)


def _place_in_word(words: Ids) -> Ids:
    """[rows, length]: 0 for the first token of its word."""
    places = np.arange(words.shape[1])
    starts = np.diff(words, axis=1, prepend=-2) != 0
    return places - np.maximum.accumulate(np.where(starts, places, 0), axis=1)


def _first_masked(words: Ids, rng: np.random.Generator) -> Ids:
    """[rows, length]: place within its word from which on a word is masked: 0 for half of them, else any of its own."""
    n_rows, n_words = len(words), int(words.max()) + 1
    sizes = np.stack([(words == word).sum(axis=1) for word in range(n_words)], axis=1)
    cut = np.where(rng.random((n_rows, n_words)) < 0.5, 0, np.floor(rng.random((n_rows, n_words)) * sizes))
    return np.take_along_axis(cut.astype(np.int64), np.maximum(words, 0), axis=1)


def encoded(tokenizer: Tokenizer, sentences: Sequence[Statement]) -> list[Batch]:
    """The sentences as batches of one row each, in order."""
    rows = []
    for sentence, row in zip(sentences, tokenizer.encode_batch([s.text for s in sentences]), strict=True):
        words = np.array([[-1 if word is None else word for word in row.word_ids]])
        spans = np.array(row.offsets)
        answers = (spans[:, 0] < sentence.answer[1]) & (spans[:, 1] > sentence.answer[0]) & (words >= 0)
        rows.append(Batch(np.array([row.ids]), words, answers))
    return rows


def batches(rows: Sequence[Batch], batch_rows: int, rng: np.random.Generator) -> Iterator[Batch]:
    """One reading of all rows in random order, cut into batches of one length each."""
    lengths = np.array([row.ids.shape[1] for row in rows])
    order = rng.permutation(len(rows))
    order = order[np.argsort(lengths[order], kind="stable")]
    cuts = np.flatnonzero(np.diff(lengths[order])) + 1
    pieces = [
        group[start : start + batch_rows]
        for group in np.split(order, cuts)
        for start in range(0, len(group), batch_rows)
    ]
    for piece in rng.permutation(len(pieces)):
        chosen = [rows[row] for row in pieces[piece]]
        yield Batch(
            np.concatenate([row.ids for row in chosen]),
            np.concatenate([row.words for row in chosen]),
            np.concatenate([row.answers for row in chosen]),
        )


def train(
    network: Any, rows: Sequence[Batch], examples: Examples, schedule: Schedule, rng: np.random.Generator
) -> Iterator[float]:
    """Train `network` in place on `rows`, in the order that `rng` gives; yields each epoch's mean loss (nats)."""
    n_batches = sum(1 for _ in batches(rows, schedule.batch_rows, np.random.default_rng(0)))
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay, betas=(0.9, 0.98)
    )
    steps = schedule.epochs * n_batches
    pace = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _pace(step, steps, schedule.warm_up))
    network.train()
    for _ in range(schedule.epochs):
        losses = []
        for batch in batches(rows, schedule.batch_rows, rng):
            inputs, targets = (torch.from_numpy(array) for array in examples(batch))
            logits = network(input_ids=inputs).logits
            loss = cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            pace.step()
            losses.append(loss.item())
        yield float(np.mean(losses))
    network.eval()


def _pace(step: int, steps: int, warm_up: float) -> float:
    """The learning rate as a share of its highest: straight up, then along a cosine to zero."""
    rise = max(1, round(warm_up * steps))
    if step < rise:
        return (step + 1) / rise
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise)))
