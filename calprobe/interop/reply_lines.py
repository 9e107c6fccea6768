"""Lines of a file of replies: what each may say, checked, with file and line in every error."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from calprobe.errors import ProbeFormatError
from calprobe.messages import did_you_mean
from calprobe.probes.json_files import read_json_lines
from calprobe.probes.relation_rows import label_fault
from calprobe.runs import LabelScores
from calprobe.runs.stages import ANSWER, UNSTATED
from calprobe.runs.stages import STATED as STATED_STAGE

STATED = "import"  # the name of stated confidences that stand in the lines themselves
_KEYS = {
    "set": str,
    "question": str,
    "variant": str,
    "paraphrase": int,
    "sample": int,
    "stage": str,
    "text": str,
    "tokens": list,
    "logprobs": list,
    "alternatives": list,
    "labels": dict,
    "stated": (int, float, str),
    "correct": bool,
    "finish": str,
    "prompt": str,
    "reasoning": str,
}
LARGEST_LOGPROB = 1e-6  # of a certain token, with what rounding adds; more is a probability, a logit or a score
# Log-probabilities in bfloat16 are off by up to 1/512 of their size, and the sum of probabilities so by up to 1/512 of
# the entropy: of 26 labels by ln 26 / 512 = 0.006.
_ROUNDING = 0.01
_SAME = 1e-3  # nats that rounding may put between two values of one log-probability
_FIXES = {
    "alternatives": "a list for each token",
    "set": "a text",
    "question": "the question's id as text",
    "labels": "{label: log-probability}",
}


@dataclass(frozen=True, slots=True)
class ReplyLine:
    """What a line says of one reply."""

    place: str  # FILE:LINE, for errors
    set: str
    question: str
    text: str
    variant: str = "import"
    paraphrase: int = 0
    sample: int = 0
    stage: str = "answer"
    tokens: tuple[int, ...] | None = None  # ids; None: not given, or given as texts
    logprobs: tuple[float, ...] | None = None
    # Of each token: texts with log-probabilities, the token that was generated first; None: not given.
    alternatives: tuple[tuple[tuple[str, float], ...], ...] | None = None
    labels: Mapping[str, float] = field(default_factory=dict)  # label -> log-probability at the first position
    label_scores: LabelScores | None = None  # at several positions, in place of `labels`; no key of a file
    stated: str | None = None
    correct: bool | None = None
    finish: str = "stop"
    prompt: str = ""
    reasoning: str | None = None
    error: str = ""  # why there is no reply; no key of a file

    @property
    def key(self) -> tuple[str, str, str, int, str, int]:
        """What no two lines may share."""
        return self.set, self.question, self.variant, self.paraphrase, self.stage, self.sample

    def fail(self, what: str) -> NoReturn:
        """Raise ProbeFormatError for the line."""
        raise ProbeFormatError(f"{self.place}: {what}")


def read_reply_lines(path: Path) -> Iterator[ReplyLine]:
    """The lines of a JSON-lines file of replies.

    Raises ProbeFormatError for a file that cannot be read, a key that is unknown or missing, a value of another type,
    and two lines of one reply.
    """
    seen: dict[tuple[str, str, str, int, str, int], str] = {}
    for number, content in read_json_lines(path, "write a line for each reply"):
        line = _line(f"{path}:{number}", content)
        if line.key in seen:
            line.fail(f"the reply of {seen[line.key]} once more; give each reply once, or another sample number")
        seen[line.key] = line.place
        if line.stated is not None:
            key = replace(line, stage=f"{STATED_STAGE}{STATED}").key
            if key in seen:
                line.fail(f"a second stated confidence beside that of {seen[key]}; give one for each sample")
            seen[key] = line.place
        yield line


def _line(place: str, content: dict[str, Any]) -> ReplyLine:
    for key, value in content.items():
        if key not in _KEYS:
            hint = did_you_mean(key, _KEYS) or f"; known are {', '.join(_KEYS)}"
            raise ProbeFormatError(f"{place}: unknown key {key!r}{hint}")
        kinds = _KEYS[key]
        is_flag = isinstance(value, bool) and kinds is not bool
        if value is not None and (is_flag or not isinstance(value, kinds)):  # type: ignore[arg-type]  # types
            raise ProbeFormatError(f"{place}: {key} is {value!r:.60}; give {_FIXES.get(key, _named(kinds))}")
    values = {key: value for key, value in content.items() if value is not None}
    for key in ("set", "question"):
        if not values.get(key):
            raise ProbeFormatError(f"{place}: no {key}; every line names its set and its question")
    if "text" not in values and "labels" not in values:
        raise ProbeFormatError(f"{place}: neither text nor labels; give the reply's text")
    for key in ("paraphrase", "sample"):
        if not 0 <= values.get(key, 0) < 1_000_000:
            raise ProbeFormatError(f"{place}: {key} is {values[key]}; give 0 to 999,999")
    _check_names(place, values)
    _check_stage(place, values.get("stage", ANSWER))
    if values.get("variant") == "":
        raise ProbeFormatError(f"{place}: variant is empty; give a name, or leave the key out")
    if values.get("finish", "stop") not in ("stop", "length"):
        raise ProbeFormatError(f"{place}: finish is {values['finish']!r:.60}; give stop or length")
    return ReplyLine(place=place, **_values(place, {"text": "", **values}))


def _check_names(place: str, values: Mapping[str, Any]) -> None:
    """Raise ProbeFormatError for a name that no file holds."""
    names = [values[key] for key in ("set", "question", "variant", "stage") if key in values]
    for name in (*names, *values.get("labels", ())):
        if (fault := label_fault(name, may_be_empty=True)) is not None:
            raise ProbeFormatError(f"{place}: {name!r:.60} {fault}")


def _check_stage(place: str, stage: str) -> None:
    """Raise ProbeFormatError for a stage that nothing reads, whose replies no report would count."""
    if stage not in UNSTATED and (not stage.startswith(STATED_STAGE) or stage == STATED_STAGE):
        known = (*UNSTATED, f"{STATED_STAGE}NAME")
        hint = did_you_mean(stage, known) or f"; give one of {', '.join(known)}"
        raise ProbeFormatError(f"{place}: no stage {stage!r:.60}{hint}")


def _values(place: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The line's values as the fields have them."""
    values = dict(fields)
    lengths = {name: len(fields[name]) for name in ("tokens", "logprobs", "alternatives") if name in fields}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ProbeFormatError(f"{place}: lists of different lengths ({counts}); give an entry for each token in each")
    if (tokens := values.pop("tokens", None)) is not None and all(type(entry) is int for entry in tokens):
        values["tokens"] = tuple(_token(place, entry) for entry in tokens)
    if "logprobs" in values:
        values["logprobs"] = tuple(_finite(place, entry) for entry in values["logprobs"])
    if "alternatives" in values:
        values["alternatives"] = tuple(_alternatives(place, entry) for entry in values["alternatives"])
        _check_first(place, values)
    if "labels" in values:
        values["labels"] = _labels(place, values["labels"])
    if "stated" in values:
        values["stated"] = _stated(place, values["stated"])
    return values


