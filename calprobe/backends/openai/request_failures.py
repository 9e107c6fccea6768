"""Which failures of a request are tried again, after how long, and which stop the run."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

from calprobe.backends.openai.limited_http import TooLargeError
from calprobe.backends.openai.server_answers import BadAnswerError
from calprobe.runs.replies import TOO_LONG

if TYPE_CHECKING:
    import openai

# again: the next attempt may succeed; refused: this request fails for good; fatal: all others would fail, too; gone:
# again, and fatal when the attempts are used up, since no server is there.
Verdict = Literal["again", "refused", "fatal", "gone"]

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
LONGEST_RETRY_AFTER_S = 600.0
_ATTEMPTS_AT_TIMEOUT = 2  # a server that hangs once may hang for ever
_AGAIN = {408, 409, 425, 429}
# As OpenAI, vLLM, llama.cpp, TGI and others say it.
_TOO_LONG = re.compile(
    r"context.?(length|size|window)|prompt is too long|too many tokens|max_new_tokens. must be", re.I
)

# Of a question, as OpenRouter says it; an account that is flagged is refused for all of them.
_MODERATED = re.compile(
    r"moderat|content.?(policy|filter)|(input|prompt|request|content|messages?)\b.{0,30}\bflagged", re.I
)


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong with one attempt."""

    verdict: Verdict
    reason: str
    wait_s: float | None = None  # that the server asks for, before any further request
    attempts: int | None = None  # at most; None: as the options say
    is_missing: bool = False  # there is nothing at this address, or no such model


def failure_of(error: BaseException, timeout_s: float) -> Failure:
    """What an exception of an attempt means."""
    import openai

    if isinstance(error, BadAnswerError):
        return Failure("again", f"the server's answer cannot be used: {error}")
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Failure("again", f"no answer within {timeout_s:g} s", attempts=_ATTEMPTS_AT_TIMEOUT)
    if isinstance(error, openai.APIStatusError):
        return _of_status(error)
    if too_large := _cause(error, TooLargeError):
        return Failure("refused", str(too_large))
    if isinstance(error, openai.APIConnectionError):
        return _of_connection(error)
    return Failure("again", f"{type(error).__name__}: {str(error)[:200]}")


def wait_before(attempt: int, failure: Failure, chance: random.Random) -> float:
    """Seconds before the next attempt, the server's wish included; doubled each time, with some chance in it."""
    wait: float = min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), _LONGEST_WAIT_S) * chance.uniform(0.5, 1.0)
    return max(wait, failure.wait_s or 0.0)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that a server asks to wait, by `retry-after-ms` or `Retry-After` (seconds or a date); None: it does not.

    >>> retry_after({"retry-after": "2.5"}, 0.0), retry_after({"retry-after-ms": "300"}, 0.0)
    (2.5, 0.3)
    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 20.0), retry_after({"retry-after": "soon"}, 0.0)
    (40.0, None)
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) / unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - now
            except (TypeError, ValueError, OverflowError):
                continue
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), LONGEST_RETRY_AFTER_S)
    return None


def _of_status(error: openai.APIStatusError) -> Failure:
    code = error.status_code
    message = _said(error)
    if code == 403 and _MODERATED.search(message):
        return Failure("refused", f"the server's moderation refuses the request ({code}{message})")
    if code in (401, 403):
        return Failure(
            "fatal", f"the server refuses the key ({code}{message}); set OPENAI_API_KEY, or see --api-key-env"
        )
    if code == 402 or "insufficient_quota" in message:
        return Failure("fatal", f"the account has no credit left ({code}{message})")
    if code in (404, 405):
        reason = f"the server has no such model or address ({code}{message}); see --model and --base-url"
        return Failure("fatal", reason, is_missing=True)
    if code in _AGAIN or code >= 500:
        return Failure("again", f"the server said {code}{message}", retry_after(error.response.headers, time.time()))
    if _TOO_LONG.search(message):
        return Failure("refused", f"{TOO_LONG} ({code}{message})")
    return Failure("refused", f"the server refused the request ({code}{message})")


def _said(error: openai.APIStatusError) -> str:
    """`: MESSAGE` of the error's body, shortened; empty if it has none."""
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error") if isinstance(body.get("error"), dict) else body
    message = inner.get("message") if isinstance(inner, dict) else None
    code = inner.get("code") if isinstance(inner, dict) else None
    texts = [text for text in (code, message) if isinstance(text, str) and text]
    return f": {' '.join(' '.join(texts).split())[:200]}" if texts else ""


def _of_connection(error: openai.APIConnectionError) -> Failure:
    names = {type(cause).__name__ for cause in _causes(error)}
    refused = "ConnectError" in names
    text = next((str(cause) for cause in reversed(list(_causes(error))) if str(cause)), "")
    problem = "no connection to the server" if refused else "the connection was lost"
    return Failure("gone", f"{problem}{f' ({text[:100]})' if text else ''}")


def _causes(error: BaseException) -> list[BaseException]:
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return causes


def _cause(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    return next((cause for cause in _causes(error) if isinstance(cause, kind)), None)
