"""Places of a sweep and the engines that they make: pretended cards, Slurm's options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from sweep_script import planned

from calprobe.errors import CalprobeError, UsageError
from calprobe.sweep import Local, OnRayCluster, OnSlurmCluster, OnThisMachine, Place
from calprobe.sweep.engines import minutes_of, place_of
from calprobe.sweep.on_slurm import OnSlurm, Slurm

GIB = 2**30


def test_jobs_take_one_card_or_as_many_as_they_are_told_or_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda card: SimpleNamespace(total_memory=80 * GIB))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    engine = OnThisMachine().engine()
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
    assert (OnThisMachine(jobs=8).engine().at_once, engine.at_once) == (8, 4)


def test_cards_of_amd_are_given_by_the_variable_that_counts_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda card: SimpleNamespace(total_memory=64 * GIB))
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "2,3")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    for version, places in (
        ("6.4", [{"HIP_VISIBLE_DEVICES": "2"}, {"HIP_VISIBLE_DEVICES": "3"}]),
        (None, [{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}]),
    ):
        monkeypatch.setattr("torch.version.hip", version)
        engine = OnThisMachine().engine()
        assert isinstance(engine, Local)
        assert list(engine.places) == places


def test_jobs_on_a_cpu_share_the_cores_that_this_process_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("os.cpu_count", lambda: 128)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(6)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    engine = OnThisMachine(jobs=2).engine()
    assert isinstance(engine, Local)
    assert list(engine.places) == 2 * [{"OMP_NUM_THREADS": "3"}]


def test_a_name_is_a_place_with_its_defaults() -> None:
    assert place_of("slurm") == OnSlurmCluster()
    assert place_of(OnThisMachine(3)) == OnThisMachine(3)
    with pytest.raises(UsageError, match="on: no 'slrum'; did you mean slurm"):
        place_of("slrum")


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90", 90), ("90:01", 91), ("4:00:00", 240), ("0:0:1", 1), ("2-12", 3600), ("1-0:30", 1470), ("1-1:1:1", 1502)],
)
def test_a_time_is_what_sbatch_takes(text: str, minutes: int) -> None:
    assert minutes_of(text) == minutes


@pytest.mark.parametrize("text", ["", "4h", "0", "1:2:3:4", "-1", "366-0"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no time such as 90|between a minute and a year"):
        OnSlurmCluster(time=text)


def test_without_slurm_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    with pytest.raises(CalprobeError, match="on slurm: no sbatch here; call it on a machine that submits"):
        OnSlurmCluster().engine()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CalprobeError, match="needs the package submitit: pip install 'calprobe"):
        OnSlurmCluster().engine()


def test_options_reach_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr(Slurm, "found", lambda minutes, python: (minutes, python))
    place = OnSlurmCluster(5, "p", None, "90", 2, 3, "9G", {"qos": "long", "exclusive": True, "overcommit": False})
    engine = place.engine()
    assert isinstance(engine, OnSlurm)
    assert (engine.at_once, engine.is_limited, engine.gpus, engine.cpus) == (5, True, 2, 3)
    assert engine.options == {"partition": "p", "mem": "9G", "qos": "long", "exclusive": True}
    assert engine.cluster[0] == 90  # type: ignore[index]
    assert not OnSlurmCluster().engine().is_limited  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("place", "counts", "said"),
    [
        (OnThisMachine, {"jobs": 0}, "jobs of a sweep must be 1 or more; got 0"),
        (OnRayCluster, {"cpus": -1}, "cpus of a sweep must be 1 or more; got -1"),
        (OnSlurmCluster, {"gpus": -1}, "gpus of a sweep must be 0 or more; got -1"),
    ],
)
def test_a_count_that_cannot_be_is_refused(place: Callable[..., Place], counts: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        place(**counts)