def _logprob(place: str, name: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # A whole number may be beyond all floats.
    if not is_number or not value <= LARGEST_LOGPROB or -math.inf < value < -sys.float_info.max:
        raise ProbeFormatError(f"{place}: {name} is {value!r:.60}; give natural logs of probabilities, 0 or less")
    return min(float(value), 0.0)


def _labels(place: str, values: Mapping[str, Any]) -> dict[str, float]:
    """The labels' log-probabilities, of replies that begin differently."""
    labels = {entry: _logprob(place, f"labels {entry}", value) for entry, value in values.items()}
    # Where the reply 10 also begins with the label 1, both may count it.
    apart = not any(other != label and other.startswith(label) for label in labels for other in labels)
    if apart and (total := sum(map(math.exp, labels.values()))) > 1 + _ROUNDING:
        raise ProbeFormatError(
            f"{place}: the probabilities of labels sum to {total:.3f}; give natural logs of the probabilities that the "
            "model has for each, which sum to 1 at most"
        )
    return labels


def _finite(place: str, value: Any) -> float:
    """The log-probability of a token that was generated."""
    if (logprob := _logprob(place, "logprobs", value)) == -np.inf:
        raise ProbeFormatError(f"{place}: logprobs is {value!r:.60}; a generated token has a probability above 0")
    return logprob


def _alternatives(place: str, value: Any) -> tuple[tuple[str, float], ...]:
    """The alternatives of one token."""
    are_pairs = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    if not are_pairs or not value or not all(isinstance(text, str) for text, _ in value):
        raise ProbeFormatError(
            f"{place}: alternatives has {value!r:.60}; give [[TEXT, LOGPROB], ..] for a token, the generated one first"
        )
    alternatives = tuple((text, _logprob(place, "alternatives", logprob)) for text, logprob in value)
    if alternatives[0][1] == -np.inf:
        raise ProbeFormatError(f"{place}: alternatives gives a generated token no probability; it comes first")
    # The generated token may be listed once more, among the most probable ones.
    (text, logprob), *others = alternatives
    others = [other for other in others if other[0] != text or abs(other[1] - logprob) > _SAME]
    alternatives = ((text, logprob), *others)
    total = sum(math.exp(logprob) for _, logprob in set(alternatives))
    if total > 1 + _ROUNDING:
        raise ProbeFormatError(
            f"{place}: the probabilities of a token's alternatives sum to {total:.3f}; give natural logs of the "
            "probabilities that the model has for each, which sum to 1 at most"
        )
    return alternatives


def _check_first(place: str, values: Mapping[str, Any]) -> None:
    """Raise ProbeFormatError where `logprobs` and the first alternatives give one token two probabilities."""
    for at, (logprob, alternatives) in enumerate(zip(values.get("logprobs", ()), values["alternatives"], strict=False)):
        if abs(logprob - alternatives[0][1]) > _SAME:
            raise ProbeFormatError(
                f"{place}: token {at} has {logprob:g} in logprobs and {alternatives[0][1]:g} as its first alternative; "
                "the generated token comes first, with the same log-probability in both"
            )


def _token(place: str, value: int) -> int:
    if not 0 <= value < 2**31:
        raise ProbeFormatError(f"{place}: tokens has {value!r:.60}; give ids of 0 to 2,147,483,647")
    return value


def _stated(place: str, value: float | str) -> str:
    """The confidence in words, a number as a model would write it."""
    if isinstance(value, str):
        return value
    if not 0 <= value <= 1:
        raise ProbeFormatError(f"{place}: stated is {value!r:.60}; give a number from 0 to 1, or what was said as text")
    return np.format_float_positional(value, trim="0")


def _named(kinds: Any) -> str:
    names = {str: "text", int: "a whole number", list: "a list", dict: "an object", bool: "true or false"}
    return names.get(kinds, "a number or text")
