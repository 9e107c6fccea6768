"""What a server answers, checked: nothing of it is believed because of its name."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calprobe.messages import shortened
from calprobe.runs.end_of_turn import tokens_of_text
from calprobe.runs.thoughts import Split, without_thought
from calprobe.runs.window import Step, WindowToken

_REASONING = ("reasoning_content", "reasoning")  # where servers keep a thought apart from the reply


class BadAnswerError(Exception):
    """An answer that is no chat completion; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A chat completion."""

    text: str
    finish: str  # stop, length, content_filter, ..
    model: str  # that the server says it is
    system_fingerprint: str | None
    reasoning: str | None
    reasoning_is_open: bool  # the thought has no end, so there is no text
    steps: tuple[Step, ...] | None  # with those that end the turn; None: no log-probabilities
    ends: int  # how many of the last steps end the turn, and are no part of thought or text
    token_ids: tuple[int, ...] | None
    prompt_ids: tuple[int, ...] | None
    tokens_in: int
    tokens_out: int
    reasoning_tokens: int  # of `tokens_out`, those of a thought, which may be hidden; 0: none, or not counted

    @property
    def text_steps(self) -> tuple[Step, ...] | None:
        """The steps of thought and text."""
        return None if self.steps is None else self.steps[: len(self.steps) - self.ends]

    @property
    def text_ids(self) -> tuple[int, ...] | None:
        """The tokens of thought and text, as far as the steps say where they end."""
        ids = self.token_ids
        is_known = ids is not None and self.steps is not None and len(ids) == len(self.steps)
        return ids[: len(ids) - self.ends] if ids is not None and is_known else ids

    @property
    def is_all_thought(self) -> bool:
        """Whether the budget ended inside a thought, so that there is no text."""
        return self.finish == "length" and not self.text and bool(self.reasoning or self.reasoning_tokens)


def answer_of(body: bytes) -> Answer:
    """The chat completion in a server's body. Raises BadAnswerError for anything else."""
    data = _Value("the answer", parsed(body)).object()
    if (error := data.get("error")) is not None:  # some servers fail with status 200
        raise _no_reply(error)
    choices = _Value("choices", data.get("choices")).items()
    if len(choices) != 1:
        raise BadAnswerError(f"choices has {len(choices)} entries, not one")
    choice = _Value("choices[0]", choices[0]).object()
    # A gateway says so where the server behind it fails: the text ends in the middle.
    if (error := choice.get("error")) is not None or choice.get("finish_reason") == "error":
        raise _no_reply("finish_reason is error" if error is None else error)
    message = _Value("message", choice.get("message")).object()
    usage = _Value("usage", data.get("usage") or {}).object()
    content = _Value("message.content", message.get("content") or "").text()
    thoughts = [message[name] for name in _REASONING if isinstance(message.get(name), str) and message[name]]
    steps = _steps(choice.get("logprobs"))
    details = _Value("usage.completion_tokens_details", usage.get("completion_tokens_details") or {}).object()
    split = Split(thoughts[0], content, False) if thoughts else without_thought(content)
    finish = _Value("finish_reason", choice.get("finish_reason") or "").text()
    pieces = _pieces(choice.get("logprobs")) if steps else []
    return Answer(
        text=split.text,
        finish=finish,
        model=_Value("model", data.get("model") or "").text(),
        system_fingerprint=_Value("system_fingerprint", data.get("system_fingerprint")).text_or_none(),
        reasoning=split.reasoning,
        reasoning_is_open=split.is_open,
        steps=steps,
        ends=0 if finish == "length" else len(pieces) - tokens_of_text(pieces, content, bool(thoughts)),
        token_ids=_ids("token_ids", choice.get("token_ids")) or _ids_of(steps),
        prompt_ids=_ids("prompt_token_ids", data.get("prompt_token_ids")),
        tokens_in=_Value("usage.prompt_tokens", usage.get("prompt_tokens") or 0).count(),
        tokens_out=_Value("usage.completion_tokens", usage.get("completion_tokens") or 0).count(),
        reasoning_tokens=_Value("reasoning_tokens", details.get("reasoning_tokens") or 0).count(),
    )


