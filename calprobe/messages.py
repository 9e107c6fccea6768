"""Counts, causes and texts as people see them, for every message and report."""

from __future__ import annotations

import difflib
import math
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from calprobe.errors import UsageError

_MOST_COLUMNS = 20  # of a table, in a message
# Control characters other than tab and line feed (escape sequences begin with one), characters that change the
# writing direction, and surrogates, which cannot be encoded.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# Those that a page cannot show, or that turn around what follows. Marks of direction belong to Arabic and Hebrew.
_NOT_IN_PAGES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]+(?=@)")  # https://USER:TOKEN@HOST; up to the last @
_TOKEN = re.compile(r"\bhf_\w{8,}")
# Of an address: ?token=abc, &X-Amz-Signature=abc; a full stop behind it is the sentence's.
_PARAMETER = re.compile(
    r"(?i)([?&#;][\w-]*(?:token|key|secret|passw(?:or)?d|pwd|auth|sig(?:nature)?|credential)=)[\w.%~+/:=-]*[\w%~+/=-]"
)
_BEARER = re.compile(r"((?i:bearer)\s+)(?!hf_)\S+")


def counted(count: int, noun: str) -> str:
    """The count and its noun, which takes an s for any count but one.

    >>> counted(1, "relation"), counted(7731, "instance")
    ('1 relation', '7,731 instances')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """A share of a hundred, with three digits at most.

    >>> percent(0.0525), percent(0.95)
    ('5.25 %', '95 %')
    """
    return f"{100 * share:.3g} %"


def dollars(amount: float) -> str:
    """An amount of money; below ten cents in hundredths of a cent.

    >>> dollars(1234.5), dollars(0.0312)
    ('$1,234.50', '$0.0312')
    """
    return f"${amount:,.2f}" if amount >= 0.1 else f"${amount:.4f}"


def reason(error: OSError) -> str:
    """What the operating system says is wrong, without what a library puts around it.

    >>> reason(OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device"))
    'No space left on device'
    >>> reason(OSError("the stream is closed"))
    'the stream is closed'
    >>> reason(shutil.Error([("from", "to", "[Errno 28] No space left on device: 'from' -> 'to'")]))
    'No space left on device'
    >>> reason(shutil.Error([("it's", "to", str(OSError(28, "No space left on device", "it's")))]))
    'No space left on device'
    """
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):  # of copies: all that failed, in one list
        return re.sub(r"^\[Errno \d+\] |: ['\"].*", "", str(error.args[0][0][2]))
    return os.strerror(error.errno) if error.errno else str(error)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?` with the known words nearest to a mistyped one, three at most; empty if none is near.

    >>> did_you_mean("repot", ["report", "score"])
    '; did you mean report?'
    >>> did_you_mean("xyz", ["report", "score"])
    ''
    """
    spelled = {name.lower(): name for name in known}
    # Words have a few characters to some dozen; a longer one is near to none, and would take long to compare.
    near = difflib.get_close_matches(word.lower(), spelled, cutoff=0.65) if len(word) < 100 else []
    *others, last = [spelled[name] for name in near] or [""]
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if near else ""


def no_such(word: str, known: Iterable[str], where: str = "") -> str:
    """The error that a name is not among the known ones, with near names or else all of them.

    >>> no_such("bier", ["ace", "brier"], "in this report"), no_such("x", ["ace", "brier"])
    ("no 'bier' in this report; did you mean brier?", "no 'x'; give some of ace, brier")
    """
    there = list(known)
    hint = did_you_mean(word, there) or (f"; give some of {', '.join(there)}" if there else ", and there is no other")
    return f"no {word!r} {where}".rstrip() + hint


def check_word(option: str, word: str | None, words: Sequence[str]) -> None:
    """Raise UsageError for a word that an option does not have; None is the option left out."""
    if word is not None and word not in words:
        raise UsageError(f"--{option}: {no_such(str(word), words)}")


def no_estimator(subject: str, names: Sequence[str], known: Iterable[str]) -> str:
    """The error that a run, or a report, lacks estimators, with near names or else all that it has.

    >>> no_estimator("runs/a", ["margn"], ["base", "margin"])
    'runs/a has no estimator margn; did you mean margin?'
    >>> no_estimator("runs/a", ["sure"], ["base", "margin"])
    'runs/a has no estimator sure (no such name, or templates or replies that it lacks); give some of base, margin'
    """
    there = list(known)
    near = did_you_mean(names[0], there) if len(names) == 1 else ""
    hint = near or f" (no such name, or templates or replies that it lacks); give some of {', '.join(there)}"
    return f"{subject} has no estimator {', '.join(names)}{hint}"


def shortened(text: str, most: int = 80) -> str:
    """The text, or its beginning and three dots where it is longer than `most`.

    >>> shortened("abcdefgh", 6)
    'abc...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def columns_named(names: Sequence[str]) -> str:
    r"""The first columns of a table in one line, whatever their names hold; none without any.

    >>> columns_named(["score", "a\nb", *"cdefghijklmnopqrstuvw"])
    'score, a b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t and 3 more'
    """
    more = len(names) - _MOST_COLUMNS
    named = [shortened(" ".join(name.split())) for name in names[:_MOST_COLUMNS]]
    return (", ".join(named) + (f" and {more} more" if more > 0 else "")) or "none"


def without_secrets(text: str) -> str:
    """The text with `***` for what stands before the @ of an address or is a key among its parameters, and for tokens.

    >>> without_secrets("https://me:hunter2@example.org/x")
    'https://***@example.org/x'
    """
    text = _BEARER.sub(r"\1***", _TOKEN.sub("hf_***", _CREDENTIALS.sub("***", text)))
    return _PARAMETER.sub(r"\1***", text)


def shown(text: str) -> str:
    """The text as it may be pasted into a public report: without secrets, the home folder as `~`."""
    home = Path.home()
    # On clusters it is often a link, of which libraries and the current folder show the target; the longer one first.
    forms = sorted({str(home), os.path.realpath(home)}, key=len, reverse=True)
    for form in forms:
        # A home of `/` would match every path. One of `/root` is not in /srv/root: it stands where a path begins.
        within = r"(?<![\w.~-])" + re.escape(form) + r"(?!\.?[\w~-])"  # a dot may end a sentence
        text = text if form == "/" else re.sub(within, "~", text)
    return without_secrets(text)


def printable(text: str) -> str:
    r"""The text with each character that would control a terminal, or cannot be printed, as a Python escape.

    >>> print(printable("\x1b[31mRome\u202e"))
    \x1b[31mRome\u202e
    """
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def cleaned(text: str) -> str:
    r"""The text with `\ufffd` for each such character: its length stays the same, for tables.

    >>> cleaned("\x1b[31mRome") == "\ufffd[31mRome"
    True
    """
    return _UNPRINTABLE.sub("\ufffd", text)


def in_page(text: str) -> str:
    r"""The text of a page with `\ufffd` for control characters, and for what turns the rest of a sentence around.

    >>> in_page("a\u202eb\u200f") == "a\ufffdb\u200f"
    True
    """
    return _NOT_IN_PAGES.sub("\ufffd", text)


def finite_or_none(value: Any) -> Any:
    """JSON has neither NaN nor infinities: None for them, everything else as it is."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def printable_json(text: str) -> str:
    r"""JSON with such characters as JSON escapes: it parses to the same value.

    >>> print(printable_json('"a\u202e"'))
    "a\u202e"
    """
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def listing(rows: Sequence[Sequence[str]], align: str) -> str:
    """Rows as plain text, in columns two blanks apart, each flush left (`<`) or right (`>`).

    Raises ValueError for a row with a length different from `align`.

    >>> print(listing([("probe", "facts"), ("mini", "583")], "<>"))
    probe  facts
    mini     583
    """
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for side, width, text in zip(align, widths, row, strict=True):
            padding = " " * (width - cell_len(text))
            cells.append(text + padding if side == "<" else padding + text)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
