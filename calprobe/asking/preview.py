"""What an `ask` would do, before it does it: the first prompts as they are sent, requests, tokens and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calprobe.asking.plan import Plan
from calprobe.asking.request_identity import requests_of
from calprobe.asking.stage_cost import AskCost, Guessing, TokenCounter, Tokenizing, cost_of
from calprobe.backends.options import Prices
from calprobe.backends.protocol import Described, Dialogue, FollowUp, Pending
from calprobe.models.texts import without_weights
from calprobe.runs.asked_run import AskedRun
from calprobe.runs.replies import Reply
from calprobe.runs.reply_records import AskedPiece

Known = Mapping[AskedPiece, Mapping[tuple[str, str, int], Reply]]  # by question, stage and sample
_REPLY = "<reply>"  # stands for a reply that is not known yet


@dataclass(frozen=True, slots=True)
class ExamplePrompt:
    """All that stands in front of a reply."""

    set: str
    variant: str
    question: str
    stage: str
    text: str  # with the chat template where it is known; else a line for each message


@dataclass(frozen=True, slots=True)
class AskPreview:
    """What `ask` would do with the same arguments."""

    model: str
    backend: str
    out: str  # the run folder; it is not created
    questions: Mapping[str, int]  # by set
    variants: tuple[str, ...]
    already_there: int  # replies that the folder has
    cost: AskCost
    prices: Prices | None
    prompts: tuple[ExamplePrompt, ...]  # the first of each variant, and of each question about a reply

    @property
    def dollars(self) -> float | None:
        """What the requests cost, at most; None without prices."""
        return None if self.prices is None else self.prices.of(self.cost.tokens_in, self.cost.tokens_out)

    def to_json(self) -> dict[str, Any]:
        """The object that `calprobe ask --dry-run --json` prints."""
        fields = asdict(self) | {"cost": self.dollars}
        return fields | {
            "requests": self.cost.requests,
            "tokens_in": self.cost.tokens_in,
            "tokens_out": self.cost.tokens_out,
            "tokens_by": "tokenizer" if self.cost.counted else "letters",
            "stages": [asdict(stage) for stage in self.cost.stages],
        }


def preview_of(plan: Plan, backend: Described, out: Path, prices: Prices | None, run: AskedRun | None) -> AskPreview:
    """The preview of a plan. Nothing is loaded but the tokenizer of a local model, where it is on this machine.

    Args:
        plan: what is asked.
        backend: what it will be asked of.
        out: the run folder.
        prices: of a server.
        run: the run in the folder, whose replies are not asked for again.
    """
    model = None if backend.name == "openai" else without_weights(backend.model.name)
    tokens: TokenCounter = Guessing()
    if model is not None:
        from calprobe.backends.local.chat import PromptWriter

        tokens = Tokenizing(PromptWriter(model))
    known = {} if run is None else _known(run)
    complete = plan.foreseen()
    cost = cost_of(_pendings(complete, known), tokens)
    whole = sum(1 for pending in _pendings(complete, {}) for _ in requests_of(pending.dialogue)) if known else 0
    return AskPreview(
        model=backend.model.name,
        backend=backend.name,
        out=str(out),
        questions={chosen.name: len(chosen.questions) for chosen in plan.sets},
        variants=tuple(variant.name for variant in plan.prompts.variants),
        already_there=whole - cost.requests if known else 0,
        cost=cost,
        prices=prices,
        prompts=tuple(_examples(complete, tokens)),
    )


def _known(run: AskedRun) -> Known:
    return {
        asked: {(r.question, r.stage, r.sample): r for r in record.replies if r.finish != "error"}
        for asked, record in run.by_piece.items()
    }


def _pendings(plan: Plan, known: Known) -> Iterator[Pending]:
    """The dialogues that lack replies; those of a run count for what they are of, whatever they were asked with."""
    by_piece = {asked.piece: replies for asked, replies in known.items()}
    for asked in plan.asked:
        replies = by_piece.get(asked.piece, {})
        for dialogue in plan.dialogues(asked, "", plan.options.shard):
            requests = {
                (stage, sample): reply
                for stage, sample in requests_of(dialogue)
                if (reply := replies.get((dialogue.question, stage, sample))) is not None
            }
            pending = Pending(dialogue, requests)
            if len(requests) < sum(1 for _ in requests_of(dialogue)):
                yield pending


def _examples(plan: Plan, tokens: TokenCounter) -> Iterator[ExamplePrompt]:
    """The first prompt of each set and variant, and the first of each text that is asked behind a reply."""
    texts = set[str]()
    for asked in plan.asked:
        dialogue = next(plan.dialogues(asked, ""), None)
        if dialogue is None or asked.paraphrase:
            continue
        names = (dialogue.set, dialogue.variant, dialogue.question)
        opening = _opening(dialogue, tokens)
        yield ExamplePrompt(*names, dialogue.stage, opening)
        for follow_up in dialogue.follow_ups:
            if follow_up.text not in texts:
                texts.add(follow_up.text)
                yield ExamplePrompt(*names, follow_up.stage, opening + _behind(dialogue, follow_up, tokens))


def _opening(dialogue: Dialogue, tokens: TokenCounter) -> str:
    if isinstance(tokens, Tokenizing):
        return tokens.writer.opening(dialogue).text
    return "\n".join(f"{message.role}: {message.text}" for message in dialogue.messages)


def _behind(dialogue: Dialogue, follow_up: FollowUp, tokens: TokenCounter) -> str:
    answer = _REPLY if follow_up.instead is None else follow_up.instead
    if isinstance(tokens, Tokenizing):
        return answer + tokens.writer.follow_up(dialogue, follow_up).text
    between = "" if follow_up.continues else "\nuser: "
    return f"\nassistant: {answer}{between}{follow_up.text}"
