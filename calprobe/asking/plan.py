"""What a run asks: questions under variants, in their paraphrases, with what is asked after the replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from calprobe.answers import closed_replies
from calprobe.asking.ask_options import STUDIES, AskOptions, parse_shard
from calprobe.asking.replacing import Replacing
from calprobe.asking.request_identity import keyed
from calprobe.backends.protocol import Decoding, Dialogue, FollowUp
from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.prompts import PromptSet, Stated, Variant, fill, form_of
from calprobe.prompts.fields import reply_schema
from calprobe.prompts.placeholders import placeholders_of, replace_placeholders
from calprobe.questions import Question, QuestionSet, balanced, turned
from calprobe.questions.examples import shown_to
from calprobe.runs.asked_questions import question_hash
from calprobe.runs.asked_records import ParaphraseRecord
from calprobe.runs.reply_records import AskedPiece
from calprobe.runs.stages import ANSWER, COUNTERFACTUAL, FINAL, GREEDY, GREEDY_FINAL, LABEL, P_TRUE, StatedStage
from calprobe.runs.task import sha256_of

Given = Mapping[str, Mapping[str, str]]  # condition -> question's id -> answer
# Whether an answer is true: each of the two replies in the forms in which it may begin.
TRUE_OR_FALSE = (("(A)", "A", "True", "true"), ("(B)", "B", "False", "false"))
P_TRUE_TOKENS = 4
NO_CONCLUSION = "none"
BEHIND_THOUGHT = 4  # tokens: white space, and the first that is none, where labels are read
ALTERNATIVES = 10  # tokens at each position, as lm-polygraph has by default


@dataclass(frozen=True)  # without slots, for the cached properties
class Plan:
    """Everything that is asked; dialogues are made when they are needed."""

    sets: tuple[QuestionSet, ...]  # with the examples in their order
    prompts: PromptSet  # those of the run's variants
    options: AskOptions  # filled
    # The model's own answers by piece and question, for counterfactuals from them; None: they are not known yet.
    responses: Mapping[AskedPiece, Mapping[str, str]] | None = None
    paraphrases: ParaphraseRecord | None = None  # the file that questions have their wordings from
    # What was concluded, by piece, then by question and sample, for what is asked about it; None: not known yet.
    conclusions: Mapping[AskedPiece, Mapping[tuple[str, int], str]] | None = None
    exact: bool = True  # whether the backend has the complete softmax
    schemas: bool = False  # whether it holds replies to a JSON schema
    room: int = 0  # see `Capabilities`

    @cached_property
    def asked(self) -> tuple[AskedPiece, ...]:
        """The pieces, in the order of asking: set by set, variant by variant.

        Raises UsageError for a variant that cannot ask a question, and for questions that are asked in other stages.
        """
        return tuple(
            self._piece(question_set, variant, paraphrase)
            for question_set in self.sets
            for variant in self.prompts.variants
            if not variant.turned or variant.turned < max(len(question.options) for question in question_set.questions)
            for paraphrase in range(self._n_wordings(question_set))
        )

    def _piece(self, questions: QuestionSet, variant: Variant, paraphrase: int) -> AskedPiece:
        stages = self._stages(questions, variant)
        if self.collects("greedy") and not paraphrase:
            concludes = any(variant.of(question).conclusion for question in questions.questions)
            stages = (*stages, GREEDY, *([GREEDY_FINAL] if concludes else []))
        is_choice = any(question.kind == "choice" for question in questions.questions)
        return AskedPiece(
            questions.name,
            variant.name,
            paraphrase,
            stages,
            self.options.samples or 1,
            labels=self.collects("labels") if is_choice else None,
            closed=self.collects("closed") if self.collects("stated") else None,
            examples=self._examples(questions, variant),
            alternatives=ALTERNATIVES if self.collects("alternatives") else 0,
            schema=self.schemas if self.prompts.fields else None,
        )

    def _examples(self, questions: QuestionSet, variant: Variant) -> str | None:
        count = max((variant.of(question).shots for question in questions.questions), default=0)
        of_each = {(question.kind, question.group): question for question in questions.questions}
        shown = {id(shot) for own in of_each.values() for shot in shown_to(own, questions.shots, count)}
        hashes = [question_hash(shot) for shot in questions.shots if id(shot) in shown]
        return sha256_of([self.prompts.separator, hashes])[:16] if count else None

    @property
    def n_requests(self) -> int:
        """How many replies are asked for, follow-ups included."""
        return sum(len(self._set_of(piece).questions) * len(piece.requests) for piece in self.asked)

    def n_questions_of(self, asked: AskedPiece) -> int:
        """How many questions a piece asks."""
        return len(self._set_of(asked).questions)

    def check(self) -> None:
        """Raise UsageError for what cannot be asked, before a model is loaded."""
        self._check_conclusions()
        self._check_samples()
        for piece in self.asked:
            self._given(self._set_of(piece), piece, None)

    def _check_samples(self) -> None:
        """Raise UsageError for several samples under a variant that has no temperature, which would be all the same."""
        samples = self.options.samples or 1
        cold = [v.name for v in self.prompts.variants if any(w.temperature == 0 for w in self._wordings(v))]
        if samples > 1 and cold:
            raise UsageError(
                f"--samples {samples}: variant {cold[0]} has the temperature 0, and greedy samples are all the same; "
                "choose other --variants, or one sample"
            )
        if samples == 1 or self.options.temperature:
            return
        if any(wording.temperature is None for variant in self.prompts.variants for wording in self._wordings(variant)):
            if self._is_of_study("samples"):
                raise UsageError(
                    f"--study {self.options.study} asks for {samples} samples, and greedy ones are all the same; give "
                    "--samples 1, too, or a --temperature, such as 1"
                )
            raise UsageError(f"--samples {samples}: greedy samples are all the same; give --temperature, such as 1")

    def _is_of_study(self, option: str) -> bool:
        """Whether an option has the value that the study fixes."""
        study = STUDIES.get(self.options.study or "")
        return study is not None and study.fixed.get(option) == getattr(self.options, option)

    def _check_conclusions(self) -> None:
        """Raise UsageError for questions about a conclusion where there is none: no turn asks for it, or another answer
        stands in the place of the reply that it would be drawn from."""
        name = self.prompts.name
        if not self._stages_about_answers():
            return
        if self.options.replaced:
            raise UsageError(
                f"--replaced: prompt set {name!r} asks about the conclusion of a reply ({{answer}}), and an answer in "
                "the place of the reply has none; leave --replaced out, or give --prompts that do not name {answer}"
            )
        lacking = [v.name for v in self.prompts.variants if not all(w.conclusion for w in self._wordings(v))]
        if lacking:
            raise UsageError(
                f"prompt set {name!r} asks about the conclusion of a reply ({{answer}}), and variant {lacking[0]} has "
                'no "conclusion"; add one, or choose other --variants'
            )

    def dialogues(self, asked: AskedPiece, engine: str, shard: str | None = None) -> Iterator[Dialogue]:
        """The piece's dialogues with their keys, in the order of the questions; of a share, every N-th.

        Args:
            asked: one of `asked`.
            engine: from `calprobe.asking.request_identity.engine_hash`.
            shard: I/N, or None.
        """
        questions = self._set_of(asked)
        variant = next(candidate for candidate in self.prompts.variants if candidate.name == asked.variant)
        replacements = self._given(questions, asked, shard)
        for question in of_share(questions.questions, shard):
            base = self._dialogue(questions, question, variant, asked, replacements)
            if self.conclusions is not None and self._asks_about_conclusions(variant.of(question)):
                dialogues = [self._about(base, sample, question, asked) for sample in base.samples]
            else:
                dialogues = [base]
            if GREEDY in asked.stages:
                dialogues.append(_greedy(base))
            yield from (keyed(dialogue, engine) for dialogue in dialogues)

    def _set_of(self, piece: AskedPiece) -> QuestionSet:
        return next(question_set for question_set in self.sets if question_set.name == piece.set)

    def _dialogue(
        self,
        questions: QuestionSet,
        question: Question,
        variant: Variant,
        piece: AskedPiece,
        replacements: Given,
    ) -> Dialogue:
        options, wording = self.options, variant.of(question)
        worded = replace(question, text=question.wordings[piece.paraphrase]) if piece.paraphrase else question
        worded = turned(worded, variant.turned)
        shots = balanced(questions.shots, question.id) if questions.shots == self.prompts.examples else questions.shots
        labels = worded.labels if self.collects("labels") and question.kind == "choice" else ()
        first = () if wording.conclusion else labels  # a reply that reasons has its label behind it
        stage = ANSWER if self.collects("answer") else LABEL
        budget = wording.max_new_tokens if stage == ANSWER else 1
        if stage == LABEL and options.think_tokens is not None:
            budget = BEHIND_THOUGHT
        return Dialogue(
            set=questions.name,
            question=question.id,
            variant=variant.name,
            messages=fill(variant, worded, shots, self.prompts),
            decoding=self._decoding(budget, temperature=self._temperature(wording), top_p=options.top_p or 1.0),
            paraphrase=piece.paraphrase,
            stage=stage,
            samples=tuple(range(piece.samples)),
            labels=first,
            follow_ups=(
                *self._follow_ups(piece.stages, labels, wording, worded),
                *self._replaced(piece.stages, worded, replacements),
            ),
            raw=wording.raw,
            alternatives=piece.alternatives or 0,
            schema=reply_schema(worded, self.prompts) if piece.schema else None,
        )

    def _about(self, dialogue: Dialogue, sample: int, question: Question, piece: AskedPiece) -> Dialogue:
        """One sample's dialogue, with its conclusion in what is asked about it."""
        conclusion = (self.conclusions or {}).get(piece, {}).get((question.id, sample), "")
        values = {"claim": question.wordings[piece.paraphrase], "answer": conclusion or NO_CONCLUSION}
        open_stages = self._stages_about_answers()  # others are filled: braces in them are the question's own
        filled = [
            replace(follow_up, text=replace_placeholders(follow_up.text, values))
            if follow_up.stage in open_stages
            else follow_up
            for follow_up in dialogue.follow_ups
        ]
        return replace(dialogue, samples=(sample,), follow_ups=tuple(filled))

    def _asks_about_conclusions(self, wording: Variant) -> bool:
        return bool(wording.conclusion) and bool(self._stages_about_answers())

    def _stages_about_answers(self) -> set[str]:
        """The stages behind a reply whose texts name its conclusion."""
        texts = {P_TRUE: self.prompts.p_true} if self.collects("p_true") else {}
        if self.collects("stated"):
            texts |= {StatedStage(stated.name).stage: stated.text for stated in self.prompts.behind}
        return {stage for stage, text in texts.items() if "answer" in placeholders_of(text)}

    def _wordings(self, variant: Variant) -> list[Variant]:
        """The variant in the words of each form of question that is asked."""
        forms = {form_of(question): question for question_set in self.sets for question in question_set.questions}
        return [variant.of(question) for question in forms.values()]

    @property
    def waits_for_conclusions(self) -> bool:
        """Whether something is asked about conclusions that are not known yet: it is not asked now."""
        return self.conclusions is None and any(
            self._asks_about_conclusions(wording)
            for variant in self.prompts.variants
            for wording in (variant, *variant.wordings.values())
        )

    def _follow_ups(
        self, stages: Sequence[str], labels: tuple[str, ...], wording: Variant, question: Question
    ) -> Iterator[FollowUp]:
        prompts = self.prompts
        if FINAL in stages and wording.conclusion:
            decoding = self._decoding(prompts.final_max_new_tokens)
            text = replace_placeholders(wording.conclusion, {"claim": question.text})
            yield FollowUp(FINAL, text, decoding, labels=labels)
        elif FINAL in stages:
            decoding = self._decoding(prompts.final_max_new_tokens)
            yield FollowUp(FINAL, prompts.final_cue, decoding, continues=True, labels=labels)
        if self.conclusions is None and self._asks_about_conclusions(wording):
            return
        if P_TRUE in stages:
            text, decoding = _of_question(prompts.p_true, question), self._decoding(P_TRUE_TOKENS)
            if self.exact:
                yield FollowUp(P_TRUE, text, decoding, closed=TRUE_OR_FALSE, begins=True)
            else:
                yield FollowUp(P_TRUE, text, decoding, labels=("A", "B"))
        for stated in prompts.behind:
            if (stage := StatedStage(stated.name).stage) in stages:
                text, decoding = _of_question(stated.text, question), self._decoding(stated.max_new_tokens)
                yield FollowUp(stage, text, decoding, closed=self._closed(stated))

    def _replaced(self, stages: Sequence[str], question: Question, replacements: Given) -> Iterator[FollowUp]:
        """The stated prompts behind each answer that stands in the place of the model's own."""
        for condition, answers in replacements.items():
            for stated in self.prompts.behind:
                if (stage := StatedStage(stated.name, condition).stage) in stages:
                    decoding = self._decoding(stated.max_new_tokens)
                    # Fidelity compares with counterfactuals alone; closed sets cost many times what a reply does.
                    closed = self._closed(stated) if condition == COUNTERFACTUAL else ()
                    text, instead = _of_question(stated.text, question), answers[question.id]
                    yield FollowUp(stage, text, decoding, instead=instead, closed=closed)

    def _given(self, questions: QuestionSet, piece: AskedPiece, shard: str | None) -> Given:
        """By condition, then by question's id, the answers that stand in the place of the model's own."""
        replacing = self.replacing
        if self.waits_for_answers:
            replacing = replace(replacing, replaced=tuple(n for n in replacing.replaced if n != COUNTERFACTUAL))
        if replacing.pool == "responses" and self.responses is not None:  # of a share, no other answers are known
            share = replace(questions, questions=tuple(of_share(questions.questions, shard)))
            return replacing.answers(share, self.prompts, self.responses[piece])
        return replacing.answers(questions, self.prompts)

    @property
    def waits_for_answers(self) -> bool:
        """Whether counterfactuals are the model's own answers, which are not known yet: they are not asked about."""
        replacing = self.replacing
        return replacing.pool == "responses" and COUNTERFACTUAL in replacing.replaced and self.responses is None

    def foreseen(self) -> Plan:
        """The plan with stand-ins for what is not known yet of replies, to count requests with: none are left out."""
        plan = replace(self, conclusions={}) if self.waits_for_conclusions else self
        return (
            replace(plan, options=replace(plan.options, counterfactual="targets")) if plan.waits_for_answers else plan
        )

    @property
    def replacing(self) -> Replacing:
        """Which answers are replaced, and by what."""
        options = self.options
        pool, kind = options.counterfactual or "targets", options.answer_type or "any"
        return Replacing(tuple(options.replaced or ()), pool, kind, options.seed or 0)

    def _closed(self, stated: Stated) -> tuple[tuple[str, ...], ...]:
        return closed_replies(stated.scale, stated.expressions) if self.collects("closed") else ()

    def _stages(self, questions: QuestionSet, variant: Variant) -> tuple[str, ...]:
        if not self.collects("answer"):
            if any(question.kind != "choice" for question in questions.questions):
                raise UsageError(
                    f"--collect labels: {questions.name} has questions without options; collect answer, too"
                )
            if any(variant.of(question).conclusion for question in questions.questions):
                raise UsageError(
                    f"--collect labels: under variant {variant.name} the labels stand behind the conclusion of a "
                    "reply; collect answer, too"
                )
            return (LABEL,)
        wordings = [variant.of(question) for question in questions.questions]
        finals = {wording.final or bool(wording.conclusion) for wording in wordings}
        if len(finals) > 1:
            raise UsageError(
                f"{questions.name}: variant {variant.name} asks some kinds of its questions in other stages; "
                "put questions of one kind into one file"
            )
        are_choices = all(question.kind == "choice" for question in questions.questions)  # others have no labels
        concluded = all(wording.conclusion for wording in wordings)
        final = [FINAL] if finals == {True} and (concluded or (self.prompts.final_cue and are_choices)) else []
        conditions = ("", *self.replacing.conditions(self.prompts)) if self.collects("stated") else ()
        stated = [
            StatedStage(prompt.name, condition).stage for condition in conditions for prompt in self.prompts.behind
        ]
        return (ANSWER, *final, *([P_TRUE] if self.collects("p_true") else []), *stated)

    def _n_wordings(self, questions: QuestionSet) -> int:
        if self.options.paraphrases in (None, "none"):
            return 1
        counts, n_wordings = [len(question.wordings) for question in questions.questions], self.options.wordings
        if (lacking := counts.count(1)) and self.options.paraphrases == "hand":
            study = f"--study {self.options.study}" if self._is_of_study("paraphrases") else "--paraphrases hand"
            raise UsageError(
                f"{study}: {lacking:,} of {counted(len(counts), 'question')} of {questions.name} have no other "
                "wording; write paraphrases for each, or give a file of them or none with --paraphrases"
            )
        if n_wordings and (few := sum(count < n_wordings for count in counts)):
            raise UsageError(
                f"--wordings {n_wordings}: {few:,} of {counted(len(counts), 'question')} of {questions.name} have "
                f"fewer; {min(counts)} or fewer can be asked"
            )
        return min((*counts, n_wordings or max(counts, default=1)), default=1)

    def _decoding(self, max_new_tokens: int, temperature: float = 0.0, top_p: float = 1.0) -> Decoding:
        options = self.options
        return Decoding(max_new_tokens, temperature, top_p, options.seed or 0, options.think_tokens)

    def _temperature(self, wording: Variant) -> float:
        temperature = wording.temperature
        return (self.options.temperature or 0.0) if temperature is None else temperature

    def collects(self, what: str) -> bool:
        """Whether that is collected."""
        return what in (self.options.collect or ())


def _of_question(text: str, question: Question) -> str:
    """What is asked about an answer, with the question in it; where it names the answer, both are filled in later."""
    return text if "answer" in placeholders_of(text) else replace_placeholders(text, {"claim": question.text})


def _greedy(dialogue: Dialogue) -> Dialogue:
    """The same question, answered once without chance, with its conclusion where there is one."""
    own = dialogue.decoding
    decoding = Decoding(own.max_new_tokens, think_tokens=own.think_tokens)
    concluding = tuple(
        replace(own, stage=GREEDY_FINAL, labels=())
        for own in dialogue.follow_ups
        if own.stage == FINAL and not own.continues
    )
    return replace(
        dialogue, stage=GREEDY, decoding=decoding, samples=(0,), labels=(), follow_ups=concluding, alternatives=0
    )


def of_share(questions: Sequence[Question], shard: str | None) -> Sequence[Question]:
    """The questions of share I of N: those at places I - 1, I - 1 + N, ..; all without a share."""
    if shard is None:
        return questions
    share = parse_shard(shard)
    return questions[share.number - 1 :: share.count]
