"""Classes of equal meaning: strings of a question that say the same, by a matrix of judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_numbers, refuse

Matrix = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Strings:
    """The different strings among the samples of a question, in an order that the samples' order does not change."""

    texts: tuple[str, ...]  # [strings], the most frequent first, equally frequent ones by text
    of: Ints  # [samples], the place of each sample's string; -1: no answer

    @property
    def counts(self) -> Ints:
        """Samples of each string, [strings]."""
        return np.bincount(self.of[self.of >= 0], minlength=len(self.texts)).astype(np.int64)

    def classes(self, of_strings: npt.ArrayLike) -> Ints:
        """The classes of the samples, [samples], from those of the strings [strings]; -1: no answer."""
        numbers = np.append(np.asarray(of_strings, np.int64), -1)
        classes: Ints = numbers[self.of]
        return classes

    @property
    def places(self) -> Ints:
        """Each sample's string, [samples]; those without an answer have a place each, behind the strings."""
        return apart(self.of)

    @property
    def copies(self) -> Ints:
        """Samples at each of these places, [places]."""
        return np.bincount(self.places).astype(np.int64)

    def with_unread(self, matrix: npt.ArrayLike) -> Floats:
        """A matrix of the strings [strings, strings] as one of the places, [places, places].

        A sample without an answer is like itself alone: 1 on the diagonal, 0 beside it.
        """
        block = check_square("matrix", matrix)
        square = np.eye(len(block) + int((self.of < 0).sum()))
        square[: len(block), : len(block)] = block
        return square

    def expand(self, matrix: npt.ArrayLike) -> Floats:
        """A matrix of the strings [strings, strings] as one of the samples, copies as rows.

        Samples without an answer differ from each other, and are like themselves alone.
        """
        square: Floats = self.with_unread(matrix)[np.ix_(self.places, self.places)]
        return square


def different_strings(texts: Sequence[str | None]) -> Strings:
    """The different ones of a question's answers, [samples]; None: no answer.

    >>> found = different_strings(["Rome", "Paris", None, "Paris"])
    >>> found.texts, found.of.tolist()
    (('Paris', 'Rome'), [1, 0, -1, 0])
    """
    counts = Counter(text for text in texts if text is not None)
    ordered = tuple(sorted(counts, key=lambda text: (-counts[text], text)))
    place = {text: number for number, text in enumerate(ordered)}
    return Strings(ordered, np.array([-1 if text is None else place[text] for text in texts], np.int64))


def apart(classes: npt.ArrayLike) -> Ints:
    """The classes [samples] with each sample that has no answer (-1) in a class of its own, behind the others.

    >>> apart([0, -1, 1, -1]).tolist()
    [0, 2, 1, 3]
    """
    numbers = np.array(classes, np.int64)
    lacking = numbers < 0
    numbers[lacking] = numbers.max(initial=-1) + 1 + np.arange(int(lacking.sum()))
    return numbers


def classes_of_keys(keys: Sequence[str]) -> Ints:
    """Classes of equal keys, [strings], numbered in the order of their first member.

    >>> classes_of_keys(["paris", "rome", "paris"]).tolist()
    [0, 1, 0]
    """
    place: dict[str, int] = {}
    return np.array([place.setdefault(key, len(place)) for key in keys], np.int64)


def greedy_classes(equal: npt.ArrayLike) -> Ints:
    """Classes of strings in their order: each joins the first class of which it equals the first member.

    Kuhn, Gal, Farquhar 2023. Equality of meaning is not transitive, so the order matters: that of `different_strings`
    makes the result the same for any order of samples.

    Args:
        equal: [strings, strings], whether two strings mean the same.
    Returns:
        [strings], numbers from 0 on in the order of first members.
    Raises:
        ValueError: not square, or not symmetric.

    >>> greedy_classes([[1, 1, 0], [1, 1, 1], [0, 1, 1]]).tolist()  # the third equals the second, not the first
    [0, 0, 1]
    """
    matrix = check_square("equal", equal).astype(np.bool_)
    if not np.array_equal(matrix, matrix.T):
        raise ValueError("equal must be symmetric; got a matrix that differs from its transpose")
    firsts: list[int] = []
    classes = np.zeros(len(matrix), np.int64)
    for place in range(len(matrix)):
        joined = next((number for number, first in enumerate(firsts) if matrix[place, first]), len(firsts))
        if joined == len(firsts):
            firsts.append(place)
        classes[place] = joined
    return classes


