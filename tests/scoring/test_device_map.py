"""Models that accelerate has spread: layers on disk, a head on disk, everything on disk; the scores stay the same."""

from __future__ import annotations

import logging
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from packaging.version import Version
from tiny_models import save_tiny_model
from tolerances import TINY_SUM

from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.models.head import HeadUnusable, scoring_head
from calprobe.probes import load_probe
from calprobe.scoring import ScoreOptions, score

LAYER_ON_DISK = {"model.layers.0": "disk"}
HEAD_ON_DISK = {"lm_head": "disk", "model.embed_tokens": "disk"}
ALL_ON_DISK = pytest.param(
    {"": "disk"},
    "plain",
    marks=pytest.mark.skipif(
        Version(version("accelerate")) < Version("1.15"),
        reason="accelerate before 1.15 does not offload all of a model",
    ),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


def spread(folder: Path, off: dict[str, str], monkeypatch: pytest.MonkeyPatch, scratch: Path) -> LoadedModel:
    """The model with `--device-map auto`, of which a machine without cards would offload nothing by itself."""
    plain = load_model(str(folder)).network
    names = [name for name, module in plain.named_modules() if not list(module.children()) and name]
    parts = sorted({".".join(name.split(".")[: 3 if "layers" in name else 2]) for name in names})
    read = transformers.PreTrainedModel.from_pretrained.__func__  # type: ignore[attr-defined]

    def from_pretrained(cls: Any, *given: Any, **named: Any) -> Any:
        named["device_map"] = {part: off.get(part, off.get("", "cpu")) for part in parts}
        return read(cls, *given, **named, offload_folder=str(scratch))

    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", classmethod(from_pretrained))
    return load_model(str(folder), LoadOptions(device_map="auto"))


@pytest.mark.parametrize(
    ("off", "path"),
    [({}, "tree"), (LAYER_ON_DISK, "tree"), (HEAD_ON_DISK, "plain"), ALL_ON_DISK],
    ids=["all on one device", "a layer on disk", "the head on disk", "everything on disk"],
)
def test_scores_stay_the_same(
    off: dict[str, str],
    path: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    options = ScoreOptions(first=2, relations=("month",), quiet=True)
    expected = score(str(folder), "mini", tmp_path / "here", options).table().scores
    model = spread(folder, off, monkeypatch, tmp_path / "offloaded")
    assert model.device.type == "cpu"
    with caplog.at_level(logging.INFO):
        run = score(model, load_probe("mini"), tmp_path / "spread", options)
    assert run.manifest.settings.path == path
    assert ("not on the tree path (HeadUnusable: its output embedding is" in caplog.text) == (path == "plain")
    np.testing.assert_allclose(run.table().scores, expected, atol=TINY_SUM)


def test_a_head_whose_input_alone_is_moved_can_be_taken_apart(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = spread(folder, LAYER_ON_DISK, monkeypatch, tmp_path)
    head: Any = model.network.get_output_embeddings()  # type: ignore[operator]
    assert head._hf_hook is not None
    assert scoring_head(model.network, model.device).weight is head.weight
    head._hf_hook.offload = True
    with pytest.raises(HeadUnusable, match="hooked or offloaded"):
        scoring_head(model.network, model.device)
