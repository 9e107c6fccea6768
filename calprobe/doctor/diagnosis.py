"""What the doctor found, as plain data: checks, the verdict over them, and their JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from calprobe.wording import shown

State = Literal["ok", "note", "fail"]  # note: works, though slower or without something; fail: scoring does not work
_VERDICT_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. Texts carry no home folder and no secrets: `shown` has seen to it."""

    name: str
    state: State
    value: str
    mend: str = ""  # what to do about it, one line; empty where there is nothing to do
    facts: Mapping[str, Any] = field(default_factory=dict)  # the numbers behind `value`, for --json
    group: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", shown(self.value))
        object.__setattr__(self, "mend", shown(self.mend))


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
        """What `calprobe doctor --json` prints."""
        checks = [{"group": check.group, **asdict(check), "mend": check.mend or None} for check in self.checks]
        return {"calprobe": self.version, "verdict": self.verdict, "ready": self.ready, "checks": checks}
