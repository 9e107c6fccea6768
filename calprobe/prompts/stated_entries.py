"""What a prompt file says of stated confidence: prompts, scales, expressions, groups, abstentions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase

from calprobe.prompts.entries import Entry
from calprobe.prompts.placeholders import ANSWER_PLACEHOLDERS
from calprobe.prompts.types import SCALES, Stated
from calprobe.words import REVERSED

_SCALES_OF_NAMES = {"decimal_01": "x", "percent_0_100": "x/100"}
_KEYS = ("text", "scale", "max_new_tokens", "expressions", "field")
_MAP = ("map", "map below")  # expressions or letters, whichever the text lists
_NOTE = re.compile(r"\s*\([^()]*\)$")  # behind a scale


@dataclass(frozen=True, slots=True)
class StatedPart:
    """The part of a prompt set that is about stated confidence."""

    prompts: tuple[Stated, ...]
    groups: Mapping[str, tuple[str, ...]]
    abstentions: tuple[str, ...]


def read_stated_part(root: Entry, budget: int) -> StatedPart:
    """The part of the file, checked.

    Args:
        root: the file's object.
        budget: tokens of a reply, unless a prompt says another number.
    Raises:
        ProbeFormatError: something is wrong; names file, line, key and fix.
    """
    table = _table(root.child("expressions"))
    entries = root.one_of("stated", "verbal", "prompts")
    prompts = tuple(_prompt(entries.child(name), name, budget, table) for name in entries) if entries.given else ()
    groups = root.child("groups").families([prompt.name for prompt in prompts], "prompts")
    return StatedPart(prompts, groups, _abstentions(root))


def _prompt(entry: Entry, name: str, budget: int, table: Mapping[str, float]) -> Stated:
    entry.check_name(name)
    if "@" in name:
        entry.fail("is a name with @, which stands between a prompt and a replaced answer; choose another")
    if isinstance(entry.value, str):
        if name not in _SCALES_OF_NAMES:
            entry.fail(f'has no scale; write {{"text": .., "scale": "x"}}, or call it {" or ".join(_SCALES_OF_NAMES)}')
        entry.check_placeholders(entry.text_value(), ())
        return Stated(name, entry.text_value(), _SCALES_OF_NAMES[name], budget)
    entry.check_keys(_KEYS)
    is_field = entry.flag("field", default=False)
    if is_field and entry.child("text").given:
        entry.fail("is a field of the reply, and has a text; the variants ask for it, so leave the text out")
    text = "" if is_field else entry.child("text", needed=True).text_value()
    entry.check_placeholders(text, ANSWER_PLACEHOLDERS)
    expressions = entry.child("expressions")
    table = _table(expressions) if expressions.given else table
    scale, budget = _scale(entry.child("scale", needed=True), text, table), entry.count("max_new_tokens", budget)
    stated = Stated(name, text, scale, budget, is_field=is_field)
    if stated.forward_scale not in ("expressions", "letters"):
        if expressions.given:
            expressions.fail(f"has no meaning on the scale {stated.scale!r}; leave it out")
        return stated
    if not table:
        entry.fail('needs "expressions": {EXPRESSION: NUMBER}, here or at the top of the file')
    if stated.forward_scale == "letters" and len(table) > len(ascii_lowercase):
        entry.fail(f"has {len(table)} expressions, more than there are letters; leave some out")
    return replace(stated, expressions=table)


def _scale(entry: Entry, text: str, table: Mapping[str, float]) -> str:
    """One of SCALES; a note in brackets behind it is left out."""
    scale = _NOTE.sub("", entry.text_value())
    forward = scale.removeprefix(REVERSED)
    if forward in _MAP:
        scale = scale.removesuffix(forward) + ("letters" if _shows_letters(text, list(table)) else "expressions")
    if scale not in SCALES:
        entry.fail(f"must be one of {', '.join(map(repr, SCALES))}; got {entry.text_value()!r}")
    return scale


def _shows_letters(text: str, expressions: Sequence[str]) -> bool:
    """Whether each expression stands behind its letter: a: 'Unlikely', b. Likely."""
    pairs = zip(ascii_lowercase, expressions, strict=False)
    listed = [rf"\b{letter}\W{{1,3}}{re.escape(expression)}\b" for letter, expression in pairs]
    return bool(listed) and all(re.search(pattern, text, re.IGNORECASE) for pattern in listed)


def _table(entry: Entry) -> Mapping[str, float]:
    """Expressions with their numbers, in the order of the file; empty where it has none."""
    if not entry.given:
        return {}
    numbers: dict[str, float] = {}
    for expression in entry:
        value = entry.child(expression).value
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            entry.child(expression).fail(f"must be a number from 0 to 1; got {value!r}")
        if not expression.strip() or expression.casefold() in {key.casefold() for key in numbers}:
            entry.child(expression).fail("is empty, or there twice but for case; change it")
        numbers[expression] = float(value)
    if len(numbers) < 2:
        entry.fail("must have two expressions or more: {EXPRESSION: NUMBER}")
    return numbers


def _abstentions(root: Entry) -> tuple[str, ...]:
    """Texts in a list, or below names of their own."""
    entry = root.one_of("abstentions", "replaced_answers")
    if not entry.given:
        return ()
    texts = list(entry.value.values()) if isinstance(entry.value, dict) else entry.value
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        entry.fail("must be a list of texts, or an object {NAME: TEXT}")
    return tuple(texts)
