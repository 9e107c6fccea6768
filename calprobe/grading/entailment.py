"""Judges of entailment: a model of natural-language inference, or a model that answers, asked about each pair."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from calprobe.arrays import Floats
from calprobe.asking.request_identity import engine_hash
from calprobe.asking.run_manifest import backend_record
from calprobe.backends.options import BACKENDS, BackendOptions
from calprobe.backends.protocol import Backend, Decoding, Dialogue, Message, Pending
from calprobe.backends.registry import using_backend
from calprobe.errors import UsageError
from calprobe.runs.asked_manifest import AskManifest
from calprobe.runs.grades import LEAST_MASS, LITTLE_MASS
from calprobe.runs.meanings import Pair
from calprobe.runs.replies import Reply
from calprobe.runs.stages import LABEL

if TYPE_CHECKING:
    from calprobe.models import LoadOptions

log = logging.getLogger(__name__)

SELF = "self"  # in the place of a model's name: the model that has answered
LABELS = ("A", "B", "C")  # entailment, neutral, contradiction
PROMPT = (
    "Text 1: {premise}\nText 2: {hypothesis}\n\nSuppose that text 1 is true. Then text 2 is\nA. true as well\n"
    "B. possibly true and possibly false\nC. false\n\nReply with A, B or C and nothing else.\nAnswer:"
)
_AT_ONCE = 1_024


class Judge(Protocol):
    """What says of pairs of texts whether the first entails the second, contradicts it, or neither."""

    @property
    def name(self) -> str:
        """As reports show it."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of all that its judgements depend on."""

    @property
    def how(self) -> str:
        """By what it judges, for disclosures; empty: it is a model of entailment."""

    @property
    def contradicts(self) -> bool:
        """Whether it tells contradictions from what is neither."""

    @property
    def at_once(self) -> int:
        """Pairs that are stored together: what a kill loses at most."""

    def probabilities(self, pairs: Sequence[Pair]) -> tuple[Floats, int]:
        """Of entailment, neutral and contradiction, [pairs, 3]; how many pairs were cut. NaN where it says nothing."""


@contextmanager
def judge_of(nli: str | Backend, manifest: AskManifest, options: LoadOptions) -> Iterator[Judge]:
    """The judge of that name, of an open backend, or, for `self`, the model that has answered.

    Raises UsageError where that model is not known or is another one by now; as loading a model does.
    """
    if isinstance(nli, str) and nli != SELF:
        from calprobe.models.pair_classifier import load_pair_classifier

        yield load_pair_classifier(nli, options)
        return
    if isinstance(nli, str):
        nli, engine = _own_model(manifest)
    else:
        engine = BackendOptions()
    with using_backend(nli, engine, options if engine.backend != "openai" else None) as backend:
        if engine_hash(backend.model, backend_record(backend)) != engine_hash(manifest.model, manifest.backend):
            log.info("%s now runs otherwise than when it answered", manifest.model.name)
        weights = (backend.model.weights_fingerprint, manifest.model.weights_fingerprint)
        if isinstance(nli, str) and None not in weights and weights[0] != weights[1]:
            raise UsageError(f"--nli self: {nli} has other weights than the model that answered; give another --nli")
        able = backend.capabilities
        if not able.complete_softmax and able.top_logprobs < len(LABELS):
            raise UsageError(f"--nli self: {backend.model.name} on {backend.name} shows too few log-probabilities")
        yield ModelJudge(backend)


def _own_model(manifest: AskManifest) -> tuple[str, BackendOptions]:
    engine = next((name for name in BACKENDS if name == manifest.backend.name), None)
    if manifest.is_import or engine is None:
        raise UsageError("--nli self: the model that answered is not known, of an import; give a model by name")
    return manifest.model.name, BackendOptions(
        engine, base_url=manifest.backend.address if engine == "openai" else None
    )


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A model that answers, by the probabilities of three labels at the first position of its reply."""

    backend: Backend
    # The mean mass on the three labels, of each part judged so far: the first one says whether the model can judge.
    masses: list[float] = field(default_factory=list, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.backend.model.name

    @property
    def how(self) -> str:
        """By what it judges."""
        return "asked about each pair, by the probabilities of three labels"

    @property
    def fingerprint(self) -> str:
        """Of the engine, of the prompt, and of the mass that a judgement has at least."""
        engine = engine_hash(self.backend.model, backend_record(self.backend))
        return hashlib.sha256(f"{engine}\n{PROMPT}\n{LEAST_MASS}".encode()).hexdigest()

    @property
    def contradicts(self) -> bool:
        """Its third label."""
        return True

    @property
    def at_once(self) -> int:
        """Few: a model that answers takes its time for each."""
        return _AT_ONCE

    def probabilities(self, pairs: Sequence[Pair]) -> tuple[Floats, int]:
        """As `Judge`; nothing is cut: a pair that is too long has no probabilities.

        Nor has one of whose labels the model thinks next to nothing: their shares would be no judgement.
        """
        probabilities, masses = np.full((len(pairs), 3), np.nan), []
        for reply in self.backend.replies(Pending(_dialogue(n, pair)) for n, pair in enumerate(pairs)):
            mass = _masses(reply)
            if mass is None:
                continue
            masses.append(float(mass.sum()))
            if mass.sum() >= LEAST_MASS:
                probabilities[int(reply.question)] = mass / mass.sum()
        if masses:
            self.masses.append(float(np.mean(masses)))
            if len(self.masses) == 1 and self.masses[0] < LITTLE_MASS:
                log.warning(
                    "%s gives A, B and C %.2f of its probability on average, other words the rest; judge by another "
                    "model",
                    *(self.backend.model.name, self.masses[0]),
                )
        return probabilities, 0


def _dialogue(number: int, pair: Pair) -> Dialogue:
    premise, hypothesis = pair
    return Dialogue(
        set="pairs",
        question=str(number),
        variant="entailment",
        messages=(Message("user", PROMPT.replace("{hypothesis}", hypothesis).replace("{premise}", premise)),),
        decoding=Decoding(1),
        stage=LABEL,
        labels=LABELS,
        keys={(LABEL, 0): str(number)},
    )


def _masses(reply: Reply) -> Floats | None:
    """The labels' masses; None where the request failed."""
    scores = reply.label_scores
    if reply.finish == "error" or scores is None or not len(scores.positions):
        return None
    masses: Floats = np.exp(scores.logprobs[0])
    return masses
