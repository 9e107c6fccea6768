"""What a sample of an inspect_ai log says: a question, a reply, and its grade.

The objects are inspect_ai's `EvalSample` and what hangs on it, read by attribute: nothing here needs the package.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import numpy as np

from calprobe.errors import ProbeFormatError, UsageError
from calprobe.interop.reply_lines import ReplyLine
from calprobe.messages import shortened, shown
from calprobe.questions.types import Question
from calprobe.runs import LabelScores
from calprobe.runs.window import Step, WindowToken, window_label_scores

LONGEST_ERROR = 300  # characters
LONGEST_PROMPT = 20_000  # characters; of a longer conversation the end is kept
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # of inspect_ai: correct, partial, incorrect, no answer
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_CUT = ("max_tokens", "model_length")
_CORRECT, _CONFIDENCE = "correct", "confidence"  # keys of a score that holds both, and of a score's metadata
STATED = "stated"  # where `calprobe.integrations.inspect_ai` says a confidence is from


@dataclass(frozen=True, slots=True)
class Grading:
    """Which of the scores in a log are the grades."""

    scorer: str | None = None  # None: the only one; NAME:KEY for a value of several keys
    correct_at: float | None = None  # the least number that is right; None: only 1 is, and only 0 is wrong
    kept: bool = True  # False: no grades; calprobe reads and grades the replies itself


def scorer_of(place: str, samples: Iterable[Any], wanted: str | None) -> str | None:
    """The scorer whose scores are the grades; None where nothing was scored.

    Raises UsageError for one that no sample has, or for none where there are several.
    """
    scorers = list(dict.fromkeys(name for sample in samples for name in sample.scores or {}))
    if wanted is not None:
        name = wanted if wanted in scorers else wanted.partition(":")[0]
        if name not in scorers:
            raise UsageError(f"{place}: no scorer {wanted!r}; there is {', '.join(scorers) or 'none'}")
        return name
    if len(scorers) > 1:
        raise UsageError(
            f"{place}: scored by {', '.join(scorers)}; give the one whose grades count: --scorer {scorers[0]}"
        )
    return scorers[0] if scorers else None


def question_of(sample: Any) -> Question:
    """The sample's question: a choice where it has choices and one right letter, else an open one."""
    key, text = str(sample.id), _asked(sample.input)
    targets = [sample.target] if isinstance(sample.target, str) else list(sample.target)
    options = tuple(sample.choices or ())
    if 1 < len(options) <= len(ascii_uppercase):
        labels = tuple(ascii_uppercase[: len(options)])
        if len(targets) == 1 and targets[0].strip() in labels:
            place = labels.index(targets[0].strip())
            return Question(key, text, "choice", options, labels, answer=place)
        text = "\n".join([text, *(f"{label}) {option}" for label, option in zip(labels, options, strict=True))])
    accepted = tuple(dict.fromkeys(target.strip() for target in targets if target.strip()))
    return Question(key, text, "open", accepted=accepted or ("",))


def line_of(
    sample: Any, question: Question, set_name: str, file: str, scorer: str | None, grading: Grading
) -> ReplyLine:
    """The sample's reply with its grade; a sample that failed, or that has no grade where others have, as an error.


    Raises ProbeFormatError for a grade that is neither right nor wrong.
    """
    place = f"{file}: sample {sample.id}, epoch {sample.epoch}"
    score = (sample.scores or {}).get(scorer) if scorer is not None else None
    value, confidence = _value_of(score, grading.scorer, place)
    correct, error = None, _error(sample)
    if not error and scorer is not None and grading.kept:
        number = None if value is None else _number(value, place)
        if number is None:
            error = f"no grade by {scorer}" + (f" ({reason})" if (reason := getattr(score, "reason", None)) else "")
        else:
            correct = _is_right(number, place, grading.correct_at)
    tokens = [] if error else list(_tokens(sample))
    return ReplyLine(
        place=place,
        set=set_name,
        question=str(sample.id),
        text="" if error else _reply(sample),
        sample=max(sample.epoch - 1, 0),
        logprobs=tuple(min(token.logprob, 0.0) for token in tokens) if tokens else None,
        alternatives=_alternatives(tokens),
        label_scores=_label_scores(tokens, question, _reply(sample), first=grading.kept),
        stated=None if error or confidence is None else np.format_float_positional(confidence, trim="0"),
        correct=correct,
        finish="length" if sample.limit is not None or _stop(sample) in _CUT else "stop",
        prompt=_prompt(sample),
        reasoning=None if error else _reasoning(sample),
        error=error,
    )


def _asked(content: Any) -> str:
    """The question as text: of messages the user's."""
    if isinstance(content, str):
        return content
    return "\n\n".join(message.text for message in content if message.role == "user")


