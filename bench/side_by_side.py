"""calprobe against its peers: the same statements, the same weights, float32, one contestant after the other.

    python bench/side_by_side.py --bear DIR --out FILE.json      (make bench)
    python bench/side_by_side.py --random gemma-7b --tokenizer DIR --device cuda --dtype bfloat16 --bear DIR --out FILE
    python bench/side_by_side.py --render FILE.json

Each contestant runs in a process of its own for each slice: it loads the model, tries a few batch sizes on a sample
(which is its warm-up), and scores the slice several times at the fastest of them, in turns with the others. Only
scoring is timed. No ratio is printed or written where the sums differ by more than 1e-3 in float32, or where, in a
shorter dtype, calprobe's mean error against float32 is larger than the peer's. A peer that is not installed or fails
gives a row that says so.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

# `import peers` finds bench/peers without bench/ on the path: transformers would take bench/kernels.py for a package.
_SPEC = spec_from_file_location("peers", Path(__file__).with_name("peers") / "__init__.py")
assert _SPEC is not None
sys.modules.setdefault("peers", module_from_spec(_SPEC))

from peers.contest import Contest  # noqa: E402
from peers.job import ModelSpec  # noqa: E402
from peers.render import render  # noqa: E402
from peers.scorers import CONTESTANTS  # noqa: E402
from peers.slices import scaling_pieces, slice_of  # noqa: E402


def model_of(arguments: argparse.Namespace) -> ModelSpec:
    """The model that the options name; a GGUF file's weights are taken from its cached float32 twin."""
    dtype, device = arguments.dtype, arguments.device
    folder = weights_folder(arguments.tokenizer or arguments.model)
    if arguments.random:
        return ModelSpec(f"{arguments.random} (random weights)", None, arguments.random, folder, dtype, device)
    return ModelSpec(arguments.model, folder, None, folder, dtype, device)


def weights_folder(name: str) -> str:
    """The folder, as save_pretrained writes it, of a model's alias, GGUF file or folder."""
    from calprobe.models.gguf import dequantised
    from calprobe.models.source import resolve

    source = resolve(name)
    return str(dequantised(Path(source.location)).folder) if source.form == "gguf" else source.location


def compared(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run everything, print rows as they come, return the record."""
    from peers.machine import Company, machine

    import calprobe

    probe = calprobe.load_probe(arguments.bear)
    names = ("calprobe", *(name for name in arguments.scorers.split(",") if name != "calprobe"))
    if unknown := [name for name in names if name not in CONTESTANTS]:
        raise SystemExit(f"--scorers: {unknown[0]!r} is none of {', '.join(CONTESTANTS)}")
    contest = Contest(
        Path(__file__).resolve(), model_of(arguments), names, arguments.threads, arguments.repeats, arguments.sample
    )
    slices = {what: slice_of(probe, what) for what in arguments.slices}
    settings = {"model": contest.model.name, "dtype": arguments.dtype, "device": arguments.device}
    settings |= {"threads": arguments.threads, "slices": arguments.slices, "sample_statements": arguments.sample}
    record: dict[str, Any] = {"machine": machine(arguments.device), "settings": settings, "note": arguments.note}
    record |= {"rows": [], "achieved": [], "scaling": []}
    company = Company()
    for name, pieces in slices.items():
        rows, reached = contest.on_slice(name, pieces)
        record["rows"] += rows
        record["achieved"] += reached
        print(json.dumps(rows, indent=1), flush=True)
    if arguments.scaling:
        outcome = contest.once("calprobe", scaling_pieces(probe, arguments.scaling), then="scale")
        record["scaling"] = outcome.facts.get("scaling", [])
        print(outcome.fault or f"scaling on {arguments.scaling}: done", flush=True)
    record["machine"]["others_used_cores"] = company.cores()
    return record


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bear", default="bear", help="BEAR: a folder, or what `calprobe fetch bear` left")
    parser.add_argument("--model", default="smollm2-135m", help="alias, folder or GGUF file")
    parser.add_argument("--random", metavar="SHAPE", help="random weights of gpt2's, opt-1.3b's or gemma-7b's shape")
    parser.add_argument("--tokenizer", help="model whose tokenizer goes with --random (default: --model's)")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--slices", nargs="+", default=["P36:10", "P30:100", "mixed:1"], metavar="NAME[:INSTANCES]")
    parser.add_argument("--scorers", default=",".join(CONTESTANTS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sample", type=int, default=120, help="statements on which batch sizes are tried")
    parser.add_argument("--scaling", default="P36", metavar="RELATION", help="walk its axes; empty: leave this out")
    parser.add_argument("--note", default="", help="a sentence to record with the figures")
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    parser.add_argument("--render", type=Path, metavar="FILE", help="print a record as Markdown, and do nothing else")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser


def main() -> int:
    """Do what the options say."""
    arguments = options().parse_args()
    if arguments.child:
        from peers.child import run

        run(arguments.child)
        return 0
    if arguments.render:
        print(render(json.loads(arguments.render.read_text("utf-8"))), end="")
        return 0
    record = compared(arguments)
    print("\n" + render(record), end="")
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
