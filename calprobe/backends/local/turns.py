"""Turns of conversations begun, continued by a token, and finished, whatever computes the logits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import torch
from torch import Tensor

from calprobe.backends.local.chat import Prompt, PromptWriter
from calprobe.backends.local.choosing import Chosen, choose, most_probable
from calprobe.backends.local.conversation import Behind, Conversation, Turn
from calprobe.backends.local.label_tokens import Ids, LabelForms, LabelVocabulary
from calprobe.backends.protocol import Decoding
from calprobe.backends.request import Request, why_nan
from calprobe.models import LoadedModel
from calprobe.runs.replies import TOO_LONG, Reply
from calprobe.runs.thoughts import Split, ending, split_thought
from calprobe.scoring.executor import uploaded

_MARKER_TOKENS = 16  # the marker at the end of a thought is looked for among so many of the last ones


class Turns:
    """What all ways of computing replies share: prompts, labels, budgets, the choice of tokens."""

    def __init__(
        self, model: LoadedModel, writer: PromptWriter, vocabulary: LabelVocabulary, ends: frozenset[int]
    ) -> None:
        self.writer = writer
        self.ends = ends  # tokens that end a reply
        self._model, self._vocabulary = model, vocabulary

    def refusal(self, conversation: Conversation) -> Reply | None:
        """Why the first reply cannot be asked for; None if it can."""
        why = self._why_not(conversation.prompt.ids)
        return (
            _refused(Request.first(conversation.dialogue, conversation.sample), conversation.prompt, why)
            if why
            else None
        )

    def first(self, conversation: Conversation) -> Turn:
        """The turn of the first reply."""
        return self._turn(conversation, Request.first(conversation.dialogue, conversation.sample), conversation.prompt)

    def follow_up(self, conversation: Conversation, number: int) -> Turn | Reply:
        """The turn of a follow-up's reply; a Reply that says why there is none, where the model cannot take it."""
        follow_up, behind = conversation.dialogue.follow_ups[number], conversation.behind[number]
        request = Request.behind(conversation.dialogue, conversation.sample, follow_up)
        prompt = self._prompt(conversation, behind)
        why = self._why_not(prompt.ids)
        if why:
            refusal = _refused(request, prompt, why)
            conversation.replies[follow_up.stage] = refusal
            return refusal
        turn = self._turn(conversation, request, prompt)
        if behind.tree is not None and self._has_room(len(prompt.ids) + behind.tree.depth):
            turn.tree = behind.tree
        return turn

    def _prompt(self, conversation: Conversation, behind: Behind) -> Prompt:
        """All in front of a follow-up's reply."""
        begun = conversation.prompt
        if behind.instead is not None:
            ids = (*begun.ids, *behind.instead.ids, *behind.prompt.ids)
            return Prompt(begun.text + behind.instead.text + behind.prompt.text, ids)
        reply_ids = conversation.ids[len(begun.ids) :]
        text = begun.text + self.writer.tokens.decoded(tuple(reply_ids), with_special=True) + behind.prompt.text
        return Prompt(text, (*conversation.ids, *behind.prompt.ids))

    def _turn(self, conversation: Conversation, request: Request, prompt: Prompt) -> Turn:
        forms = self._vocabulary.forms(request.labels) if request.labels else None
        decoding = request.decoding
        ends = self._ending(conversation.dialogue.raw) if decoding.think_tokens is not None else ()
        budget = decoding.max_new_tokens + self.n_thought(decoding, conversation.dialogue.raw)
        if self._model.max_positions is not None:
            budget = min(budget, self._model.max_positions - len(prompt.ids))
        return Turn(conversation, request, prompt, forms, None, budget, ends)

    def _has_room(self, n_tokens: int) -> bool:
        return self._model.max_positions is None or n_tokens <= self._model.max_positions

    def _why_not(self, ids: Ids) -> str:
        """Why the model cannot take a prompt; empty if it can."""
        most, rows = self._model.max_positions, self._model.embedding_rows
        if most is not None and len(ids) >= most:
            return f"{TOO_LONG}: it has {len(ids):,} tokens, and {self._model.name} takes {most:,} with the reply"
        if rows is not None and max(ids) >= rows:
            token = self._model.tokenizer.convert_ids_to_tokens(max(ids))
            return f"the embedding of {self._model.name} has no row for the prompt's token {token!r}"
        return ""

    def take(self, turns: Sequence[Turn], logits: Tensor) -> None:
        """Choose the next token of each turn from its row of the logits [turns, vocab] float32."""
        with torch.inference_mode():
            chosen = _with_due(choose(logits, [turn.draw for turn in turns]), turns, logits)
            firsts = _label_logprobs(turns, logits, chosen.normalisers)
            _show_alternatives(turns, logits, chosen)
            beginning = {row: turn.forms for row, turn in enumerate(turns) if turn.forms and not turn.tokens}
            ranks = _label_ranks(logits, list(beginning), list(beginning.values()))
            tokens, logprobs, of_labels, of_beginning = _fetched(chosen.tokens, chosen.logprobs, firsts, ranks)
        for (row, forms), place in zip(beginning.items(), of_beginning, strict=True):
            turns[row].ranks = [int(rank) for rank in place[: len(forms.labels)]]
        for turn, token, logprob, label_logprobs in zip(turns, map(int, tokens), logprobs, of_labels, strict=True):
            forced = bool(turn.due)
            firsts_of_turn = label_logprobs[: len(turn.forms.firsts)] if turn.forms is not None else []
            turn.take(token, logprob, firsts_of_turn, token in self.ends and not forced)
            if forced:
                turn.due.pop(0)
            if turn.ending and turn.finish is None and not turn.is_past_thought:
                self._watch(turn)
            if turn.finish is not None and turn.ending and turn.forms is not None:
                turn.first_place = self._first_place(turn)

    def _watch(self, turn: Turn) -> None:
        """End a thought that has used up its budget; where a thought is over, let the reply have its own budget."""
        decoding, n = turn.request.decoding, len(turn.tokens)
        markers = self.writer.markers
        tail = self.writer.tokens.decoded(tuple(turn.tokens[-_MARKER_TOKENS:]), with_special=True)
        if markers is not None and markers.end in tail:
            turn.is_past_thought, turn.budget = True, min(turn.budget, n + len(turn.due) + decoding.max_new_tokens)
        elif not turn.due and n in (decoding.think_tokens, decoding.max_new_tokens):
            split = self._split(turn)
            if split.reasoning is None:
                turn.is_past_thought, turn.budget = True, max(n, decoding.max_new_tokens)
            elif n == decoding.think_tokens:
                turn.due = list(turn.ending)
        if n >= turn.budget:
            turn.finish = "length"

    def n_thought(self, decoding: Decoding, raw: bool) -> int:
        """Tokens that a thought with a budget may have on top of the reply's, and what ends it."""
        if decoding.think_tokens is None or not (ends := self._ending(raw)):
            return 0
        return decoding.think_tokens + len(ends)

    def _ending(self, raw: bool) -> Ids:
        """The tokens that end a thought; none where the model has no thoughts, and in plain text."""
        markers = self.writer.markers
        return () if markers is None or raw else self.writer.tokens.inner_chat(ending(markers))

    def _first_place(self, turn: Turn) -> int:
        """The place of the first token behind a thought that is no white space; 0 without a thought that has ended."""
        markers, tokens = self.writer.markers, self.writer.tokens
        split = self._split(turn)
        if markers is None or split.reasoning is None or split.is_open:
            return 0
        start = tokens.thought(tuple(turn.tokens), markers.end, is_open=False)
        blank = takewhile(lambda token: not tokens.decoded((token,)).strip(), turn.tokens[start:])
        return min(start + len(list(blank)), len(turn.firsts) - 1)

    def _split(self, turn: Turn) -> Split:
        markers, text = self.writer.markers, self.writer.tokens.decoded(tuple(turn.tokens), with_special=True)
        if markers is None:
            return Split(None, text, False)
        return split_thought(text, markers, self.writer.opens_thought(turn.prompt.text))

    def finished(self, turn: Turn, rest: dict[tuple[int, Ids], float]) -> Reply:
        """The reply of a turn, put into its conversation. Where numbers are NaN, it is one that failed.

        Then nothing is asked behind it.
        """
        conversation = turn.conversation
        reply = None if turn.finish == "error" else turn.reply(self.writer, rest)
        if reply is None or (reply.label_scores is not None and np.isnan(reply.label_scores.logprobs).any()):
            reply = _refused(turn.request, turn.prompt, why_nan(self._model.dtype))
        ids = (*turn.prompt.ids, *turn.tokens)
        if reply.stage == conversation.dialogue.stage and reply.finish == "error":
            behind = {follow_up.stage: reply for follow_up in conversation.dialogue.follow_ups}
            conversation.replies = behind | conversation.replies
        elif reply.stage == conversation.dialogue.stage:
            conversation.ids = list(ids)
            # The token that used up the budget was chosen and not forwarded.
            conversation.row = ids[: len(ids) - (turn.finish == "length")]
        conversation.replies[reply.stage] = reply
        return reply


