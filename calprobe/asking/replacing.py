"""What stands in the place of a model's answers: the right ones, others, and none."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from calprobe.answers.answer_type import answer_type
from calprobe.answers.comparing import comparable
from calprobe.answers.same_answer import is_right, say_the_same, text_says
from calprobe.errors import UsageError
from calprobe.prompts import PromptSet
from calprobe.questions import Question, QuestionSet
from calprobe.runs.stages import ABSTAIN, COUNTERFACTUAL, TARGET, abstention

Pool = Literal["targets", "responses"]  # of counterfactuals: other questions' right answers, or the model's own replies
Kind = Literal["any", "same"]  # which answers may stand in for another: any, or those of the same type


@dataclass(frozen=True, slots=True)
class Replacing:
    """Which answers are replaced, and where counterfactuals come from."""

    replaced: tuple[str, ...]  # of target, counterfactual, abstain
    pool: Pool = "targets"
    kind: Kind = "any"
    seed: int = 0

    def conditions(self, prompts: PromptSet) -> tuple[str, ...]:
        """The conditions in the order of asking; each abstention of the prompts is one.

        >>> from calprobe.prompts import load_prompts
        >>> Replacing(("abstain", "target")).conditions(load_prompts("stated"))
        ('target', 'abstain1', 'abstain2', 'abstain3')
        """
        abstentions = tuple(abstention(number) for number in range(1, len(prompts.abstentions) + 1))
        if ABSTAIN in self.replaced and not abstentions:
            raise UsageError(
                f"--replaced abstain: prompt set {prompts.name!r} has no abstentions; leave abstain out, or add "
                '"abstentions" to the file'
            )
        conditions = tuple(name for name in (TARGET, COUNTERFACTUAL) if name in self.replaced)
        return conditions + (abstentions if ABSTAIN in self.replaced else ())

    def answers(
        self, found: QuestionSet, prompts: PromptSet, replies: Mapping[str, str] | None = None
    ) -> dict[str, dict[str, str]]:
        """By condition, then by question's id, the answer that stands in the place of the model's own.

        Args:
            found: all questions of the set, whatever share of them is asked.
            prompts: have the abstentions.
            replies: the model's own answers by question's id, for the pool `responses`.
        Raises:
            UsageError: a question has no counterfactual.
        """
        answers: dict[str, dict[str, str]] = {}
        for condition in self.conditions(prompts):
            if condition == TARGET:
                answers[condition] = {question.id: target_of(question) for question in found.questions}
            elif condition == COUNTERFACTUAL:
                answers[condition] = self._counterfactuals(found, replies)
            else:
                text = prompts.abstentions[int(condition.removeprefix(ABSTAIN)) - 1]
                answers[condition] = {question.id: text for question in found.questions}
        return answers

    def _counterfactuals(self, question_set: QuestionSet, replies: Mapping[str, str] | None) -> dict[str, str]:
        options = {q.id: self._other_option(question_set, q) for q in question_set.questions if q.kind == "choice"}
        questions = sorted((q for q in question_set.questions if q.kind != "choice"), key=lambda question: question.id)
        texts = [replies.get(q.id, "").strip() if replies is not None else target_of(q) for q in questions]
        possible = _Possible(questions, texts, self.kind, of_probe=question_set.source.probe is not None)
        images = derangement(len(questions), possible.may, f"{self.seed}/{question_set.name}")
        counterfactuals = {}
        for place, (question, image) in enumerate(zip(questions, images, strict=True)):
            text = (
                possible.texts[image] if image is not None else possible.any_other(place, f"{self.seed}/{question.id}")
            )
            if text is None:
                raise UsageError(
                    f"question {question.id} of {question_set.name} has no counterfactual: no other question of the "
                    "set has another answer; ask more questions, or leave counterfactual out of --replaced"
                )
            counterfactuals[question.id] = text
        return options | counterfactuals

    def _other_option(self, questions: QuestionSet, question: Question) -> str:
        """The label of one of the wrong options."""
        wrong = [label for place, label in enumerate(question.labels) if place != question.answer]
        return random.Random(f"{self.seed}/{questions.name}/{question.id}").choice(wrong)


def target_of(question: Question) -> str:
    """The right answer as a reply would give it: a label, a number with its unit, or the best of the accepted texts.

    >>> target_of(Question("1", "How far?", "number", number=3.5, unit="km"))
    '3.5 km'
    """
    return f"{question.gold} {question.unit}" if question.unit else question.gold


def derangement(n: int, may: Callable[[int, int], bool], seed: str) -> list[int | None]:
    """For each of n places another place that it may have, each place used once where that is possible.

    A random cycle through all places; where it gives a place what it may not have, two places exchange theirs. A place
    for which there is no exchange gets any that it may have, which then is used twice, and None if there is none.

    Args:
        n: places.
        may: whether the first place may have the second one; never asked of a place and itself.
        seed: of the cycle.

    >>> derangement(4, lambda place, other: True, "seed")
    [1, 3, 0, 2]
    """
    source = random.Random(seed)
    order = list(range(n))
    source.shuffle(order)
    image = {place: order[(index + 1) % n] for index, place in enumerate(order)}

    def fits(place: int, other: int) -> bool:
        return place != other and may(place, other)

    for place in order:
        if fits(place, image[place]):
            continue
        for other in order:
            if fits(place, image[other]) and fits(other, image[place]):
                image[place], image[other] = image[other], image[place]
                break
    places: list[int | None] = []
    for place in range(n):
        if fits(place, image[place]):
            places.append(image[place])
        else:
            possible = [other for other in order if fits(place, other)]
            places.append(source.choice(possible) if possible else None)
    return places


class _Possible:
    """Which answers may stand in for which."""

    def __init__(self, questions: Sequence[Question], texts: Sequence[str], kind: Kind, of_probe: bool) -> None:
        self.texts = texts
        self._targets = [target_of(question) for question in questions]
        self._questions = questions
        self._said = [text_says(text, question) for question, text in zip(questions, texts, strict=True)]
        self._right = [{comparable(answer) for answer in (*q.accepted, target_of(q))} for q in questions]
        if of_probe:  # a fact's other candidates are those of its relation
            self._kinds = [question.group for question in questions]
        else:
            self._kinds = [answer_type(text) if kind == "same" else "" for text in texts]
        sizes = {name: self._kinds.count(name) for name in set(self._kinds)}
        # A type of one answer has nothing to exchange it for, and takes any.
        self._kinds = [name if sizes[name] > 1 or of_probe else "" for name in self._kinds]

    def may(self, place: int, other: int) -> bool:
        """Whether the answer to the second question may stand in for that to the first: it is another, and wrong."""
        return self._is_wrong(place, other, self.texts) and self._kinds[place] in ("", self._kinds[other])

    def any_other(self, place: int, seed: str) -> str | None:
        """A wrong answer of any type: from the pool, or else a right answer to another question; None without any."""
        for texts in (self.texts, self._targets):
            wrong = [text for other, text in enumerate(texts) if other != place and self._is_wrong(place, other, texts)]
            if wrong:
                return random.Random(seed).choice(wrong)
        return None

    def _is_wrong(self, place: int, other: int, texts: Sequence[str]) -> bool:
        question = self._questions[place]
        reading = text_says(texts[other], question)
        if reading.value is None or is_right(reading, question) or say_the_same(reading, self._said[place], question):
            return False
        # Two questions with one right answer have it under all of its names.
        return texts[other] != self._targets[other] or not self._right[place] & self._right[other]
