"""What a run asks: questions under variants, in their paraphrases, with what is asked after the replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from calprobe.asking.identity import keyed
from calprobe.asking.options import AskOptions, parse_shard
from calprobe.backends.protocol import Decoding, Dialogue, FollowUp
from calprobe.errors import UsageError
from calprobe.prompts import PromptSet, Variant, fill
from calprobe.questions import Question, QuestionSet
from calprobe.runs.reply_records import AskedPiece
from calprobe.runs.stages import ANSWER, FINAL, LABEL, StatedStage


@dataclass(frozen=True)  # without slots, for the cached properties
class Plan:
    """Everything that is asked; dialogues are made when they are needed."""

    sets: tuple[QuestionSet, ...]  # with the examples in their order
    prompts: PromptSet  # those of the run's variants
    options: AskOptions  # filled

    @cached_property
    def asked(self) -> tuple[AskedPiece, ...]:
        """The pieces, in the order of asking: set by set, variant by variant.

        Raises UsageError for a variant that cannot ask a question, and for questions that are asked in other stages.
        """
        return tuple(
            AskedPiece(found.name, variant.name, paraphrase, self._stages(found, variant), self.options.samples or 1)
            for found in self.sets
            for variant in self.prompts.variants
            for paraphrase in range(self._n_wordings(found))
        )

    def dialogues(self, asked: AskedPiece, engine: str, shard: str | None = None) -> Iterator[Dialogue]:
        """The piece's dialogues with their keys, in the order of the questions; of a share, every N-th.

        Args:
            asked: one of `asked`.
            engine: from `calprobe.asking.identity.engine_hash`.
            shard: I/N, or None.
        """
        found = next(each for each in self.sets if each.name == asked.set)
        variant = next(each for each in self.prompts.variants if each.name == asked.variant)
        for question in of_share(found.questions, shard):
            yield keyed(self._dialogue(found, question, variant, asked), engine)

    def _dialogue(self, found: QuestionSet, question: Question, variant: Variant, asked: AskedPiece) -> Dialogue:
        options, wording = self.options, variant.of(question)
        worded = replace(question, text=question.wordings[asked.paraphrase]) if asked.paraphrase else question
        labels = question.labels if self._collects("labels") and question.kind == "choice" else ()
        stage = ANSWER if self._collects("answer") else LABEL
        budget = wording.max_new_tokens if stage == ANSWER else 1
        return Dialogue(
            set=found.name,
            question=question.id,
            variant=variant.name,
            messages=fill(variant, worded, found.shots, self.prompts),
            decoding=Decoding(budget, options.temperature or 0.0, options.top_p or 1.0, options.seed or 0),
            paraphrase=asked.paraphrase,
            stage=stage,
            samples=tuple(range(asked.samples)),
            labels=labels,
            follow_ups=tuple(self._follow_ups(asked.stages, labels)),
            raw=wording.raw,
        )

    def _follow_ups(self, stages: Sequence[str], labels: tuple[str, ...]) -> Iterator[FollowUp]:
        prompts, seed = self.prompts, self.options.seed or 0
        if FINAL in stages:
            decoding = Decoding(prompts.final_max_new_tokens, seed=seed)
            yield FollowUp(FINAL, prompts.final_cue, decoding, continues=True, labels=labels)
        for stated in prompts.stated:
            if (stage := StatedStage(stated.name).stage) in stages:
                yield FollowUp(stage, stated.text, Decoding(stated.max_new_tokens, seed=seed))

    def _stages(self, found: QuestionSet, variant: Variant) -> tuple[str, ...]:
        if not self._collects("answer"):
            if any(question.kind != "choice" for question in found.questions):
                raise UsageError(f"--collect labels: {found.name} has questions without options; collect answer, too")
            return (LABEL,)
        finals = {variant.of(question).final for question in found.questions}
        if len(finals) > 1:
            raise UsageError(
                f"{found.name}: variant {variant.name} asks some kinds of its questions in other stages; "
                "put questions of one kind into one file"
            )
        final = [FINAL] if finals == {True} and self.prompts.final_cue else []
        stated = [StatedStage(each.name).stage for each in self.prompts.stated] if self._collects("stated") else []
        return (ANSWER, *final, *stated)

    def _n_wordings(self, found: QuestionSet) -> int:
        if self.options.paraphrases == "none":
            return 1
        return min((len(question.wordings) for question in found.questions), default=1)

    def _collects(self, what: str) -> bool:
        return what in (self.options.collect or ())


def of_share(questions: Sequence[Question], shard: str | None) -> Sequence[Question]:
    """The questions of share I of N: those at places I - 1, I - 1 + N, ..; all without a share."""
    if shard is None:
        return questions
    share = parse_shard(shard)
    return questions[share.number - 1 :: share.count]
