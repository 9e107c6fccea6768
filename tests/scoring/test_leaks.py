"""A run of hundreds of pieces, or of a thousand in `make test-faults`, takes no more memory than one of forty.

Of the hundreds, a proof, memory is measured; of a few, tensors are counted.
"""

from __future__ import annotations

import gc
import os

import psutil
import pytest
import torch
from tiny_models import loaded, tiny_causal, tiny_tokenizer

from calprobe.models import LoadedModel
from calprobe.probes import Instance, Relation
from calprobe.scoring.executor import Executor
from calprobe.scoring.options import Path
from calprobe.scoring.path_choice import executor_of
from calprobe.scoring.scored_pieces import prepare_group, score_group
from calprobe.statements import Template

# A batch's tensors kept from each piece would be some 6 MiB, or 30.
WARM_UP, PIECES, MOST_MIB = 40, 1000 if int(os.environ.get("CALPROBE_FAULTS", "10")) > 10 else 200, 4

RELATION = Relation("capital", ("Paris", "Rome"), (Instance(0, "France", 0), Instance(1, "Italy", 1)))


def score_pieces(model: LoadedModel, executor: Executor, count: int) -> None:
    for number in range(count):
        group = prepare_group(
            [(RELATION, Template(0, f"Fact {number}: in [X] lies [Y].", "paraphrase"))], model, executor
        )
        assert len(list(score_group(group, model, executor, save_tokens=True))) == 1


def n_tensors() -> int:
    gc.collect()
    return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())


def tiny() -> LoadedModel:
    network = tiny_causal("llama")
    network.resize_token_embeddings(260, mean_resizing=False)  # type: ignore[operator]
    return loaded(network, tokenizer=tiny_tokenizer())


@pytest.mark.parametrize("path", ["tree", "plain"])
def test_pieces_leave_no_tensor_behind(path: Path) -> None:
    model = tiny()
    executor = executor_of(path, model, 1024)
    score_pieces(model, executor, 3)
    tensors = n_tensors()
    score_pieces(model, executor, 10)
    assert n_tensors() == tensors


@pytest.mark.proof
def test_pieces_leave_nothing_behind() -> None:
    model = tiny()
    paths: tuple[Path, ...] = ("tree", "plain")
    executors = [executor_of(path, model, 1024) for path in paths]
    for executor in executors:
        score_pieces(model, executor, WARM_UP)
    tensors, resident = n_tensors(), psutil.Process().memory_info().rss
    for executor in executors:
        score_pieces(model, executor, PIECES // len(executors))
    assert n_tensors() == tensors
    assert psutil.Process().memory_info().rss - resident < MOST_MIB * 2**20