def _refused(request: Request, prompt: Prompt, why: str) -> Reply:
    return request.failed(why, prompt=prompt.text, prompt_ids=prompt.ids, tokens_in=len(prompt.ids))


def _with_due(chosen: Chosen, turns: Sequence[Turn], logits: Tensor) -> Chosen:
    """The choice with the tokens of turns that have to end their thought."""
    of_rows = [row for row, turn in enumerate(turns) if turn.due]
    if not of_rows:
        return chosen
    rows, due = uploaded([np.array(of_rows), np.array([turns[row].due[0] for row in of_rows])], logits.device)
    tokens, logprobs = chosen.tokens.clone(), chosen.logprobs.clone()
    tokens[rows] = due
    logprobs[rows] = (logits[rows, due] - chosen.normalisers[rows]).clamp(max=0.0)
    return Chosen(tokens, logprobs, chosen.normalisers)


def _show_alternatives(turns: Sequence[Turn], logits: Tensor, chosen: Chosen) -> None:
    """Give each turn that wants them the most probable tokens of its row."""
    row_numbers = [row for row, turn in enumerate(turns) if turn.request.alternatives]
    if not row_numbers:
        return
    takes_all = len(row_numbers) == len(turns)
    rows = slice(None) if takes_all else uploaded([np.array(row_numbers)], logits.device)[0]
    chosen_rows = Chosen(*(values[rows] for values in chosen))
    likeliest = most_probable(logits[rows], chosen_rows, max(turns[row].request.alternatives for row in row_numbers))
    for row, tokens, logprobs, entropy in zip(row_numbers, *_fetched(*likeliest), strict=True):
        count = turns[row].request.alternatives
        turns[row].alternatives.append(([int(token) for token in tokens[:count]], logprobs[:count], entropy))


