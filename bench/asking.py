"""calprobe against its peers on questions: the same prompts, the same weights in float32, in turns.

    python bench/asking.py --questions mmlu=FILE.jsonl.gz --out FILE.json      (make bench-asking QUESTIONS=mmlu=FILE)

Two tasks in the model's chat template: the log-probabilities of the letters at the first position, and greedy replies;
each under the five variants of the audit, and under the plainest of them alone. Each contestant runs in a process of
its own: it loads the model, tries its batch sizes on a sample (which is its warm-up), and answers all prompts several
times at the fastest of them, in turns with the others. Only answering is timed, templates and tokens included.
Everything is held against a plain forward pass and `generate` of one prompt at a time. No ratio is printed or written
where letters differ by more than 1e-3, or where a reply differs other than by a tie within 1e-4 nats.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError


def _find(package: str) -> None:
    """Let a folder of bench/ be imported without bench/ on the path: transformers would take bench/kernels.py."""
    spec = spec_from_file_location(package, Path(__file__).with_name(package) / "__init__.py")
    assert spec is not None
    sys.modules.setdefault(package, module_from_spec(spec))


_find("peers")
_find("askers")

from askers.compare import GOALS, OURS, Agreement, labels_agree, rows_of, texts_agree  # noqa: E402
from askers.contestants import ALL, CONTESTANTS, TRUTH, OneByOne  # noqa: E402
from askers.job import AskJob, prompts_of  # noqa: E402
from peers.job import Outcome  # noqa: E402
from peers.process import Process  # noqa: E402
from peers.record import recording, write_record  # noqa: E402


def weights_folder(name: str) -> str:
    """The folder, as save_pretrained writes it, of a model's alias, GGUF file or folder."""
    from calprobe.models.gguf import dequantised
    from calprobe.models.source import resolve

    source = resolve(name)
    return str(dequantised(Path(source.location)).folder) if source.form == "gguf" else source.location


def outcomes_of(job: dict[str, Any], names: Sequence[str], repeats: int) -> dict[str, Outcome]:
    """What each contestant did, in turns round by round, so that other work on the machine meets all alike."""
    started: dict[str, Process | Outcome] = {}
    for name in names:
        contestant = ALL[name]
        if (fault := contestant.missing()) is not None:
            started[name] = Outcome(name, fault=fault)
            continue
        own = AskJob(scorer=name, batch_sizes=contestant.batch_sizes, **job)
        started[name] = Process(own, contestant.version(), Path(__file__).resolve())
    for _ in range(repeats):
        for process in started.values():
            if isinstance(process, Process):
                process.repeat()
    return {name: each.outcome() if isinstance(each, Process) else each for name, each in started.items()}


def compared(task: str, arguments: argparse.Namespace, prompts: tuple[str, ...]) -> list[dict[str, Any]]:
    """The rows of one task."""
    job = {
        "task": task,
        "folder": weights_folder(arguments.model),
        "prompts": prompts,
        "max_new_tokens": 1 if task == "labels" else arguments.max_new_tokens,
        "sample": arguments.sample,
        "threads": arguments.threads,
    }
    names = [OURS, *(name for name in CONTESTANTS if name != OURS and name in arguments.contestants)]
    outcomes = outcomes_of(job, names, arguments.repeats)
    truth = outcomes_of(job | {"sample": 1}, [TRUTH], 1)[TRUTH]
    if truth.fault is not None:
        raise SystemExit(f"no plain forward to hold answers against: {truth.fault}")
    model = OneByOne(AskJob(scorer=TRUTH, batch_sizes=(), **job)) if task == "replies" else None
    agree: dict[str, Agreement] = {}
    for name, outcome in outcomes.items():
        if outcome.fault is not None:
            continue
        if model is None:
            agree[name] = labels_agree(outcome, truth)
        else:
            agree[name] = texts_agree(outcome, truth, prompts, model)
    return rows_of(task, outcomes, agree, len(prompts))


def render(record: dict[str, Any]) -> str:
    """The record as a Markdown table."""
    lines = ["| task | contestant | replies/s (p20 to p80) | batch | calprobe is | note |", "|---|---|---|---|---|---|"]
    ratios: dict[str, list[float]] = {}
    for row in record["rows"]:
        task = f"{row['task']}, {row['design']}"
        speed = f"{row['p50']} ({row['p20']} to {row['p80']})" if "p50" in row else ""
        times = row.get("calprobe_is_times_as_fast")
        if times is not None:
            ratios.setdefault(task, []).append(times)
        ratio = "" if times is None else f"{times} times as fast"
        version = f"{row['contestant']} {row['version'] or ''}".strip()
        lines.append(
            "| "
            + " | ".join(map(str, (task, version, speed, row.get("batch_size") or "own", ratio, row["note"] or "")))
            + " |"
        )
    for task, of_task in ratios.items():
        goal = GOALS[task.partition(",")[0]]
        lines.append(f"\n{task}: {min(of_task)} times as fast as the fastest peer (goal: {goal})")
    return "\n".join(lines) + "\n"


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", help="as of `calprobe ask`; only those with four options are asked")
    parser.add_argument("--n", type=int, default=40, help="questions drawn (default: 40, 200 prompts of the audit)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--model", default="smollm2-135m", help="alias, folder or GGUF file")
    parser.add_argument("--tasks", nargs="+", default=list(GOALS), choices=list(GOALS), help="default: both")
    parser.add_argument("--designs", nargs="+", default=["audit", "surface_paraphrase"], help="default: %(default)s")
    parser.add_argument("--contestants", nargs="+", default=list(CONTESTANTS), choices=list(CONTESTANTS))
    parser.add_argument("--max-new-tokens", type=int, default=32, help="of a reply (default: 32)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: the machine's cores")
    parser.add_argument("--repeats", type=int, default=3, help="timed ones (default: 3)")
    parser.add_argument("--sample", type=int, default=32, help="questions on which batch sizes are tried (default: 32)")
    parser.add_argument("--note", default="", help="a sentence to record with the figures")
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser


def main() -> int:
    """Do what the options say."""
    parser = options()
    arguments = parser.parse_args()
    if arguments.child:
        from askers.child import run

        run(arguments.child)
        return 0
    if arguments.questions is None:
        parser.error("--questions FILE is needed")
    settings = {"model": arguments.model, "dtype": "float32", "threads": arguments.threads, "seed": arguments.seed}
    settings |= {
        "questions": arguments.n,
        "designs": arguments.designs,
        "max_new_tokens": arguments.max_new_tokens,
        "sample": arguments.sample,
    }
    try:
        with recording() as record:
            record |= {"settings": settings, "note": arguments.note, "rows": []}
            for task, design in product(arguments.tasks, arguments.designs):
                prompts = prompts_of(arguments.questions, arguments.n, arguments.seed, design)
                rows = [{"design": design} | row for row in compared(task, arguments, prompts)]
                record["rows"] += rows
                print(json.dumps(rows, indent=1), flush=True)
    except CalprobeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print("\n" + render(record), end="")
    write_record(record, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
