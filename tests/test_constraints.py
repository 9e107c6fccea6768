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


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


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
    outside = [str(r) for r in own_requirements() if not r.specifier.contains(pinned[canonicalize_name(r.name)])]
    assert outside == []