def _label_logprobs(turns: Sequence[Turn], logits: Tensor, normalisers: Tensor) -> Tensor:
    """Log-probabilities of the first tokens of each turn's labels, [turns, most first tokens] float32."""
    firsts = [turn.forms.firsts if turn.forms is not None else () for turn in turns]
    width = max(map(len, firsts))
    if not width:
        return logits.new_empty(len(turns), 0)
    padded = np.array([[*ids, *[0] * (width - len(ids))] for ids in firsts])
    (columns,) = uploaded([padded], logits.device)
    return logits.gather(1, columns) - normalisers[:, None]


def _label_ranks(logits: Tensor, rows: Sequence[int], forms: Sequence[LabelForms]) -> Tensor:
    """How many tokens of the vocabulary are more probable than the likeliest first token of each label.

    Args:
        logits: [turns, vocab].
        rows: of them, those with labels.
        forms: of these.
    Returns:
        [rows, most labels] int64; of no label, any number.
    """
    if not rows:
        return logits.new_empty(0, 0)
    n_labels = max(len(label_forms.labels) for label_forms in forms)
    n_forms = max(len(of_label) for label_forms in forms for of_label in label_forms.sequences)
    columns = np.zeros((len(rows), n_labels, n_forms), np.int64)
    for row, label_forms in enumerate(forms):
        for label, of_label in enumerate(label_forms.sequences):
            columns[row, label] = of_label[0][0]  # and again where it has fewer forms than others
            columns[row, label, : len(of_label)] = [sequence[0] for sequence in of_label]
    on_device, of_rows = uploaded([columns.reshape(len(rows), -1), np.array(rows)], logits.device)
    row_logits = logits if len(rows) == len(logits) else logits[of_rows]
    best = row_logits.gather(1, on_device).view(columns.shape).amax(2)
    return torch.stack([(row_logits > best[:, label, None]).sum(1) for label in range(n_labels)], 1)


def _fetched(*tensors: Tensor) -> list[list[Any]]:
    """Tensors as lists of doubles, which hold their values, in one copy."""
    flat = torch.cat([tensor.double().flatten() for tensor in tensors]).cpu().numpy()
    ends = np.cumsum([tensor.numel() for tensor in tensors])
    pieces = np.split(flat, ends[:-1])
    return [piece.reshape(tensor.shape).tolist() for piece, tensor in zip(pieces, tensors, strict=True)]
