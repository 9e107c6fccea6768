"""Uncertainties of all samples of a question. One more is one more entry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from calprobe.arrays import Floats, Ints
from calprobe.confidence.asked.sample_readings import of_questions, pooled
from calprobe.confidence.asked.sampled import SampledQuestion
from calprobe.confidence.estimator import Entry, Estimator
from calprobe.confidence.samples import (
    answer_entropy,
    apart,
    class_counts,
    degree,
    eigv,
    kernel_entropy,
    lexsim,
    likelihood_entropy,
    miller_madow_entropy,
    one_hot,
    sentence_sar,
    split_variance,
)
from calprobe.confidence.samples.answer_beside import DUAN
from calprobe.confidence.samples.spectral import COX_THRESHOLD, LIN_THRESHOLD, NIKITIN, Spectrum, Weights

KUHN, LIN, COX = "Kuhn, Gal, Farquhar 2023", "Lin, Trivedi, Sun 2024", "Cox et al. 2025"
NAN = float("nan")
Measure = Callable[[SampledQuestion], float]
Classes = Callable[[SampledQuestion], Ints | None]
Points = Callable[[SampledQuestion], Floats | None]


def _uncertainty(
    name: str,
    definition: str,
    measure: Measure,
    source: str = "",
    needs: Collection[str] = (),
    *,
    on_request: bool = False,
) -> Entry:
    """An uncertainty without a scale in the readings of its AUROC; NaN where it is not known.

    A name with a dot is of another form of a measure, and is always computed on request alone.
    """
    estimator = Estimator(
        name,
        definition,
        "samples",
        pooled(measure),
        source,
        "uncertainty",
        frozenset(needs) | {"samples"},
        on_request=on_request or "." in name,
    )
    return Entry(estimator, of_questions)


def _entropy(of: Classes, entropy: Callable[[Ints], float] = answer_entropy) -> Measure:
    def measure(question: SampledQuestion) -> float:
        classes = of(question)
        return NAN if classes is None else entropy(class_counts(apart(classes)))

    return measure


def _number(of: Classes) -> Measure:
    def measure(question: SampledQuestion) -> float:
        classes = of(question)
        return NAN if classes is None else float(len(class_counts(apart(classes))))

    return measure


def _likelihood(question: SampledQuestion) -> float:
    if question.meaning is None:
        return NAN
    # Each unread reply is a class of its own, also where two have the same text.
    replies = np.where(question.meaning < 0, -1, question.replies)
    return likelihood_entropy(apart(question.meaning), apart(replies), question.logprobs)


def _sentence_sar(question: SampledQuestion) -> float:
    return (
        NAN if question.affinity is None else sentence_sar(question.strings.expand(question.affinity), question.totals)
    )


def _graph(of: Callable[[Spectrum], float]) -> Measure:
    """Of all samples."""
    return lambda question: NAN if question.spectrum is None else of(question.spectrum)


def _degree(question: SampledQuestion) -> float:
    if question.affinity is None:
        return NAN
    return degree(question.strings.with_unread(question.affinity), question.strings.copies)


def _spectral(threshold: float = COX_THRESHOLD, weights: Weights = "cut") -> Points:
    def points(question: SampledQuestion) -> Floats | None:
        return (
            None if question.spectrum is None else question.spectrum.points(threshold, weights)[question.strings.places]
        )

    return points


def _corners(question: SampledQuestion) -> Floats | None:
    return one_hot(apart(question.classes))


def _sentences(question: SampledQuestion) -> Floats | None:
    if question.embeddings is None:
        return None
    answered = question.strings.of >= 0
    points = question.embeddings[question.strings.of[answered]]
    vectors = np.zeros((len(answered), points.shape[1] + len(answered) - len(points)))
    vectors[answered, : points.shape[1]] = points / np.linalg.norm(points, axis=1, keepdims=True)
    vectors[~answered, points.shape[1] :] = np.eye(len(answered) - len(points))  # at right angles to all others
    return vectors


# How answers become points for the share of the wording; None where a pair was not judged.
POINTS: Mapping[str, Points] = {"laplacian": _spectral(), "one_hot": _corners}


def _variance(name: str, of: Points) -> Measure:
    def measure(question: SampledQuestion) -> float:
        points = of(question)
        return NAN if points is None else float(getattr(split_variance(points, question.wordings), name))

    return measure


_OF_PARTS: Mapping[str, frozenset[str]] = {  # within wordings of one sample each nothing varies: 0 of every question
    "total": frozenset(),
    "within": frozenset(("wordings", "repeats")),
    "between": frozenset(("wordings",)),
}


def _variances(form: str, meaning: str, of: Points, *needs: str) -> tuple[Entry, ...]:
    end = f".{form}" if form else ""
    names = (("total", ""), ("within", ", within wordings"), ("between", ", between wordings"))
    return tuple(
        _uncertainty(
            f"variance_{name}{end}",
            f"variance of the answers as {meaning}{ending}",
            _variance(name, of),
            COX,
            frozenset(needs) | _OF_PARTS[name],
        )
        for name, ending in names
    )


_PAIRS, _POINTS = frozenset(("relations",)), frozenset(("embeddings",))
_EQUAL = "equal answers (labels, numbers, texts but for case, articles and punctuation)"
MEASURES: tuple[Entry, ...] = (
    _uncertainty("answer_entropy", f"entropy of {_EQUAL}", _entropy(lambda question: question.classes), COX),
    _uncertainty(
        "answer_entropy.exact", "entropy of identical strings", _entropy(lambda question: question.exact), COX
    ),
    _uncertainty(
        "answer_entropy.miller_madow",
        "answer_entropy corrected for few samples",
        _entropy(lambda question: question.classes, miller_madow_entropy),
    ),
    _uncertainty(
        "semantic_entropy",
        "entropy of classes of answers that entail each other, counted",
        _entropy(lambda question: question.meaning),
        KUHN,
        _PAIRS,
    ),
    _uncertainty(
        "semantic_entropy.miller_madow",
        "semantic_entropy corrected for few samples",
        _entropy(lambda question: question.meaning, miller_madow_entropy),
        needs=_PAIRS,
    ),
    _uncertainty(
        "semantic_entropy.likelihood",
        "semantic_entropy with classes weighted by the length-normalised likelihood of their different replies",
        _likelihood,
        KUHN,
        _PAIRS | {"logprobs"},
    ),
    _uncertainty(
        "semantic_entropy.no_contradiction",
        "entropy of classes of answers that do not contradict each other",
        _entropy(lambda question: question.lenient_meaning),
        LIN,
        _PAIRS | {"contradictions"},
    ),
    _uncertainty(
        "semantic_entropy.embed",
        "entropy of classes of answers with close sentence embeddings",
        _entropy(lambda question: question.near),
        needs=_POINTS,
    ),
    _uncertainty(
        "num_classes",
        "number of classes of answers that entail each other",
        _number(lambda question: question.meaning),
        LIN,
        _PAIRS,
    ),
    _uncertainty("num_classes.equal", f"number of {_EQUAL}", _number(lambda question: question.classes)),
    _uncertainty("eigv", "sum of 1 - eigenvalue of the affinity's Laplacian", _graph(Spectrum.eigv), LIN, _PAIRS),
    _uncertainty(
        "eigv.unique",
        "eigv of the different strings, whatever their counts",
        lambda question: NAN if question.affinity is None else eigv(question.affinity),
        COX,
        _PAIRS,
    ),
    _uncertainty("degree", "1 minus the mean affinity of two samples", _degree, LIN, _PAIRS),
    _uncertainty(
        "eccentricity",
        "norm of the samples' distances from their centre",
        _graph(Spectrum.eccentricity),
        LIN,
        _PAIRS,
    ),
    _uncertainty(
        "lexsim",
        "minus the mean ROUGE-L of all pairs of samples",
        lambda question: lexsim(question.strings.with_unread(question.common_words), question.strings.copies),
        LIN,
    ),
    _uncertainty(
        "lexsim.unique",
        "minus the mean ROUGE-L of pairs of different strings",
        lambda question: lexsim(question.common_words),
        LIN,
    ),
    _uncertainty(
        "kernel_entropy",
        "von Neumann entropy of the heat kernel over the samples, as a share of its largest",
        lambda question: NAN if question.kernel is None else kernel_entropy(question.strings.expand(question.kernel)),
        NIKITIN,
        _PAIRS | {"contradictions"},
        on_request=True,
    ),
    _uncertainty(
        "sentence_sar",
        "minus the mean log-probability of the replies, each with those of its like added a thousandfold",
        _sentence_sar,
        DUAN,
        _PAIRS | {"logprobs"},
        on_request=True,
    ),
    *_variances("", "eigenvectors of the Laplacian with eigenvalues below 0.5", _spectral(), "relations"),
    *_variances("lin", "eigenvectors with eigenvalues below 0.9", _spectral(threshold=LIN_THRESHOLD), "relations"),
    *_variances("smooth", "eigenvectors weighted by 1 - eigenvalue", _spectral(weights="smooth"), "relations"),
    *_variances("one_hot", f"corners of {_EQUAL}: Gini's index", _corners),
    *_variances("embed", "sentence embeddings of length 1", _sentences, "embeddings"),
)
