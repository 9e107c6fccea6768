"""The estimators and the bootstrap alone: time and memory from a thousand instances to a million.

    python bench/confidence.py --out FILE.json      (make bench-confidence)
    python bench/confidence.py --render FILE.json

Random scores, seeded, with answer spaces as BEAR's: 5 to 60 candidates, 27 on average. Every size has a process of its
own. Times are processor seconds of the run that took the least, since other work on the machine only adds to them.
Memory of one thing is what it allocates at its peak, in a run of its own; it can read the scores where they are. Before
any ratio stands the largest difference from the plain reimplementation in pandas: beyond 1e-12 there is none.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from growth.compare import against_plain
from growth.measure import Size, measure
from growth.render import render, summary

SIZES = ("1000", "7731", "10000", "100000", "1000000:12:50")
PLAIN = "1000:12:1000"
PACKAGES = ("numpy", "scipy", "pandas", "calprobe")
_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def recorded(arguments: argparse.Namespace) -> dict[str, Any]:
    """Everything that the options ask for, lines printed as they come."""
    from harness.record import recording  # it imports torch, which the processes that measure memory do without

    with recording(packages=PACKAGES) as record:
        record["threads"] = arguments.threads
        record["against_plain"] = in_child("plain", arguments.plain, arguments.threads)
        print(json.dumps(record["against_plain"]), flush=True)
        record["sizes"] = []
        for size in arguments.sizes:
            try:
                found = in_child("growth", size, arguments.threads)
            except subprocess.CalledProcessError as failure:
                found = asdict(size) | {"fault": fault_of(failure)}
            record["sizes"].append(found)
            print(json.dumps(found), flush=True)
    return record


def in_child(what: str, size: Size, threads: int) -> Any:
    """What a fresh process measures; CalledProcessError if it fails."""
    environment = os.environ | dict.fromkeys(_THREAD_COUNTS, str(threads)) | {"PYTHONSAFEPATH": "1"}
    command = [sys.executable, str(Path(__file__).resolve()), "--child", what, json.dumps(asdict(size))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def fault_of(failure: subprocess.CalledProcessError) -> str:
    """Its last word, or the signal that ended it: out of memory has no words."""
    lines = failure.stderr.strip().splitlines()
    return f"failed (exit status {failure.returncode}): {lines[-1] if lines else 'it said nothing'}"[:200]


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    form = "INSTANCES[:TEMPLATES[:RESAMPLES]]"
    parser.add_argument("--sizes", nargs="+", type=Size.read, default=[*map(Size.read, SIZES)], metavar=form)
    parser.add_argument("--plain", type=Size.read, default=Size.read(PLAIN), metavar=form, help="size beside pandas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    parser.add_argument("--render", type=Path, metavar="FILE", help="print a record as Markdown, no more")
    parser.add_argument("--summary", action="store_true", help="with --render: the tables of README.md alone")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return parser


def main() -> int:
    """Do what the options say."""
    arguments = options().parse_args()
    if arguments.child:
        what, size = arguments.child
        print(json.dumps({"plain": against_plain, "growth": measure}[what](Size(**json.loads(size)))))
        return 0
    if arguments.render:
        shown = summary if arguments.summary else render
        print(shown(json.loads(arguments.render.read_text("utf-8"))), end="")
        return 0
    record = recorded(arguments)
    print("\n" + render(record), end="")
    from harness.record import write_record

    write_record(record, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