def _error(sample: Any) -> str:
    if sample.error is not None:
        return shortened(shown((str(sample.error.message).strip().splitlines() or ["error"])[0]), LONGEST_ERROR)
    return "" if sample.output.choices else "no output of the model"


def _reply(sample: Any) -> str:
    return str(sample.output.completion)


def _stop(sample: Any) -> str:
    return str(sample.output.choices[0].stop_reason) if sample.output.choices else ""


def _reasoning(sample: Any) -> str | None:
    content = sample.output.choices[0].message.content
    blocks = [] if isinstance(content, str) else [block for block in content if block.type == "reasoning"]
    return "\n".join(str(block.reasoning) for block in blocks) or None


def _prompt(sample: Any) -> str:
    """All messages in front of the last one of the model."""
    messages = list(sample.messages)
    last = max((n for n, message in enumerate(messages) if message.role == "assistant"), default=len(messages))
    before = messages[:last]
    texts = [message.text if len(before) == 1 else f"{message.role}: {message.text}" for message in before]
    text = "\n\n".join(texts)
    return text if len(text) <= LONGEST_PROMPT else f".. {text[-LONGEST_PROMPT:]}"


def _tokens(sample: Any) -> Iterator[Any]:
    """The reply's tokens with log-probabilities; none where they are not exactly the reply's text."""
    logprobs = sample.output.choices[0].logprobs
    tokens = [] if logprobs is None else list(logprobs.content)
    text = "".join(token.token for token in tokens)
    if tokens and text.strip() == _reply(sample).strip() and all(math.isfinite(token.logprob) for token in tokens):
        yield from tokens


def _alternatives(tokens: Sequence[Any]) -> tuple[tuple[tuple[str, float], ...], ...] | None:
    if not tokens or not all(token.top_logprobs for token in tokens):
        return None
    return tuple(
        (
            (token.token, min(token.logprob, 0.0)),
            *(
                (alternative.token, min(alternative.logprob, 0.0))
                for alternative in token.top_logprobs
                if alternative.token != token.token
            ),
        )
        for token in tokens
    )


def _label_scores(tokens: Sequence[Any], question: Question, text: str, *, first: bool) -> LabelScores | None:
    """Label probabilities where the windows have any; of replies that come graded, and are not read, at the `first`."""
    if not question.labels or not tokens or not all(token.top_logprobs for token in tokens):
        return None
    steps = [Step(_own(token), [_own(alternative) for alternative in token.top_logprobs]) for token in tokens]
    scores = window_label_scores(question.labels, steps, text)
    return scores if (scores.covered[0] if first else scores.covered).any() else None


def _own(token: Any) -> WindowToken:
    return WindowToken(token.token, min(token.logprob, 0.0))


def _value_of(score: Any, scorer: str | None, place: str) -> tuple[Any, float | None]:
    """The value that is the grade, and the confidence that was stated with it, each None where there is none."""
    if score is None:
        return None, None
    value = score.value
    if isinstance(value, dict):
        key = scorer.partition(":")[2] if scorer is not None else ""
        if (key or _CORRECT) not in value:
            keys = ", ".join(value)
            raise ProbeFormatError(f"{place}: a score of {keys}; give the one that is the grade: --scorer NAME:KEY")
        value = value[key or _CORRECT]
    confidence = _confidence_of(score)
    return value, float(confidence) if _is_share(confidence) else None


def odd_confidence(sample: Any, scorer: str | None) -> Any:
    """A sample's stated confidence where it is no number from 0 to 1, such as a percentage; else None."""
    score = (sample.scores or {}).get(scorer)
    confidence = None if score is None else _confidence_of(score)
    return None if _is_share(confidence) else confidence


def _confidence_of(score: Any) -> Any:
    """The confidence that was stated with a score, as it stands there; None where none was."""
    fields = {**(score.metadata or {}), **(score.value if isinstance(score.value, dict) else {})}
    return fields.get(_CONFIDENCE) if fields.get("confidence_from", STATED) == STATED else None


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _number(value: Any, place: str) -> float | None:
    """The score as a number, as inspect_ai's own metrics read it; None of a sample that it left unscored."""
    if isinstance(value, bool | int | float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, str):
        if value in _GRADES:
            return _GRADES[value]
        if value.lower() in _WORDS:
            return _WORDS[value.lower()]
        try:
            return float(value)
        except ValueError:
            pass
    raise ProbeFormatError(f"{place}: the score {value!r:.60} is no grade; give another --scorer, or --regrade")


def _is_right(number: float, place: str, correct_at: float | None) -> bool:
    if correct_at is not None:
        return number >= correct_at
    if number not in (0.0, 1.0):
        raise ProbeFormatError(
            f"{place}: the score {number:g} is neither right (1) nor wrong (0); give --correct-at Q: from Q on is right"
        )
    return number == 1.0
