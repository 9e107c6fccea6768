"""Whether samples are the model's own: their log-probabilities by a plain forward pass, and what is to be expected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from askers.contestants import OneByOne

MAX_DIFFERENCE = 1e-3  # nats, of a token's log-probability
MAX_Z = 4.0  # standard deviations


class Right(NamedTuple):
    """What a plain forward pass says of the samples of some prompts."""

    tokens: int  # end tokens among them
    z: float  # surprise minus entropy, summed over all tokens, in its own standard deviations: about N(0, 1) if right
    largest_difference: float | None  # between log-probabilities given and computed again; None: none were given

    @property
    def why_not(self) -> str | None:
        """None: they are right."""
        if not abs(self.z) <= MAX_Z:  # NaN fails this form
            return f"samples are not the model's: {self.z:.1f} standard deviations from its entropy"
        if self.largest_difference is not None and not self.largest_difference <= MAX_DIFFERENCE:
            return f"log-probabilities differ from a plain forward's by {self.largest_difference:.2g}"
        return None


@torch.inference_mode()
def sampled_right(
    model: OneByOne, prompts: Sequence[str], drawn: Sequence[dict[str, Any]], temperature: float
) -> Right:
    """Hold samples against a plain forward pass of each, one at a time.

    Given what stands before it, a token drawn from p has the expected surprise -sum p log p. Surprises minus
    expectations are a martingale, so that their sum is about normal, with the sum of the variances.

    Args:
        model: weights and tokenizer.
        prompts: the user's turns.
        drawn: of each prompt, `askers.sampling.Drawn` as a dict.
        temperature: of the samples.
    """
    tokenizer, excess, variance, differences, count = model.tokenizer, 0.0, 0.0, [0.0], 0
    for prompt, own in zip(prompts, drawn, strict=True):
        ids = tokenizer(model.rendered(prompt), add_special_tokens=False)["input_ids"]
        for place, (tokens, ended) in enumerate(zip(own["tokens"], own["ended"], strict=True)):
            chosen = torch.tensor([*tokens, *([tokenizer.eos_token_id] if ended else [])])
            inputs = torch.tensor([[*ids, *chosen[:-1].tolist()]])
            logits = model.network(input_ids=inputs, logits_to_keep=len(chosen)).logits[0].double()
            at_one = logits.log_softmax(1).gather(1, chosen[:, None]).squeeze(1)
            logprobs = (logits / temperature).log_softmax(1)
            entropy = -(logprobs.exp() * logprobs).sum(1)
            excess += float((-logprobs.gather(1, chosen[:, None]).squeeze(1) - entropy).sum())
            variance += float(((logprobs.exp() * logprobs.square()).sum(1) - entropy.square()).sum())
            count += len(chosen)
            if own["logprobs"]:
                given = torch.tensor(own["logprobs"][place], dtype=torch.float64)
                differences += (given - at_one[: len(given)]).abs().tolist()
    given_any = any(own["logprobs"] for own in drawn)
    return Right(count, excess / math.sqrt(variance), max(differences) if given_any else None)
