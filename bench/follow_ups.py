"""What ten stated confidences cost beside one: the same questions, the same model, in turns.

    python bench/follow_ups.py --questions FILE.jsonl --out FILE.json

Each job asks every question once and then the prompts of the set `stated` about the answer: none, one, ten, ten with
the probabilities of all replies of their scales, and ten behind each of six answers. `ten apart` asks the ten one by
one, each with question and answer forwarded anew, as a server without a cache of prompts would. Jobs take turns, and
replies are compared between jobs: a ratio is printed only where each job got the same texts, but for ties.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from harness.record import recording, write_record

from calprobe.asking import AskOptions
from calprobe.asking.plan import Plan
from calprobe.backends import Dialogue, Pending
from calprobe.prompts import load_prompts
from calprobe.questions import QuestionOptions, load_questions
from calprobe.runs.replies import Reply

GOAL = 2.5  # times the cost of one, at most


class Cost(NamedTuple):
    """Of one repeat."""

    wall: float  # seconds
    processor: float  # seconds of all threads: what others on the machine do changes it little
    tokens: int  # forwarded, padding included
    passes: int


Answer = Callable[[Sequence[Pending]], list[Reply]]


def dialogues_of(arguments: argparse.Namespace, **options: Any) -> list[Dialogue]:
    """The questions under the study's prompts."""
    chosen = QuestionOptions(draw=arguments.n, seed=arguments.seed)
    sets = tuple(load_questions([arguments.questions], chosen))
    filled = AskOptions(study="stated", **options).filled()
    plan = Plan(sets, load_prompts("stated"), filled)
    return [dialogue for asked in plan.asked for dialogue in plan.dialogues(asked, "bench")]


def jobs_of(arguments: argparse.Namespace) -> dict[str, Callable[[Answer], list[Reply]]]:
    """What is timed, by name."""
    stated = ("answer", "stated")
    ten = dialogues_of(arguments, collect=stated, replaced=())
    closed = dialogues_of(arguments, collect=(*stated, "closed"), replaced=())
    replaced = dialogues_of(arguments, collect=stated)

    def together(dialogues: Sequence[Dialogue], count: int | None) -> Callable[[Answer], list[Reply]]:
        some = [replace(each, follow_ups=each.follow_ups[:count]) for each in dialogues]
        return lambda answer: answer([Pending(each) for each in some])

    def apart(answer: Answer) -> list[Reply]:
        firsts = {reply.question: reply for reply in answer([Pending(replace(each, follow_ups=())) for each in ten])}
        replies = list(firsts.values())
        for number in range(len(ten[0].follow_ups)):
            pending = [
                Pending(replace(each, follow_ups=(each.follow_ups[number],)), {(each.stage, 0): firsts[each.question]})
                for each in ten
            ]
            replies += answer(pending)
        return replies

    return {
        "answer": together(ten, 0),
        "one": together(ten, 1),
        "ten": together(ten, None),
        "ten apart": apart,
        "ten, closed sets": together(closed, None),
        "ten behind six answers": together(replaced, None),
    }


def timed(arguments: argparse.Namespace) -> tuple[dict[str, list[Cost]], dict[str, dict[tuple[str, str], str]]]:
    """The cost of each repeat of each job, and the texts of its replies."""
    import torch

    from calprobe.backends.local.local_backend import TransformersBackend
    from calprobe.models import LoadOptions, load_model

    torch.set_num_threads(arguments.threads)
    model = load_model(arguments.model, LoadOptions())
    backend = TransformersBackend(model)
    widths: list[int] = []
    model.network.register_forward_pre_hook(
        lambda network, inputs, named: widths.append(named["input_ids"].numel()), with_kwargs=True
    )
    jobs = jobs_of(arguments)
    names = [name for name in jobs if name in arguments.jobs]
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    texts: dict[str, dict[tuple[str, str], str]] = {}
    answer: Answer = lambda pending: list(backend.replies(pending))  # noqa: E731
    jobs["one"](answer)  # counts for nothing
    for _ in range(arguments.repeats):
        for name in names:
            widths.clear()
            began, spent = time.perf_counter(), time.process_time()
            replies = jobs[name](answer)
            wall, processor = time.perf_counter() - began, time.process_time() - spent
            costs[name].append(Cost(wall, processor, sum(widths), len(widths)))
            texts[name] = {(reply.question, reply.stage): reply.text for reply in replies}
    return costs, texts


def rows_of(costs: dict[str, list[Cost]], texts: dict[str, dict[tuple[str, str], str]]) -> list[dict[str, Any]]:
    """A row for each job, with its cost beside that of one follow-up."""
    one = np.median(costs["one"], axis=0)
    reference = texts.get("ten", texts["one"])
    rows = []
    for name, own in costs.items():
        common = texts[name].keys() & reference.keys()
        differing = sum(texts[name][key] != reference[key] for key in common)
        wall, processor, tokens, passes = np.median(own, axis=0)
        slow, middle, fast = np.percentile(len(texts[name]) / np.asarray(own)[:, 0], [20, 50, 80])
        rows.append(
            {
                "job": name,
                "replies": len(texts[name]),
                "seconds": round(float(wall), 2),
                "processor_seconds": round(float(processor), 2),
                "forwarded_tokens": int(tokens),
                "forward_passes": int(passes),
                "times_one": round(float(wall / one[0]), 2),
                "processor_times_one": round(float(processor / one[1]), 2),
                "tokens_times_one": round(float(tokens / one[2]), 2),
                "unit": "replies/s",
                "p20": round(slow, 2),
                "p50": round(middle, 2),
                "p80": round(fast, 2),
                "texts_that_differ": differing,
            }
        )
    return rows


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", required=True, help="a question file, or the name of a set")
    parser.add_argument("--n", type=int, default=64, help="questions drawn (default: 64)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--model", default="smollm2-135m", help="alias, folder or GGUF file")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--repeats", type=int, default=3, help="timed ones (default: 3)")
    names = ["answer", "one", "ten", "ten apart", "ten, closed sets", "ten behind six answers"]
    parser.add_argument("--jobs", nargs="+", default=names, choices=names, help="default: all")
    parser.add_argument("--note", default="", help="a sentence to record with the figures")
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    return parser


def main() -> int:
    """Do what the options say."""
    arguments = options().parse_args()
    settings = {name: getattr(arguments, name) for name in ("model", "n", "seed", "threads", "repeats")}
    settings["questions"] = Path(arguments.questions).name
    with recording() as record:
        record |= {"settings": settings, "goal": GOAL, "note": arguments.note, "rows": rows_of(*timed(arguments))}
    print(json.dumps(record, indent=1))
    write_record(record, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
