"""What the doctor found: checks, the verdict over them, their JSON, and their text in 80 columns."""

from __future__ import annotations

import platform
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, Literal

from calprobe.messages import finite_or_none, shown

State = Literal["ok", "note", "fail"]  # note: works, though slower or without something; fail: scoring does not work
_VERDICT_CHARACTERS = 200
WIDTH = 80
_STATE, _NAME = 6, 14
_COLOURS = {"ok": "green", "note": "yellow", "fail": "red"}
Paint = Callable[[str, str], str]  # text and colour -> text


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `value` and `fix` have no home folder and no secrets: `shown` leaves them out."""

    name: str
    state: State
    value: str
    fix: str = ""  # what to do about it, one line; empty where there is nothing to do
    facts: Mapping[str, Any] = field(default_factory=dict)  # the numbers behind `value`, for --json
    group: str = ""
    seconds: float = 0.0  # that looking took

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", shown(self.value))
        object.__setattr__(self, "fix", shown(self.fix))


Look = Callable[[], Check | Iterable[Check]]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checks, in the order in which they were made."""

    version: str  # of calprobe
    checks: tuple[Check, ...]

    @property
    def failures(self) -> tuple[Check, ...]:
        """Checks that keep scoring from working."""
        return tuple(check for check in self.checks if check.state == "fail")

    @property
    def ready(self) -> bool:
        """Whether scoring works."""
        return not self.failures

    @property
    def gpus(self) -> int:
        """GPUs that torch sees and that answered."""
        return sum(check.group == "gpu" and check.facts.get("index") is not None for check in self.checks)

    @property
    def verdict(self) -> str:
        """`ready`, `ready, no GPU`, or `NOT ready:` with the first failure and the number of further ones."""
        if self.ready:
            return "ready" if self.gpus else "ready, no GPU"
        first, *more = self.failures
        name = first.name if first.name == first.group else f"{first.group} {first.name}"
        text = f"NOT ready: {name}: {first.value}"[:_VERDICT_CHARACTERS]
        return f"{text} (and {len(more)} more)" if more else text

    def to_json(self) -> dict[str, Any]:
        """What `calprobe doctor --json` prints and `--report` writes: fit to be published."""
        # `mend` is the key that `fix` had in earlier versions; scripts read it.
        checks = [
            {"group": check.group, **asdict(check), "fix": check.fix or None, "mend": check.fix or None}
            for check in self.checks
        ]
        content = {"calprobe": self.version, "verdict": self.verdict, "ready": self.ready, "checks": checks}
        published: dict[str, Any] = publishable(content)
        return published


def publishable(content: Any) -> Any:
    """The same JSON without the home folder, tokens and passwords, with `HOST` for this machine's name.

    NaN and infinities, which JSON does not have, are null.
    """
    if isinstance(content, Mapping):
        return {key: publishable(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [publishable(value) for value in content]
    if not isinstance(content, str):
        return finite_or_none(content)
    host = platform.node()
    named = host not in ("", "localhost")
    return shown(re.sub(rf"(?<![\w-]){re.escape(host)}(?![\w-])", "HOST", content) if named else content)


def diagnosis_text(found: Diagnosis, paint: Paint = lambda text, colour: text) -> str:
    """The report: a heading for each group, a line for each check, with its fix below it, and the verdict last.

    Every check's line begins with `ok`, `note` or `FAIL`; the rest of a long line is below it, indented.
    """
    lines = []
    for group, checks in groupby(found.checks, key=lambda check: check.group):
        lines += [group, *(line for check in checks for line in _lines(check, paint)), ""]
    colour = _COLOURS["ok" if found.ready else "fail"]
    return "\n".join([*lines, paint(f"verdict: {found.verdict}", colour)])


def _lines(check: Check, paint: Paint) -> Iterator[str]:
    state = "FAIL" if check.state == "fail" else check.state
    first, *rest = _wrapped(check.value)
    yield paint(state.ljust(_STATE), _COLOURS[check.state]) + f"{check.name:<{_NAME}}{first}".rstrip()
    indent = " " * (_STATE + _NAME)
    yield from (indent + line for line in rest)
    if check.fix:
        yield from (indent + line for line in _wrapped(f"-> {check.fix}"))


def _wrapped(text: str) -> list[str]:
    # A long path stays on one line, so that it can be copied, even if its line is then longer.
    width = WIDTH - _STATE - _NAME
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
