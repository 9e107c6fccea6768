"""One kernel that fails costs its own part: norms, the head or attention by torch, on the path as before."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from asked_samples import PROMPTS, question_set
from proofs import few_of
from scored_samples import PROBE
from statement_rows import random_rows
from tiny_backends import TEMPLATE, asked, dialogue, tiny_model
from tiny_models import loaded, save_tiny_model, tiny_causal, tiny_masked
from tolerances import TINY_SCORE, TINY_SUM
from torch.distributed import HashStore

from calprobe.asking import AskOptions, AskProgress, ask
from calprobe.backends.local import TransformersBackend
from calprobe.kernels import linear_logprob, rms_norm, tree_attention
from calprobe.models import LoadedModel, load_model
from calprobe.runs import open_run
from calprobe.runs.asked_run import AskedRun
from calprobe.scoring import ScoreOptions, score
from calprobe.scoring.engine import Engine
from calprobe.scoring.executor import score_rows
from calprobe.scoring.fit import find_way
from calprobe.scoring.path_choice import Setup, checked_path, executor_of, setups_of, what_failed
from calprobe.scoring.score import _requested, _take_part
from calprobe.scoring.workers import Workers

ALL = ("flat", "tree", "padded", "plain")
CHILD = Path(__file__).with_name("card_without_kernels.py")


class OutOfResources(Exception):
    """As Triton's, of a tile that does not fit the card."""


class Broken:
    """A kernel's stand-in, which fails, or is right where it is not switched off."""

    def __init__(self, right: Callable[..., Any]) -> None:
        self.right, self.fails, self.calls = right, False, 0

    def __call__(self, *arguments: Any, **rule: Any) -> Any:
        self.calls += 1
        if self.fails:
            raise OutOfResources("out of resource: shared memory, Required: 99, Hardware limit: 64\nreduce blocks")
        return self.right(*arguments, **rule)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> dict[str, Broken]:
    """The kernels of head, layers and flat attention, as on a card that has them."""
    monkeypatch.setattr("calprobe.scoring.path_choice.triton_takes", lambda array: True)
    monkeypatch.setattr("calprobe.models.fused_layers.triton_takes", lambda array: True)
    monkeypatch.setattr("calprobe.scoring.path_choice._compiles", lambda device: True)
    broken = {"head": Broken(linear_logprob), "layers": Broken(rms_norm), "attention": Broken(tree_attention)}
    monkeypatch.setattr("calprobe.models.head.linear_logprob", broken["head"])
    monkeypatch.setattr("calprobe.models.fused_layers.rms_norm", broken["layers"])
    monkeypatch.setattr("calprobe.models.flat_attention.tree_attention", broken["attention"])
    return broken


def replies_in(run: AskedRun) -> dict[str, tuple[int, ...] | None]:
    return {reply.key: reply.token_ids for piece in run.by_piece.values() for reply in piece.replies}


def model_of_card() -> LoadedModel:
    return loaded(tiny_causal("llama"), fused=True)


@pytest.mark.parametrize(
    ("fails", "setup", "n_said"),
    [
        ([], Setup("flat"), 0),
        (["layers"], Setup("flat", ("layers",)), 1),
        (["head"], Setup("flat", ("head",)), 1),
        (["head", "layers"], Setup("flat", ("layers", "head")), 1),
        (["attention"], Setup("tree"), 1),
        (["attention", "head"], Setup("tree", ("head",)), 2),
        (["attention", "head", "layers"], Setup("tree", ("layers", "head")), 2),
    ],
)
def test_a_kernel_that_fails_costs_its_own_part(
    fails: list[str], setup: Setup, n_said: int, kernels: dict[str, Broken], caplog: pytest.LogCaptureFixture
) -> None:
    model, sample = model_of_card(), random_rows(seed=14, n_statements=6)
    expected = score_rows(executor_of("plain", model, 96), sample)
    for part in fails:
        kernels[part].fails = True
    with caplog.at_level(logging.WARNING):
        checked = checked_path(model, 96, sample, ALL)
    assert Setup(checked.path, checked.by_torch) == setup
    assert len(caplog.records) == n_said
    shown = {"layers": "norms, gated units and positions", "head": "the head", "attention": "not on the flat path"}
    for part in fails:
        assert shown[part] in caplog.text
        assert "OutOfResources: out of resource: shared memory, Required: 99" in caplog.text
    for kernel in kernels.values():
        kernel.calls = 0
    executor = executor_of(checked.path, model.by_torch(checked.by_torch), 96)
    np.testing.assert_allclose(score_rows(executor, sample), expected, atol=TINY_SCORE, rtol=0)
    assert {name for name, kernel in kernels.items() if not kernel.calls} == set(fails)


