"""A set of prompts: variants of one question, and what is asked after the reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.questions import Question
from calprobe.words import REVERSED

Role = Literal["system", "user", "assistant"]
# What a question looks like to a prompt: options with letters or other short labels, options that are their own labels
# (positive, negative), a number, a short text.
Form = Literal["letters", "words", "number", "open"]
FORMS: tuple[Form, ...] = get_args(Form)
Labelling = Literal["own", "letters", "words"]  # labels of options: the questions' own, A, B, .., or the options

# What a reply to a question about confidence stands for: a number x as its share of 1, of 100, of 10; one of some
# expressions, or the letter in front of one; or 1 minus any of these.
FORWARD_SCALES = ("x", "x/100", "x/10", "expressions", "letters")
SCALES = (*FORWARD_SCALES, *(f"{REVERSED}{scale}" for scale in FORWARD_SCALES))


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    text: str


def form_of(question: Question) -> Form:
    """What the question looks like to a prompt.

    >>> form_of(Question("1", "I liked it.", "choice", ("positive", "negative"), ("positive", "negative"), answer=0))
    'words'
    """
    if question.kind == "choice":
        return "words" if question.labels == question.options else "letters"
    return question.kind


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to ask. Texts have placeholders: {input}, {question}, {options}, {label_list}, {fewshot_examples}."""

    name: str
    user: str  # the user's turn; of a raw prompt, all of it
    max_new_tokens: int
    system: str = ""  # a system turn; empty: none
    opening: str = ""  # what the assistant's turn begins with; empty: nothing
    earlier: tuple[Message, ...] = ()  # turns before the user's, in turn the user's and the assistant's
    shots: int = 0  # examples in {fewshot_examples}
    final: bool = False  # whether the label is asked for once more behind the reply, see `PromptSet.final_cue`
    raw: bool = False  # plain text, without a chat template
    shot: str = ""  # an example in {fewshot_examples}, with {answer} and {number} (from 1) as further placeholders
    forms: tuple[Form, ...] = FORMS  # the questions that it can ask
    wordings: Mapping[Form, Variant] = field(default_factory=dict)  # for some of `forms`: the variant in their words
    temperature: float | None = None  # of its answers; None: as all others
    conclusion: str = ""  # a user's turn behind the reply, with {claim}, of which the reply is the answer; empty: none
    stakes: float | None = None  # that the prompt names, see `calprobe.metrics.utility`; None: it names none
    turned: int = 0  # places by which options are moved up, see `calprobe.questions.turned`

    @property
    def texts(self) -> str:
        """All of its turns, one below the other."""
        return "\n".join((self.system, *(turn.text for turn in self.earlier), self.user, self.opening))

    def of(self, question: Question) -> Variant:
        """The variant in the words, and with the budget, for this question's form.

        Raises:
            UsageError: the variant has no words for questions of that form.

        >>> open_question = Question("1", "Who wrote Hamlet?", "open", accepted=("Shakespeare",))
        >>> Variant("plain", "{input}", 32, wordings={"open": Variant("plain", "{input} In short:", 8)}).of(
        ...     open_question
        ... ).user
        '{input} In short:'
        """
        form = form_of(question)
        if form in self.wordings:
            return self.wordings[form]
        if form not in self.forms:
            raise UsageError(
                f"question {question.id}: variant {self.name!r} has no words for questions of the form {form}, only "
                f"for {', '.join(self.forms)}; choose other --variants, or other --prompts"
            )
        return self


@dataclass(frozen=True, slots=True)
class Stated:
    """A question about the model's confidence in the reply that it has just given: the user's next turn."""

    name: str
    text: str
    scale: str  # one of SCALES
    max_new_tokens: int
    # What each expression stands for, in the order of the letters; empty on a scale of numbers. Of a reversed scale:
    # the probability of being wrong.
    expressions: Mapping[str, float] = field(default_factory=dict)
    # Whether it stands in the reply itself, in a field of this name of a JSON object: there is no turn, and no text.
    is_field: bool = False

    @property
    def is_reversed(self) -> bool:
        """Whether the reply says how probable it is that the answer is wrong.

        >>> Stated("wrong", "How wrong, from 0 to 1?", "1 - x", 8).is_reversed
        True
        """
        return self.scale.startswith(REVERSED)

    @property
    def forward_scale(self) -> str:
        """The scale without its direction: one of FORWARD_SCALES."""
        return self.scale.removeprefix(REVERSED)


