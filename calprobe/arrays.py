"""Checks of array arguments that several stages take: one place, one wording (argument, rule, value)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def check_numbers(name: str, values: npt.ArrayLike) -> Floats:
    """The numbers as float64 of any shape, NaN allowed; ValueError for anything else.

    Tensors of torch may need gradients, or be of bfloat16. Masked entries are refused, not taken.
    """
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries; leave them out, as values.compressed() does")
    if hasattr(values, "detach"):  # torch, which is not imported for a number
        values = values.detach().cpu().double().numpy()
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers; got {values!r}") from error


def check_vector(name: str, values: npt.ArrayLike, axis: str = "instances") -> Floats:
    """The numbers as float64, NaN allowed; ValueError unless one-dimensional, along the axis that it names."""
    array = check_numbers(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, [{axis}]; got shape {array.shape}")
    return array


def check_whole(name: str, values: npt.ArrayLike, axis: str = "instances") -> Ints:
    """The numbers as int64; ValueError unless one-dimensional, along the axis that it names, and all whole."""
    numbers = check_vector(name, values, axis)
    refuse(name, "must be whole numbers", numbers, ~np.isfinite(numbers) | (numbers != np.floor(numbers)))
    return numbers.astype(np.int64)


def check_offsets(offsets: npt.ArrayLike, n_candidates: int) -> Ints:
    """The bounds [instances + 1] of answer spaces that lie end to end; each has at least one candidate.

    ValueError unless whole numbers that ascend from 0 to the number of candidates.

    >>> check_offsets([0, 2, 5], n_candidates=5).tolist()
    [0, 2, 5]
    """
    bounds = check_whole("offsets", offsets, "instances + 1")
    if not len(bounds) or bounds[0] != 0 or bounds[-1] != n_candidates:
        raise ValueError(f"offsets must go from 0 to the number of candidates, {n_candidates}; got {bounds}")
    if (np.diff(bounds) < 1).any():
        at = int(np.flatnonzero(np.diff(bounds) < 1)[0])
        raise ValueError(f"offsets must give each instance at least one candidate; instance {at} has none")
    return bounds


def check_answers(answer_idx: npt.ArrayLike, offsets: Ints) -> Ints:
    """The place of each instance's right candidate within its own, [instances], for offsets that were checked.

    ValueError unless whole numbers, one for each instance, within its answer space.

    >>> check_answers([1, 0], offsets=np.array([0, 2, 5])).tolist()
    [1, 0]
    """
    answers, widths = check_whole("answer_idx", answer_idx), np.diff(offsets)
    if len(answers) != len(widths):
        raise ValueError(f"answer_idx must have an entry for each of {len(widths)} instances; got {len(answers)}")
    outside = (answers < 0) | (answers >= widths)
    refuse("answer_idx", "must be a place among the instance's candidates", answers, outside)
    return answers


def refuse(name: str, rule: str, values: Floats | Ints, bad: npt.NDArray[np.bool_]) -> None:
    """ValueError with argument, rule, value and place of the first bad entry, if there is one."""
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{name} {rule}; got {values[at]} at place {at}")


def check_confidence(confidence: npt.ArrayLike, name: str = "confidence") -> Floats:
    """The confidences as float64 [instances]; ValueError unless one-dimensional, without NaN and within [0, 1]."""
    values = check_vector(name, confidence)
    refuse(name, "must lie in [0, 1] and not be NaN", values, ~((values >= 0) & (values <= 1)))
    return values


def check_correct(correct: npt.ArrayLike, n_instances: int) -> Ints:
    """Correctness as int64 0 or 1 [instances]; ValueError unless of that length and all 0, 1, False or True."""
    values = check_vector("correct", correct)
    if len(values) != n_instances:
        raise ValueError(f"correct must have as many entries as confidence, {n_instances}; got {len(values)}")
    refuse("correct", "must be true or false (1 or 0)", values, (values != 0) & (values != 1))
    return values.astype(np.int64)


def check_count(name: str, value: int, least: int) -> None:
    """ValueError unless the argument of that name is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
