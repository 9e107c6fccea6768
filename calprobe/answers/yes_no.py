"""A reply that is yes or no."""

from __future__ import annotations

import re

from calprobe.answers.reading import Reading

# Both cases as classes: what ignores case takes other letters for them, too.
# "No" in front of a noun is no verdict: no idea, no doubt, no other planet.
_NO_NOUN = (
    r"(?![^\S\n]{1,3}(?:further[^\S\n]|real[^\S\n]|good[^\S\n])?(?:idea|answer|doubt|way|clue|information|evidence|comment|"
    r"opinion|problem|matter|one|other|such|more|longer|reason|need|question|proof|data)s?\b)"
)
_WORD = rf"(?<![^\W_])(?P<word>[Yy][Ee][Ss]|[Nn][Oo]{_NO_NOUN})(?![^\W_])(?!['’][^\W\d_])"
# What a reply takes back counts behind the correction.
_CORRECTED = re.compile(rf"\b(?:actually|wait|correction|rather)\b[\s,.:;–—-]{{0,8}}{_WORD}", re.IGNORECASE)
_RULES = (
    (
        "answer_marker",
        re.compile(
            rf"\b(?:answer|verdict|conclusion|judge?ment)(?:\s{{1,3}}is)?\s{{0,3}}[:=]?[\s\"'*_(]{{0,8}}{_WORD}",
            re.IGNORECASE,
        ),
    ),
    ("corrected", _CORRECTED),
    ("leading", re.compile(rf"\A[\W_]*{_WORD}", re.IGNORECASE)),
    ("own_line", re.compile(rf"^[^\w\n]{{0,12}}{_WORD}[^\w\n]{{0,12}}$", re.IGNORECASE | re.MULTILINE)),
    ("only_mention", re.compile(_WORD, re.IGNORECASE)),
)
# Without either word: what the reply says of the claim, and not what it only considers (to see whether it is true).
_TRUTH = re.compile(
    r"(?<!if )(?<!if the )(?<!whether )(?<!whether the )\b(?:claim|statement|option|answer|conclusion|it|this|that)"
    r"\s(?:is|was|must\sbe|appears\sto\sbe)(?P<not>\s(?:definitely|clearly|actually|therefore|indeed)?\s?not|n['’]t)?"
    r"\s(?:(?:definitely|clearly|actually|therefore|indeed|also|partially)\s)?"
    r"[\"“'*]{0,3}(?:(?P<right>true|correct|right)|(?P<wrong>false|incorrect|wrong|untrue))\b",
    re.IGNORECASE,
)
_BOTH = re.compile(r"[^\w\n]{0,4}(?:and|or|/)[^\w\n]{0,4}(?:yes|no)(?![^\W_])", re.IGNORECASE)


def read_yes_no(text: str) -> Reading:
    """`yes` or `no`: behind "the answer is" or "Answer:", the last one, unless a correction follows; behind "actually"
    and its like, the last one; at the beginning; alone on a line, the last one; or anywhere, if the other word does not
    occur. Without either word what the reply calls the claim, true or false (`truth`).

    "No" in front of some nouns ("no idea", "no doubt") is not read. `several`: "yes or no", or both words and none of
    them marked.

    >>> [read_yes_no(text).value for text in ("**Yes**, it is.", "I know it. So no.", "Yes and no")]
    ['yes', 'no', None]
    """
    for rule, pattern in _RULES:
        words = {}
        for match in pattern.finditer(text):
            words[match["word"].lower()] = match
        if not words:
            continue
        word, match = max(words.items(), key=lambda item: item[1].start("word"))
        if rule == "answer_marker" and _CORRECTED.search(text, match.end("word")):
            continue
        if _BOTH.match(text, match.end("word")) or (rule == "only_mention" and len(words) > 1):
            return Reading(None, "several", rule)
        return Reading(word, "ok", rule, *match.span("word"))
    return _truth(text)


def _truth(text: str) -> Reading:
    """The verdict of a reply that calls the claim true or false, if it does not do both."""
    verdicts = {
        ("no" if bool(match["not"]) == bool(match["right"]) else "yes"): match for match in _TRUTH.finditer(text)
    }
    if len(verdicts) != 1:
        return Reading(None, "several" if verdicts else "none", "truth" if verdicts else "")
    word, match = next(iter(verdicts.items()))
    return Reading(word, "ok", "truth", *match.span("right" if match["right"] else "wrong"))
