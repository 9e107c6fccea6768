"""Build the wheel and the source archive, and compare what is in them with the repository: `make dist`.

Both are built from a copy of the files that git has or would take, so that nothing else gets in. The wheel that is
kept was built from the source archive; a second one, built from the copy itself, has to hold the same files.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Where a folder of the repository is in the wheel, as `package-dir` in pyproject.toml has it.
INSTALLED = {"calprobe/": "calprobe/", "kernels/fused/": "calprobe/kernels/", "templates/": "calprobe/templates/"}
# What git has and the source archive leaves out: it is of no use without git, or describes a machine.
NOT_IN_SOURCE = {".gitattributes", ".gitignore"}


def tracked() -> list[str]:
    """The files that git has, or would take at the next `git add`, that are there."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted({name for name in names if name and (ROOT / name).is_file()})


def copied(names: list[str], folder: Path) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


def build(tree: Path, out: Path, *what: str) -> None:
    command = [sys.executable, "-m", "build", "--outdir", str(out), *what, str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\npython -m build failed")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def in_wheel(wheel: Path) -> dict[str, str]:
    """Name -> SHA-256 of each file of the package; its dist-info is left out."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and ".dist-info/" not in name]
        return {name: digest(archive.read(name)) for name in names}


def in_source(archive: Path) -> dict[str, str]:
    """Name -> SHA-256 of each file, without the folder that all are in."""
    with tarfile.open(archive) as tar:
        files = [(member.name, tar.extractfile(member)) for member in tar if member.isfile()]
        return {name.partition("/")[2]: digest(file.read()) for name, file in files if file}


def wanted_in_wheel(names: list[str]) -> dict[str, str]:
    """Name in the wheel -> SHA-256, of every file of the package's folders."""
    wanted = {}
    for name in names:
        for here, there in INSTALLED.items():
            if name.startswith(here):
                wanted[there + name.removeprefix(here)] = digest((ROOT / name).read_bytes())
    return wanted


def differences(what: str, found: dict[str, str], wanted: dict[str, str]) -> list[str]:
    """One line for each file that is missing, too much, or another."""
    lines = [f"{what} lacks {name}" for name in sorted(wanted.keys() - found.keys())]
    lines += [f"{what} has {name}, which should not be there" for name in sorted(found.keys() - wanted.keys())]
    return lines + [f"{what} has another {n}" for n in sorted(wanted.keys() & found.keys()) if wanted[n] != found[n]]


def complaints(names: list[str], source: Path, wheel: Path, direct: Path) -> list[str]:
    """What is wrong with the archives; `direct` is the wheel that was built without the source archive."""
    package = wanted_in_wheel(names)
    everything = {name: digest((ROOT / name).read_bytes()) for name in names if name not in NOT_IN_SOURCE}
    shipped = {name: value for name, value in in_source(source).items() if not made_by_setuptools(name)}
    return [
        *differences("the wheel", in_wheel(wheel), package),
        *differences("the wheel that was built without the source archive", in_wheel(direct), in_wheel(wheel)),
        *differences("the source archive", shipped, everything),
    ]


def made_by_setuptools(name: str) -> bool:
    return name in ("PKG-INFO", "setup.cfg") or name.startswith("calprobe.egg-info/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder for both archives")
    out: Path = parser.parse_args().out
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    names = tracked()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        build(copied(names, place / "first"), place / "dist")
        build(copied(names, place / "second"), place / "direct", "--wheel")
        source = place / "dist" / f"calprobe-{version}.tar.gz"
        wheel = place / "dist" / f"calprobe-{version}-py3-none-any.whl"
        wrong = complaints(names, source, wheel, place / "direct" / wheel.name)
        checked = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", source, wheel], check=False)
        if wrong or checked.returncode:
            sys.exit("\n".join(wrong) or "twine refuses the archives")
        out.mkdir(parents=True, exist_ok=True)
        for archive in (source, wheel):
            kept = shutil.copy2(archive, out)
            print(f"{kept}: {archive.stat().st_size / 1e6:.1f} MB")
    print(f"{len(in_wheel(out / wheel.name))} files of the package, the same by both ways of building")


if __name__ == "__main__":
    main()
