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
from itertools import product
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from askers.compare import GOALS, Agreement, labels_agree, rows_of, texts_agree
from askers.contestants import OneByOne
from askers.job import AskJob, prompts_of
from harness.contestants import CONTESTANTS, OURS, TRUTHS, names_of, weights_folder
from harness.markdown import table
from harness.process import in_turns
from harness.record import recording, write_record

NAMES, TRUTH = names_of(AskJob.task), TRUTHS[AskJob.task]


def compared(wanted: str, arguments: argparse.Namespace, prompts: tuple[str, ...]) -> list[dict[str, Any]]:
    """The rows of one task."""

    def job(name: str, n_sample: int) -> AskJob:
        sizes = CONTESTANTS[AskJob.task][name].batch_sizes.get("cpu", ())
        longest = 1 if wanted == "labels" else arguments.max_new_tokens
        folder = weights_folder(arguments.model)
        return AskJob(name, sizes, arguments.threads, wanted, folder, prompts, longest, n_sample)

    chosen = [name for name in NAMES if name == OURS or name in arguments.contestants]
    outcomes = in_turns([job(name, arguments.sample) for name in chosen], arguments.repeats)
    truth = in_turns([job(TRUTH, 1)], 1)[TRUTH]
    if truth.fault is not None:
        raise SystemExit(f"no plain forward to hold answers against: {truth.fault}")
    model = OneByOne(job(TRUTH, 1)) if wanted == "replies" else None
    agree: dict[str, Agreement] = {
        name: labels_agree(outcome, truth) if model is None else texts_agree(outcome, truth, prompts, model)
        for name, outcome in outcomes.items()
        if outcome.fault is None
    }
    return rows_of(wanted, outcomes, agree, len(prompts))


def render(record: dict[str, Any]) -> str:
    """The record as a Markdown table."""
    head = ("task", "contestant", "replies/s (p20 to p80)", "batch", "calprobe is", "note")
    ratios: dict[str, list[float]] = {}
    for row in record["rows"]:
        if "calprobe_is_times_as_fast" in row:
            ratios.setdefault(f"{row['task']}, {row['design']}", []).append(row["calprobe_is_times_as_fast"])
    lines = [table(head, map(_cells, record["rows"]))]
    for task, of_task in ratios.items():
        goal = GOALS[task.partition(",")[0]]
        lines.append(f"\n{task}: {min(of_task)} times as fast as the fastest peer (goal: {goal})")
    return "\n".join(lines) + "\n"


def _cells(row: dict[str, Any]) -> list[str]:
    speed = f"{row['p50']} ({row['p20']} to {row['p80']})" if "p50" in row else ""
    times = row.get("calprobe_is_times_as_fast")
    ratio = "" if times is None else f"{times} times as fast"
    version = f"{row['contestant']} {row['version'] or ''}".strip()
    batch = str(row.get("batch_size") or "own")
    return [f"{row['task']}, {row['design']}", version, speed, batch, ratio, row["note"] or ""]


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--questions", required=True, help="as of `calprobe ask`; only those with four options are asked"
    )
    parser.add_argument("--n", type=int, default=40, help="questions drawn (default: 40, 200 prompts of the audit)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--model", default="smollm2-135m", help="alias, folder or GGUF file")
    parser.add_argument("--tasks", nargs="+", default=list(GOALS), choices=list(GOALS), help="default: both")
    parser.add_argument("--designs", nargs="+", default=["audit", "surface_paraphrase"], help="default: %(default)s")
    parser.add_argument("--contestants", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--max-new-tokens", type=int, default=32, help="of a reply (default: 32)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: the machine's cores")
    parser.add_argument("--repeats", type=int, default=3, help="timed ones (default: 3)")
    parser.add_argument("--sample", type=int, default=32, help="questions on which batch sizes are tried (default: 32)")
    parser.add_argument("--note", default="", help="a sentence to record with the figures")
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    return parser


def main() -> int:
    """Do what the options say."""
    arguments = options().parse_args()
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
