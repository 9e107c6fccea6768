"""Claim-conditioned probability: how much of a token's probability says what the reply says, and not the contrary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.answers.token_claims import Alternatives, Context, ccp_pairs, compared
from calprobe.arrays import Floats, Ints, check_vector, refuse

# Pairs of premise and hypothesis -> probabilities of entailment, neutral, contradiction, [pairs, 3].
Judge = Callable[[Sequence[tuple[str, str]]], npt.ArrayLike]
ENTAILS, NEUTRAL, CONTRADICTS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class ClaimProbability:
    """CCP of a reply. Larger is surer; NaN without tokens."""

    product: float  # over all tokens: falls with the length of the reply
    mean: float  # exp of the mean logarithm: length-normalised
    least: float  # of the least certain token
    tokens: Floats  # [tokens]


def ccp_token(logprobs: npt.ArrayLike, relations: npt.ArrayLike) -> float:
    """`sum_E p / (sum_E p + sum_C p)` of one position: E says the same as the token, C the contrary. Larger is surer.

    Fadeeva et al. 2024, "Fact-Checking the Output of Large Language Models via Token-Level Uncertainty Quantification".
    Neutral alternatives count nowhere.

    Args:
        logprobs: [alternatives], nats, the token that was generated first; it belongs to E.
        relations: [alternatives], 0 entails, 1 neutral, 2 contradicts, see `combined_relation`.
    Returns:
        In (0, 1]; 1 where no alternative contradicts.
    Raises:
        ValueError: shapes differ, no alternatives, or log-probabilities above 0.

    >>> round(ccp_token(np.log([0.6, 0.3, 0.1]), [0, 2, 1]), 4)  # 0.6 / 0.9
    0.6667
    """
    logs, labels = check_vector("logprobs", logprobs, "alternatives"), np.asarray(relations)
    refuse("logprobs", "must be 0 or less and not NaN", logs, ~(logs <= 1e-6))
    if not len(logs) or labels.shape != logs.shape:
        raise ValueError(f"relations must have an entry for each of 1 alternative or more; got {labels.shape}")
    p = np.exp(logs - logs.max())
    same = p[np.append(True, labels[1:] == ENTAILS)].sum()
    return float(same / (same + p[1:][labels[1:] == CONTRADICTS].sum()))


def combined_relation(forward: npt.ArrayLike, backward: npt.ArrayLike) -> Ints:
    """The relation of two texts from the largest probability in either direction, [pairs], 0, 1 or 2.

    Equal: that. Entailment against contradiction: neutral. Else the one that is not neutral.

    >>> combined_relation([[0.8, 0.1, 0.1], [0.9, 0.1, 0.0]], [[0.1, 0.8, 0.1], [0.0, 0.1, 0.9]]).tolist()
    [0, 1]
    """
    ahead, back = (
        np.asarray(probabilities, np.float64).reshape(-1, 3).argmax(axis=1) for probabilities in (forward, backward)
    )
    sharper = np.where(ahead == NEUTRAL, back, ahead)
    opposed = (np.minimum(ahead, back) == ENTAILS) & (np.maximum(ahead, back) == CONTRADICTS)
    relation: Ints = np.where(opposed, NEUTRAL, sharper).astype(np.int64)
    return relation


def ccp(tokens: Sequence[Alternatives], judge: Judge, context: Context = "sentence") -> ClaimProbability:
    """Claim-conditioned probability of a reply, from the alternatives of its tokens and a judge of entailment.

    `product` is Fadeeva et al. 2024 over all tokens. `mean`, `exp(1/T sum_t ln CCP_t)`, does not fall with the length.

    Args:
        tokens: [tokens], of the reply alone, not of a thought before it; alternatives with natural log-probabilities.
        judge: what compares two texts; called once, with all pairs.
        context: see `calprobe.answers.token_claims.ccp_pairs`. Equal texts entail each other without a judge.
    Raises:
        ValueError: as `ccp_token`, or a judge that does not give three probabilities a pair.

    >>> contrary = lambda pairs: [[0.0, 0.0, 1.0] for _ in pairs]
    >>> found = ccp([[(" Paris", np.log(0.6)), (" Rome", np.log(0.2))], [(".", 0.0)]], contrary)
    >>> round(found.product, 4), round(found.mean, 4), round(found.least, 4)
    (0.75, 0.866, 0.75)
    """
    pairs = ccp_pairs(tokens, context)
    probabilities = np.asarray(judge(pairs), np.float64) if pairs else np.zeros((0, 3))
    if probabilities.shape != (len(pairs), 3):
        raise ValueError(f"judge must give 3 probabilities for each of {len(pairs)} pairs; got {probabilities.shape}")
    labels = dict(zip(pairs, combined_relation(probabilities, probabilities[_turned(pairs)]).tolist(), strict=True))
    values = np.array(
        [
            ccp_token([logprob for _, logprob in alternatives], [labels.get(pair, ENTAILS) for pair in texts])
            for alternatives, texts in zip(tokens, compared(tokens, context), strict=True)
        ]
    )
    if not len(values):
        return ClaimProbability(float("nan"), float("nan"), float("nan"), values)
    logs = np.log(values)
    return ClaimProbability(float(np.exp(logs.sum())), float(np.exp(logs.mean())), float(values.min()), values)


def _turned(pairs: Sequence[tuple[str, str]]) -> Ints:
    """The place of each pair in the other direction."""
    place = {pair: number for number, pair in enumerate(pairs)}
    return np.array([place[second, first] for first, second in pairs], np.int64)
