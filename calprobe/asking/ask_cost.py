"""Tokens that a run of replies costs, before any model is loaded: prompts as they are asked, and replies at their
longest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from calprobe.asking.plan import Plan
from calprobe.asking.stage_cost import Guessing, TokenCounter, Tokenizing
from calprobe.backends.local.chat import PromptWriter
from calprobe.backends.local.sharing import plan_sharing
from calprobe.backends.protocol import Dialogue
from calprobe.models import LoadedModel
from calprobe.runs.reply_records import AskedPiece

_SAMPLED = 100  # questions of a piece whose prompts are written out, of one that has more


@dataclass(frozen=True, slots=True)
class AskedTokens:
    """What a plan costs, roughly."""

    prompts: int  # a beginning that prompts of a piece share is counted once; follow-ups included
    generated: int  # at most: replies, thoughts not included
    exact: bool  # whether every prompt was counted


def counted_tokens(model: LoadedModel, plan: Plan) -> AskedTokens:
    """Tokens by the model's tokenizer and chat template; of more than 100 questions, those of a sample are scaled.

    Probabilities of closed sets of replies cost more than is counted here. Raises CalprobeError for prompts that the
    chat template refuses.
    """
    writer = PromptWriter(model)

    def of_dialogues(dialogues: Sequence[Dialogue]) -> tuple[int, int]:
        openings = [writer.opening(dialogue).ids for dialogue in dialogues]
        heads = plan_sharing(openings)
        shared = sum(
            len(head.ids) - (len(heads.heads[head.parent].ids) if head.parent >= 0 else 0) for head in heads.heads
        )
        unshared = sum(len(ids) - heads.shared(place) for place, ids in enumerate(openings))
        return shared, unshared + _follow_ups(dialogues, Tokenizing(writer))

    return _of_plan(plan, of_dialogues)


def guessed_tokens(plan: Plan) -> AskedTokens:
    """The same by the letters of the texts, without what a chat template adds: within a factor of two for English."""

    def of_dialogues(dialogues: Sequence[Dialogue]) -> tuple[int, int]:
        guess = Guessing()
        return 0, sum(map(guess.opening, dialogues)) + _follow_ups(dialogues, guess)

    tokens = _of_plan(plan, of_dialogues)
    return AskedTokens(tokens.prompts, tokens.generated, False)


def _follow_ups(dialogues: Sequence[Dialogue], tokens: TokenCounter) -> int:
    """Tokens of all texts that are asked behind replies, once for each sample."""
    return sum(
        tokens.follow_up(dialogue, follow_up) * len(dialogue.samples)
        for dialogue in dialogues
        for follow_up in dialogue.follow_ups
    )


def _of_plan(plan: Plan, of_dialogues: Callable[[Sequence[Dialogue]], tuple[int, int]]) -> AskedTokens:
    """Prompts and replies of all pieces; `of_dialogues` gives tokens that dialogues share, and their own."""
    prompts = generated = 0.0
    exact = True
    for piece in plan.asked:
        dialogues, scale = _sample(plan, piece)
        shared, unshared = of_dialogues(dialogues)
        prompts += shared + scale * unshared
        generated += scale * sum(map(_longest_replies, dialogues))
        exact &= scale == 1.0
    return AskedTokens(round(prompts), round(generated), exact)


def _sample(plan: Plan, piece: AskedPiece) -> tuple[list[Dialogue], float]:
    """Dialogues of a piece, evenly spread over its questions, and how many times as many there are."""
    n_questions = plan.n_questions_of(piece)
    step = max(1, n_questions // _SAMPLED)
    dialogues = list(plan.dialogues(piece, "", None if step == 1 else f"1/{step}"))
    n_sampled = len(range(0, n_questions, step))
    return dialogues, n_questions / n_sampled if n_sampled else 1.0


def _longest_replies(dialogue: Dialogue) -> int:
    longest = dialogue.decoding.max_new_tokens + sum(
        follow_up.decoding.max_new_tokens for follow_up in dialogue.follow_ups
    )
    return longest * len(dialogue.samples)
