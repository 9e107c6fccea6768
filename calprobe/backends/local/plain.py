"""Replies one at a time through transformers' own `generate`: for models that take no ragged rows.

Nothing is shared and nothing is padded, so this is right for every causal model that transformers can run: state-space
models, recurrences and hybrids, ALiBi. What is chosen is chosen here, as everywhere: `generate` is given one possible
token at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calprobe.arrays import Floats
from calprobe.backends.local.closed import ReplyTree
from calprobe.backends.local.conversation import Conversation, Turn
from calprobe.backends.local.label_tokens import Ids
from calprobe.backends.local.ragged_engine import log_softmax
from calprobe.backends.local.turns import Turns
from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel
from calprobe.models.memory import is_out_of_memory
from calprobe.models.torch_settings import exact_torch
from calprobe.runs.replies import Reply


class PlainRunner:
    """Answers conversations one after another."""

    def __init__(self, model: LoadedModel, turns: Turns) -> None:
        self._model, self._turns = model, turns
        self._network: Any = model.network

    def answer(self, conversations: Sequence[Conversation]) -> Iterator[Reply]:
        """The replies that the conversations lack. Raises CalprobeError if one does not fit in memory."""
        for conversation in conversations:
            conversation.begin()
            if not conversation.is_answered:
                yield self._reply(self._turns.first(conversation))
            for number in chain.from_iterable(conversation.due):
                turn = self._turns.follow_up(conversation, number)
                yield self._reply(turn) if isinstance(turn, Turn) else turn

    def close(self) -> None:
        """Nothing is kept."""

    def _reply(self, turn: Turn) -> Reply:
        try:
            if turn.tree is not None:
                (turn.closed,) = turn.tree.scores(self._edges(turn.prompt.ids, turn.tree))
            self._generate(turn)
            continuations = {(place, sequence): self._rest(turn, place, sequence) for place, sequence in turn.rests}
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            question, length = turn.conversation.dialogue.question, len(turn.prompt.ids)
            raise CalprobeError(
                f"question {question}: out of memory with a prompt of {length} tokens\n"
                "free memory, use a device with more memory, --dtype bfloat16 or --device-map auto"
            ) from error
        return self._turns.finished(turn, continuations)

    @torch.inference_mode()
    @exact_torch()
    def _generate(self, turn: Turn) -> None:
        from transformers import GenerationConfig, LogitsProcessorList

        def choose(input_ids: Tensor, scores: Tensor) -> Tensor:
            return self._chosen(turn, scores)

        ends = sorted(self._turns.ends)
        inputs = torch.tensor([turn.prompt.ids], device=self._model.device)
        self._network.generate(
            inputs,
            attention_mask=torch.ones_like(inputs),
            logits_processor=LogitsProcessorList([choose]),
            # A config of its own: penalties and temperatures of the model's generation_config have no place here.
            generation_config=GenerationConfig(
                max_new_tokens=turn.budget, do_sample=False, eos_token_id=ends, pad_token_id=ends[0]
            ),
        )

    def _chosen(self, turn: Turn, scores: Tensor) -> Tensor:
        """All mass on the token that the turn takes."""
        logits = scores.float()
        self._turns.take([turn], logits)
        only = torch.full_like(scores, -torch.inf)
        goes_on = turn.finish in (None, "length")
        only[0, turn.tokens[-1] if goes_on else min(self._turns.ends)] = 0.0
        return only

    @torch.inference_mode()
    @exact_torch()
    def _edges(self, prompt: Ids, tree: ReplyTree) -> Floats:
        """Log-probabilities of the tree's targets, [1, edges]: a pass over each path from root to leaf."""
        values = np.full(len(tree.targets), np.nan)
        for path in tree.paths():
            inputs = torch.tensor(
                [[*prompt, *(tree.tokens[place - 1] for place in path[1:])]], device=self._model.device
            )
            logits = self._network(input_ids=inputs, use_cache=False).logits[0, len(prompt) - 1 :]
            logprobs = log_softmax(logits.float()).cpu()
            for row, place in enumerate(path):
                edges = slice(*tree.offsets[place : place + 2].tolist())
                values[edges] = logprobs[row, tree.targets[edges]].double().numpy()
        return values[None]

    @torch.inference_mode()
    @exact_torch()
    def _rest(self, turn: Turn, place: int, sequence: Ids) -> float:
        """Log-probability of the sequence's tokens behind its first one, at that place of the reply."""
        ids = [*turn.prompt.ids, *turn.tokens[:place], *sequence]
        inputs = torch.tensor([ids[:-1]], device=self._model.device)
        logits = self._network(input_ids=inputs, use_cache=False).logits[0, -len(sequence) + 1 :].float()
        targets = torch.tensor(sequence[1:], device=logits.device)
        logprobs = logits.gather(1, targets[:, None]).squeeze(1) - logits.logsumexp(1)
        return float(logprobs.double().sum())
