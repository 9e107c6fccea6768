"""The options of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, get_args

from calprobe.errors import UsageError
from calprobe.words import ModelKind, PllMetric, ScoringPath, WordSplit

if TYPE_CHECKING:
    from calprobe.scoring.score_progress import ScoreProgress

Path = ScoringPath
PATHS: tuple[Path, ...] = get_args(ScoringPath)
# From the fastest to the plainest; those of one kind compute the same.
PATHS_OF: Mapping[ModelKind, tuple[Path, ...]] = {
    "causal": ("flat", "tree", "padded", "plain"),
    "masked": ("masked", "plain"),
}
OVER_TREE: tuple[Path, ...] = ("flat", "tree")  # these forward each distinct prefix once


@dataclass(frozen=True, slots=True)
class Masking:
    """What a masked model does not see when it scores a token; both None for a causal model."""

    metric: PllMetric | None = None
    word_split: WordSplit | None = None


NOTHING_MASKED = Masking()
DEFAULT_METRIC: PllMetric = "within_word_l2r"
DEFAULT_WORD_SPLIT: WordSplit = "tokenizer"


@dataclass(frozen=True, slots=True)
class ScoreStudy:
    """What a published study scores."""

    source: str
    probe: str
    templates: str
    template_set: str


STUDIES: Mapping[str, ScoreStudy] = {"kissling": ScoreStudy("arXiv 2601.18901", "bear", "all", "kissling2026")}


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """Which statements of the probe are scored, and how.

    Raises UsageError for a number below 1, an unknown word, a value of another type, and for options that exclude each
    other.

    The defaults score template 0 of every relation and resume an existing run.
    """

    templates: str = "0"  # numbers, ranges and groups (paraphrases, verbal, numeric, all), separated by commas
    template_set: str | None = None  # calprobe, native or a JSON file; None: the probe's default
    relations: tuple[str, ...] | None = None  # None: all
    limit: int | None = None  # N instances of each relation, a sample spread over the answers; None: all
    first: int | None = None  # the first N instances of each relation instead; None: all
    seed: int | None = None  # of the sample of `limit`; None: 0
    batch_tokens: int | None = None  # tokens in one forward pass; None: chosen for the machine
    path: Path | None = None  # None: the fastest that agrees with the model's own forward
    pll_metric: PllMetric | None = None  # of a masked model; None: within_word_l2r
    word_split: WordSplit | None = None  # of a masked model; None: tokenizer
    save_tokens: bool = False  # keep every token's score beside the reductions
    save_labels: bool | None = None  # keep the probe's texts in the run folder; None: if its licence is open
    shard: str | None = None  # I/N, such as 2/8: score the second of eight shares only; None: everything
    resume: bool = True  # resume the run in the folder; False starts over
    quiet: bool = False  # no progress on stderr
    # Called with a `ScoreProgress` after each batch, at most twice a second, in the first process of a launcher.
    progress: Callable[[ScoreProgress], None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for option, value in (("--limit", self.limit), ("--first", self.first), ("--batch-tokens", self.batch_tokens)):
            _check_number(option, value)
        _check_number("--seed", self.seed, least=0)
        if self.limit is not None and self.first is not None:
            raise UsageError("--limit takes a sample, --first the first instances of each relation; give one of them")
        if self.seed is not None and self.limit is None:
            raise UsageError("--seed is that of the sample of --limit; give --limit too, or leave it out")
        if not isinstance(self.templates, str):
            raise UsageError(f"--templates must be a text such as '0,1', got {self.templates!r}")
        if isinstance(self.relations, str):
            raise UsageError(f"--relations must be a tuple of names, got the text {self.relations!r}")
        if self.shard is not None:
            parse_shard(self.shard)
        _check("--path", self.path, PATHS)
        _check("--pll-metric", self.pll_metric, get_args(PllMetric))
        _check("--word-split", self.word_split, get_args(WordSplit))

    @property
    def per_relation(self) -> int | None:
        """Instances of each relation at most; None: all."""
        return self.limit if self.first is None else self.first

    @property
    def sample_seed(self) -> int | None:
        """The seed of the sample; None if none is drawn."""
        return None if self.limit is None else self.seed or 0

    def masking(self, kind: ModelKind, name: str) -> Masking:
        """The masking for a model of that kind and name.

        Raises UsageError for an option of the other kind: its path, or masking of a causal model.
        """
        if self.path not in (None, *PATHS_OF[kind]):
            raise UsageError(
                f"--path {self.path}: {name} is a {kind} language model; its paths are {', '.join(PATHS_OF[kind])}"
            )
        if kind == "masked":
            return Masking(self.pll_metric or DEFAULT_METRIC, self.word_split or DEFAULT_WORD_SPLIT)
        for option, value in (("--pll-metric", self.pll_metric), ("--word-split", self.word_split)):
            if value is not None:
                raise UsageError(
                    f"{option} {value}: {name} is a causal language model, without masking; leave the option out"
                )
        return NOTHING_MASKED


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` shares of a run, numbered from 1: `--shard 2/8`."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def parse_shard(text: str) -> Shard:
    """The share `I/N`, I from 1 to N. Raises UsageError for anything else.

    >>> parse_shard("2/8")
    Shard(number=2, count=8)
    """
    if not (isinstance(text, str) and re.fullmatch(r"(0|[1-9][0-9]*)/(0|[1-9][0-9]*)", text)):
        raise UsageError(f"--shard {text!r}: give I/N, such as 1/4 for the first of four")
    shard = Shard(*map(int, text.split("/")))
    if not 1 <= shard.number <= shard.count:
        allowed = f"I goes from 1 to {shard.count}" if shard.count else "N must be at least 1"
        raise UsageError(f"--shard {text}: in I/N, {allowed}")
    return shard


def _check_number(option: str, value: object, least: int = 1) -> None:
    if value is None:
        return
    # True is an int in Python, but not a number in the manifest.
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{option} must be an int, got {value!r}")
    if value < least:
        raise UsageError(f"{option} must be at least {least}, got {value}")


def _check(option: str, value: str | None, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        raise UsageError(f"{option} must be one of {', '.join(allowed)}, got {value!r}")
