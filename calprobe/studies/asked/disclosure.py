"""What every report of an asked run ends in: by which definitions and rules it was made, and what it left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from calprobe.answers.graders import JUDGE, UNDECIDED
from calprobe.confidence.asked.readings import DEFAULT
from calprobe.measures.json_values import estimate_json, number_json
from calprobe.measures.number_text import short
from calprobe.messages import counted, shortened
from calprobe.metrics.judged import JudgedAccuracy
from calprobe.runs.grades import LITTLE_MASS
from calprobe.runs.stages import STATED
from calprobe.studies.asked.exact_matches import ExactMatches, exact_warnings

ECE = "10 bins of equal width over [0, 1], (a, b] with 0 in the first; each bin weighs its share of the rows"
OWN = "each label estimator with the correctness of its own most probable label, stated confidence with the answer read"
PAPER = "label and stated confidence with the correctness of the letter read (audit2026); a letter not seen has 0"
Tokens = Mapping[str, Mapping[str, Mapping[str, int]]]  # by set, variant and stage
OF_ITS_KIND = f"the reader of each question's kind ({DEFAULT})"
_NAMED = 3  # reasons of failures that are named
UNREAD = (
    "an answer that could not be parsed is incorrect; a confidence that could not leaves its row out of calibration"
)


@dataclass(frozen=True, slots=True)
class Disclosure:
    """How a report of an asked run was made. Mappings by set go on by variant."""

    prompts: str  # the set's name and the start of its fingerprint; empty: of an import
    variants: tuple[str, ...]
    format_changes: tuple[str, ...]  # left out of spread and of means over variants
    phrasings: tuple[str, ...]  # of stated confidence
    readers: tuple[str, ...]  # confidences go by the first
    pairing: str
    window: int | None  # that labels were looked for in; None: all that the backend gave
    threshold: float  # of the parse rate
    parse_rate: Mapping[str, Mapping[str, Mapping[str, float]]]  # by estimator
    below_threshold: tuple[str, ...]  # SET VARIANT ESTIMATOR
    unread: Mapping[str, Mapping[str, Mapping[str, int]]]  # answers that were not read, by reader
    failed: Mapping[str, Mapping[str, Mapping[str, int]]]  # requests by stage; every number leaves them out
    intervals: str
    partial: bool
    reasons: tuple[tuple[str, int], ...]  # why requests failed, and how many, most first
    missing: Mapping[str, Mapping[str, Mapping[str, int]]]  # replies by stage: not asked for yet, or lost
    about: Mapping[str, str]  # what the manifest says: backend, decoding, chat template
    # Rows by who graded, with how many are right: exact, judge, ..; under the reader that confidences go by
    graded: Mapping[str, Mapping[str, Mapping[str, tuple[int, int]]]] = field(default_factory=dict)
    exact: Mapping[str, ExactMatches] = field(default_factory=dict)  # by set, what exact matching graded
    judged: JudgedAccuracy | None = None  # None: no part, or all, was graded by hand
    judge_mass: float | None = None  # of Yes and No together, see `calprobe.runs.grades`; None: not known, or no judge
    tokens: Tokens = field(default_factory=dict)  # of a reply at most, by stage; empty: of an import
    hidden: tuple[str, ...] = ()  # readers that no table shows
    read_by: Mapping[str, str] = field(default_factory=dict)  # SET VARIANT -> reader, where it is not the first one

    def to_json(self) -> dict[str, Any]:
        """What `calprobe report --json` says under `disclosure`."""
        rates = {
            name: {
                variant: {estimator: number_json(rate) for estimator, rate in cell_rates.items()}
                for variant, cell_rates in cells.items()
            }
            for name, cells in self.parse_rate.items()
        }
        return {
            "ece": ECE,
            "prompts": self.prompts,
            "variants": list(self.variants),
            "format_changes": list(self.format_changes),
            "phrasings": list(self.phrasings),
            "readers": list(self.readers),
            "read_by": dict(self.read_by),
            "pairing": self.pairing,
            "unread_rule": UNREAD,
            "window": self.window,
            "parse_threshold": self.threshold,
            "max_new_tokens": {
                name: {v: dict(counts) for v, counts in cells.items()} for name, cells in self.tokens.items()
            },
            "parse_rate": rates,
            "below_threshold": list(self.below_threshold),
            "unread_answers": {
                name: {v: dict(counts) for v, counts in cells.items()} for name, cells in self.unread.items()
            },
            "graded_by": {
                name: {
                    v: {rule: {"n": n, "right": right} for rule, (n, right) in grades.items()}
                    for v, grades in cells.items()
                }
                for name, cells in self.graded.items()
            },
            "exact_matching": {
                name: {
                    "n": matches.graded,
                    "right": matches.right,
                    "wrong_and_contain_accepted": matches.contain,
                    "sentences": matches.sentences,
                }
                for name, matches in self.exact.items()
            },
            "warnings": list(self.warnings),
            "graded_by_hand": None if self.judged is None else _judged(self.judged),
            "failed_requests": {
                name: {v: sum(counts.values()) for v, counts in cells.items()} for name, cells in self.failed.items()
            },
            "intervals": self.intervals,
            "partial": self.partial,
            "missing": {name: {v: dict(counts) for v, counts in cells.items()} for name, cells in self.missing.items()},
            **({} if self.judge_mass is None else {"judge_mass": self.judge_mass}),
            **self.about,
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of accuracy and confidence has to know first."""
        where = self.about.get("right option")
        one_place = f"The right option is {where}." if where else ""
        return (*exact_warnings(self.exact), *filter(None, (self.judge_warning, one_place)))

    @property
    def judge_warning(self) -> str:
        """That the judge mostly does not answer what it is asked; empty where it does, or decides nothing."""
        by_rule = [by_rule for cells in self.graded.values() for by_rule in cells.values()]
        left, decided = (sum(rules.get(rule, (0, 0))[0] for rules in by_rule) for rule in (UNDECIDED, JUDGE))
        if self.judge_mass is None or self.judge_mass >= LITTLE_MASS or not left + decided:
            return ""
        wrong = f"; {left:,} of {counted(left + decided, 'answer')} have no verdict of it and count as wrong"
        return (
            f"The judge mostly does not answer what it is asked: Yes and No have {short(self.judge_mass, 2)} of its "
            f"probability on average{wrong if left else ''}."
        )

    def lines(self) -> Iterator[tuple[str, str]]:
        """Each point as a title and a sentence, in a fixed order."""
        yield "ECE", ECE
        yield "answers", f"read by {self._read_by()}; {UNREAD}"
        yield from self._graded_lines()
        yield "pairing", self.pairing
        yield "prompts", self.prompts or "unknown, of an import"
        yield "variants", ", ".join(self.variants) or "none"
        if self.format_changes:
            yield "left out", f"{', '.join(self.format_changes)} (another form of answer), from spread and means"
        yield "phrasings", ", ".join(self.phrasings) or "no stated confidence was asked for"
        if any(budgets for cells in self.tokens.values() for budgets in cells.values()):
            yield "tokens", tokens_text(self.tokens)
        yield from self._parse_lines()
        yield "labels", f"in a window of {self.window} tokens" if self.window else "all that the backend gave"
        yield "failures", f"{self._failed_text()}; unread answers: {self._unread_text()}"
        for name, cells in self.missing.items():
            for variant, stages in cells.items():
                text = ", ".join(f"{stage} {number:,}" for stage, number in stages.items())
                yield "missing", f"replies of {name}, {variant}: {text}; these are left out"
        yield "intervals", self.intervals
        yield from self.about.items()

    def _parse_lines(self) -> Iterator[tuple[str, str]]:
        if not self.phrasings:
            return
        for name, cells in self.parse_rate.items():
            for variant, cell_rates in cells.items():
                rates = ", ".join(f"{estimator} {_share(rate)}" for estimator, rate in cell_rates.items())
                yield "parse rate", f"{name}, {variant}: {rates}"
        below = "; ".join(self.below_threshold) or "none"
        yield "threshold", f"parse rate {self.threshold:g}; below it, and left out of means over variants: {below}"

    def _graded_lines(self) -> Iterator[tuple[str, str]]:
        """Who graded, of runs in which it is not the label alone."""
        totals: dict[str, tuple[int, int]] = {}
        for by_rule in (by_rule for cells in self.graded.values() for by_rule in cells.values()):
            for rule, (number, right) in by_rule.items():
                before = totals.get(rule, (0, 0))
                totals[rule] = before[0] + number, before[1] + right
        if totals.keys() - {"label", "unread"}:
            ranked = sorted(totals.items(), key=lambda item: -item[1][0])
            yield "graded by", ", ".join(f"{rule} {number:,} ({right:,} right)" for rule, (number, right) in ranked)

    def _read_by(self) -> str:
        by_reader: dict[str, list[str]] = {}
        for cell, reader in self.read_by.items():
            by_reader.setdefault(reader, []).append(cell)
        more = "".join(f", {' and '.join(cells)} by {reader}" for reader, cells in by_reader.items())
        first = self.readers[0]
        return f"{OF_ITS_KIND if first == DEFAULT else first}{more}"

    def _failed_text(self) -> str:
        totals: Counter[str] = Counter()
        for by_stage in (by_stage for cells in self.failed.values() for by_stage in cells.values()):
            totals.update(by_stage)
        stages = ", ".join(f"{stage} {number:,}" for stage, number in totals.items())
        why = "; ".join(
            f"{counted(number, 'time')}: {shortened(reason, 100)}" for reason, number in self.reasons[:_NAMED]
        )
        are = "is" if totals.total() == 1 else "are"
        how = f" ({stages}; {why})" if stages else ""
        return f"{counted(totals.total(), 'request')} failed{how} and {are} left out"

    def _unread_text(self) -> str:
        totals: dict[str, int] = {}
        for cells in self.unread.values():
            for by_reader in cells.values():
                for reader, number in by_reader.items():
                    if reader not in self.hidden:
                        totals[reader] = totals.get(reader, 0) + number
        return ", ".join(f"{reader} {number:,}" for reader, number in totals.items()) or "none"


