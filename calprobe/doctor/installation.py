"""What is installed: the packages and their versions, the folders that calprobe reads and writes, and the probes."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path

from calprobe.doctor.diagnosis import Check, Look, State
from calprobe.messages import shown

# Those that decide a score or a speed get a line of their own; the others share one unless something is wrong.
_LEADING = ("torch", "transformers", "tokenizers", "triton", "numpy")
_MODULES = {"Jinja2": "jinja2", "huggingface-hub": "huggingface_hub"}  # distribution -> module, where they differ
_OPTIONAL = ("peft",)
_TRITON = ">=3.3"  # torch's builds for cards bring one; with older ones attention in float32 is slow
_SETTINGS = (
    *("CALPROBE_CACHE", "CALPROBE_DATA", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_ENDPOINT"),
    *("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CALPROBE_KERNELS"),
    *("CC", "PYTHONSAFEPATH", "TRITON_INTERPRET", "TRITON_CACHE_DIR"),
    *("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "NVIDIA_TF32_OVERRIDE"),
)

_GIB = 1024**3
_LITTLE_ROOM = 2 * _GIB  # a run of the twelve templates of BEAR with --save-tokens takes less
_COUNTING_S = 1.0  # a hub cache may hold a million files on a slow disk


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
        if name == "triton":  # the group of kernels says what its absence means here
            return Check(name, "ok", "not installed; torch's builds for GPUs bring it, and a CPU needs none")
        return Check(name, "fail", "not installed", f"pip install '{wanted}'")
    try:
        import_module(_MODULES.get(name, name.replace("-", "_")))
        if name == "transformers":  # it imports nothing until it is asked
            from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: F401
    except Exception as error:  # noqa: BLE001 - a half-installed package may raise anything
        lines = str(error).strip().splitlines() or [""]
        state: State = "note" if name == "triton" else "fail"
        what = f"{version}, cannot be imported ({type(error).__name__}: {lines[0]})"
        return Check(name, state, what, f"pip install --force-reinstall --no-deps '{name}=={version}'")
    if name == "triton" and not _contains(_TRITON, version):
        return Check(name, "note", f"{version}, older than the kernels are tested with ({_TRITON})", "update torch")
    return _within(name, version, bound)


def _contains(bound: str, version: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(bound).contains(version, prereleases=True)


def _within(name: str, version: str, bound: str) -> Check:
    if _contains(bound, version):
        return Check(name, "ok", version)
    return Check(name, "fail", f"{version}, calprobe wants {bound}", f"pip install '{name}{bound}'")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _settings() -> Iterator[Check]:
    settings = {name: os.environ[name] for name in _SETTINGS if name in os.environ}
    if settings:  # also empty ones: an empty CUDA_VISIBLE_DEVICES hides all cards
        yield Check("settings", "ok", ", ".join(f"{name}={value or '(empty)'}" for name, value in settings.items()))


def _hub_cache() -> Check:
    from huggingface_hub import constants

    return place("hub cache", Path(constants.HF_HUB_CACHE), "models cannot be downloaded", "HF_HOME")


def _own_cache() -> Check:
    from calprobe.folders import cache_root

    return place("cache", cache_root(), "GGUF files cannot be unpacked", "CALPROBE_CACHE")


def _data() -> Check:
    from calprobe.folders import data_root

    return place("data", data_root(), "probes cannot be fetched", "CALPROBE_DATA")


def _kernel_cache() -> Check:
    """Where Triton keeps compiled kernels and loads them from: a folder that allows execution."""
    default = Path(os.environ.get("TRITON_HOME") or os.path.expanduser("~")) / ".triton" / "cache"  # noqa: PTH111 - "~" where there is none
    folder = Path(os.environ.get("TRITON_CACHE_DIR") or default)
    check = place("kernel cache", folder, "Triton cannot compile kernels", "TRITON_CACHE_DIR")
    no_execution = getattr(os, "ST_NOEXEC", 0)  # macOS and Windows do not say so
    if check.state == "ok" and no_execution and os.statvfs(_nearest(folder)).f_flag & no_execution:
        what = f"{check.value}; its disk is mounted noexec: Triton cannot load kernels"
        fix = "set TRITON_CACHE_DIR to a folder on a disk that allows execution"
        return Check(check.name, "note", what, fix, check.facts)
    return check


def _here() -> Check:
    return place("runs", Path("runs").absolute(), "`calprobe score` needs --out", "", counted=False)


def _temporary() -> Check:
    found = place("temporary", Path(tempfile.gettempdir()), "libraries need it", "TMPDIR", counted=False)
    return Check(found.name, "fail" if found.state == "note" else "ok", found.value, found.fix, found.facts)


def place(name: str, folder: Path, without: str, variable: str, counted: bool = True) -> Check:
    """One folder: whether it exists, can be written to, what it holds and what the disk has left.

    A folder that is not there is as good as writable where it could be made. `without` says what does not work if it
    cannot be written to, `variable` names the one that moves it.
    """
    there, writable = folder.is_dir(), is_writable(folder)
    free = shutil.disk_usage(_nearest(folder)).free
    size, complete = folder_size(folder) if there and counted else (0, True)
    facts = {"path": shown(str(folder)), "exists": there, "writable": writable, "free_bytes": free, "bytes": size}
    held = "" if not (there and counted) else f"{'' if complete else 'over '}{_size(size)}, "
    text = f"{folder}: {'' if there else 'not there yet, '}{held}{_size(free)} free on its disk"
    if not writable:
        fix = f"set {variable} to a folder that can be written to" if variable else "change to another folder"
        return Check(name, "note", f"{text}; cannot be written to: {without}", fix, facts)
    if free < _LITTLE_ROOM:
        fix = f"free disk space, or set {variable} to a folder on another disk" if variable else "free disk space"
        return Check(name, "note", f"{text}; little free space", fix, facts)
    return Check(name, "ok", text, facts=facts)


def is_writable(folder: Path) -> bool:
    """Whether a file can be made in the folder, or, where it is not there, in the nearest one above it."""
    try:
        with tempfile.TemporaryFile(dir=_nearest(folder)) as file:
            file.write(b"calprobe")
            file.flush()
    except OSError:
        return False
    return True


def _nearest(folder: Path) -> Path:
    """The folder, or the first above it that is there."""
    return next((each for each in (folder, *folder.parents) if each.is_dir()), Path("/"))


def folder_size(folder: Path) -> tuple[int, bool]:
    """Bytes of the files below the folder, links not followed, and whether all were counted in the time for it."""
    stop, total = time.monotonic() + _COUNTING_S, 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - a Path for each file is slow
            except OSError:
                continue  # gone meanwhile
        if time.monotonic() > stop:
            return total, False
    return total, True


def _size(n_bytes: int) -> str:
    return f"{n_bytes / _GIB:.1f} GiB" if n_bytes >= _GIB / 10 else f"{n_bytes / 1024**2:.1f} MiB"


def _probes() -> Iterator[Check]:
    from calprobe.folders import data_root
    from calprobe.probes import load_probe
    from calprobe.probes.datasets import BEAR_FOLDERS, absent_files, files_below

    mini = load_probe("mini")
    yield Check("mini", "ok", f"{len(mini.relations)} relations, comes with calprobe")
    root = data_root()
    for name, folder in (*BEAR_FOLDERS.items(), ("factor", "factor")):
        data = "factor" if name == "factor" else "bear"
        files = files_below(data, folder)
        absent = absent_files(files, root)
        if not absent:
            yield Check(name, "ok", f"{len(files)} files, present, with the right sizes")
        elif len(absent) == len(files):
            yield Check(name, "note", "not there", f"calprobe fetch {data}")
        else:
            yield Check(
                name, "note", f"{len(absent)} of {len(files)} files missing or damaged", f"calprobe fetch {data}"
            )


VERSION_LOOKS: tuple[tuple[str, Look], ...] = (
    ("python", _python),
    ("packages", _packages),
    ("settings", _settings),
)
PLACE_LOOKS: tuple[tuple[str, Look], ...] = (
    ("hub cache", _hub_cache),
    ("cache", _own_cache),
    ("kernel cache", _kernel_cache),
    ("data", _data),
    ("runs", _here),
    ("temporary", _temporary),
)
PROBE_LOOKS: tuple[tuple[str, Look], ...] = (("mini", _probes),)
