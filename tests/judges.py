"""A judge without a model: it knows which answers are right, and how sure it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from fake_backend import FakeBackend

from calprobe.backends.protocol import Decoding, Dialogue
from calprobe.runs import LabelScores, Reply


@dataclass
class ScriptedJudge(FakeBackend):
    """Gives each answer the probability of Yes that `knows` has for it, 0.1 where it has none."""

    name: str = "fake"
    knows: Mapping[str, float] = field(default_factory=dict)
    mass: float = 0.9  # of Yes and No together
    prompts: list[str] = field(default_factory=list)

    def _reply(
        self, dialogue: Dialogue, stage: str, sample: int, prompt: str, labels: tuple[str, ...], decoding: Decoding
    ) -> Reply:
        made = super()._reply(dialogue, stage, sample, prompt, labels, decoding)
        self.prompts.append(prompt)
        found = re.search(r"^Answer to grade: (.*)$", prompt, re.MULTILINE)
        assert found is not None
        yes = self.knows.get(found[1], 0.1)
        if made.finish == "error":
            return made
        if not labels:
            return replace(made, text="Yes, it is." if yes > 0.5 else "no" if yes > 0 else "Hm")
        with np.errstate(divide="ignore"):
            logprobs = np.log(np.array([[yes * self.mass, (1 - yes) * self.mass]]))
        scores = LabelScores(labels, ((1,), (2,)), np.array([0]), logprobs, np.array([-np.inf]))
        word = "Hm" if self.mass < 0.1 else "Yes" if yes > 0.5 else "No"
        return replace(made, text=word, label_scores=scores)
