"""A sentence encoder: a text as a point, the mean of its tokens' last hidden states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from calprobe.arrays import Floats
from calprobe.models.loaded_model import LoadOptions
from calprobe.models.text_models import TextModel, forward_by_length, load_text_model


@dataclass(frozen=True, slots=True)
class SentenceEncoder:
    """An encoder whose sentences are means over tokens, as those of the sentence-transformers' MiniLM are."""

    model: TextModel

    def embeddings(self, texts: Sequence[str]) -> tuple[Floats, int]:
        """Of each text, [texts, dimensions], of length 1; and how many were longer than the positions, and cut."""

        def compute(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            states = self.model.network(**batch).last_hidden_state.float()
            mask = batch["attention_mask"].unsqueeze(-1).float()
            mean = (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)
            return torch.nn.functional.normalize(mean, dim=-1)

        found, cut = forward_by_length(self.model, texts, compute)
        return found.double().numpy(), cut


def load_sentence_encoder(name: str, options: LoadOptions) -> SentenceEncoder:
    """Load an encoder by name: hub id, folder, or `all-minilm-l6-v2` of its package. Raises as `load_model` does."""
    return SentenceEncoder(load_text_model(name, options, "AutoModel", unused=("pooler.",)))
