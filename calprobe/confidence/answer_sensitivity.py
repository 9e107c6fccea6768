"""How far the wording moves a model's confidence in one and the same answer: quantities of each instance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calprobe.arrays import Floats
from calprobe.confidence.distributions import NO_PREDICTION, Distributions

SAME = 1e-12  # confidences this close differ by rounding, and a correlation would be one of roundings


def answer_probabilities(distributions: Distributions, rows: Sequence[int], reference: int = 0) -> Floats:
    """The probability that each template gives to the answer of the reference template, `p_t(yhat_reference)`.

    Args:
        distributions: of any number of instances.
        rows: the rows of `distributions.probabilities` to read, the run's paraphrases.
        reference: the row of the prediction that is followed (template 0); it may be among `rows` or not.
    Returns:
        [rows, instances], in [0, 1]; NaN where the template's scores of the instance failed, or the reference's did.

    >>> spaces = Distributions.from_scores(np.log([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]]), offsets=[0, 3], answer_idx=[0])
    >>> answer_probabilities(spaces, rows=[0, 1]).round(3).tolist()
    [[0.5], [0.1]]
    """
    prediction = distributions.peak([reference]).prediction[0]
    columns = distributions.offsets[:-1] + np.maximum(prediction, 0)
    probabilities = distributions.probabilities[np.ix_(list(rows), columns)]
    return np.where(prediction == NO_PREDICTION, np.nan, probabilities)


def answer_deviation(distributions: Distributions, rows: Sequence[int], reference: int = 0) -> Floats:
    """The standard deviation (n - 1) over the templates of the probability of the reference template's answer.

    Its mean over the instances is the MSD of "Quantifying the Consistency, Fidelity, and Reliability of LLM Verbalized
    Confidence", equation 1, with probabilities in place of confidences that the model puts into words.

    Arguments are those of `answer_probabilities`.

    Returns:
        [instances], in [0, sqrt(1/2)], smaller is steadier; NaN with fewer than two rows, and where
        `answer_probabilities` is NaN under one of them.

    >>> spaces = Distributions.from_scores(np.log([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]]), offsets=[0, 3], answer_idx=[0])
    >>> answer_deviation(spaces, rows=[0, 1]).round(3).tolist()
    [0.283]
    """
    if len(rows) < 2:
        return np.full(distributions.n_instances, np.nan)
    deviation: Floats = answer_probabilities(distributions, rows, reference).std(axis=0, ddof=1)
    return deviation


def answer_fidelity(distributions: Distributions, rows: Sequence[int], reference: int = 0, seed: int = 0) -> Floats:
    """The share of the other templates that give the reference's answer more probability than a random other candidate.

    Its mean over the instances is the fidelity rate of "Quantifying the Consistency, Fidelity, and Reliability of LLM
    Verbalized Confidence", equation 2, over all (instance, other template). For each of these pairs one candidate is
    drawn, every one but the answer being as likely; a tie counts as not higher. The draws depend on the seed, the
    number of templates, and the answer spaces in the order of `distributions.rank`.

    Arguments are those of `answer_probabilities`; the reference's own row is left out of `rows`.

    Returns:
        [instances], in [0, 1], higher is more faithful; NaN for an instance with one candidate, without another row,
        and where `answer_probabilities` is NaN under one of the rows.

    >>> scores = np.log([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.8, 0.1, 0.1]])  # its answer is last, then first
    >>> answer_fidelity(Distributions.from_scores(scores, offsets=[0, 3], answer_idx=[0]), rows=[0, 1, 2]).tolist()
    [0.5]
    """
    compared = [row for row in rows if row != reference]
    if not compared:
        return np.full(distributions.n_instances, np.nan)
    answer = distributions.peak([reference]).prediction[0]
    n_wrong = distributions.widths - 1
    in_order = np.maximum(n_wrong, 1)[np.argsort(distributions.rank)]
    drawn = np.random.default_rng(seed).integers(in_order, size=(len(compared), len(answer)))[:, distributions.rank]
    drawn += drawn >= answer  # the candidates without the answer
    columns = np.minimum(distributions.offsets[:-1] + drawn, distributions.offsets[1:] - 1)
    of_drawn = distributions.probabilities[np.array(compared)[:, None], columns]
    of_answer = answer_probabilities(distributions, compared, reference)
    undefined = (n_wrong == 0) | np.isnan(of_answer).any(axis=0)
    return np.where(undefined, np.nan, (of_answer > of_drawn).mean(axis=0))


def base_correlation(distributions: Distributions, rows: Sequence[int]) -> Floats:
    """Pearson's correlation, over the instances, of base confidence under each two templates.

    "Quantifying the Consistency, Fidelity, and Reliability of LLM Verbalized Confidence", section 3.1.1: do the
    wordings agree on which answers are sure? Their predictions may differ.

    Args:
        distributions: of any number of instances; those with NaN probabilities under one of the rows are left out.
        rows: the rows of `distributions.probabilities` to read, the run's paraphrases.
    Returns:
        [rows, rows], symmetric, in [-1, 1]. NaN for a row with the same base (to 1e-12) for all instances; with
        fewer than two instances all are.

    >>> scores = np.log([[0.9, 0.1, 0.6, 0.4, 0.5, 0.5], [0.3, 0.7, 0.6, 0.4, 0.5, 0.5]])
    >>> spaces = Distributions.from_scores(scores, offsets=[0, 2, 4, 6], answer_idx=[0, 0, 0])
    >>> base_correlation(spaces, rows=[0, 1]).round(3).tolist()
    [[1.0, 0.961], [0.961, 1.0]]
    """
    base = distributions.peak(rows).largest
    base = base[:, ~np.isnan(base).any(axis=0)]
    if base.shape[1] < 2:
        return np.full((len(rows), len(rows)), np.nan)
    correlation: Floats = np.full((len(rows), len(rows)), np.nan)
    varied = np.flatnonzero(np.ptp(base, axis=1) > SAME)
    if len(varied):
        correlation[np.ix_(varied, varied)] = np.corrcoef(base[varied])
    return correlation