def tokens_text(tokens: Tokens) -> str:
    """The budget of each stage, and the variants that have another one than most; prompts of one budget are one stage.

    >>> plain, reasoning = {"answer": 32, "stated:percent": 8}, {"answer": 256, "stated:percent": 8}
    >>> tokens_text({"mini": {"plain": plain, "framed": plain, "reasoning": reasoning}})
    'new tokens of a reply at most: answer 32 (reasoning 256), stated 8'
    """
    stages: dict[str, dict[tuple[str, str], int]] = {}
    for name, cells in tokens.items():
        for variant, by_stage in cells.items():
            for stage, budget in by_stage.items():
                stages.setdefault(stage, {})[name, variant] = budget
    texts = {stage: _budget_text(budgets) for stage, budgets in stages.items()}
    of_stated = {text for stage, text in texts.items() if stage.startswith(STATED)}
    if len(of_stated) == 1:
        texts = {"stated" if stage.startswith(STATED) else stage: text for stage, text in texts.items()}
    return "new tokens of a reply at most: " + ", ".join(f"{stage} {text}" for stage, text in texts.items())


def _budget_text(budgets: Mapping[tuple[str, str], int]) -> str:
    (usual, _), *_ = Counter(budgets.values()).most_common(1)
    exceptions: dict[tuple[str, int], list[str]] = {}
    for (name, variant), budget in budgets.items():
        if budget != usual:
            exceptions.setdefault((variant, budget), []).append(name)
    sets = Counter(variant for _, variant in budgets)
    texts = [
        f"{variant}{'' if len(names) == sets[variant] else ' of ' + ' and '.join(names)} {budget:,}"
        for (variant, budget), names in exceptions.items()
    ]
    return f"{usual:,}" + (f" ({', '.join(texts)})" if texts else "")


def _judged(judged: JudgedAccuracy) -> dict[str, Any]:
    rates = ("judged", "sensitivity", "specificity", "accuracy")
    return {
        "right": judged.right,
        "wrong": judged.wrong,
        **{name: estimate_json(getattr(judged, name)) for name in rates},
    }


def _share(rate: float) -> str:
    return "undefined" if math.isnan(rate) else f"{rate:.3f}"
