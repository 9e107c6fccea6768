"""The engine that `--on` names, on a machine with pretended cards."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from sweep_script import planned

from calprobe.cli.sweep_engines import EngineOptions, engine_of
from calprobe.sweep import Local

GIB = 2**30


def test_jobs_take_one_card_or_as_many_as_they_are_told_or_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda card: SimpleNamespace(total_memory=80 * GIB))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    engine = engine_of("local", EngineOptions())
    assert isinstance(engine, Local)
    assert [place["CUDA_VISIBLE_DEVICES"] for place in engine.places] == ["4", "5", "6", "7"]
    out = Path("out")
    jobs = [
        planned("one", out, size=40 * GIB),
        planned("spread", out, size=130 * GIB, **{"device-map": "auto"}),
        planned("largest", out, size=900 * GIB, **{"device-map": "auto"}),
        planned("shared", out, **{"tensor-parallel": 2, "pipeline-parallel": 2}),
    ]
    assert [engine.places_of(each) for each in jobs] == [1, 3, 4, 4]
    (found,) = engine.misfits([*jobs, planned("more", out, **{"tensor-parallel": 8})])
    assert (found.job.name, found.why) == ("m/more", "takes 8 GPUs, and 4 GPUs can be used here")
    assert (engine_of("local", EngineOptions(jobs=8)).at_once, engine.at_once) == (8, 4)
