"""A model of natural-language inference: does one text entail another, contradict it, or neither?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from calprobe.arrays import Floats
from calprobe.errors import CalprobeError
from calprobe.models.text_models import TextModel, forward_by_length, load_text_model
from calprobe.models.types import LoadOptions

# Beginnings of the names that checkpoints give the three labels, in the order of results.
RELATIONS: Mapping[str, str] = {"entailment": "entail", "neutral": "neutral", "contradiction": "contradict"}
_AT_ONCE = 32_768
_STEMS = ("entail", "neutral", "contra")


@dataclass(frozen=True, slots=True)
class PairClassifier:
    """A sequence-classification checkpoint with the three labels."""

    model: TextModel
    places: tuple[int, int, int]  # of entailment, neutral, contradiction among its outputs

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
        """Nothing to be said of: it is made for this."""
        return ""

    @property
    def at_once(self) -> int:
        """Pairs that are stored together."""
        return _AT_ONCE

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> tuple[Floats, int]:
        """Of each pair of premise and hypothesis, [pairs, 3]: entailment, neutral, contradiction; softmax in float32.

        Also how many pairs were longer than the model's positions, and cut.
        """
        places = list(self.places)

        def compute(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            logits = self.model.network(**batch).logits.float()
            return torch.softmax(logits, dim=-1)[:, places]

        found, cut = forward_by_length(self.model, [list(pair) for pair in pairs], compute)
        return found.double().numpy().reshape(-1, 3), cut


def load_pair_classifier(name: str, options: LoadOptions) -> PairClassifier:
    """Load a checkpoint by name: hub id or folder.

    Raises CalprobeError where its labels are not the three by name, or parameters are missing; as `load_model` else.
    """
    model = load_text_model(name, options, "AutoModelForSequenceClassification")
    return PairClassifier(model, label_places(model.network.config.id2label, name))


def label_places(labels: Mapping[int, str], name: str) -> tuple[int, int, int]:
    """Where entailment, neutral and contradiction are among a config's labels.

    >>> label_places({0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}, "nli")
    (2, 1, 0)
    """
    found = [[int(place) for place, label in labels.items() if label.lower().startswith(stem)] for stem in _STEMS]
    if len(labels) != len(_STEMS) or any(len(own) != 1 for own in found):
        shown = ", ".join(map(str, labels.values()))
        raise CalprobeError(
            f"{name}: its config.json names the labels {shown:.200}, not entailment, neutral and contradiction; give a "
            "model of natural-language inference, or name its labels under id2label"
        )
    return found[0][0], found[1][0], found[2][0]
