"""Which runs are compared with which: nearest accuracies, the paper's own pairs, pairs by name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from calprobe.analysis import named_pairs, named_run
from calprobe.errors import UsageError
from calprobe.measures.compare_pairs import check_pairs, match_nearest, why_unpaired

NAN = float("nan")
RUNS = ["runs/gpt2", "runs/bert", "other/bert", "runs/opt"]


@pytest.mark.parametrize(
    ("gaps", "pairs"),
    [
        ([[0.2]], [(0, 0)]),
        ([[0.2, 0.1]], [(0, 1)]),
        ([[0.3], [0.1]], [(1, 0)]),  # both masked runs want the one causal run
        ([[0.1, 0.2], [0.05, 0.3]], [(1, 0)]),  # the loser gets no second choice
        ([[0.1, 0.1], [0.1, 0.1]], [(0, 0)]),  # ties go to the first
        # The causal run's nearest masked run takes another: it is free for the one that wants it.
        ([[2.0, 3.2], [1.0, 0.2]], [(0, 0), (1, 1)]),
        ([[NAN, 0.4], [NAN, NAN]], [(0, 1)]),
        ([[NAN]], []),
    ],
)
def test_nearest_by_hand(gaps: list[list[float]], pairs: list[tuple[int, int]]) -> None:
    assert list(match_nearest(np.array(gaps))) == pairs


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.sampled_from([0, 0.1, 0.5, 1])))
def test_each_run_is_in_one_pair_at_most_and_the_rest_is_explained(gaps: np.ndarray) -> None:
    pairs = match_nearest(gaps)
    masked, causal = ([f"{kind}{place}" for place in range(n)] for kind, n in zip("mc", gaps.shape, strict=True))
    assert len({place for place, _ in pairs}) == len({taken for _, taken in pairs}) == len(pairs)
    assert all(gaps[place, taken] == gaps[place].min() for place, taken in pairs)
    paired = {masked[place] for place, _ in pairs} | {causal[taken] for _, taken in pairs}
    assert set(why_unpaired(gaps, masked, causal)) == {*masked, *causal} - paired


def test_the_papers_pairs(shared: Path) -> None:
    tables = json.loads((shared / "paper" / "tables.json").read_text("utf-8"))
    accuracies = {name: row["accuracy_percent"] for name, row in tables["table3_models"].items()}
    # Some rows of this table 3 hold those of a domain; table 2 has the models' own.
    accuracies |= {name: row["accuracy_percent"] for name, row in tables["table2_matched_pairs"].items()}
    masked = sorted(name for name in accuracies if "bert" in name)
    causal = sorted(set(accuracies) - set(masked))
    gaps = np.array([[abs(accuracies[one] - accuracies[other]) for one in causal] for other in masked])
    found = {(causal[taken], masked[place]) for place, taken in match_nearest(gaps)}
    assert found == {tuple(row["pair"]) for row in tables["table5_matched_domains"]}
    reasons = why_unpaired(gaps, masked, causal)
    assert reasons["xlm-roberta-base"] == "its nearest causal run, gpt2, is nearer to xlm-roberta-large"
    assert reasons["gemma-2b"] == "the nearest causal run of no masked one"
    assert len(reasons) == 6


def test_what_cannot_be_compared_is_said() -> None:
    reasons = why_unpaired(np.array([[NAN]]), ["bert"], ["gpt2"])
    assert reasons["bert"] == "no causal run has an accuracy on the same instances"


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("gpt2:opt", [("runs/gpt2", "runs/opt")]),
        ("opt:gpt2,runs/bert:gpt2", [("runs/opt", "runs/gpt2"), ("runs/bert", "runs/gpt2")]),
        ("runs/gpt2:other/bert", [("runs/gpt2", "other/bert")]),
    ],
)
def test_pairs_by_name(text: str, pairs: list[tuple[str, str]]) -> None:
    assert list(named_pairs(text, RUNS)) == pairs


def test_pairs_of_runs_with_other_labels_by_label_or_path() -> None:
    labels, paths = ["GPT-2", "B", "C"], ["runs/gpt2", "runs/bert", "runs/opt"]
    for text in ("gpt2:bert", "GPT-2:B", "runs/gpt2:B"):
        assert named_pairs(text, labels, paths) == (("GPT-2", "B"),)
    assert [named_run(name, labels, paths) for name in ("opt", "runs/opt", "C")] == ["C"] * 3


def test_paths_may_hold_colons() -> None:
    labels = ["C:/runs/a", "C:/runs/b:2"]
    assert named_pairs("C:/runs/a:C:/runs/b:2", labels) == (("C:/runs/a", "C:/runs/b:2"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpt2", r"--pairs 'gpt2': give A:B with A and B of gpt2, opt, other/bert, runs/bert, runs/gpt2, runs/opt"),
        ("gpt2:bert", "--pairs 'gpt2:bert': give A:B"),  # two runs are called bert
        ("gpt2:opt,", "--pairs '': give A:B"),
        ("gpt2:runs/gpt2", "runs/gpt2 against itself; name two runs"),
        ("gpt2:opt,opt:gpt2", "two runs are paired twice; name each pair once"),
    ],
)
def test_pairs_that_are_none(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        named_pairs(text, RUNS)


def test_pairs_in_python() -> None:
    with pytest.raises(UsageError, match="pairs: 'bert' is none of the runs; they are gpt2, opt"):
        check_pairs([("gpt2", "bert")], ["gpt2", "opt"])
    with pytest.raises(UsageError, match="pairs: name one or more"):
        check_pairs([], ["gpt2", "opt"])
