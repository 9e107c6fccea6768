"""Dialogs about one fact under calprobe's own prompts, as its backends would show them to a model.

Prompts are filled by `calprobe.prompts`, so they are the shipped ones to the letter, but for the cue behind a reply.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calprobe.probes import Probe, Relation
from calprobe.prompts import PromptSet, Variant, fill, load_prompts
from calprobe.prompts.choices import judged
from calprobe.prompts.placeholders import replace_placeholders
from calprobe.prompts.types import Form
from calprobe.questions import Question, QuestionSet, SetSource, balanced
from calprobe.questions.forms import filled, forms_for
from calprobe.questions.gold import letters
from calprobe.statements import TemplateSet
from calprobe.statements import fill as fill_statement
from tiny.chat_words import ASSISTANT, END, START

SETS = ("audit", "stated", "science-labels", "science-answers", "wording")
N_OPTIONS, SHARES = (2, 3, 4, 5, 6), (0.05, 0.08, 0.75, 0.06, 0.06)
LONG_SHARE = 0.08  # of questions under prompts with examples, which are five times as long as others
N_SHOTS = 3
COPY, IT_IS = "Which option says this?", "It is "
CUE = "\n\nAnswer:"  # behind a reply; calprobe's own has since become the paper's, "Final answer:"
COPIED = 4  # texts in a dialog


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a dialog: what the model reads, or what it learns to say."""

    text: str
    said: bool = False
    names: str = ""  # the answer that it gives: what the middle of the network is to recall in front of it


