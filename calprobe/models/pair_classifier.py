"""A model of natural-language inference: does one text entail another, contradict it, or neither?

Some have two labels, entailment or not: what needs contradictions cannot be said by these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from calprobe.arrays import Floats
from calprobe.errors import CalprobeError
from calprobe.models.loaded_model import LoadOptions
from calprobe.models.text_models import TextModel, forward_by_length, load_text_model
from calprobe.words import ENTAILMENT_ALONE

_AT_ONCE = 32_768
# Beginnings of the names that checkpoints give the labels, in the order of results.
_STEMS, _TWO_STEMS = ("entail", "neutral", "contra"), ("entail", "not")


@dataclass(frozen=True, slots=True)
class PairClassifier:
    """A sequence-classification checkpoint with the three labels, or with entailment and its contrary alone."""

    model: TextModel
    places: tuple[int, ...]  # of entailment, neutral, contradiction among its outputs; of entailment and not

    @property
    def name(self) -> str:
        """As the user typed it."""
        return self.model.name

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of weights and tokenizer."""
        return self.model.fingerprint

    @property
    def how(self) -> str:
        """Of two labels that there are no more; of three nothing is to be said: it is made for this."""
        return "" if self.contradicts else ENTAILMENT_ALONE

    @property
    def contradicts(self) -> bool:
        """Whether it tells contradictions from what is neither."""
        return len(self.places) == len(_STEMS)

    @property
    def at_once(self) -> int:
        """Pairs that are stored together."""
        return _AT_ONCE

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> tuple[Floats, int]:
        """Of each pair of premise and hypothesis, [pairs, 3]: entailment, neutral, contradiction; softmax in float32.

        Of two labels, what is not entailment counts as neutral, and contradiction is 0. Also how many pairs were longer
        than the model's positions, and cut.
        """
        places = list(self.places)

        def compute(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            logits = self.model.network(**batch).logits.float()
            return torch.softmax(logits, dim=-1)[:, places]

        found, cut = forward_by_length(self.model, [list(pair) for pair in pairs], compute)
        probabilities = found.double().numpy().reshape(-1, len(places))
        return np.pad(probabilities, ((0, 0), (0, len(_STEMS) - len(places)))), cut


def load_pair_classifier(name: str, options: LoadOptions) -> PairClassifier:
    """Load a checkpoint by name: hub id or folder.

    Raises CalprobeError where its labels are neither the three nor the two by name, or parameters are missing; as
    `load_model` else.
    """
    model = load_text_model(name, options, "AutoModelForSequenceClassification")
    return PairClassifier(model, label_places(model.network.config.id2label, name))


def label_places(labels: Mapping[int, str], name: str) -> tuple[int, ...]:
    """Where entailment, neutral and contradiction are among a config's labels, or of two entailment and not.

    >>> label_places({0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}, "nli")
    (2, 1, 0)
    >>> label_places({0: "entailment", 1: "not_entailment"}, "nli")
    (0, 1)
    """
    stems = _TWO_STEMS if len(labels) == len(_TWO_STEMS) else _STEMS
    found = [[int(place) for place, label in labels.items() if label.lower().startswith(stem)] for stem in stems]
    if len(labels) != len(stems) or any(len(own) != 1 for own in found):
        shown = ", ".join(map(str, labels.values()))
        raise CalprobeError(
            f"{name}: its config.json names the labels {shown:.200}, not entailment, neutral and contradiction, nor "
            "entailment and not_entailment; give a model of natural-language inference, or name its labels under "
            "id2label"
        )
    return tuple(own[0] for own in found)
