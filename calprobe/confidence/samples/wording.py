"""The share of the uncertainty that comes from the wording, over questions: as printed, and without bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_count, check_numbers
from calprobe.confidence.decomposition import RHO_EPSILON
from calprobe.confidence.samples.variance import VarianceSplit, check_points

SETTLED = 1e-6  # total variance below which a question's answers are all alike
Points = tuple[npt.ArrayLike, npt.ArrayLike]  # of a question: points [samples, axes], groups [samples]

_ROUNDING = 1e-6  # of float32 probabilities that are summed


@dataclass(frozen=True, slots=True)
class WordingShare:
    """The part of the variance that wordings make, over questions. NaN where a question or more is needed."""

    rho: float  # mean over questions of (between + 1e-4) / (total + 2e-4), as printed: 1/2 for a settled question
    rho_unsettled: float  # the same over the questions that are not settled
    ratio_of_sums: float  # sum between / sum total
    by_chance: float  # the same ratio, expected where no wording moves the answers
    unbiased: float  # rho*, 0 on average where no wording moves the answers; may be negative
    settled: float  # share of questions with a total variance below `SETTLED`
    questions: int


def wording_share(splits: Sequence[VarianceSplit], settled: float = SETTLED) -> WordingShare:
    """How much of the variance of answers comes from the wording. Larger is more sensitive to the wording.

    `rho` is Cox et al. 2025, equation 11, averaged over questions: its eps = 1e-4 pulls questions with one answer
    to 1/2, so that a mean over many of them measures their share. The printed baseline 1/n_s is the limit for many
    wordings; exactly it is `(n_p - 1) / (m - 1)`, here `by_chance`, weighted as `ratio_of_sums` is.

    `unbiased`, rho*, is the share of a one-way analysis of variance: with `MS_b = m U_e / (n_p - 1)`,
    `MS_w = m U_a / (m - n_p)` and `B = (sum MS_b - sum MS_w) / n_s` it is `B / (B + sum MS_w)`, sums over questions
    with two wordings or more, and more answers than wordings; n_s is `VarianceSplit.group_size`.

    Args:
        splits: one of each question; those without answers are left out.
        settled: total variance below which a question counts as settled.
    Returns:
        `rho` in (0, 1), `ratio_of_sums` and `by_chance` in [0, 1], `unbiased` at most 1.

    >>> share = wording_share([VarianceSplit(0.25, 0.0, 0.25, 4, 2, 2.0), VarianceSplit(0.25, 0.25, 0.0, 4, 2, 2.0)])
    >>> share.ratio_of_sums, round(share.by_chance, 4), round(share.unbiased, 4)
    (0.5, 0.3333, 0.3333)
    """
    answered = [split for split in splits if split.answers]
    if not answered:
        return WordingShare(*(float("nan"),) * 6, 0)
    total, between = (np.array([getattr(s, name) for s in answered]) for name in ("total", "between"))
    is_settled = total < settled
    rho = (between + RHO_EPSILON) / (total + 2 * RHO_EPSILON)
    chance = np.array([0.0 if split.answers < 2 else split.by_chance for split in answered])
    return WordingShare(
        rho=float(rho.mean()),
        rho_unsettled=float(rho[~is_settled].mean()) if (~is_settled).any() else float("nan"),
        ratio_of_sums=_ratio(between.sum(), total.sum()),
        by_chance=_ratio((chance * total).sum(), total.sum()),
        unbiased=_unbiased(answered),
        settled=float(is_settled.mean()),
        questions=len(answered),
    )


def exact_wording_share(questions: Sequence[npt.ArrayLike], settled: float = SETTLED) -> WordingShare:
    """What `wording_share` of one-hot answers converges to with more samples, of answers with known probabilities.

    Of a question with distributions `p_t` under T wordings: total `V(mean_t p_t)` with `V(p) = 1 - sum_k p_k^2`,
    within `mean_t V(p_t)`, as `calprobe.confidence.variance_decomposition`. `unbiased` has
    `B = T / (T - 1) (total - within)` for each, `sum B / sum (B + within)`; `by_chance` is 0: nothing is sampled.
    What a row lacks of 1 is of replies that agree with no other, as samples without an answer do.

    Args:
        questions: [wordings, answers] each, two wordings or more, rows with a sum up to 1.
        settled: as `wording_share`.
    Returns:
        As `wording_share`; NaN without questions.
    Raises:
        ValueError: not such a distribution.

    >>> share = exact_wording_share([[[0.9, 0.1], [0.1, 0.9]]])
    >>> round(share.ratio_of_sums, 2), round(share.unbiased, 2), share.by_chance
    (0.64, 0.78, 0.0)
    """
    tables = [_distributions(question) for question in questions]
    if not tables:
        return WordingShare(*(float("nan"),) * 6, 0)
    total = np.array([1 - (p.mean(axis=0) ** 2).sum() for p in tables])
    within = np.array([1 - (p**2).sum(axis=1).mean() for p in tables])
    between = np.maximum(total - within, 0.0)
    extra = between * np.array([len(p) / (len(p) - 1) for p in tables])
    is_settled = total < settled
    rho = (between + RHO_EPSILON) / (total + 2 * RHO_EPSILON)
    return WordingShare(
        rho=float(rho.mean()),
        rho_unsettled=float(rho[~is_settled].mean()) if (~is_settled).any() else float("nan"),
        ratio_of_sums=_ratio(between.sum(), total.sum()),
        by_chance=0.0,
        unbiased=_ratio(extra.sum(), (extra + within).sum()),
        settled=float(is_settled.mean()),
        questions=len(tables),
    )


def _distributions(question: npt.ArrayLike) -> Floats:
    table = check_numbers("questions", question)
    if table.ndim != 2 or len(table) < 2 or (table < 0).any() or (table.sum(axis=1) > 1 + _ROUNDING).any():
        raise ValueError(
            f"questions must be probabilities [2 wordings or more, answers], sums up to 1; got {table.shape}"
        )
    return table


def _unbiased(splits: Sequence[VarianceSplit]) -> float:
    usable = [split for split in splits if split.groups > 1 and split.answers > split.groups]
    between = within = extra = 0.0
    for split in usable:
        of_groups = split.answers * split.between / (split.groups - 1)
        of_answers = split.answers * split.within / (split.answers - split.groups)
        between, within = between + of_groups, within + of_answers
        extra += (of_groups - of_answers) / split.group_size
    return _ratio(extra, extra + within)


def _ratio(amount: float, of: float) -> float:
    return float(amount / of) if of else float("nan")


def wording_p_value(questions: Sequence[Points], permutations: int = 999, seed: int = 0) -> float:
    """The chance of a `ratio_of_sums` this large if no wording moved the answers, by permutation.

    Answers are handed out anew to the wordings, within each question; totals stay. `(1 + #{as large}) / (1 + N)`.

    Args:
        questions: points [samples, axes] and groups [samples] of each, as `split_variance` takes them.
        permutations: N.
        seed: of the permutations.
    Returns:
        In [1/(N + 1), 1]; 1 where nothing varies.
    Raises:
        ValueError: shapes differ, or less than one permutation.

    >>> apart = ([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]], [0, 0, 0, 1, 1, 1])
    >>> wording_p_value([apart] * 4) < 0.01
    True
    """
    check_count("permutations", permutations, 1)
    rng = np.random.default_rng(seed)
    observed, drawn = 0.0, np.zeros(permutations)
    for points, groups in questions:
        vectors, of = check_points(points, groups)
        if len(vectors):
            centred = vectors - vectors.mean(axis=0)
            observed += float(_between(centred, of[None])[0])
            drawn += _between(centred, rng.permuted(np.tile(of, (permutations, 1)), axis=1))
    # As large up to rounding: sums over other orders of the same numbers differ in their last digits.
    as_large = int((drawn >= observed * (1 - 1e-9)).sum())
    return (1 + as_large) / (1 + permutations)


def _between(centred: Floats, groups: Ints) -> Floats:
    """`U_e` of centred points [samples, axes] under several ways to group them [ways, samples], [ways]."""
    between = np.zeros(len(groups))
    for group in range(int(groups[0].max()) + 1):
        members = groups == group
        sums = members @ centred
        between += (sums**2).sum(axis=1) / members.sum(axis=1)
    return between / len(centred)
