"""`calprobe sweep --on slurm` on the command line: what its options take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import calprobe

from calprobe.cli.sweep import command
from calprobe.errors import CalprobeError
from calprobe.sweep import PLACES, OnSlurmCluster

SWEEP = 'models = ["tiny-clm"]\nprobes = ["mini"]\n'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--slurm-time", "9"], "--slurm-time applies to --on slurm, and this is --on local; leave it out"),
        (["--on", "slurm", "--slurm-option", "output=x"], "output is set by the sweep, or has an option of its own"),
        (["--on", "slurm", "--slurm-option", "quiet"], "quiet is set by the sweep, or has an option of its own"),
        (["--on", "slurm", "--slurm-option", "clusters=x"], "clusters: name the cluster in SLURM_CLUSTERS, which all"),
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


def test_options_are_those_of_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = []

    def stop(place: Any) -> Any:
        places.append(place)
        raise CalprobeError("no cluster")

    monkeypatch.setattr(OnSlurmCluster, "engine", stop)
    file = tmp_path / "a.toml"
    file.write_text(SWEEP)
    words = "--jobs 5 --slurm-partition p --slurm-time 90 --slurm-gpus 2 --slurm-cpus 3 --slurm-mem 9G"
    more = ("--slurm-option", "--qos=long", "--slurm-option", "exclusive")
    assert calprobe("sweep", file, "--on", "slurm", *words.split(), *more).stderr == "calprobe: no cluster\n"
    others = {"qos": "long", "exclusive": True}
    assert places == [OnSlurmCluster(5, "p", None, "90", 2, 3, "9G", others)]


def test_the_command_has_all_places() -> None:
    (on,) = [option for option in command.params if option.name == "on"]
    assert list(on.type.choices) == list(PLACES)  # type: ignore[attr-defined]
