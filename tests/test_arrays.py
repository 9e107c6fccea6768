"""Checks of array arguments, and the text of their errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calprobe.arrays import check_answers, check_numbers, check_offsets, check_vector, check_whole
from calprobe.metrics import ace


def test_what_is_sound_comes_back_as_numbers() -> None:
    assert check_numbers("x", [[True, np.nan]]).shape == (1, 2)
    assert check_vector("x", (0.5, float("inf"))).dtype == np.float64
    assert check_whole("x", np.array([1.0, 3.0])).tolist() == [1, 3]
    offsets = check_offsets(np.array([0, 2, 5], np.int32), 5)
    assert (offsets.dtype, offsets.tolist()) == (np.int64, [0, 2, 5])
    assert check_answers([1, 2], offsets).tolist() == [1, 2]


def test_tensors_are_numbers_whatever_their_dtype_and_gradients() -> None:
    weight = torch.tensor([0.5, 0.25], requires_grad=True)
    for tensor in (weight, weight.bfloat16(), torch.tensor([True, False])):
        assert check_vector("x", tensor).tolist() == tensor.tolist()
    assert ace(weight.bfloat16(), torch.tensor([1, 0])).value == pytest.approx(0.375)


def test_masked_entries_are_refused() -> None:
    masked = np.ma.array([0.5, 0.9], mask=[False, True])
    with pytest.raises(ValueError, match=r"confidence has masked entries; leave them out"):
        ace(masked, [1, 0])
    assert check_vector("x", np.ma.array([0.5, 0.9])).tolist() == [0.5, 0.9]


def test_nothing_is_sound_too() -> None:
    assert check_offsets([0], 0).tolist() == [0]
    assert check_answers([], check_offsets([0], 0)).tolist() == []


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 1], r"offsets must go from 0 to the number of candidates, 2; got \[0 1\]"),
        ([1, 2], "offsets must go from 0"),
        ([], "offsets must go from 0"),
        ([0, 2, 2], "offsets must give each instance at least one candidate; instance 1 has none"),
        ([0, 3, 1, 2], "offsets must give each instance at least one candidate; instance 1 has none"),
        ([0, 1.5, 2], "offsets must be whole numbers; got 1.5 at place 1"),
        ([0, float("nan"), 2], "offsets must be whole numbers; got nan at place 1"),
        ([[0, 2]], r"offsets must have one dimension, \[instances \+ 1\]; got shape \(1, 2\)"),
        (["a"], r"offsets must be an array of numbers; got \['a'\]"),
    ],
)
def test_misfitting_offsets_are_refused(offsets: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_offsets(offsets, 2)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([0], "answer_idx must have an entry for each of 2 instances; got 1"),
        ([0, 2], "answer_idx must be a place among the instance's candidates; got 2 at place 1"),
        ([-1, 0], "answer_idx must be a place among the instance's candidates; got -1 at place 0"),
        ([0, 0.9], "answer_idx must be whole numbers; got 0.9 at place 1"),
    ],
)
def test_misplaced_answers_are_refused(answers: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_answers(answers, np.array([0, 1, 3]))
