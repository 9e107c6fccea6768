"""Token scores of three real models against the reference files, made one statement at a time in float32.

A few of the relations under each template, or all of them with CALPROBE_REFERENCES=whole (`make test-references`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path as Folder

import numpy as np
import numpy.typing as npt
import pytest
from chosen_paths import choose_path
from proofs import few_of
from real_models import gemma3, minilm_mlm, smollm2
from reference_scores import Reference, read_reference

from calprobe.models import LoadedModel, tokenise
from calprobe.scoring.executor import score_rows
from calprobe.scoring.options import Path
from calprobe.scoring.path_choice import executor_of

pytestmark = pytest.mark.weights
BATCH_TOKENS = 2048
COMPLETE = os.environ.get("CALPROBE_REFERENCES") == "whole"
FEW = 18  # one in so many relations under each template
QUICK = {("smollm2", "tree"), ("minilm-mlm", "masked")}  # one of each kind; the others are proofs


def differences(model: LoadedModel, reference: Reference, path: Path, step: int) -> npt.NDArray[np.float64]:
    """Absolute differences of token scores over every `step`-th statement, [tokens]."""
    rows = tokenise(reference.statements[::step], model)
    expected = np.concatenate([np.array(scores) for scores in reference.logprobs[::step]])
    return np.abs(score_rows(executor_of(path, model, BATCH_TOKENS), rows) - expected)


@pytest.mark.parametrize(
    ("name", "load", "path", "step"),
    few_of(
        [
            ("smollm2", smollm2, "tree", 1),
            ("smollm2", smollm2, "padded", 20),
            ("smollm2", smollm2, "plain", 20),
            ("gemma3", gemma3, "tree", 1),
            ("gemma3", gemma3, "padded", 10),
            ("gemma3", gemma3, "plain", 10),
            ("minilm-mlm", minilm_mlm, "masked", 1 if COMPLETE else 8),  # a row a token: all of it takes minutes
            ("minilm-mlm", minilm_mlm, "plain", 80),
        ],
        lambda name, load, path, step: (name, path) in QUICK,
    ),
)
def test_token_scores_are_those_of_the_reference(
    shared: Folder, name: str, load: Callable[[], LoadedModel], path: Path, step: int
) -> None:
    reference = read_reference(shared, name, every=1 if COMPLETE else FEW)
    assert {role for roles in reference.roles for role in roles[:-1]} == {"subject", "answer", "template"}
    found = differences(load(), reference, path, step)
    print(f"{name}, {path}: {len(found)} tokens, max {found.max():.1e}, mean {found.mean():.1e}")
    # A token here and there magnifies the rounding of any float32 product: on an Intel Xeon with one thread torch's own
    # forward of one statement is 2.3e-3 off float64 at the worst of them, and full batches 4.5e-3; the next is 2.1e-3.
    assert np.quantile(found, 0.9998) <= 1e-3
    assert found.max() <= 1e-2
    assert found.mean() <= 1e-4


@pytest.mark.parametrize(
    ("name", "load", "path"),
    few_of(
        [("smollm2", smollm2, "tree"), ("gemma3", gemma3, "tree"), ("minilm-mlm", minilm_mlm, "masked")],
        lambda name, load, path: name == "minilm-mlm",
    ),
)
def test_real_models_take_the_fast_path(shared: Folder, name: str, load: Callable[[], LoadedModel], path: Path) -> None:
    sample = read_reference(shared, name).statements[:9]
    assert choose_path(load(), BATCH_TOKENS, tokenise(sample, load())) == path