def test_a_wrong_norm_is_not_taken_and_the_flat_path_is_kept(
    kernels: dict[str, Broken], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels["layers"], "right", lambda *arguments, **rule: 1.01 * rms_norm(*arguments, **rule))
    checked = checked_path(model_of_card(), 96, random_rows(seed=14, n_statements=6), ALL)
    assert (checked.path, checked.by_torch) == ("flat", ("layers",))


def test_a_masked_model_keeps_its_path_without_the_kernel_of_its_head(
    kernels: dict[str, Broken], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tiny_models import save_tiny_masked_model

    model = load_model(str(save_tiny_masked_model(tmp_path / "masked")))
    options = ScoreOptions(templates="0", first=1, quiet=True, path=None)
    right = score(model, PROBE, tmp_path / "right", options).table().scores
    kernels["head"].fails = True
    run = score(model, PROBE, tmp_path / "run", options)
    assert run.manifest.settings.path == "masked"
    np.testing.assert_allclose(run.table().scores, right, atol=TINY_SUM, rtol=0)


def test_what_is_tried_and_in_which_order(kernels: dict[str, Broken]) -> None:
    model = model_of_card()
    assert setups_of(model, "flat") == [
        Setup("flat"), Setup("flat", ("layers",)), Setup("flat", ("head",)), Setup("flat", ("layers", "head"))
    ]  # fmt: skip
    assert setups_of(model, "plain") == [Setup("plain")]
    assert setups_of(model.by_torch(("head",)), "tree") == [Setup("tree"), Setup("tree", ("layers",))]
    masked = loaded(tiny_masked("bert"), kind="masked", fused=True)
    assert setups_of(masked, "masked") == [Setup("masked"), Setup("masked", ("head",))]


def test_a_cpu_has_one_way_for_each_path() -> None:
    assert setups_of(loaded(tiny_causal("llama")), "tree") == [Setup("tree")]


def test_a_kernel_that_fails_in_mid_run_leaves_its_path_alone(
    kernels: dict[str, Broken], tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    model = load_model(str(save_tiny_model(tmp_path / "model")))
    assert model.fused
    options = ScoreOptions(templates="0,1", batch_tokens=16, quiet=True)
    right = score(model, PROBE, tmp_path / "right", options).table().scores
    assert open_run(tmp_path / "right").progress.later_by_torch == ()

    began = Engine.score

    def broken_after_the_check(self: Engine, *given: Any, **named: Any) -> Any:
        for group in began(self, *given, **named):
            kernels["head"].fails = True
            yield group

    monkeypatch.setattr(Engine, "score", broken_after_the_check)
    with caplog.at_level(logging.WARNING):
        run = score(model, PROBE, tmp_path / "run", options)
    (said,) = [record.message for record in caplog.records if "failed there" in record.message]
    assert said.endswith(
        "the flat path failed there; this group and all later ones take the flat path with the head by torch"
    )
    progress = open_run(tmp_path / "run").progress
    assert (run.manifest.settings.path, progress.later_path, progress.later_by_torch) == ("flat", None, ("head",))
    np.testing.assert_allclose(run.table().scores, right, atol=TINY_SUM, rtol=0)


def test_what_was_refused_is_off_from_the_first_group_on(kernels: dict[str, Broken], tmp_path: Path) -> None:
    model = load_model(str(save_tiny_model(tmp_path / "model")))
    kernels["head"].fails = kernels["layers"].fails = True
    run = score(model, PROBE, tmp_path / "run", ScoreOptions(templates="0", batch_tokens=200, quiet=True))
    assert (run.manifest.settings.path, run.manifest.settings.layers) == ("flat", None)
    assert open_run(tmp_path / "run").progress.later_by_torch == ()


def test_a_kernel_that_fails_while_replies_are_written_leaves_its_part_to_torch(
    kernels: dict[str, Broken], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = tiny_model(template=TEMPLATE, fused=True)
    options = AskOptions(samples=2, temperature=1.0, seed=3, quiet=True)
    right = ask(TransformersBackend(model), question_set(), tmp_path / "right", replace(options, prompts=PROMPTS))

    def broken_after(progress: AskProgress) -> None:
        kernels["layers"].fails |= progress.replies == 5

    broken = replace(options, prompts=PROMPTS, progress=broken_after)
    with caplog.at_level(logging.WARNING):
        run = ask(TransformersBackend(model), question_set(), tmp_path / "run", broken)
    (said,) = [record.message for record in caplog.records if "in the place of a kernel" in record.message]
    assert said.startswith("tiny: torch computes norms, gated units and positions in the place of a kernel (OutOfRes")
    assert replies_in(run) == replies_in(right)
    assert [found.manifest.backend.layers for found in (run, right)] == ["fused", "fused"]
    assert [found.progress.later_by_torch for found in (run, right)] == [("layers",), ()]


def test_an_error_of_no_kernel_is_none_of_theirs(
    kernels: dict[str, Broken], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    backend = TransformersBackend(tiny_model(template=TEMPLATE, fused=True))

    def broken(*given: Any, **named: Any) -> NoReturn:
        raise IndexError("no such row")

    with monkeypatch.context() as patch:
        patch.setattr("calprobe.backends.local.ragged.plan_sharing", broken)
        with pytest.raises(IndexError, match="no such row"):
            asked(backend, dialogue("What is 1 plus 1?"))
    assert "in the place of a kernel" not in caplog.text
    assert backend.settings()["layers"] == "fused"  # as before, for what is asked next
    assert asked(backend, dialogue("What is 1 plus 1?"))


NOTHING_ELSE = {"PATH": "/nonexistent"}
ENVIRONMENTS: dict[str, tuple[str, Callable[[Path], dict[str, str]], str]] = {
    "no triton": ("triton", lambda folder: {}, "ModuleNotFoundError: import of triton halted"),
    "no compiler": ("compiler", lambda folder: NOTHING_ELSE, "RuntimeError: Failed to find C compiler"),
    "no Python.h": (
        "headers",
        lambda folder: {"CC": program(folder / "cc", "echo 'fatal error: Python.h: No such file' >&2; exit 1")},
        "cc ended with 1: Triton needs a C compiler, Python's headers and the driver",
    ),
    "no home": ("home", lambda folder: {"HOME": "/dev/null/nobody"}, "NotADirectoryError"),
    # A library that cannot be mapped, as in a folder mounted noexec.
    "noexec home": (
        "home",
        lambda folder: {
            "CC": program(folder / "cc", 'while [ "$1" != -o ]; do shift; done; echo nothing > "$2"'),
            "HOME": str(folder),
        },
        "ImportError",
    ),
}


def program(file: Path, does: str) -> str:
    file.write_text(f"#!/bin/sh\n{does}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize("environment", few_of(ENVIRONMENTS, "no compiler".__eq__))
def test_a_card_on_which_triton_fails_keeps_the_tree(environment: str, tmp_path: Path) -> None:
    pytest.importorskip("triton", reason="Triton exists for Linux on x86-64 only")
    without, changes, reason = ENVIRONMENTS[environment]
    folder = save_tiny_model(tmp_path / "tiny")
    kept = {name: value for name, value in os.environ.items() if name not in ("CC", "TRITON_INTERPRET")}
    given = {
        "PYTHONPATH": str(CHILD.parents[1]),
        "TRITON_LIBCUDA_PATH": str(tmp_path),  # where none is, which Triton looks for before all else
        "CALPROBE_CACHE": str(tmp_path / "cache"),
        **({} if without == "home" else {"TRITON_CACHE_DIR": str(tmp_path / "triton")}),
    }
    done = subprocess.run(
        [sys.executable, str(CHILD), str(folder), without],
        env=kept | given | changes(tmp_path),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["fused"]  # what the model was loaded with
    assert (found["path"], found["layers"]) == ("tree", None)
    assert found["difference"] <= TINY_SUM
    of_path, of_parts = found["warnings"]
    assert f"tiny: not on the flat path ({reason}" in of_path
    assert "tiny: torch computes norms, gated units and positions and the head in the place of a kernel" in of_parts
    assert reason in of_parts


def test_a_program_that_failed_is_named_without_its_command() -> None:
    error = subprocess.CalledProcessError(1, ["/usr/bin/gcc", "driver.c", "-O3", *["-I/a/long/folder"] * 50])
    assert what_failed(error) == "gcc ended with 1: Triton needs a C compiler, Python's headers and the driver"
    assert what_failed(torch.OutOfMemoryError("no room\nat all")) == "OutOfMemoryError: no room"


def test_the_first_process_compiles_what_the_check_takes_before_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    way, send = find_way, Workers.send

    def noted(*given: Any) -> Any:
        order.append("kernels tried")
        return way(*given)

    def sent(self: Workers, name: str, text: str) -> None:
        order.append(f"{name} sent")
        send(self, name, text)

    def received(self: Workers, name: str) -> NoReturn:
        order.append(f"{name} awaited")
        raise TimeoutError

    monkeypatch.setattr(sys.modules[_take_part.__module__], "find_way", noted)
    monkeypatch.setattr(Workers, "send", sent)
    model = load_model(str(save_tiny_model(tmp_path / "model")))
    score(model, PROBE, tmp_path / "run", ScoreOptions(templates="0", quiet=True))
    assert order.index("kernels tried") < order.index("folder sent")
    order.clear()
    monkeypatch.setattr(Workers, "receive", received)
    request = _requested(model, PROBE, tmp_path / "run", ScoreOptions(templates="0"))
    with pytest.raises(TimeoutError):
        _take_part(Workers(1, 2, HashStore()), request, model, 0.0)
    assert order == ["folder awaited"]
