"""What a caller chooses about a run beside the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from calprobe.errors import UsageError

Path = Literal["tree", "padded", "plain"]  # from the fastest to the plainest; they compute the same
PATHS: tuple[Path, ...] = get_args(Path)


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """Which statements of the probe are scored, and how. Raises UsageError for a number below 1 or an unknown path.

    The defaults score template 0 of every relation and resume what is there.
    """

    templates: str = "0"  # numbers and groups (paraphrases, verbal, numeric, all), combined by commas
    template_set: str | None = None  # calprobe, native or a JSON file; None: the probe's default
    relations: tuple[str, ...] | None = None  # None: all
    limit: int | None = None  # first N instances of each relation; None: all
    batch_tokens: int | None = None  # tokens in one forward pass; None: chosen for the machine
    path: Path | None = None  # None: the fastest that agrees with the model's own forward
    save_tokens: bool = False  # keep every token's score beside the reductions
    resume: bool = True  # go on with what lies in the run folder; False starts over
    quiet: bool = False  # no progress on stderr

    def __post_init__(self) -> None:
        for option, value in (("--limit", self.limit), ("--batch-tokens", self.batch_tokens)):
            if value is not None and value < 1:
                raise UsageError(f"{option} must be at least 1, got {value}")
        if self.path not in (None, *PATHS):
            raise UsageError(f"--path must be one of {', '.join(PATHS)}, got {self.path!r}")
