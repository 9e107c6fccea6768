"""`calprobe score --dry-run` and `calprobe ask --dry-run`, as text for a terminal and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from calprobe.measures.number_text import ranges
from calprobe.messages import counted, dollars, printable_json

if TYPE_CHECKING:
    from calprobe.asking.preview import AskPreview
    from calprobe.asking.stage_cost import StageCost
    from calprobe.scoring.dry_run import ExampleStatement, Memory, Preview, Work

_MARKS = {"subject": "[{}]", "answer": "{{{}}}", "template": "{}"}
_WIDTH = 100
_MIB = 2**20


def dumped(fields: Mapping[str, Any]) -> str:
    """A preview as the JSON that `--json` prints."""
    return printable_json(json.dumps(fields, indent=2, ensure_ascii=False))


def preview_text(found: Preview) -> str:
    """The preview in lines of at most 100 characters, but for the statements."""
    size = f"{counted(found.instances, 'instance')} in {counted(found.relations, 'relation')}"
    templates = f"template set {found.template_set} ({ranges(found.templates)})"
    rows = [
        ("model", f"{found.model}, {found.kind}, {found.dtype} on {found.device}"),
        ("probe", f"{found.probe}: {size}, {templates}"),
        ("run", f"{found.out}: {_state(found.work)}"),
        ("to score", _left(found.work)),
        ("path", f"{found.path}, batches of {found.batch_tokens:,} tokens ({found.batch_tokens_from})"),
        ("memory", _memory(found.memory)),
        ("time", _time(found.work)),
        ("same tokens", _same(found)),
    ]
    lines = [line for name, text in rows for line in _row(name, text)]
    lines += ["", "First statements, with their tokens; [subject], {answer}:"]
    return "\n".join([*lines, *(line for example in found.examples for line in _example(example))])


def _row(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=f"{name:<13}", subsequent_indent=" " * 13) or [name]


def _state(work: Work) -> str:
    return f"{work.pieces_done:,} of {counted(work.pieces, 'piece')} done; nothing is written now"


def _left(work: Work) -> str:
    return f"{counted(work.statements, 'statement')}: about {work.forwarded:,} {work.unit} through the model"


def _memory(memory: Memory) -> str:
    batch = "the batches fit, by measurement" if memory.batch is None else f"a batch about {_mib(memory.batch)}"
    return f"weights {_mib(memory.weights)}, {batch}; {_mib(memory.free)} free beside the weights"


def _mib(size: int) -> str:
    return f"{size / _MIB:,.0f} MiB" if size < 1024 * _MIB else f"{size / 1024 / _MIB:,.1f} GiB"


def _time(work: Work) -> str:
    if not work.statements:
        return "nothing is left to score"
    measured = f"{counted(work.timed_statements, 'statement')} in {work.timed_seconds:.1f} s"
    return f"about {_duration(work.seconds)} on this machine: measured {measured}, scaled by the lengths of all texts"


def _duration(seconds: float) -> str:
    """Seconds, minutes or hours.

    >>> [_duration(seconds) for seconds in (3.2, 200, 20_000)]
    ['3 seconds', '3.3 minutes', '5.6 hours']
    """
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    return f"{seconds / 60:,.1f} minutes" if seconds < 5400 else f"{seconds / 3600:,.1f} hours"


def _same(preview: Preview) -> str:
    if not preview.same_tokens:
        return "none: the tokenizer tells all candidates of a relation apart"
    groups = (", ".join(group) for groups in preview.same_tokens.values() for group in groups)
    count = sum(len(group) for groups in preview.same_tokens.values() for group in groups)
    return f"{counted(count, 'candidate')} have the same tokens as another: {'; '.join(groups)}"


def _example(example: ExampleStatement) -> Iterator[str]:
    yield f"{example.relation}, template {example.template}, instance {example.instance}: {example.text}"
    groups = groupby(example.tokens, key=lambda token: token[1])
    tokens = " ".join(_MARKS[role].format(" ".join(token for token, _ in group)) for role, group in groups)
    yield from textwrap.wrap(tokens, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False)


def ask_preview_text(preview: AskPreview) -> str:
    """The preview of an `ask` in lines of at most 100 characters, but for the prompts."""
    cost = preview.cost
    sets = ", ".join(f"{name}: {counted(count, 'question')}" for name, count in preview.questions.items())
    there = f"{preview.already_there:,} of the replies are there, " if preview.already_there else ""
    rows = [
        ("model", f"{preview.model} on {preview.backend}"),
        ("questions", f"{sets}; {counted(len(preview.variants), 'prompt')} each: {', '.join(preview.variants)}"),
        ("run", f"{preview.out}: {there}nothing is written now"),
        ("requests", f"{cost.requests:,}, if none fails"),
        *(("", f"{stage.requests:,} {stage.stage}: {_tokens(stage)}") for stage in cost.stages),
        ("tokens", f"{cost.tokens_in:,} in and {cost.tokens_out:,} out at most, {_counted_by(preview)}"),
        ("time", "not estimated, since no model is loaded or asked: the progress line says how long is left"),
    ]
    if preview.prices is not None:
        per_million = f"${preview.prices.prompts:g} and ${preview.prices.replies:g} per million tokens in and out"
        rows.append(
            ("cost", f"{dollars(preview.dollars or 0.0)} at most, at {per_million}; repeated requests not included")
        )
    lines = [line for name, text in rows for line in _row(name, text)]
    lines += ["", "First prompts, as they are sent:"]
    for prompt in preview.prompts:
        lines += [f"{prompt.set}, variant {prompt.variant}, question {prompt.question}, {prompt.stage}:"]
        lines += [textwrap.indent(prompt.text, "  ", lambda _: True)]
    return "\n".join(lines)


def _tokens(stage: StageCost) -> str:
    quoted = f" and up to {stage.quoted_tokens:,} of replies" if stage.quoted_tokens else ""
    return f"{stage.prompt_tokens:,} tokens in{quoted}, up to {stage.reply_tokens:,} out"


def _counted_by(preview: AskPreview) -> str:
    if preview.cost.counted:
        return "by the model's tokenizer"
    why = (
        "a server does not show its tokenizer"
        if preview.backend == "openai"
        else "the tokenizer is not on this machine"
    )
    return f"guessed from letters: {why}"
