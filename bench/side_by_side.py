"""calprobe against its peers: the same statements, the same weights, the same dtype, in turns.

    python bench/side_by_side.py --bear DIR --out FILE.json                             (make bench: this, ..)
    python bench/side_by_side.py --random minilm xlm-r-mini --bear DIR --out FILE.json  (.. and masked models)
    python bench/side_by_side.py --random gemma-7b --tokenizer DIR --device cuda --dtype bfloat16 --bear DIR --out FILE
    python bench/side_by_side.py --render FILE.json ..     (all tables; --summary: those of README.md)

Each contestant runs in a process of its own for each slice: it loads the model, tries a few batch sizes on a sample
(which is its warm-up), and scores the slice several times at the fastest of them, in turns with the others. Only
scoring is timed. No ratio is printed or written where the sums differ by more than 1e-3 in float32, or where, in a
shorter dtype, calprobe's mean error against float32 is larger than the peer's. A peer that is not installed or fails
gives a row that says so; one that cannot score masked models takes no part in their contest. A file holds a record for
each model.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError
from calprobe.words import ModelKind

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from harness.contestants import OURS, names_of, weights_folder
from harness.record import recording, write_record
from peers.contest import Contest
from peers.render import render, summary
from peers.statements import ModelSpec, scaling_pieces, slice_of


def models_of(arguments: argparse.Namespace) -> list[ModelSpec]:
    """The models that the options name; a GGUF file's weights are taken from its cached float32 twin."""
    from peers.models import kind_of_folder

    if arguments.random:
        return [random_model(shape, arguments) for shape in arguments.random]
    folder = weights_folder(arguments.model)
    kind = kind_of_folder(folder)
    return [ModelSpec(arguments.model, kind, folder, None, folder, arguments.dtype, arguments.device)]


def random_model(shape: str, arguments: argparse.Namespace) -> ModelSpec:
    """The model of a known shape with the tokenizer that was asked for, or MiniLM's if it is a masked one."""
    from peers.models import SHAPES, minilm_folder

    if shape not in SHAPES:
        raise SystemExit(f"--random: {shape!r} is none of {', '.join(SHAPES)}")
    kind = SHAPES[shape].kind
    if arguments.tokenizer or kind == "causal":
        folder = weights_folder(arguments.tokenizer or arguments.model)
    else:
        folder = minilm_folder()
    name = f"{shape} (random {'head' if SHAPES[shape].encoder else 'weights'})"
    return ModelSpec(name, kind, None, shape, folder, arguments.dtype, arguments.device)


def contestants(kind: ModelKind, asked: str) -> tuple[str, ...]:
    """calprobe and those that are asked for, separated by commas; if none, all that score models of that kind."""
    able = names_of("statements", kind)
    names = (OURS, *(name for name in asked.split(",") if name != OURS)) if asked else able
    if unknown := [name for name in names if name not in able]:
        raise SystemExit(f"--scorers: {unknown[0]!r} is none of those that score {kind} models: {', '.join(able)}")
    return names


def compared(model: ModelSpec, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run everything on one model, print rows as they come, return the record."""
    import calprobe

    probe = calprobe.load_probe(arguments.bear)
    names = contestants(model.kind, arguments.scorers)
    contest = Contest(model, names, arguments.threads, arguments.repeats, arguments.sample)
    slices = {what: slice_of(probe, what) for what in arguments.slices}
    settings = {"model": model.name, "kind": model.kind, "dtype": arguments.dtype, "device": arguments.device}
    settings |= {"threads": arguments.threads, "slices": arguments.slices, "sample_statements": arguments.sample}
    with recording(arguments.device) as record:
        record |= {"settings": settings, "note": arguments.note, "rows": [], "achieved": [], "scaling": []}
        for name, pieces in slices.items():
            rows, reached = contest.on_slice(name, pieces)
            record["rows"] += rows
            record["achieved"] += reached
            print(json.dumps(rows, indent=1), flush=True)
        if arguments.scaling:
            outcome = contest.once(OURS, scaling_pieces(probe, arguments.scaling), then="scale")
            record["scaling"] = outcome.facts.get("scaling", [])
            print(outcome.fault or f"scaling on {arguments.scaling}: done", flush=True)
    return record


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bear", default="bear", help="BEAR: a folder, or what `calprobe fetch bear` left")
    parser.add_argument("--model", default="smollm2-135m", help="alias, folder or GGUF file")
    parser.add_argument(
        "--random",
        nargs="+",
        metavar="SHAPE",
        help="random weights of gpt2, opt-1.3b, gemma-7b, xlm-r-mini, xlm-r-base; minilm: its encoder, a random head",
    )
    parser.add_argument("--tokenizer", help="model with the tokenizer for --random (default: --model's; MiniLM's)")
    parser.add_argument(
        "--dtype", default="float32", choices=["float32", "bfloat16", "float16"], help="everybody's (default: float32)"
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="on a CPU (default: its cores)")
    parser.add_argument(
        "--slices",
        nargs="+",
        default=["P36:10", "P30:100", "mixed:1"],
        metavar="NAME[:INSTANCES[:CANDIDATES]]",
        help="a relation, mixed (20 relations) or all; the first INSTANCES of each (default: P36:10 P30:100 mixed:1)",
    )
    parser.add_argument(
        "--scorers", default="", help=f"some of {','.join(names_of('statements'))} (default: all that can)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="timed ones of each slice (default: 3)")
    parser.add_argument("--sample", type=int, default=120, help="statements on which batch sizes are tried")
    parser.add_argument(
        "--scaling",
        default="P36",
        metavar="RELATION",
        help="walk its candidates, instances and templates; empty: do not",
    )
    parser.add_argument("--note", default="", help="a sentence to record with the figures")
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    parser.add_argument("--render", nargs="+", type=Path, metavar="FILE", help="print records as Markdown, no more")
    parser.add_argument("--summary", action="store_true", help="with --render: the tables of README.md alone")
    return parser


def main() -> int:
    """Do what the options say."""
    parser = options()
    arguments = parser.parse_args()
    for option in ("threads", "repeats", "sample"):
        if getattr(arguments, option) < 1:
            parser.error(f"--{option} must be at least 1, got {getattr(arguments, option)}")
    if arguments.render:
        shown = summary if arguments.summary else render
        print(shown(record for file in arguments.render for record in json.loads(file.read_text("utf-8"))), end="")
        return 0
    try:
        records = [compared(model, arguments) for model in models_of(arguments)]
    except CalprobeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print("\n" + render(records), end="")
    write_record(records, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
