"""The planner alone: how much of a probe's work the prefix tree removes, what packing wastes, time and memory.

    python bench/plan_bear.py --model smollm2-135m --probe DIR --template-set native --out FILE.json

The model is loaded for its tokenizer only. Times are the fastest of several runs, since other work on the machine only
ever adds to them; the planner uses one thread. Memory is what planning allocates at its peak, the token rows that it is
given not counted, measured in a run of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from harness.machine import machine

from calprobe.models import load_model, tokenise
from calprobe.planning import TreePlan, build_prefix_tree, plan_tree
from calprobe.planning.token_rows import TokenRows
from calprobe.probes import load_probe
from calprobe.scoring import ScoreOptions
from calprobe.scoring.probe_selection import select
from calprobe.statements import statements_of

T = TypeVar("T")
PACKAGES = ("numpy", "transformers", "calprobe")


@dataclass(frozen=True, slots=True)
class Packed:
    """What one row length and token budget give."""

    scope: str  # "together": one plan; "by piece": a plan for each relation and template
    row_length: int
    batch_tokens: int
    n_batches: int
    n_rows: int
    nodes: int  # distinct within each plan
    repeated: float  # places that repeat a node, per node
    wasted: float  # places that repeat a node or hold padding, per node
    attended: float  # places of a row per place of it: what attention costs a node, masked places included
    plan_s: float
    peak_mib: float


def packed(scope: str, pieces: list[TokenRows], row_length: int, batch_tokens: int, repeats: int) -> Packed:
    """Plan every piece and add up; seconds and memory are of all plans."""

    def plan() -> list[TreePlan]:
        return [plan_tree(piece, 0, batch_tokens, row_length) for piece in pieces]

    plans, seconds, peak = measured(plan, repeats)
    shapes = np.asarray([plan.batch(i).token_ids.shape for plan in plans for i in range(plan.n_batches)])
    nodes = sum(len(plan.scored) for plan in plans)
    padded = int(shapes.prod(axis=1).sum())
    return Packed(
        scope=scope,
        row_length=row_length,
        batch_tokens=batch_tokens,
        n_batches=len(shapes),
        n_rows=int(shapes[:, 0].sum()),
        nodes=nodes,
        repeated=round(sum(len(plan.token_ids) for plan in plans) / nodes - 1, 5),
        wasted=round(padded / nodes - 1, 5),
        attended=round(float((shapes[:, 0] * shapes[:, 1] ** 2).sum() / padded), 1),
        plan_s=round(seconds, 4),
        peak_mib=round(peak, 1),
    )


def measured(work: Callable[[], T], repeats: int) -> tuple[T, float, float]:
    """The result of `work`, the seconds of its fastest run, and its peak memory in MiB."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    tracemalloc.start()
    result = work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, min(seconds), peak / 2**20


def tokenised_pieces(arguments: argparse.Namespace) -> list[TokenRows]:
    """Token rows of each relation and template."""
    options = ScoreOptions(templates=arguments.templates, template_set=arguments.template_set)
    selection = select(load_probe(arguments.probe), options)
    model = load_model(arguments.model)
    return [
        tokenise(statements_of(relation, selection.text(relation.name, number)), model)
        for relation in selection.relations
        for number in selection.numbers
    ]


def summary(rows: TokenRows, repeats: int) -> dict[str, Any]:
    """What the prefix tree does to the work, before packing."""
    tree, seconds, peak = measured(lambda: build_prefix_tree(rows, 0), repeats)
    return {
        "statements": rows.n_statements,
        "tokens": len(rows.token_ids),
        "nodes": tree.n_nodes,
        "edges": tree.n_edges,
        "nodes_per_token": round(tree.n_nodes / len(rows.token_ids), 4),
        "tree_s": round(seconds, 4),
        "tree_peak_mib": round(peak, 1),
    }


def plans(pieces: list[TokenRows], arguments: argparse.Namespace) -> Iterator[Packed]:
    """A row for every scope, row length and budget."""
    for scope, chosen in (("together", [TokenRows.joined(pieces)]), ("by piece", pieces)):
        for row_length in arguments.row_lengths:
            for batch_tokens in arguments.batch_tokens:
                yield packed(scope, chosen, row_length, batch_tokens, arguments.repeats)


def main() -> None:
    """Print a line of figures for the tree and one for each way to pack it."""
    parser = argparse.ArgumentParser(description="Measure the planner on a probe.")
    parser.add_argument("--model", default="smollm2-135m", help="model with the tokenizer of the statements")
    parser.add_argument("--probe", default="bear", help="what `calprobe score --probe` takes")
    parser.add_argument("--template-set", help="likewise")
    parser.add_argument("--templates", default="0", help="likewise (default: 0)")
    parser.add_argument("--row-lengths", type=int, nargs="+", default=[256, 512, 1024], help="nodes in a packed row")
    parser.add_argument("--batch-tokens", type=int, nargs="+", default=[2048, 32768], help="nodes in a batch")
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the fastest counts")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    pieces = tokenised_pieces(arguments)
    record: dict[str, Any] = {"model": arguments.model, "probe": Path(arguments.probe).name}
    record |= {"templates": arguments.templates, "repeats": arguments.repeats, "machine": machine("cpu", PACKAGES)}
    record |= {"tree": summary(TokenRows.joined(pieces), arguments.repeats), "plans": []}
    print(json.dumps(record["tree"]), flush=True)
    for row in plans(pieces, arguments):
        record["plans"].append(asdict(row))
        print(json.dumps(asdict(row)), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
