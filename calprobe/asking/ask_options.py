"""The options of asking, and what a study fixes of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from calprobe.asking.replacing import Kind, Pool
from calprobe.errors import UsageError
from calprobe.messages import did_you_mean
from calprobe.prompts import PromptSet
from calprobe.questions.options import DrawRule, QuestionOptions

if TYPE_CHECKING:
    from calprobe.asking.ask_progress import AskProgress

Collected = Literal["labels", "answer", "stated", "closed", "greedy", "p_true", "alternatives"]
COLLECTED: tuple[Collected, ...] = get_args(Collected)
PARAPHRASED = ("none", "hand")  # or a file
Replaced = Literal["target", "counterfactual", "abstain"]
Permuted = Literal["none", "cyclic"]
MOST_SAMPLES = 10_000  # of a question, whose requests are made together; shares of answers are then known to 0.01


@dataclass(frozen=True, slots=True)
class AskOptions:
    """Which prompts, what is collected, and how replies are generated. None: as the study has it, else the default.

    Raises UsageError for a number out of range, an unknown word, and for options that exclude each other.
    """

    study: str | None = None  # a name in STUDIES
    prompts: str | Path | PromptSet | None = None  # a name, a file, or a set; None: plain, with variants audit
    variants: tuple[str, ...] | None = None  # some of the prompts' variants, in the order of asking; None: all
    collect: tuple[Collected, ...] | None = None  # None: labels and answer
    samples: int | None = None  # answers to each question; None: 1
    temperature: float | None = None  # of answers; None: 0, greedy
    top_p: float | None = None  # None: 1
    # Answers put in the place of the model's own before a confidence is asked for; None: none
    replaced: tuple[Replaced, ...] | None = None
    counterfactual: Pool | None = (
        None  # what stands in: other questions' right answers, or the model's own; None: targets
    )
    answer_type: Kind | None = None  # of counterfactuals: any, or the same as that of the answer replaced; None: any
    seed: int | None = None  # of samples, draws and examples; None: 0
    max_new_tokens: int | None = None  # of an answer; None: the variant's
    stated_tokens: int | None = None  # of a stated confidence; None: as the prompts have it
    think_tokens: int | None = None  # a thought that is longer is ended, and the answer begins; None: it is not
    shots: int | None = None  # examples in variants that have some; None: the variant's
    system: str | None = None  # a system turn for every variant; None: the variant's
    raw_prompt: bool | None = None  # plain text without a chat template; None: as the variant says
    permute: Permuted | None = None  # cyclic: each variant with the options in every cyclic order; None: none
    # hand: each question in all of its wordings, too; a file: in those of the file. None: none
    paraphrases: str | Path | None = None
    wordings: int | None = None  # of each question, its own text among them; None: as many as every question has
    shard: str | None = None  # I/N, such as 2/8: ask the second of eight shares of the questions; None: all
    resume: bool = True  # resume the run in the folder; False starts over
    cache: bool = (
        False  # take replies that any run of this user was given to the same request, and keep those of this one
    )
    quiet: bool = False  # no progress on stderr
    # Called with an `AskProgress` after each reply.
    progress: Callable[[AskProgress], None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.study is not None and self.study not in STUDIES:
            near = did_you_mean(self.study, STUDIES)
            if self.study == "kissling":  # the one study of scores, see calprobe.scoring
                near = "; kissling scores statements: `calprobe score --study kissling`"
            raise UsageError(f"--study {self.study}: known studies are {', '.join(STUDIES)}{near}")
        for name in self.collect or ():
            _check_collected(name)
        for option, values, words in (
            ("replaced", self.replaced or (), get_args(Replaced)),
            ("counterfactual", (self.counterfactual or "targets",), get_args(Pool)),
            ("answer-type", (self.answer_type or "any",), get_args(Kind)),
            ("permute", (self.permute or "none",), get_args(Permuted)),
        ):
            for word in values:
                if word not in words:
                    raise UsageError(f"--{option} {word}: known are {', '.join(words)}{did_you_mean(word, words)}")
        is_possible = self.samples is None or (_is_int(self.samples) and 1 <= self.samples <= MOST_SAMPLES)
        _check("samples", is_possible, self.samples, f"a whole number from 1 to {MOST_SAMPLES:,}")
        for option, value in (
            ("max-new-tokens", self.max_new_tokens),
            ("stated-tokens", self.stated_tokens),
            ("think-tokens", self.think_tokens),
            ("wordings", self.wordings),
        ):
            _check(option, value is None or (_is_int(value) and value >= 1), value, "a whole number of at least 1")
        for option, value in (("seed", self.seed), ("shots", self.shots)):
            _check(option, value is None or (_is_int(value) and value >= 0), value, "a whole number of at least 0")
        is_possible = self.temperature is None or 0 <= self.temperature < math.inf
        _check("temperature", is_possible, self.temperature, "finite, and 0 or more")
        _check("top-p", self.top_p is None or 0 < self.top_p <= 1, self.top_p, "above 0, and 1 at most")
        if self.paraphrases is not None and str(self.paraphrases) not in PARAPHRASED:
            _check_paraphrase_file(str(self.paraphrases))
        if self.shard is not None:
            parse_shard(self.shard)

    def filled(self) -> AskOptions:
        """The options with the study's values, and then the defaults, in place of None; those that stand override both.

        Raises UsageError if the values exclude each other.
        """
        fixed = dict(DEFAULTS) | (dict(STUDIES[self.study].fixed) if self.study else {})
        if self.study is None and self.variants is not None:  # `plain` has one variant
            fixed["prompts"] = "audit"
        if self.prompts is not None:  # a study's variants are those of its own prompts
            fixed.pop("variants", None)
        if self.collect is not None and "stated" not in self.collect:
            fixed["replaced"] = DEFAULTS["replaced"]
        options = replace(self, **{name: value for name, value in fixed.items() if getattr(self, name) is None})
        collect = options.collect or ()
        if options.wordings is not None and options.paraphrases in (None, "none"):
            raise UsageError("--wordings: questions are asked in one wording; give --paraphrases, or leave it out")
        if "greedy" in collect and not ("answer" in collect and options.temperature):
            of_study = self.study is not None and self.collect is None
            asked_by = f"--study {self.study} has" if of_study else "--collect greedy: is"
            raise UsageError(
                f"{asked_by} one greedy answer beside sampled ones; collect answer, too, and give --temperature, such "
                "as 1"
            )
        if "stated" in collect and "answer" not in collect:
            raise UsageError("--collect stated: a confidence is stated about an answer; collect answer, too")
        if "alternatives" in collect and "answer" not in collect:
            raise UsageError("--collect alternatives: are of the tokens of an answer; collect answer, too")
        if "p_true" in collect and "answer" not in collect:
            raise UsageError("--collect p_true: is about an answer; collect answer, too")
        for option, is_given in (("--collect closed", "closed" in collect), ("--replaced", bool(options.replaced))):
            if is_given and "stated" not in collect:
                raise UsageError(f"{option}: is about stated confidence; collect stated, too")
        if self.stated_tokens is not None and "stated" not in collect:
            raise UsageError("--stated-tokens: no confidence is stated; collect stated, too, or leave it out")
        if "counterfactual" not in (options.replaced or ()):
            for option, value in (("counterfactual", self.counterfactual), ("answer-type", self.answer_type)):
                if value is not None:
                    raise UsageError(f"--{option} has no meaning without counterfactual in --replaced; leave it out")
        return options

    def overrides(self, chosen: QuestionOptions | None = None) -> tuple[str, ...]:
        """The options that differ from what the study fixes, as they are typed; empty without a study.

        Args:
            chosen: the questions, as they were chosen; None: as the study draws them.
        """
        if self.study is None:
            return ()
        fixed = STUDIES[self.study].fixed
        changed = [
            f.name
            for f in fields(self)
            if f.name in _OF_STUDY and (value := getattr(self, f.name)) is not None and value != fixed.get(f.name)
        ]
        options = [(name, getattr(self, name)) for name in changed]
        if chosen is not None:
            options += _other_questions(STUDIES[self.study], chosen)
        return tuple(f"--{name.replace('_', '-')} {_typed(value)}".rstrip() for name, value in options)


@dataclass(frozen=True, slots=True)
class Study:
    """What a published study fixes."""

    source: str
    fixed: Mapping[str, Any]  # fields of AskOptions
    draw: int | None = None  # questions of each set, or all of a smaller one
    draw_rule: DrawRule = "nested"


DEFAULTS: Mapping[str, Any] = {
    "prompts": "plain",
    "collect": ("labels", "answer"),
    "samples": 1,
    "temperature": 0.0,
    "top_p": 1.0,
    "seed": 0,
    "replaced": (),
    "counterfactual": "targets",
    "answer_type": "any",
    "permute": "none",
    "paraphrases": "none",
}
STUDIES: Mapping[str, Study] = {
    "audit": Study(
        "arXiv 2605.02038",
        {
            "prompts": "audit",
            "collect": ("labels", "answer", "stated"),
            "samples": 1,
            "temperature": 0.0,
            "top_p": 1.0,
            "seed": 42,
        },
        draw=500,
        draw_rule="sample",
    ),
    "stated": Study(
        "Quantifying the Consistency, Fidelity, and Reliability of LLM Verbalized Confidence",
        {
            "prompts": "stated",
            "collect": ("answer", "stated", "closed"),
            "samples": 1,
            "temperature": 0.0,
            "top_p": 1.0,
            "seed": 42,
            "replaced": ("target", "counterfactual", "abstain"),
            "counterfactual": "targets",
            "answer_type": "any",
        },
        draw=1000,
    ),
    "science-labels": Study(
        "Benchmarking Uncertainty Estimation in LLM Replies for Natural Science QA, experiment 1",
        {
            "prompts": "science-labels",
            "collect": ("labels",),
            "samples": 1,
            "temperature": 0.0,
            "top_p": 1.0,
            "seed": 42,
        },
    ),
    "science-answers": Study(
        "Benchmarking Uncertainty Estimation in LLM Replies for Natural Science QA, experiment 2",
        {
            "prompts": "science-answers",
            "collect": ("labels", "answer", "stated", "p_true", "alternatives"),
            "samples": 10,
            "temperature": 1.0,
            "top_p": 1.0,
            "seed": 42,
        },
        draw=250,
    ),
    "wording": Study(
        "Mapping from Meaning: Addressing the Miscalibration of Prompt-Sensitive Language Models",
        {
            "prompts": "wording",
            "variants": ("chat",),
            "collect": ("answer", "greedy"),
            "samples": 6,
            "temperature": 1.0,
            "top_p": 1.0,
            "seed": 42,
            "paraphrases": "hand",
        },
        draw=1000,
    ),
}
# Options that change what a study asks; others change where and how the run is made.
_OF_STUDY = {
    *("prompts", "variants", "collect", "samples", "temperature", "top_p", "seed", "max_new_tokens", "shots"),
    *("stated_tokens", "think_tokens", "system"),
    *("replaced", "counterfactual", "answer_type", "raw_prompt", "permute", "paraphrases", "wordings"),
}


@dataclass(frozen=True, slots=True)
class Share:
    """One of `count` shares of a run, numbered from 1: `--shard 2/8`."""

    number: int
    count: int


def parse_shard(text: str) -> Share:
    """The share `I/N`, I from 1 to N. Raises UsageError for anything else.

    >>> parse_shard("2/8")
    Share(number=2, count=8)
    """
    number, slash, count = text.partition("/")
    if not slash or not all(digits.isascii() and digits.isdigit() and len(digits) < 10 for digits in (number, count)):
        raise UsageError(f"--shard {text!r}: give I/N, such as 1/4 for the first of four")
    if not 1 <= int(number) <= int(count):
        raise UsageError(f"--shard {text}: in I/N, I goes from 1 to N")
    return Share(int(number), int(count))


def _check_paraphrase_file(value: str) -> None:
    if Path(value).expanduser().is_file():
        return
    near = did_you_mean(value, PARAPHRASED)
    raise UsageError(f"--paraphrases {value}: give {', '.join(PARAPHRASED)}, or a JSON Lines file that is there{near}")


def _check_collected(name: str) -> None:
    if name == "samples":
        raise UsageError("--collect samples: answers are sampled by --samples N with --temperature T; give these")
    if name not in COLLECTED:
        raise UsageError(f"--collect {name}: known are {', '.join(COLLECTED)}{did_you_mean(name, COLLECTED)}")


def _check(option: str, holds: bool, value: object, rule: str) -> None:
    if not holds:
        raise UsageError(f"--{option} must be {rule}, got {value!r}")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _other_questions(study: Study, chosen: QuestionOptions) -> Iterator[tuple[str, object]]:
    """The options that choose other questions than the study has."""
    for name in ("split", "limit", "draw", "draw_rule", "groups", "shots_from", "shots_by"):
        value = getattr(chosen, name)
        if value not in (None, (), "any", getattr(study, name, None)):
            yield name, value


def _typed(value: object) -> str:
    if isinstance(value, PromptSet):
        return value.name
    if value is True:
        return ""  # a flag
    return ",".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)
