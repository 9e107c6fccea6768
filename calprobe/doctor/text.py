"""A diagnosis as lines of at most 80 columns: state, name and finding of each check, then the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from itertools import groupby

from calprobe.doctor.diagnosis import Check, Diagnosis

WIDTH = 80
_STATE, _NAME = 6, 14
_COLOURS = {"ok": "green", "note": "yellow", "fail": "red"}
Paint = Callable[[str, str], str]  # text and colour -> text


def diagnosis_text(found: Diagnosis, paint: Paint = lambda text, colour: text) -> str:
    """The report: a heading for each group, a line for each check, with its mend below it, and the verdict last.

    Every check's line begins with `ok`, `note` or `FAIL`; what does not fit goes on below, indented.
    """
    lines = []
    for group, checks in groupby(found.checks, key=lambda check: check.group):
        lines += [group, *(line for check in checks for line in _lines(check, paint)), ""]
    colour = _COLOURS["ok" if found.ready else "fail"]
    return "\n".join([*lines, paint(f"verdict: {found.verdict}", colour)])


def _lines(check: Check, paint: Paint) -> Iterator[str]:
    state = "FAIL" if check.state == "fail" else check.state
    first, *rest = _wrapped(check.value)
    yield paint(state.ljust(_STATE), _COLOURS[check.state]) + f"{check.name:<{_NAME}}{first}".rstrip()
    indent = " " * (_STATE + _NAME)
    yield from (indent + line for line in rest)
    if check.mend:
        yield from (indent + line for line in _wrapped(f"-> {check.mend}"))


def _wrapped(text: str) -> list[str]:
    # A long path stays whole, so that it can be copied, even if its line is then longer.
    width = WIDTH - _STATE - _NAME
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