def both_entail(probabilities: npt.ArrayLike) -> Matrix:
    """Equal where each of two strings entails the other by the largest probability, [strings, strings].

    Args:
        probabilities: [strings, strings, 3], of entailment, neutral, contradiction, first index the premise. What
            stands on the diagonal is not looked at: a string equals itself.

    >>> both_entail([[[1, 0, 0], [0.6, 0.3, 0.1]], [[0.2, 0.7, 0.1], [1, 0, 0]]]).tolist()
    [[True, False], [False, True]]
    """
    entails = _largest(probabilities) == 0
    return _with_diagonal(entails & entails.T)


def no_contradiction(probabilities: npt.ArrayLike) -> Matrix:
    """Equal where neither of two strings contradicts the other by the largest probability: neutral pairs are equal.

    The rule of Lin, Trivedi, Sun 2024's code, a weaker one than `both_entail`. Arguments are those.

    >>> no_contradiction([[[1, 0, 0], [0.6, 0.3, 0.1]], [[0.2, 0.7, 0.1], [1, 0, 0]]]).tolist()
    [[True, True], [True, True]]
    """
    agrees = _largest(probabilities) != 2
    return _with_diagonal(agrees & agrees.T)


def close(embeddings: npt.ArrayLike, threshold: float) -> Matrix:
    """Equal where the cosine of two strings' embeddings is at least the threshold, [strings, strings].

    Args:
        embeddings: [strings, dimensions], of any length but 0.
        threshold: in [-1, 1].
    Raises:
        ValueError: an embedding of length 0, or a threshold out of range.

    >>> close([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0]], 0.9).tolist()
    [[True, True, False], [True, True, False], [False, False, True]]
    """
    if not -1 <= threshold <= 1:
        raise ValueError(f"threshold must lie in [-1, 1]; got {threshold}")
    return _with_diagonal(cosines(embeddings) >= threshold)


def cosines(embeddings: npt.ArrayLike) -> Floats:
    """The cosines of embeddings [strings, dimensions], [strings, strings]. ValueError for one of length 0.

    >>> cosines([[1.0, 0.0], [3.0, 4.0]]).tolist()
    [[1.0, 0.6], [0.6, 1.0]]
    """
    points = check_numbers("embeddings", embeddings)
    lengths = np.linalg.norm(points, axis=-1)
    refuse("embeddings", "must not have length 0", lengths, lengths == 0)
    unit = points / lengths[:, None]
    matrix: Floats = unit @ unit.T
    return matrix


def check_square(name: str, matrix: npt.ArrayLike) -> Floats:
    """The numbers as float64 [n, n]; ValueError unless square and without NaN."""
    square = check_numbers(name, matrix)
    if square.ndim != 2 or square.shape[0] != square.shape[1]:
        raise ValueError(f"{name} must be square, [n, n]; got shape {square.shape}")
    refuse(name, "must not be NaN", square.ravel(), np.isnan(square.ravel()))
    return square


def check_relations(probabilities: npt.ArrayLike) -> Floats:
    """What was judged as float64 [strings, strings, 3]; ValueError for another shape or NaN off the diagonal."""
    numbers = check_numbers("probabilities", probabilities)
    if numbers.ndim != 3 or numbers.shape[0] != numbers.shape[1] or numbers.shape[2] != 3:
        raise ValueError(f"probabilities must have shape [strings, strings, 3]; got {numbers.shape}")
    off = ~np.eye(len(numbers), dtype=np.bool_)
    if np.isnan(numbers[off]).any():
        raise ValueError("probabilities must be known for each pair of different strings; got NaN")
    return numbers


def _largest(probabilities: npt.ArrayLike) -> Ints:
    places: Ints = check_relations(probabilities).argmax(axis=2).astype(np.int64)
    return places


def _with_diagonal(equal: npt.NDArray[np.bool_]) -> Matrix:
    return equal | np.eye(len(equal), dtype=np.bool_)
