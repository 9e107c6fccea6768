"""What a sweep's jobs cost: counted once for each tokenizer and task, remembered, or guessed."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from calprobe.asking.plan import Plan
    from calprobe.models import LoadedModel
    from calprobe.runs.remembered import Remembered
    from calprobe.scoring import ScoreOptions, Selection
    from calprobe.sweep.costs import Cost
    from calprobe.words import ModelKind

log = logging.getLogger(__name__)


class Workload(Protocol):
    """What a job scores or asks, whatever the model."""

    @property
    def units(self) -> int:
        """Statements, or requests."""
        ...

    @property
    def content(self) -> str:
        """All that decides the texts, beside the model."""
        ...

    def counted(self, model: LoadedModel) -> Cost:
        """By a model's tokenizer. Raises CalprobeError for texts that it cannot take."""
        ...

    def guessed(self, kind: ModelKind) -> Cost:
        """By the letters of the texts."""
        ...


@dataclass(frozen=True, slots=True)
class ScoreWorkload:
    """The statements of a `score`."""

    selection: Selection
    options: ScoreOptions

    @property
    def units(self) -> int:
        """See `Workload`."""
        chosen = self.selection
        return sum(relation.n_statements for relation in chosen.relations) * len(chosen.numbers)

    @property
    def content(self) -> str:
        """See `Workload`."""
        chosen, options = self.selection, self.options
        parts = [(relation.name, [i.index for i in relation.instances]) for relation in chosen.relations]
        made = (chosen.probe.fingerprint, chosen.template_source().fingerprint, chosen.numbers, parts)
        return repr(("score", made, options.pll_metric, options.word_split))

    def counted(self, model: LoadedModel) -> Cost:
        """See `Workload`."""
        from calprobe.scoring.cost import counted_tokens
        from calprobe.sweep.costs import Cost

        tokens, exact = counted_tokens(model, self.selection, self.options)
        return Cost(tokens, exact=exact)

    def guessed(self, kind: ModelKind) -> Cost:
        """See `Workload`."""
        from calprobe.scoring.cost import guessed_tokens
        from calprobe.sweep.costs import Cost

        return Cost(guessed_tokens(self.selection, kind), counted=False, exact=False)


@dataclass(frozen=True, slots=True)
class AskWorkload:
    """The questions of an `ask`."""

    plan: Plan

    @property
    def units(self) -> int:
        """See `Workload`."""
        return self.plan.n_requests

    @property
    def content(self) -> str:
        """See `Workload`."""
        from calprobe.runs.asked_questions import question_hash

        plan = self.plan
        asked = [(own.name, [question_hash(question) for question in own.questions]) for own in plan.sets]
        return repr(("ask", asked, plan.prompts.fingerprint, plan.options, plan.asked))

    def counted(self, model: LoadedModel) -> Cost:
        """See `Workload`."""
        from calprobe.asking.cost import counted_tokens
        from calprobe.sweep.costs import Cost

        found = counted_tokens(model, self.plan)
        return Cost(found.prompts, found.generated, exact=found.exact)

    def guessed(self, kind: ModelKind) -> Cost:
        """See `Workload`."""
        from calprobe.asking.cost import guessed_tokens
        from calprobe.sweep.costs import Cost

        found = guessed_tokens(self.plan)
        return Cost(found.prompts, found.generated, counted=False, exact=False)


@dataclass(slots=True)
class Costs:
    """Costs by tokenizer and task.

    A dry run counts what is not remembered. The sweep itself only remembers, so that it begins at once: what no dry
    run has counted is guessed by the letters.
    """

    store: Remembered
    counting: bool
    _files: dict[str, str | None] = field(default_factory=dict)
    _contents: dict[int, str] = field(default_factory=dict)
    _models: dict[str, LoadedModel | None] = field(default_factory=dict)
    _guesses: dict[tuple[int, str], Cost] = field(default_factory=dict)

    def cost(self, model: str, kind: ModelKind | None, workload: Workload) -> Cost:
        """What a job costs a model."""
        from calprobe.models.texts import tokenizer_files
        from calprobe.sweep.costs import keep, recalled

        if model not in self._files:
            self._files[model] = tokenizer_files(model)
        files = self._files[model]
        if files is None:
            return self._guessed(model, kind, workload)
        key = f"{files[:16]} {kind or ''} {self._content(workload)}"
        found = recalled(self.store, key)
        if found is None and self.counting:
            found = self._counted(model, kind, files, workload)
            if found is not None:
                keep(self.store, key, found)
        return found or self._guessed(model, kind, workload)

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

    def _content(self, workload: Workload) -> str:
        if id(workload) not in self._contents:
            self._contents[id(workload)] = hashlib.sha256(
                workload.content.encode("utf-8", "backslashreplace")
            ).hexdigest()[:24]
        return self._contents[id(workload)]
