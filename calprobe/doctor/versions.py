"""The versions of all that calprobe needs: there, importable, and within its bounds."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib import import_module, metadata

from calprobe import __version__ as OWN_VERSION
from calprobe.doctor.diagnosis import Check, Look, State

__all__ = ["OWN_VERSION", "VERSION_LOOKS"]

# Those that decide a score or a speed get a line of their own; the others share one unless something is wrong.
_LEADING = ("torch", "transformers", "tokenizers", "triton", "numpy")
_MODULES = {"Jinja2": "jinja2", "huggingface-hub": "huggingface_hub"}  # distribution -> module, where they differ
_OPTIONAL = ("peft",)
_SETTINGS = (
    *("CALPROBE_CACHE", "CALPROBE_DATA", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_ENDPOINT"),
    *("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "TRITON_INTERPRET", "TRITON_CACHE_DIR", "PYTHONSAFEPATH"),
)


def _python() -> Check:
    return Check("python", "ok", f"{platform.python_version()} ({platform.python_implementation()})")


def _packages() -> Iterator[Check]:
    """A check for each leading package and each that is wrong, then one for all that are well."""
    well = []
    bounds = _bounds()
    names = [*_LEADING, *sorted(name for name in bounds if name not in _LEADING)]
    for name in names:
        check = _package(name, bounds.get(name, ""))
        if name in _LEADING or check.state != "ok":
            yield check
        else:
            well.append((name, check.value))
    well += [(name, version) for name in _OPTIONAL if (version := _version(name)) is not None]
    yield Check("others", "ok", ", ".join(" ".join(pair) for pair in well), facts=dict(well))


def _bounds() -> dict[str, str]:
    """Distribution -> the versions that calprobe takes, `>=2.6`, of all that it needs on this machine."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    needed = [Requirement(line) for line in metadata.requires("calprobe") or ()]
    return {
        canonicalize_name(each.name): str(each.specifier)
        for each in needed
        if each.marker is None or each.marker.evaluate({"extra": ""})
    }


def _package(name: str, bound: str) -> Check:
    version = _version(name)
    if version is None:
        wanted = f"{name}{bound}"
        if name == "triton":  # kernels.py says what its absence means here
            return Check(name, "note", "not installed")
        return Check(name, "fail", "not installed", f"pip install '{wanted}'")
    try:
        import_module(_MODULES.get(name, name.replace("-", "_")))
        if name == "transformers":  # it imports nothing until it is asked
            from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: F401
    except Exception as error:  # noqa: BLE001 - a half-installed package may raise anything
        said = str(error).strip().splitlines() or [""]
        state: State = "note" if name == "triton" else "fail"
        what = f"{version}, cannot be imported ({type(error).__name__}: {said[0]})"
        return Check(name, state, what, f"pip install --force-reinstall --no-deps '{name}=={version}'")
    return _within(name, version, bound)


def _within(name: str, version: str, bound: str) -> Check:
    from packaging.specifiers import SpecifierSet

    if SpecifierSet(bound).contains(version, prereleases=True):
        return Check(name, "ok", version)
    return Check(name, "fail", f"{version}, calprobe wants {bound}", f"pip install '{name}{bound}'")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _settings() -> Iterator[Check]:
    found = {name: os.environ[name] for name in _SETTINGS if os.environ.get(name)}
    if found:
        yield Check("settings", "ok", ", ".join(f"{name}={value}" for name, value in found.items()))


VERSION_LOOKS: tuple[tuple[str, Look], ...] = (
    ("python", _python),
    ("packages", _packages),
    ("settings", _settings),
)
