"""`calprobe sweep --on slurm` on the command line: what its options take, and what it says where there is no Slurm."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from commands import calprobe

from calprobe.cli.sweep_slurm import TimeLimit, engine_on_slurm
from calprobe.errors import CalprobeError
from calprobe.sweep.on_slurm import OnSlurm, Slurm

SWEEP = 'models = ["tiny-clm"]\nprobes = ["mini"]\n'
GIVEN = {
    "slurm_partition": "p",
    "slurm_account": None,
    "slurm_time": 90,
    "slurm_gpus": 2,
    "slurm_cpus": 3,
    "slurm_mem": "9G",
    "slurm_option": {"qos": "long", "exclusive": True},
}


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90", 90), ("90:01", 91), ("4:00:00", 240), ("0:0:1", 1), ("2-12", 3600), ("1-0:30", 1470), ("1-1:1:1", 1502)],
)
def test_a_time_is_what_sbatch_takes(text: str, minutes: int) -> None:
    assert TimeLimit().convert(text, None, None) == minutes


@pytest.mark.parametrize("text", ["", "4h", "0", "1:2:3:4", "-1", "366-0"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is no time such as 90|between a minute and a year"):
        TimeLimit().convert(text, None, None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--slurm-time", "9"], "--slurm-time has no meaning with --on local; leave it out"),
        (["--on", "slurm", "--slurm-option", "output=x"], "output is set by the sweep, or has an option of its own"),
        (["--on", "slurm", "--slurm-option", "qos=a\nb"], "'a\\nb' cannot stand in a line of sbatch"),
        (
            ["--on", "slurm", "--slurm-partition", "gpu\n#SBATCH --uid=0"],
            "'gpu\\n#SBATCH --uid=0' cannot stand in a line",
        ),
        (["--on", "slurm", "--slurm-account", "a\rb"], "'a\\rb' cannot stand in a line of sbatch"),
        (["--on", "slurm", "--slurm-option", "Q S"], "'Q S' is no option of sbatch such as qos=long"),
        (["--on", "slurm", "--slurm-mem", "much"], "'much' is no memory such as 64G"),
        (["--on", "slurm", "--slurm-cpus", "0"], "'0' is not a whole number from 1 to 1,024"),
    ],
)
def test_what_cannot_be_is_said_first(tmp_path: Path, arguments: list[str], said: str) -> None:
    file = tmp_path / "a.toml"
    file.write_text(SWEEP)
    done = calprobe("sweep", file, *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_without_slurm_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    with pytest.raises(CalprobeError, match="on slurm: no sbatch here; call it on a machine that submits"):
        engine_on_slurm(None, GIVEN)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CalprobeError, match="needs the package submitit: pip install 'calprobe"):
        engine_on_slurm(None, GIVEN)


def test_options_reach_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr(Slurm, "found", lambda minutes, python: (minutes, python))
    engine = engine_on_slurm(5, GIVEN)
    assert isinstance(engine, OnSlurm)
    assert (engine.at_once, engine.is_limited, engine.gpus, engine.cpus) == (5, True, 2, 3)
    assert engine.options == {"partition": "p", "mem": "9G", "qos": "long", "exclusive": True}
    assert not engine_on_slurm(None, GIVEN).is_limited  # type: ignore[attr-defined]
