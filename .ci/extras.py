"""Whether each extra can be resolved on each Python, to wheels alone: `make test-extras`. Nothing is installed.

uv resolves, since pip evaluates markers by the Python that it runs on, whatever Python it is told to resolve for.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
# Not for those who use calprobe.
OF_DEVELOPERS = ("dev", "docs", "fuzz")
SHOWN = ("torch", "transformers", "numpy")
# Debian 12, Ubuntu 22.04, RHEL 9 and newer; a package of vllm has no wheels for older ones.
PLATFORM = "x86_64-manylinux_2_34"


def resolved(extra: str, python: str) -> dict[str, str] | str:
    """Name -> version of all that would be installed, or why nothing fits."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--only-binary", ":all:"]
    command += ["--python-version", python, "--python-platform", PLATFORM, "--no-header", "--no-annotate"]
    command += ["--extra", extra] if extra else []
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return " ".join(done.stderr.split())
    pins = [line.partition("==") for line in done.stdout.splitlines() if "==" in line]
    return {name: version.split()[0] for name, _, version in pins}


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    offered = ["", *(name for name in project["optional-dependencies"] if name not in OF_DEVELOPERS)]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("extras", nargs="*", default=offered, help="some of the extras (default: all, and none)")
    failed = False
    for extra in parser.parse_args().extras:
        for python in PYTHONS:
            found = resolved(extra, python)
            if isinstance(found, str):
                failed, said = True, found
            else:
                names = [name for name in (extra, *SHOWN) if name in found]
                said = f"{len(found)} packages: " + ", ".join(f"{name} {found[name]}" for name in names)
            print(f"{f'[{extra}]' if extra else 'calprobe':14} {python}  {said}", flush=True)
    sys.exit("an extra cannot be resolved" if failed else 0)


if __name__ == "__main__":
    main()
