"""Runs with the Triton kernels, interpreted on the CPU, against the same runs with the torch references."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq
import pytest
from tolerances import TINY_SCORE

pytest.importorskip("triton", reason="Triton exists for Linux on x86-64 only")

from tiny_models import save_tiny_masked_model, save_tiny_model

from calprobe.kernels import gather_reduce_triton, linear_logprob_triton
from calprobe.models import LoadOptions, load_model
from calprobe.probes import Instance, Probe, Relation
from calprobe.scoring import ScoreOptions, score

# A child scores, since Triton takes its interpreter or not when it is first imported. It prints how often each kernel
# was launched, so that a run on the references cannot pass for one on the kernels.
CHILD = """
import json, os, sys
from unittest.mock import patch
from calprobe.kernels import gather_reduce_triton, linear_logprob_triton
from calprobe.models import LoadOptions, load_model
from calprobe.probes import load_probe
from calprobe.scoring import ScoreOptions, score
_, model, templates, out = sys.argv
options = ScoreOptions(
    first=1, relations=("instrument-family",), templates=templates, save_tokens=True, batch_tokens=256, quiet=True
)
kernels = {"linear_logprob_triton": linear_logprob_triton, "gather_reduce_triton": gather_reduce_triton}
launches = {name: patch.object(kernels[name], name, wraps=getattr(kernels[name], name)).start() for name in kernels}
for chosen in ("reference", "triton"):
    os.environ["CALPROBE_KERNELS"] = chosen
    score(load_model(model, LoadOptions(device="cpu")), load_probe("mini"), f"{out}/{chosen}", options)
    print(json.dumps({name: launch.call_count for name, launch in launches.items()}))
"""
FLOATS = ("sum", "mean", "sum_answer", "mean_answer", "first", "logprobs")


def assert_equal(run: Path, reference: Path) -> list[Path]:
    """Shards with the same columns and, up to rounding, numbers; those of the run."""
    shards, references = (sorted((place / "shards").iterdir()) for place in (run, reference))
    assert [shard.name for shard in shards] == [shard.name for shard in references]
    for ours, theirs in zip(map(pq.read_table, shards), map(pq.read_table, references), strict=True):
        assert ours.schema.remove_metadata() == theirs.schema.remove_metadata()
        for name in ours.column_names:
            got, expected = ours.column(name).combine_chunks(), theirs.column(name).combine_chunks()
            if name in FLOATS:
                pair = (column.flatten() if name == "logprobs" else column for column in (got, expected))
                np.testing.assert_allclose(*(column.to_numpy() for column in pair), rtol=1e-6, atol=TINY_SCORE)
            else:
                assert got.equals(expected), name
    return shards


# A masked model has a row for each token, and one template of it takes as long as several of a causal one.
@pytest.mark.proof
@pytest.mark.parametrize(("model", "templates"), [("tiny-clm", "0,1"), ("tiny-mlm", "0")])
def test_a_run_on_the_kernels_equals_one_on_the_references(model: str, templates: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, model, templates, str(tmp_path)]
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    by_references, by_kernels = map(json.loads, done.stdout.splitlines())
    assert set(by_references.values()) == {0}
    assert by_kernels["gather_reduce_triton"] == len(templates.split(","))  # a group of each template
    assert by_kernels["linear_logprob_triton"] > 1  # the check of the path, and batches
    assert [shard.name for shard in assert_equal(tmp_path / "triton", tmp_path / "reference")] == [
        f"instrument-family.t{number}.parquet" for number in templates.split(",")
    ]


SAVED = {"causal": save_tiny_model, "masked": save_tiny_masked_model}
ONE = Probe(
    "one",
    (Relation("capital", ("Paris", "Rome"), (Instance(0, "Peru", 0),), ("In [X]: [Y].", "[Y] of [X].")),),
    "f" * 64,
)


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="Triton is not interpreted in this process")
@pytest.mark.parametrize("kind", SAVED)
def test_a_small_run_on_the_kernels_equals_one_on_the_references(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(str(SAVED[kind](tmp_path / "model")), LoadOptions(device="cpu"))
    options = ScoreOptions(templates="0,1" if kind == "causal" else "0", save_tokens=True, quiet=True)
    with (
        patch.object(
            linear_logprob_triton, "linear_logprob_triton", wraps=linear_logprob_triton.linear_logprob_triton
        ) as of_tokens,
        patch.object(
            gather_reduce_triton, "gather_reduce_triton", wraps=gather_reduce_triton.gather_reduce_triton
        ) as of_statements,
    ):
        for chosen in ("reference", "triton"):
            monkeypatch.setenv("CALPROBE_KERNELS", chosen)
            score(model, ONE, tmp_path / chosen, options)
            assert (of_tokens.call_count > 1, of_statements.call_count > 0) == (chosen == "triton",) * 2
    assert_equal(tmp_path / "triton", tmp_path / "reference")
