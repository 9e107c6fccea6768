"""Running out of memory in the middle of a run: smaller batches, the same scores, and an error only at the very end."""

from __future__ import annotations

import gc
import json
import logging
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from proofs import few_of
from scored_samples import CPU_MESSAGE, PROBE, LimitedMemory
from tiny_models import save_tiny_model
from tolerances import TINY_SUM
from torch.distributed import HashStore

from calprobe.cells.run_facts import Recorded, RunFacts
from calprobe.errors import CalprobeError, UsageError
from calprobe.models import LoadedModel, load_model
from calprobe.runs import Manifest, Progress, RunFolder, open_run
from calprobe.runs.lock import locked
from calprobe.scoring import Interrupted, ScoreOptions, ScoreProgress, score, score_in_memory
from calprobe.scoring.back_off import BackOff, free_after
from calprobe.scoring.budget import budgets_file
from calprobe.scoring.path_choice import executor_of
from calprobe.scoring.score import _requested, _take_part
from calprobe.scoring.score_progress import no_progress
from calprobe.scoring.workers import Workers
from calprobe.show.prose import how_scored

ALL = "0,1"  # four pieces
LONGEST = 31  # tokens: "The capital of Norway is Paris.", a letter a token


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(str(save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def memory(model: LoadedModel) -> Iterator[LimitedMemory]:
    memory = LimitedMemory(model.network)
    yield memory
    memory.hook.remove()


def scored(model: LoadedModel, out: Path, **options: Any) -> np.ndarray:
    return score(model, PROBE, out, ScoreOptions(**{"templates": ALL, "batch_tokens": 200, **options})).table().scores


def manifest(out: Path) -> Manifest:
    return open_run(out).manifest


def budgets(out: Path) -> tuple[int | None, int | None]:
    """The budget in force, and the first one where it became smaller."""
    progress = open_run(out).progress
    return progress.batch_tokens, progress.first_batch_tokens


def test_what_fits_is_left_alone(model: LoadedModel, memory: LimitedMemory, tmp_path: Path) -> None:
    scored(model, tmp_path / "run")
    assert budgets(tmp_path / "run") == (200, None)


@pytest.mark.parametrize("path", few_of(["tree", "padded", "plain"], lambda path: path == "tree"))
def test_batches_are_halved_until_they_fit(
    model: LoadedModel, memory: LimitedMemory, path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    right = scored(model, tmp_path / "right", path=path)
    memory.n_tokens = 60
    with caplog.at_level(logging.WARNING):
        np.testing.assert_allclose(scored(model, tmp_path / "run", path=path), right, atol=TINY_SUM, rtol=0)
    assert budgets(tmp_path / "run") == (50, 200)
    said = [record.message for record in caplog.records]
    shown = "capital, template 0 to capital, template 1" if path == "tree" else "capital, template 0"
    assert said[0].startswith(shown.split(" to ")[0])
    assert [message.partition(": ")[2] for message in said] == [
        "out of memory with batches of 200 tokens; retrying with 100",
        "out of memory with batches of 100 tokens; retrying with 50",
    ]


def test_a_resumed_run_equals_the_unbroken_one(
    model: LoadedModel, memory: LimitedMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"path": "padded", "batch_tokens": 100}  # groups of one piece
    before = memory.passes
    scored(model, tmp_path / "well", **options)
    well = memory.passes - before - 5  # halfway through the groups, which take ten passes
    memory.n_tokens, memory.well = 60, memory.passes + well
    unbroken = scored(model, tmp_path / "unbroken", **options)
    assert budgets(tmp_path / "unbroken") == (50, 100)

    memory.well = memory.passes + well
    write, written = RunFolder.write_piece, []

    def stop(self: RunFolder, piece: Any) -> None:
        write(self, piece)
        written.append(piece)
        if self.progress().batch_tokens == 50:  # the first piece of smaller batches
            raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "write_piece", stop)
    with pytest.raises(Interrupted):
        scored(model, tmp_path / "run", **options)
    monkeypatch.undo()
    assert 0 < len(written) < 4
    assert budgets(tmp_path / "run") == (50, 100)
    np.testing.assert_array_equal(scored(model, tmp_path / "run", **options), unbroken)


def test_either_budget_goes_on_with_the_run_and_no_other(
    model: LoadedModel, memory: LimitedMemory, tmp_path: Path
) -> None:
    memory.n_tokens = 60
    scored(model, tmp_path / "run")
    for batch_tokens in (200, 50, None):
        scored(model, tmp_path / "run", batch_tokens=batch_tokens)
    with pytest.raises(UsageError, match="the run has --batch-tokens 50, requested 100"):
        scored(model, tmp_path / "run", batch_tokens=100)


def test_whoever_joins_late_takes_the_batches_that_the_first_process_has_by_then(
    model: LoadedModel, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    scored(model, run)
    folder = RunFolder.open(run, manifest(run))
    folder.record_progress(0, Progress(batch_tokens=100))
    request = _requested(model, PROBE, run, ScoreOptions(templates=ALL))  # resumes with 100
    process = Workers(1, 2, HashStore())
    with locked(run) as owner:
        process.send("folder", json.dumps({"owner": asdict(owner), "missing": []}))
        folder.record_progress(0, Progress(batch_tokens=50))
        _take_part(process, request, model, 0.0)
    assert json.loads((run / "progress" / "1.json").read_text())["pieces"] == 0


def test_the_error_names_the_longest_statement_and_the_fix(
    model: LoadedModel, memory: LimitedMemory, tmp_path: Path
) -> None:
    memory.n_tokens, memory.well = 20, 10**9
    before = memory.passes
    scored(model, tmp_path / "well", first=1)
    memory.well = memory.passes + memory.passes - before - 1  # all but the last pass
    with pytest.raises(CalprobeError) as failure:
        scored(model, tmp_path / "run", first=1)
    first, fix = str(failure.value).splitlines()
    assert first.startswith("capital, template 1, instance 0: out of memory with batches of ")
    assert first.endswith(" tokens, and this statement has 31")
    assert fix == "free memory, use a device with more memory, --dtype bfloat16 or --device-map auto"
    # What did not help is not kept: with more memory the run goes on as it began.
    assert budgets(tmp_path / "run") == (200, None)


def test_the_check_on_load_backs_off_by_itself(model: LoadedModel, memory: LimitedMemory, tmp_path: Path) -> None:
    memory.n_tokens = 20
    with pytest.raises(CalprobeError, match=r"^c\w+, template \d, instance \d: out of memory with batches of"):
        scored(model, tmp_path / "run")
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_other_errors_are_raised_as_they_are(
    model: LoadedModel, memory: LimitedMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = memory.passes
    scored(model, tmp_path / "well")
    well = passes + 2 * (memory.passes - passes) - 1

    def fail(network: object, args: object) -> None:
        if memory.passes >= well:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    hook = model.network.register_forward_pre_hook(fail)
    try:
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            scored(model, tmp_path / "run")
    finally:
        hook.remove()


@pytest.fixture
def broken(model: LoadedModel) -> Iterator[dict[str, int]]:
    """Passes with a tree mask fail after so many that do well."""
    passes = {"well": 10**9}

    def fail(network: object, args: object, given: dict[str, torch.Tensor]) -> None:
        mask = given["attention_mask"]
        if mask is not None and mask.dim() == 4:
            passes["well"] -= 1
            if passes["well"] < 0:
                raise RuntimeError("CUDA error: an illegal instruction\nCompile with TORCH_USE_CUDA_DSA")

    hook = model.network.register_forward_pre_hook(fail, with_kwargs=True)
    yield passes
    hook.remove()


def test_a_path_that_fails_later_gives_way_to_the_next_for_the_rest_of_the_run(
    model: LoadedModel,
    broken: dict[str, int],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options: dict[str, Any] = {"batch_tokens": 16, "templates": "0,1"}  # groups of a piece each
    right = scored(model, tmp_path / "right", **options)
    assert open_run(tmp_path / "right").progress.later_path is None
    before = broken["well"]
    scored(model, tmp_path / "well", **options)
    well = before - broken["well"] - 6  # the passes of the last groups

    broken["well"] = well
    with caplog.at_level(logging.WARNING):
        unbroken = scored(model, tmp_path / "unbroken", **options)
    np.testing.assert_allclose(unbroken, right, atol=TINY_SUM, rtol=0)
    (said,) = [record.message for record in caplog.records]
    assert said.endswith(
        ": RuntimeError: CUDA error: an illegal instruction\n"
        "the tree path failed there; this group and all later ones take the padded path"
    )
    run = open_run(tmp_path / "unbroken")
    assert (run.manifest.settings.path, run.progress.later_path) == ("tree", "padded")
    assert run.identity == open_run(tmp_path / "right").identity
    facts = RunFacts("run", Recorded(run.manifest, {}, run.progress), 2, 3, (2, 3), 0.5, "")
    assert how_scored(facts).endswith("; the path failed, and padded scored the rest")

    write = RunFolder.write_piece

    def stop(self: RunFolder, piece: Any) -> None:
        write(self, piece)
        if self.progress().later_path == "padded":
            raise KeyboardInterrupt

    broken["well"] = well
    monkeypatch.setattr(RunFolder, "write_piece", stop)
    with pytest.raises(Interrupted):
        scored(model, tmp_path / "run", **options)
    monkeypatch.undo()
    assert open_run(tmp_path / "run").partial
    with pytest.raises(UsageError, match="path: the run has tree, requested plain"):
        scored(model, tmp_path / "run", **options, path="plain")
    broken["well"] = 10**9
    np.testing.assert_array_equal(scored(model, tmp_path / "run", **options, path="tree"), unbroken)
    assert broken["well"] == 10**9  # it went on along the path in force


def test_a_run_that_stepped_down_to_the_plain_path_goes_on(
    model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    products: dict[str, str | None] = {"plain": None}  # as on a card, where the plain path has the model's own
    monkeypatch.setattr("calprobe.scoring.record._precision", lambda model, path: products.get(path, "tf32x3"))
    run = tmp_path / "run"
    before = scored(model, run)
    RunFolder.open(run, manifest(run)).record_progress(0, Progress(batch_tokens=200, later_path="plain"))
    np.testing.assert_array_equal(scored(model, run), before)
    assert (manifest(run).settings.path, manifest(run).settings.precision) == ("tree", "tf32x3")


def test_a_typed_path_that_fails_later_ends_the_run(model: LoadedModel, broken: dict[str, int], tmp_path: Path) -> None:
    scored(model, tmp_path / "well", path="tree")
    broken["well"] = 10**9 - broken["well"] - 1
    with pytest.raises(RuntimeError, match="illegal instruction"):
        scored(model, tmp_path / "run", path="tree")


@pytest.mark.parametrize("error", [ValueError("the caller's own"), torch.OutOfMemoryError("the caller's own")])
def test_an_error_of_the_caller_s_hook_is_raised_and_changes_no_path(
    model: LoadedModel, tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fail_once(progress: ScoreProgress) -> None:
        if progress.statements and not calls:
            calls.append(progress)
            raise error

    calls: list[ScoreProgress] = []
    with pytest.raises(type(error), match="the caller's own"):
        scored(model, tmp_path / "run", first=2, progress=fail_once)
    assert len(calls) == 1
    assert not caplog.records
    assert open_run(tmp_path / "run").progress.later_path is None


def test_the_next_path_is_checked_after_the_failed_pass_has_let_go_of_its_tensors(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[weakref.ref[torch.Tensor]] = []
    there: list[bool] = []

    def fail(*given: object) -> NoReturn:
        activation = torch.zeros(8)
        kept.append(weakref.ref(activation))
        raise RuntimeError("CUDA error: unspecified launch failure")

    def next_path(what: str) -> None:
        there.append(kept[0]() is not None)

    def fails_too() -> NoReturn:
        raise RuntimeError("CUDA error: the card is lost")

    monkeypatch.setattr("calprobe.scoring.back_off.score_group", fail)
    monkeypatch.setattr("calprobe.scoring.back_off.planned_again", lambda ready, executor: ready)
    monkeypatch.setattr("torch.cuda.empty_cache", fails_too)
    ready: Any = SimpleNamespace(shown="capital, template 0")
    with pytest.raises(RuntimeError, match="unspecified launch failure"):
        BackOff(model, executor_of("tree", model, 64), False, next_path).score(ready, no_progress)
    assert there == [False]


def test_a_run_in_memory_records_the_path_that_ran(model: LoadedModel, broken: dict[str, int]) -> None:
    options = ScoreOptions(batch_tokens=16, first=2)
    score_in_memory(model, PROBE, options)
    passes, broken["well"] = 10**9 - broken["well"], 0
    broken["well"] = passes - 2
    run = score_in_memory(model, PROBE, options)
    assert (run.manifest.settings.path, run.progress.later_path, run.progress.batch_tokens) == ("tree", "padded", 16)
    broken["well"] = 10**9
    assert score_in_memory(model, PROBE, options).progress.later_path is None


def test_a_budget_that_became_smaller_holds_for_that_run_alone(
    model: LoadedModel, memory: LimitedMemory, tmp_path: Path
) -> None:
    memory.n_tokens = 130
    scored(model, tmp_path / "found", batch_tokens=None)
    assert budgets(tmp_path / "found") == (128, 1024)
    assert not budgets_file().exists()
    memory.n_tokens = 10**9  # whoever held the memory has gone
    scored(model, tmp_path / "next", batch_tokens=None)
    assert budgets(tmp_path / "next") == (1024, None)


# A network with wide layers, in a process that may take 200 MiB more than it has when the model is loaded.
LIMITED = """
import logging, resource, sys
from pathlib import Path
import psutil, torch
from transformers import AutoModelForCausalLM, LlamaConfig
from calprobe.models import load_model
from calprobe.scoring import ScoreOptions, score
folder, out = map(Path, sys.argv[1:])
logging.basicConfig(level=logging.WARNING, format="%(message)s")
config = LlamaConfig.from_pretrained(folder, intermediate_size=8192)
AutoModelForCausalLM.from_config(config).save_pretrained(folder, max_shard_size="1GB")
model = load_model(str(folder))
score(model, "mini", out / "warm", ScoreOptions(first=1, relations=("month",), quiet=True))
resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + 200 * 2**20, -1))
score(model, "mini", out / "run", ScoreOptions(first=12, relations=("capital",), batch_tokens=16384))
"""


@pytest.mark.proof
@pytest.mark.skipif(sys.platform != "linux", reason="the limit on a process's memory is Linux's")
def test_a_run_survives_a_real_lack_of_memory(tmp_path: Path) -> None:
    folder = save_tiny_model(tmp_path / "tiny")
    command = [sys.executable, "-c", LIMITED, str(folder), str(tmp_path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "out of memory with batches of 16384 tokens; retrying with 8192" in result.stderr
    run = open_run(tmp_path / "run")
    assert not run.partial
    assert run.progress.first_batch_tokens == run.manifest.settings.batch_tokens == 16384
    assert (run.progress.batch_tokens or 0) < 16384


def test_the_tensors_of_the_failed_pass_are_freed() -> None:
    kept: list[weakref.ref[torch.Tensor]] = []

    def pass_that_fails() -> NoReturn:
        activation = torch.zeros(8)
        kept.append(weakref.ref(activation))
        try:
            raise MemoryError("deep inside")
        except MemoryError as error:
            raise RuntimeError(CPU_MESSAGE) from error

    try:
        pass_that_fails()
    except RuntimeError as error:
        gc.collect()
        assert kept[0]() is not None  # the traceback's frames hold it
        free_after(error)
    assert kept[0]() is None
