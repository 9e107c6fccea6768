"""n samples of each question: calprobe beside `generate(num_return_sequences=n)`, the same weights, in turns.

    python bench/samples.py --questions gsm8k=FILE.jsonl --out FILE.json

Each contestant runs in a process of its own, tries how many questions at once are fastest for it, and answers all of
them a few times, in turns with the others. Temperature, top_p and the longest reply are the same for all. llama.cpp's
server computes with the 4-bit weights that the others have in float32, so that it gets a row and no ratio.

Before there is a ratio: greedy replies must be those of `generate` one prompt at a time, but for ties; samples must
have the entropy that a plain forward pass expects of them; and log-probabilities must be that forward's.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

from calprobe.questions import Question


def _find(package: str) -> None:
    """Let a folder of bench/ be imported without bench/ on the path: transformers would take bench/kernels.py."""
    spec = spec_from_file_location(package, Path(__file__).with_name(package) / "__init__.py")
    assert spec is not None
    sys.modules.setdefault(package, module_from_spec(spec))


_find("peers")
_find("askers")

from askers.compare import texts_agree  # noqa: E402
from askers.contestants import OneByOne  # noqa: E402
from askers.sampled_right import Right, sampled_right  # noqa: E402
from askers.sampling import SAMPLERS, SampleJob  # noqa: E402
from peers.job import Outcome  # noqa: E402
from peers.process import Process  # noqa: E402
from peers.record import recording, write_record  # noqa: E402

GOAL = 1.0  # times as fast as generate, at least
OURS, THEIRS = "calprobe", "generate"
PACKAGES = ("torch", "transformers", "calprobe", "xllamacpp", "openai")


def prompts_of(questions: str, count: int, seed: int) -> tuple[str, ...]:
    """The user's turns: questions drawn from a set, with a sentence that asks for a short way and the answer."""
    from calprobe.questions import QuestionOptions, load_questions

    (found,) = load_questions([questions], QuestionOptions(draw=count, seed=seed))
    return tuple(_text(question) for question in found.questions)


def _text(question: Question) -> str:
    parts = [part for part in (question.context, question.text) if part]
    return "\n".join(parts) + "\n\nThink in a few sentences, then give the answer."


def outcomes_of(arguments: argparse.Namespace, job: dict[str, Any]) -> dict[str, Outcome]:
    """What each contestant did, in turns round by round, so that other work on the machine meets all alike."""
    started: dict[str, Process | Outcome] = {}
    for name in arguments.contestants:
        contestant = SAMPLERS[name]
        if (fault := contestant.missing()) is not None:
            started[name] = Outcome(name, fault=fault)
            continue
        own = SampleJob(scorer=name, batch_sizes=contestant.batch_sizes, **job)
        started[name] = Process(own, contestant.version(), Path(__file__).resolve())
    for _ in range(arguments.repeats):
        for process in started.values():
            if isinstance(process, Process):
                process.repeat()
    return {name: each.outcome() if isinstance(each, Process) else each for name, each in started.items()}


def checked(
    outcomes: dict[str, Outcome], job: dict[str, Any], n_checked: int
) -> dict[str, tuple[str | None, dict[str, Any]]]:
    """Of each contestant with the weights of the others: why it gets no ratio (None: it does), and the figures."""
    asking = SampleJob(scorer=THEIRS, batch_sizes=(), **job).asking()
    model = OneByOne(asking)
    prompts = job["prompts"]
    truth = Outcome("one by one", facts={"texts": model.answer(prompts, None).texts})
    found = {}
    for name, outcome in outcomes.items():
        if outcome.fault is not None or name not in (OURS, THEIRS):
            continue
        agree = texts_agree(outcome, truth, prompts, model)
        drawn = outcome.facts["drawn"][:n_checked]
        right: Right = sampled_right(model, prompts[:n_checked], drawn, job["temperature"])
        figures = agree.figures | {"checked_tokens": right.tokens, "z": round(right.z, 2)}
        figures["largest_difference"] = right.largest_difference
        found[name] = (agree.why_not or right.why_not, figures)
    return found


