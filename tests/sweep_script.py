"""A job of tests: run as a module by an engine, it does what stands in its argument `--script=..`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from calprobe.sweep import Job, Planned

FOLDER = Path(__file__).parent


def planned(name: str, out: Path, script: str = "pass", units: int = 1, size: int = 0, **options: object) -> Planned:
    """A job whose module is this one; `script` sees its folder as `OUT`, and which start it is as `START`."""
    job = Job(f"m/{name}", "score", "m", {"script": script, **options}, out / "m" / name, ("[models.m]",))
    return Planned(job, units, 1, size)


if __name__ == "__main__":
    words = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[2:])
    exec(words["script"], {"OUT": Path(words["out"]), "START": int(os.environ["CALPROBE_SWEEP_START"].split(":")[1])})
