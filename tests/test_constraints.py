"""constraints.txt: every package that an install pulls is pinned there, within the bounds of pyproject.toml."""

from __future__ import annotations

import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent

# What a CUDA build of torch brings; torch pins it itself.
_OF_CUDA = ("nvidia-", "cuda-")
# Pinned themselves; what they pull is not, for they have environments of their own in the Makefile.
_ELSEWHERE = {"inspect-ai", "mlflow", "trackio", "vllm", "wandb"}


def own_requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = chain(project["dependencies"], *project["optional-dependencies"].values())
    return [Requirement(line) for line in lines]


def pins() -> dict[str, list[str]]:
    """The version of each package; of one in a range both ends."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): [end.version for end in pin.specifier] for pin in pinned}


def wanted(requirement: Requirement, extras: set[str]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in extras | {""})


def pulled(requirements: list[Requirement]) -> set[str]:
    """Names of all that these requirements install on this Python, by the metadata of what is installed."""
    found: set[tuple[str, str]] = set()
    waiting = [requirement for requirement in requirements if wanted(requirement, set())]
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), ",".join(sorted(requirement.extras)))
        if key in found or key[0].startswith(_OF_CUDA):
            continue
        found.add(key)
        if key[0] in _ELSEWHERE:
            continue
        try:
            needed = [Requirement(line) for line in metadata.requires(key[0]) or ()]
        except metadata.PackageNotFoundError:
            continue
        waiting += [each for each in needed if wanted(each, requirement.extras)]
    return {name for name, _ in found}


def test_everything_that_is_installed_is_pinned() -> None:
    assert pulled(own_requirements()) - pins().keys() == set()


def test_the_pins_are_within_our_bounds() -> None:
    pinned = pins()
    outside = [
        str(r)
        for r in own_requirements()
        if not all(r.specifier.contains(version) for version in pinned[canonicalize_name(r.name)])
    ]
    assert outside == []


def test_torch_for_cuda_finds_its_triton() -> None:
    """Each of its builds requires one Triton; that of the version here: docs/reference/compatibility.md."""
    (triton,) = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if "triton" in line[:6]]
    assert pins()["torch"] == ["2.13.0"]
    assert Requirement(triton).specifier.contains("3.7.1")
