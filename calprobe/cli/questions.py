"""`calprobe questions`: the known question sets, or the contents of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.arguments import output_file, refuse_overwriting, refuse_typed
from calprobe.cli.output import print_result
from calprobe.cli.question_options import chosen_questions, question_options, refuse_idle_choices
from calprobe.cli.terminal_text import say
from calprobe.errors import UsageError
from calprobe.messages import counted, listing, printable_json

if TYPE_CHECKING:
    from calprobe.questions import QuestionSet
    from calprobe.questions.summary import SetSummary

GROUPS_SHOWN = 20
LEGEND = """\
`calprobe fetch NAME` gets a set that is not here. The first split is asked, the last one gives examples for prompts.
A question set is also a file (JSON lines, JSON, CSV, TSV or Parquet: docs/how-to/questions.md), any data set of the
hub (hf:OWNER/NAME:CONFIG), a probe (mini, bear, bear-big, a folder in BEAR's format), or NAME=PATH: the files of a
known set that you have."""


@click.command(short_help="List the question sets, or show the contents of one.")
@click.argument("questions", required=False, metavar="[NAME|FILE|hf:ID|NAME=PATH]")
@question_options
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, metavar="S", help="Seed of draws and of options."
)
@click.option(
    "--out",
    type=output_file(),
    metavar="FILE.jsonl",
    help="Also write the chosen questions as a question file, for ask and paraphrase; an existing file is replaced.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context, /, questions: str | None, seed: int, out: Path | None, as_json: bool, **values: Any
) -> None:
    """List the known question sets, or show what is in a set: kinds, groups, options, chance, and what is odd.

    \b
        calprobe questions mmlu --split validation
        calprobe questions mine.jsonl
        calprobe questions quiz.csv --columns question=Text,options=A+B+C,answer=Solution
        calprobe questions bear --as open
        calprobe questions mmlu --draw 200 --out drawn.jsonl
    """
    from calprobe.questions import load_questions
    from calprobe.questions.question_rows import JSON_LINES
    from calprobe.questions.summary import summary_of

    if questions is None:
        refuse_typed(context, (*values, "seed", "out"), "needs a question set; name one")
        sets = _known_sets()
        print_result(json.dumps(sets, indent=2) if as_json else _known_text(sets))
        return
    refuse_idle_choices([questions])
    if out is not None and out.suffix.lower() not in JSON_LINES:
        raise UsageError(f"--out {out}: a question file has JSON lines; give a name that ends in .jsonl")
    (loaded,) = load_questions([questions], chosen_questions(values, seed=seed))
    if out is not None:
        if loaded.source.path is not None:
            source = Path(loaded.source.path).expanduser()
            refuse_overwriting(out, source.rglob("*") if source.is_dir() else [source])
        _write(loaded, out)
    summary = summary_of(loaded)
    if as_json:
        content = {**summary.to_json(), "source": _source(loaded)}
        print_result(printable_json(json.dumps(content, indent=2, ensure_ascii=False)))
    else:
        print_result(_text(loaded, summary))


def _write(loaded: QuestionSet, path: Path) -> None:
    """Write the set as a question file, and say so. Raises CalprobeError if it cannot be written."""
    from calprobe.questions.written import question_lines
    from calprobe.runs import atomic

    lines = question_lines(loaded)
    with atomic.named_file(path, "name another --out") as temporary:
        temporary.write_text(lines, encoding="utf-8")
    say(f"wrote {path}: {counted(len(loaded.questions), 'question')}")


def _known_sets() -> list[dict[str, Any]]:
    """One entry for each known set; one that is not on this machine has `get`, the command that gets it."""
    from calprobe.questions import NAMED_SETS
    from calprobe.questions.stored_sets import fetched_set

    sets = []
    for name, entry in NAMED_SETS.items():
        fetched = fetched_set(entry)
        sets.append(
            {
                "name": name,
                "what": entry.title,
                "kinds": list(entry.layout.readers),
                "splits": list(entry.splits),
                "repository": entry.repository,
                "revision": fetched and fetched.revision,
                "licence": entry.licence,
                "gated": entry.gated,
                "quotable": entry.quotable,
                "get": None if fetched else f"calprobe fetch {name}",
            }
        )
    return sets


def _known_text(sets: list[dict[str, Any]]) -> str:
    rows = [("set", "what", "splits", "licence", "")]
    rows += [
        (
            entry["name"],
            entry["what"],
            ", ".join(entry["splits"]),
            entry["licence"] or "-",
            ("not here" if entry["get"] else "ready") + (", gated" if entry["gated"] else ""),
        )
        for entry in sets
    ]
    return f"{listing(rows, '<<<<<')}\n\n{LEGEND}"


def _source(loaded: QuestionSet) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(loaded.source)


def _text(loaded: QuestionSet, summary: SetSummary) -> str:
    source = loaded.source
    taken = "" if source.rule == "all" else f" of {source.available:,} ({_rule(source.rule, source.seed)})"
    lines = [f"{loaded.name}: {counted(summary.questions, 'question')}{taken}", *_origin(loaded), ""]
    rows = [("kind", ", ".join(f"{kind} {count:,}" for kind, count in summary.kinds.items()))]
    if summary.options:
        rows.append(("options", ", ".join(f"{k} in {count:,}" for k, count in summary.options.items())))
        rows.append(("chance", f"{summary.chance:.3f}"))
        rows.append(("right option", _places(summary.gold_places)))
    rows.append(("characters", _lengths(summary)))
    if summary.wordings > 1:
        rows.append(("wordings", f"{summary.wordings} of each question"))
    lines.append(listing(rows, "<<"))
    if summary.groups:
        groups = list(summary.groups.items())[:GROUPS_SHOWN]
        more = len(summary.groups) - len(groups)
        lines += ["", listing([("group", "questions"), *((name, f"{count:,}") for name, count in groups)], "<>")]
        lines += [f"and {counted(more, 'more group')}"] if more else []
    if summary.odd:
        lines += ["", "Notes:", *(f"- {note}" for note in summary.odd)]
    return "\n".join(lines)


def _rule(rule: str, seed: int | None) -> str:
    return "the first" if rule == "first" else f"drawn, rule {rule}, seed {seed}"


def _origin(loaded: QuestionSet) -> list[str]:
    source = loaded.source
    commit = f" at {source.revision[:12]}" if source.revision else ""
    config = f", configuration {source.config}" if source.config else ""
    hub = f"https://huggingface.co/datasets/{source.repository}{commit}{config}"
    place = source.path or (hub if source.repository else "calprobe's own probe" if source.probe else "")
    lines = [f"from {place}" + (f", split {source.split}" if source.split else "")]
    if not source.quotable:
        lines.append("its authors ask that none of its questions is published: reports show none")
    return [*lines, f"fingerprint {source.fingerprint}"]


def _places(places: dict[int, int]) -> str:
    """How often the right option stands at each place."""
    total = sum(places.values())
    return ", ".join(f"place {place + 1} in {count / total:.0%}" for place, count in places.items())


def _lengths(summary: SetSummary) -> str:
    question = f"question {summary.question_lengths.median:,.0f} (longest {summary.question_lengths.longest:,})"
    if summary.option_lengths is None:
        return f"{question}, medians"
    option = f"option {summary.option_lengths.median:,.0f} (longest {summary.option_lengths.longest:,})"
    return f"{question}, {option}, medians"
