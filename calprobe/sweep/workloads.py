"""What jobs score or ask, and what that costs: counted once for each tokenizer and task, remembered, or guessed."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.remembered import Remembered

if TYPE_CHECKING:
    from calprobe.asking.plan import Plan
    from calprobe.models import LoadedModel
    from calprobe.scoring import ScoreOptions, Selection
    from calprobe.words import ModelKind

log = logging.getLogger(__name__)

REMEMBERED = "costs.json"  # in the user's cache


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of one job that go through its model."""

    forwarded: int  # of prefix trees, masked rows or prompts
    generated: int = 0  # of replies at their longest
    counted: bool = True  # by the model's tokenizer; False: guessed by the letters
    exact: bool = True  # False: counted on a sample, and scaled

    @property
    def tokens(self) -> int:
        """All that go through the model."""
        return self.forwarded + self.generated


@dataclass(frozen=True)
class Workload:
    """What a job scores or asks, whatever the model."""

    units: int  # statements, or requests
    decisive: Callable[[], object]  # all that decides the texts, beside the model
    counted: Callable[[LoadedModel], Cost]  # by a model's tokenizer; CalprobeError for texts that it cannot take
    guessed: Callable[[ModelKind], Cost]  # by the letters of the texts

    @cached_property
    def content(self) -> str:
        """A hash of all that decides the texts."""
        return hashlib.sha256(repr(self.decisive()).encode("utf-8", "backslashreplace")).hexdigest()[:24]


def score_workload(selection: Selection, options: ScoreOptions) -> Workload:
    """The statements of a `score`."""
    from calprobe.scoring import cost

    def decisive() -> object:
        instances = [(relation.name, [i.index for i in relation.instances]) for relation in selection.relations]
        content = (selection.probe.fingerprint, selection.template_source().fingerprint, selection.numbers, instances)
        return "score", content, options.pll_metric, options.word_split

    def counted(model: LoadedModel) -> Cost:
        tokens, exact = cost.counted_tokens(model, selection, options)
        return Cost(tokens, exact=exact)

    def guessed(kind: ModelKind) -> Cost:
        return Cost(cost.guessed_tokens(selection, kind), counted=False, exact=False)

    statements = sum(relation.n_statements for relation in selection.relations) * len(selection.numbers)
    return Workload(statements, decisive, counted, guessed)


def ask_workload(plan: Plan) -> Workload:
    """The questions of an `ask`."""
    from calprobe.asking import ask_cost
    from calprobe.runs.asked_questions import question_hash

    def decisive() -> object:
        sets = [(chosen.name, [question_hash(question) for question in chosen.questions]) for chosen in plan.sets]
        return "ask", sets, plan.prompts.fingerprint, plan.options, plan.asked

    def counted(model: LoadedModel) -> Cost:
        tokens = ask_cost.counted_tokens(model, plan)
        return Cost(tokens.prompts, tokens.generated, exact=tokens.exact)

    def guessed(_kind: ModelKind) -> Cost:
        tokens = ask_cost.guessed_tokens(plan)
        return Cost(tokens.prompts, tokens.generated, counted=False, exact=False)

    return Workload(plan.n_requests, decisive, counted, guessed)


@dataclass(slots=True)
class Costs:
    """Costs by tokenizer and task.

    A dry run counts what is not remembered. The sweep itself only remembers, so that it begins at once: what no dry
    run has counted is guessed by the letters.
    """

    store: Remembered
    counting: bool
    _files: dict[str, str | None] = field(default_factory=dict)
    _models: dict[str, LoadedModel | None] = field(default_factory=dict)
    _guesses: dict[tuple[int, str], Cost] = field(default_factory=dict)

    def cost(self, model: str, kind: ModelKind | None, workload: Workload) -> Cost:
        """What a job costs a model."""
        from calprobe.models.texts import tokenizer_files

        if model not in self._files:
            self._files[model] = tokenizer_files(model)
        files = self._files[model]
        if files is None:
            return self._guessed(model, kind, workload)
        key = f"{files[:16]} {kind or ''} {workload.content}"
        cost: Cost | None = None
        with suppress(DecodeError):
            cost = decode(Cost, self.store.recall(key))
        if cost is None and self.counting:
            cost = self._counted(model, kind, files, workload)
            if cost is not None:
                self.store.keep(key, asdict(cost))
        return cost or self._guessed(model, kind, workload)

    def _counted(self, model: str, kind: ModelKind | None, files: str, workload: Workload) -> Cost | None:
        from calprobe.models.texts import without_weights

        place = f"{files} {kind}"
        if place not in self._models:
            self._models[place] = without_weights(model, kind)
        loaded = self._models[place]
        try:
            return None if loaded is None else workload.counted(loaded)
        except Exception as error:  # noqa: BLE001 - a chat template may raise anything; the job itself says so
            log.debug("%s: no tokens are counted: %s", model, error)
            return None

    def _guessed(self, model: str, kind: ModelKind | None, workload: Workload) -> Cost:
        from calprobe.models.aliases import ALIASES

        likely = kind or (ALIASES[model].kind if model in ALIASES else "causal")
        place = (id(workload), likely)
        if place not in self._guesses:
            self._guesses[place] = workload.guessed(likely)
        return self._guesses[place]
