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
from pathlib import Path
from typing import Any

import numpy as np

from calprobe.questions import Question

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from askers.compare import texts_agree
from askers.contestants import OneByOne
from askers.job import SampleJob
from askers.sampled_right import Right, sampled_right
from harness.contestants import CONTESTANTS, OURS, names_of, weights_folder
from harness.job import Outcome, speeds, times_as_fast
from harness.markdown import table
from harness.process import in_turns
from harness.record import recording, write_record

GOAL = 1.0  # times as fast as generate, at least
THEIRS = "generate"
NAMES = names_of("samples")
PACKAGES = ("torch", "transformers", "calprobe", "xllamacpp", "openai")


def prompts_of(questions: str, count: int, seed: int) -> tuple[str, ...]:
    """The user's turns: questions drawn from a set, with a sentence that asks for a short way and the answer."""
    from calprobe.questions import QuestionOptions, load_questions

    (found,) = load_questions([questions], QuestionOptions(draw=count, seed=seed))
    return tuple(_text(question) for question in found.questions)


def _text(question: Question) -> str:
    parts = [part for part in (question.context, question.text) if part]
    return "\n".join(parts) + "\n\nThink in a few sentences, then give the answer."


def checked(
    outcomes: dict[str, Outcome], job: dict[str, Any], n_checked: int
) -> dict[str, tuple[str | None, dict[str, Any]]]:
    """Of each contestant with the weights of the others: why it gets no ratio (None: it does), and the figures."""
    model = OneByOne(SampleJob(scorer=THEIRS, batch_sizes=(), **job))
    prompts = job["prompts"]
    truth = Outcome("one by one", facts=dict(model.answer(prompts, None).facts))
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
            row |= {"unit": "samples/s", **speeds(outcome.seconds, n_samples)}
            row |= {"samples": n_samples, "questions_at_once": outcome.batch_size}
            row |= {"new_tokens_per_s": round(tokens_per_s(outcome, outcome.seconds), 1)}
            row |= {"new_tokens_per_processor_s": round(tokens_per_s(outcome, outcome.processor_seconds), 1)}
            row |= {"prompt_tokens_forwarded": round(np.mean(outcome.facts["prefill"])), "trials": outcome.trials}
            row |= {"load_s": outcome.load_s, "peak_mib": outcome.peak_mib}
            why_not, figures = checks.get(name, ("other weights: 4 bits", {}))
            row |= figures | {"note": why_not}
        rows.append(row)
    if {OURS, THEIRS} <= checks.keys() and all(checks[name][0] is None for name in (OURS, THEIRS)):
        ours, theirs = outcomes[OURS], outcomes[THEIRS]
        row = next(row for row in rows if row["contestant"] == THEIRS)
        row["calprobe_is_times_as_fast"] = times_as_fast(ours, theirs)
        per_token = tokens_per_s(ours, ours.seconds) / tokens_per_s(theirs, theirs.seconds)
        row["calprobe_is_times_as_fast_per_new_token"] = round(per_token, 2)
    return rows


def tokens_per_s(outcome: Outcome, seconds: Any) -> float:
    """New tokens a second, of all repeats together: replies differ in length by chance."""
    return float(sum(outcome.facts["new_tokens"]) / sum(seconds))


def render(record: dict[str, Any]) -> str:
    """The record as a Markdown table."""
    head = ("contestant", "samples/s (p20 to p80)", "new tokens/s", "prompt tokens forwarded", "peak MiB")
    return table((*head, "calprobe is", "note"), map(_cells, record["rows"])) + "\n"


def _cells(row: dict[str, Any]) -> list[str]:
    name, note, ratio = f"{row['contestant']} {row['version'] or ''}".strip(), row["note"] or "", ""
    if "p50" not in row:
        return [name, *[""] * 5, note]
    if "calprobe_is_times_as_fast" in row:
        per_token = row["calprobe_is_times_as_fast_per_new_token"]
        ratio = f"{row['calprobe_is_times_as_fast']} times as fast ({per_token} times per new token)"
    speed = f"{row['p50']} ({row['p20']} to {row['p80']})"
    memory = [f"{row['prompt_tokens_forwarded']:,}", f"{row['peak_mib']:,.0f}"]
    return [name, speed, str(row["new_tokens_per_s"]), *memory, ratio, note]


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", required=True, help="as of `calprobe ask`: a name, a file, or NAME=FILE")
    parser.add_argument("--n", type=int, default=16, help="questions drawn (default: 16)")
    parser.add_argument("--samples", type=int, default=10, help="of each question (default: 10)")
    parser.add_argument("--temperature", type=float, default=1.0, help="default: 1")
    parser.add_argument("--max-new-tokens", type=int, default=64, help="default: 64")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--model", default="smollm2-135m", help="alias or GGUF file")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--repeats", type=int, default=3, help="timed ones (default: 3)")
    parser.add_argument("--checked", type=int, default=4, help="questions with checked samples (default: 4)")
    parser.add_argument("--contestants", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--note", default="", help="a sentence to record with the figures")
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    return parser


def main() -> int:
    """Do what the options say."""
    arguments = options().parse_args()
    with recording(packages=PACKAGES) as record:
        record |= measured(arguments)
    print(render(record))
    write_record(record, arguments.out)
    return 0


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """Settings and rows."""
    from calprobe.models.source import resolve

    names = ("model", "questions", "n", "samples", "temperature", "max_new_tokens", "seed", "threads", "repeats")
    settings = {name: getattr(arguments, name) for name in names}
    settings["questions"] = settings["questions"].partition("=")[0]
    job = {
        "wanted": "replies",
        "folder": weights_folder(arguments.model),
        "weights": resolve(arguments.model).location,
        "prompts": prompts_of(arguments.questions, arguments.n, arguments.seed),
        **{name: getattr(arguments, name) for name in ("samples", "temperature", "max_new_tokens", "threads")},
    }
    contestants = {name: CONTESTANTS["samples"][name] for name in arguments.contestants}
    jobs = [SampleJob(name, contestant.batch_sizes.get("cpu", ()), **job) for name, contestant in contestants.items()]
    outcomes = in_turns(jobs, arguments.repeats)
    checks = checked(outcomes, job, arguments.checked)
    rows = rows_of(outcomes, checks, arguments.n * arguments.samples)
    return {"settings": settings, "goal": GOAL, "note": arguments.note, "rows": rows}


if __name__ == "__main__":
    sys.exit(main())