def usage_of(body: bytes) -> tuple[int, int] | None:
    """The tokens of prompt and reply that a server counts, also of an answer of no use; None: it counts none."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    usage = data.get("usage") if isinstance(data, dict) else None
    counts: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    tokens_in, tokens_out = (
        count if _is_count(count := counts.get(name, 0)) else 0 for name in ("prompt_tokens", "completion_tokens")
    )
    return (tokens_in, tokens_out) if tokens_in else None


def _no_reply(error: Any) -> BadAnswerError:
    return BadAnswerError(f"an error instead of a reply: {shortened(json.dumps(error, ensure_ascii=False), 200)}")


def parsed(body: bytes) -> Any:
    """The JSON value in a body. Raises BadAnswerError for HTML, JSON that is cut off, and other bytes."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        beginning = shortened(body[:200].decode("utf-8", "replace").strip(), 60)
        kind = "an HTML page" if beginning.lower().startswith(("<!doctype", "<html")) else f"{len(body):,} bytes"
        raise BadAnswerError(f"not JSON, but {kind} that begin with {beginning!r}") from error


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of the JSON, and what it is called there."""

    name: str
    value: Any

    def object(self) -> Mapping[str, Any]:
        return self._checked(isinstance(self.value, dict), "an object")  # type: ignore[no-any-return]

    def items(self) -> list[Any]:
        return self._checked(isinstance(self.value, list), "a list")  # type: ignore[no-any-return]

    def text(self) -> str:
        return self._checked(isinstance(self.value, str), "a text")  # type: ignore[no-any-return]

    def text_or_none(self) -> str | None:
        return None if self.value is None else self.text()

    def count(self) -> int:
        return self._checked(_is_count(self.value), "a whole number")  # type: ignore[no-any-return]

    def logprob(self) -> float:
        """A finite number of at most 0; rounding may have put it a little above."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if is_number and self.value == -math.inf:  # Python's JSON has it, and some servers write it
            return -9999.0
        self._checked(is_number and math.isfinite(self.value) and self.value <= 1e-3, "a log-probability")
        return min(float(self.value), 0.0)

    def _checked(self, holds: bool, expected: str) -> Any:
        if not holds:
            raise BadAnswerError(f"{self.name} is not {expected}, but {shortened(repr(self.value), 60)}")
        return self.value


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _steps(logprobs: Any) -> tuple[Step, ...] | None:
    if logprobs is None:
        return None
    content = _Value("logprobs", logprobs).object().get("content")
    if content is None:
        return None
    steps = []
    for value in _Value("logprobs.content", content).items():
        entry = _Value("a token of logprobs", value).object()
        window = _Value("top_logprobs", entry.get("top_logprobs") or []).items()
        if any(isinstance(token, dict) and token.get("logprob", 0) is None for token in (entry, *window)):
            return None  # some servers leave one out; the reply is paid for, and the rest would not be whole
        steps.append(Step(_token(entry), tuple(map(_token, window))))
    return tuple(steps)


def _pieces(logprobs: Any) -> list[bytes]:
    """What each token of checked log-probabilities writes: its bytes where the server shows them, else its text."""
    return [
        bytes(shown) if _are_bytes(shown := entry.get("bytes")) else entry["token"].encode("utf-8", "surrogatepass")
        for entry in logprobs["content"]
    ]


def _are_bytes(value: Any) -> bool:
    return isinstance(value, list) and all(_is_count(number) and number < 256 for number in value)


def _token(value: Any) -> WindowToken:
    entry = _Value("a token of logprobs", value).object()
    number = entry.get("id")
    return WindowToken(
        _Value("token", entry.get("token")).text(),
        _Value("logprob", entry.get("logprob")).logprob(),
        number if _is_count(number) else None,
    )


def _ids(name: str, value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    return tuple(_Value(name, number).count() for number in _Value(name, value).items())


def _ids_of(steps: tuple[Step, ...] | None) -> tuple[int, ...] | None:
    ids = [step.chosen.id for step in steps or ()]
    return tuple(number for number in ids if number is not None) if ids and None not in ids else None
