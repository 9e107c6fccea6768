"""`calprobe score --dry-run` as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from calprobe.measures.number_text import ranges
from calprobe.messages import counted

if TYPE_CHECKING:
    from calprobe.scoring.dry_run import ExampleStatement, Memory, Preview, Work

_MARKS = {"subject": "[{}]", "answer": "{{{}}}", "template": "{}"}
_WIDTH = 100
_MIB = 2**20


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