@dataclass(frozen=True, slots=True)
class PromptSet:
    """Prompts under one name."""

    name: str
    fingerprint: str  # SHA-256 (hex) of all of it
    variants: tuple[Variant, ...]
    stated: tuple[Stated, ...] = ()
    final_cue: str = ""  # continues the reply itself, so that the next token is the label: "\n\nFinal answer:"
    final_max_new_tokens: int = 4
    layout: str = "{label}. {option}"  # a line of {options}
    path: str | None = None  # of a user's file; None: calprobe's own
    separator: str = "\n\n"  # between examples in {fewshot_examples}
    labels: Labelling = "own"  # what options are called, see `calprobe.prompts.labelled`
    format_changes: tuple[str, ...] = ()  # variants that ask for another form of reply: reasoning, a sentence
    # Name -> prompts of `stated` that are compared with each other; all of them together are a group without a name.
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    abstentions: tuple[str, ...] = ()  # answers that give none, which are put in the place of the model's own
    # Name -> variants that apply the same kind of change to a question (dummy tokens, ..): each is a wording of it.
    perturbations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    claim: str = ""  # a claim about an option: choices are judged option by option; empty: they are chosen from
    p_true: str = ""  # asks whether the answer is (A) true or (B) false; empty: see `loading.p_true_text`
    examples: tuple[Question, ...] = ()  # of the set itself, shown balanced over the labels; empty: of the questions

    def __repr__(self) -> str:
        return f"<PromptSet {self.name}: {counted(len(self.variants), 'variant')}, {len(self.stated)} stated>"

    @property
    def fields(self) -> tuple[Stated, ...]:
        """The confidences that stand in the reply itself, beside the answer: the reply is a JSON object."""
        return tuple(prompt for prompt in self.stated if prompt.is_field)

    @property
    def behind(self) -> tuple[Stated, ...]:
        """The confidences that are asked for in turns of their own, behind the reply."""
        return tuple(prompt for prompt in self.stated if not prompt.is_field)

    @property
    def reads_by_scale(self) -> bool:
        """Whether stated confidences are read by the rules of each scale: the set has groups, or scales of its own.

        Other sets state decimals and percentages alone, which the parser of the audit reads.
        """
        return bool(self.groups) or any(prompt.forward_scale not in ("x", "x/100") for prompt in self.stated)

    def forward_of(self, name: str) -> Stated | None:
        """The prompt whose scale the reversed prompt of that name turns around: the first one on that scale.

        None for a prompt that is not reversed, and where the set has no such prompt.
        """
        reversed_prompt = next((prompt for prompt in self.stated if prompt.name == name and prompt.is_reversed), None)
        if reversed_prompt is None:
            return None
        return next((prompt for prompt in self.stated if prompt.scale == reversed_prompt.forward_scale), None)


# Fields that came later: prompts without them keep the hashes that stored runs have.
_LATER: Mapping[str, Any] = {
    "turned": 0,
    "earlier": (),
    "stakes": None,
    "is_field": False,
    "conclusion": "",
    "temperature": None,
    "claim": "",
    "p_true": "",
    "examples": (),
    "perturbations": {},
}


def record_of(prompts: Variant | PromptSet) -> dict[str, Any]:
    """All fields as plain values, for hashes; later fields that have their defaults are left out.

    >>> "turned" in record_of(Variant("plain", "{input}", 32))
    False
    """
    record: dict[str, Any] = _without_later(asdict(prompts))
    return record


def _without_later(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_later(item) for key, item in value.items() if key not in _LATER or item != _LATER[key]}
    return [_without_later(item) for item in value] if isinstance(value, list | tuple) else value