def rows_of(
    outcomes: dict[str, Outcome], checks: dict[str, tuple[str | None, dict[str, Any]]], n_samples: int
) -> list[dict[str, Any]]:
    """A row for each contestant; a ratio in that of `generate`, where both are right."""
    rows = []
    for name, outcome in outcomes.items():
        row: dict[str, Any] = {"contestant": name, "version": outcome.version, "note": outcome.fault}
        if outcome.fault is None:
            slow, middle, fast = np.percentile(n_samples / np.asarray(outcome.seconds), [20, 50, 80])
            row |= {"unit": "samples/s", "p20": round(slow, 3), "p50": round(middle, 3), "p80": round(fast, 3)}
            row |= {"samples": n_samples, "repeats": len(outcome.seconds), "questions_at_once": outcome.batch_size}
            row |= {"new_tokens_per_s": round(tokens_per_s(outcome, outcome.seconds), 1)}
            row |= {"new_tokens_per_processor_s": round(tokens_per_s(outcome, outcome.facts["processor_seconds"]), 1)}
            row |= {"prompt_tokens_forwarded": outcome.facts["prefill"], "trials": outcome.trials}
            row |= {"load_s": outcome.load_s, "peak_mib": outcome.peak_mib}
            why_not, figures = checks.get(name, ("other weights: 4 bits", {}))
            row |= figures | {"note": why_not}
        rows.append(row)
    if {OURS, THEIRS} <= checks.keys() and all(checks[name][0] is None for name in (OURS, THEIRS)):
        ours, theirs = outcomes[OURS], outcomes[THEIRS]
        row = next(row for row in rows if row["contestant"] == THEIRS)
        row["calprobe_is_times_as_fast"] = round(float(np.median(theirs.seconds) / np.median(ours.seconds)), 2)
        per_token = tokens_per_s(ours, ours.seconds) / tokens_per_s(theirs, theirs.seconds)
        row["calprobe_is_times_as_fast_per_new_token"] = round(per_token, 2)
    return rows


def tokens_per_s(outcome: Outcome, seconds: Any) -> float:
    """New tokens a second, of all repeats together: replies differ in length by chance."""
    return float(sum(outcome.facts["new_tokens"]) / sum(seconds))


def render(record: dict[str, Any]) -> str:
    """The record as a Markdown table."""
    head = (
        "contestant",
        "samples/s (p20 to p80)",
        "new tokens/s",
        "prompt tokens forwarded",
        "peak MiB",
        "calprobe is",
    )
    lines = [f"| {' | '.join(head)} | note |", "|---" * (len(head) + 1) + "|"]
    for row in record["rows"]:
        cells = [f"{row['contestant']} {row['version'] or ''}".strip(), *[""] * (len(head) - 1), row["note"] or ""]
        if "p50" in row:
            times = row.get("calprobe_is_times_as_fast")
            cells[1] = f"{row['p50']} ({row['p20']} to {row['p80']})"
            cells[2:5] = [
                str(row["new_tokens_per_s"]),
                f"{row['prompt_tokens_forwarded']:,}",
                f"{row['peak_mib']:,.0f}",
            ]
            if times is not None:
                per_token = row["calprobe_is_times_as_fast_per_new_token"]
                cells[5] = f"{times} times as fast ({per_token} times per new token)"
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", help="as of `calprobe ask`: a name, a file, or NAME=FILE")
    parser.add_argument("--n", type=int, default=16, help="questions drawn (default: 16)")
    parser.add_argument("--samples", type=int, default=10, help="of each question (default: 10)")
    parser.add_argument("--temperature", type=float, default=1.0, help="default: 1")
    parser.add_argument("--max-new-tokens", type=int, default=64, help="default: 64")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--model", default="smollm2-135m", help="alias or GGUF file")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--repeats", type=int, default=3, help="timed ones (default: 3)")
    parser.add_argument("--checked", type=int, default=4, help="questions with checked samples (default: 4)")
    parser.add_argument("--contestants", nargs="+", default=list(SAMPLERS), choices=list(SAMPLERS))
    parser.add_argument("--note", default="", help="a sentence to record with the figures")
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    return parser


def main() -> int:
    """Do what the options say."""
    arguments = options().parse_args()
    if arguments.child is not None:
        from askers.sampling import run

        run(arguments.child)
        return 0
    if arguments.questions is None:
        raise SystemExit("--questions is missing")
    with recording(packages=PACKAGES) as record:
        record |= measured(arguments)
    print(render(record))
    write_record(record, arguments.out)
    return 0


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """Settings and rows."""
    from calprobe.models.gguf import dequantised
    from calprobe.models.source import resolve

    weights = resolve(arguments.model).location
    names = ("model", "questions", "n", "samples", "temperature", "max_new_tokens", "seed", "threads", "repeats")
    settings = {name: getattr(arguments, name) for name in names}
    settings["questions"] = settings["questions"].partition("=")[0]
    job = {
        "folder": str(dequantised(Path(weights)).folder),
        "weights": weights,
        "prompts": prompts_of(arguments.questions, arguments.n, arguments.seed),
        **{name: getattr(arguments, name) for name in ("samples", "temperature", "max_new_tokens", "threads")},
    }
    outcomes = outcomes_of(arguments, job)
    checks = checked(outcomes, job, arguments.checked)
    rows = rows_of(outcomes, checks, arguments.n * arguments.samples)
    return {"settings": settings, "goal": GOAL, "note": arguments.note, "rows": rows}


if __name__ == "__main__":
    sys.exit(main())
