"""What a reader finds in a reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GIVEN = "given"  # the reader and rule of replies that came with their grade, and so are not read
# Of a reply, so many are read. No budget makes a longer one; a server that keeps to none may.
MOST_CHARACTERS = 200_000
# Why a reply has no value, or what is odd about the value that it has.
STATUSES: Mapping[str, str] = {
    "ok": "read",
    "none": "nothing that the reader looks for",
    "several": "several different values, and none is marked as the answer",
    "cut": "the reply ended at its budget; a value that was found all the same stands",
    "unclear": "a number in no form that is read, such as 0,8",
    "off_scale": "a number outside the scale",
    "scale": "a number of which the scale is not certain, such as 0.8%, or 75 without a percent sign",
    "lenient": "a value in another form than the prompt asked for; it counts where lenient reading is asked for",
    "ambiguous": "a value that may mean two things, such as 0.8 where a percentage was asked for",
    "error": "there is no reply",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A value that was read off a reply, or the reason why there is none."""

    value: str | float | None  # a label, a number, a short text, a confidence in [0, 1]; None: nothing was read
    status: str  # one of STATUSES; a reading has a value or not, whatever its status
    rule: str  # name of the rule that fired; empty: none
    start: int = -1  # span of the value in the reply's text, in characters; -1: none
    end: int = -1
    unit: str = ""  # what stands behind a number: %, kg, ..