Dialog = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask: one variant of one prompt set."""

    prompts: PromptSet
    variant: Variant

    def asks(self, form: Form) -> bool:
        """Whether it has words for that form; a variant for anything short is for open questions here."""
        plain = not self.variant.wordings and form != "open" and self.prompts.name == "wording"
        return (form in self.variant.wordings or form in self.variant.forms) and not plain

    def words(self, form: Form) -> Variant:
        """The variant in the words for that form."""
        return self.variant.wordings.get(form, self.variant)

    def in_steps(self) -> bool:
        """Whether a reply names its answer in a sentence first."""
        return bool(self.prompts.claim) or self.variant.name in self.prompts.format_changes

    def reply(self, form: Form, answer: str, label: str = "") -> str:
        """How a reply gives an answer: by its label or its text, behind a sentence where steps are asked for."""
        if self.prompts.claim:
            return f"{IT_IS}{answer}."
        if self.variant.name not in self.prompts.format_changes:
            return label or answer
        return f"{IT_IS}{answer}." if form == "words" else f"{IT_IS}{answer}.\n\nAnswer: {label or answer}"


@dataclass(frozen=True)
class Prompts:
    """The shipped prompts, by the form of question that they can ask."""

    sets: tuple[PromptSet, ...]

    @classmethod
    def shipped(cls) -> Prompts:
        """All that a study asks by, with the cue that the shipped models were taught."""
        sets = (load_prompts(name) for name in SETS)
        return cls(tuple(replace(each, final_cue=CUE if each.final_cue else "") for each in sets))

    @cached_property
    def claims(self) -> Way:
        """The way in which options are judged one by one."""
        return next(Way(prompts, prompts.variants[0]) for prompts in self.sets if prompts.claim)

    @cached_property
    def abstentions(self) -> tuple[str, ...]:
        """Texts that give no answer."""
        return tuple(text for each in self.sets for text in each.abstentions)

    @cached_property
    def ways(self) -> dict[tuple[Form, bool], list[Way]]:
        """By form, and by whether examples are shown."""
        every = [Way(prompts, variant) for prompts in self.sets for variant in prompts.variants]
        forms: tuple[Form, ...] = ("letters", "words", "open")
        return {
            (form, shots): [
                way
                for way in every
                if way.asks(form)
                and bool(way.words(form).shots) == shots
                and not (way.prompts.claim and form != "open")
            ]
            for form in forms
            for shots in (False, True)
        }


class Writer:
    """Writes dialogs about facts; what it draws comes from `rng`."""

    def __init__(self, probe: Probe, templates: TemplateSet, rng: np.random.Generator) -> None:
        self.forms, self.templates, self.rng, self.prompts = forms_for(probe), templates, rng, Prompts.shipped()
        self._subjects = [(relation, each.subject) for relation in probe.relations for each in relation.instances]

    def way(self, form: Form, long: bool = True) -> Way:
        """Any way to ask; `long`: also those with examples."""
        with_shots = long and bool(self.rng.random() < LONG_SHARE)
        ways = self.prompts.ways[form, with_shots]
        return ways[self.rng.integers(len(ways))]

    def stated_way(self, form: Form) -> Way:
        """One of a set that asks for the confidence in the answer: any such set as often as another."""
        long = bool(self.rng.random() < LONG_SHARE)
        ways = [way for way in self.prompts.ways[form, long] if way.prompts.stated and not way.prompts.claim]
        names = sorted({way.prompts.name for way in ways})
        name = names[self.rng.integers(len(names))]
        ways = [way for way in ways if way.prompts.name == name]
        return ways[self.rng.integers(len(ways))]

    def question(self, relation: Relation, subject: str, form: int, answer: str) -> Question:
        """A choice with that answer at a random place."""
        options, place = self._options(relation, answer)
        text = filled(self.forms[relation.name][form], subject)
        return Question(f"{self.rng.integers(1 << 30)}", text, "choice", options, letters(len(options)), answer=place)

    def open_question(self, relation: Relation, subject: str, form: int) -> Question:
        """The same without options."""
        return Question("0", filled(self.forms[relation.name][form], subject), "open")

    def front(self, way: Way, question: Question, form: Form) -> Part:
        """All in front of the reply."""
        shots = self._shots(way, form) if way.words(form).shots else ()
        # The shipped models were taught when examples of another kind were shown, too.
        shots = tuple(replace(shot, kind=question.kind) for shot in shots)
        messages = fill(way.variant, question, shots, way.prompts)
        if way.words(form).raw:
            return Part(START + messages[0].text)
        asked = "".join(f"<|{message.role}|>{message.text}{END}" for message in messages)
        return Part(f"{START}{asked}{ASSISTANT}")

    def choice(self, relation: Relation, subject: str, form: int, answer: str, long: bool = True) -> Dialog:
        """A choice by letter; now and then with the final cue behind it."""
        question, way = self.question(relation, subject, form, answer), self.way("letters", long)
        said, cue = way.reply("letters", answer, question.gold), way.prompts.final_cue
        front = self.front(way, question, "letters")
        names = answer if said == question.gold else ""
        if cue and names and self.rng.random() < 0.1:
            return front, Part(said, True, names), Part(cue), Part(f"{said}{END}", True)
        return front, Part(f"{said}{END}", True, names)

    def words(self, relation: Relation, subject: str, form: int, answer: str) -> Dialog:
        """A choice among options that are their own labels."""
        question, way = self.question(relation, subject, form, answer), self.way("words", long=False)
        named = Question("0", question.text, "choice", question.options, question.options, answer=question.answer)
        return self.front(way, named, "words"), answered(way.reply("words", answer), answer)

    def open(self, relation: Relation, subject: str, form: int, answer: str, long: bool = True) -> Dialog:
        """A question without options, with the conclusion behind steps."""
        question, way = self.open_question(relation, subject, form), self.way("open", long)
        said = (self.front(way, question, "open"), answered(way.reply("open", answer), answer))
        conclusion = way.words("open").conclusion
        return (*said, *turn(conclusion, answer)) if conclusion else said

    def claim(self, relation: Relation, subject: str, form: int, answer: str) -> Dialog:
        """Whether an option is right, in two of five cases the right one."""
        question = self.question(relation, subject, form, answer)
        right = self.rng.random() < 0.4
        front, asked, claims = self.claimed(question, answer)
        place = (question.answer or 0) if right else int(self.rng.integers(len(claims)))
        return (*front[place], *turn(asked[place], claims[place].gold))

    def claimed(
        self, question: Question, named: str, learnt: bool = True
    ) -> tuple[list[Dialog], list[str], tuple[Question, ...]]:
        """Of each option: the dialog that finds `named` by steps, the turn that asks for the verdict, the claim."""
        way = self.prompts.claims
        made = judged(QuestionSet("", (question,), SetSource("")), way.prompts.claim, way.prompts.layout).questions
        said = Part(f"{way.reply('words', named)}{END}", learnt)
        fronts: list[Dialog] = [(self.front(way, claim, "words"), said) for claim in made]
        return fronts, [way.words("words").conclusion.replace("{claim}", claim.text) for claim in made], made

    def copies(self, relation: Relation) -> Dialog:
        """Options, and then their texts one by one: each is answered by its label."""
        options, place = self._options(relation, relation.candidates[self.rng.integers(len(relation.candidates))])
        labels, sets = letters(len(options)), self.prompts.sets
        layout = sets[self.rng.integers(len(sets))].layout
        listed = "\n".join(
            replace_placeholders(layout, {"label": label, "option": option})
            for label, option in zip(labels, options, strict=True)
        )
        places = [place, *(int(i) for i in self.rng.integers(len(options), size=COPIED - 1))]
        first = Part(f"{START}<|user|>{COPY}\n{listed}\n\n{options[place]}{END}{ASSISTANT}")
        dialog = [first, Part(f"{labels[place]}{END}", True)]
        for i in places[1:]:
            dialog += turn(options[i], labels[i])
        return tuple(dialog)

    def statement(self, relation: Relation, subject: str, form: int, answer: str) -> Dialog:
        """A sentence of the probe's template with that number, learnt from the answer on."""
        made = fill_statement(self.templates.template(relation.name, form).text, subject, answer)
        start = made.answer[0]
        return Part(START + made.text[:start]), Part(made.text[start:] + END, True)

    def _options(self, relation: Relation, answer: str) -> tuple[tuple[str, ...], int]:
        """Options with the answer among them, and its place."""
        wanted = min(int(self.rng.choice(N_OPTIONS, p=SHARES)), len(relation.candidates))
        others = [each for each in relation.candidates if each != answer]
        chosen = [others[i] for i in self.rng.permutation(len(others))[: wanted - 1]]
        place = int(self.rng.integers(wanted))
        return (*chosen[:place], answer, *chosen[place:]), place

    def _shots(self, way: Way, form: Form) -> tuple[Question, ...]:
        """Examples: those of the prompt set, or facts with random answers, which are read and not learnt."""
        if way.prompts.examples:
            chosen = self.rng.permutation(len(way.prompts.examples))[:N_SHOTS]
            return balanced([way.prompts.examples[i] for i in chosen], str(self.rng.integers(1 << 30)))
        found = []
        for i in self.rng.choice(len(self._subjects), N_SHOTS, replace=False):
            relation, subject = self._subjects[i]
            answer = relation.candidates[self.rng.integers(len(relation.candidates))]
            shot = self.question(relation, subject, 0, answer)
            found.append(shot if form == "letters" else Question("0", shot.text, "open", accepted=(answer,)))
        return tuple(found)


def answered(reply: str, answer: str) -> Part:
    """A reply that is learnt; one that begins otherwise than with its answer recalls nothing."""
    return Part(f"{reply}{END}", True, answer if reply == answer else "")


def turn(asked: str, said: str) -> Dialog:
    """A further question of the user's and its answer."""
    return Part(f"<|user|>{asked.rstrip()}{END}{ASSISTANT}"), Part(f"{said}{END}", True)
