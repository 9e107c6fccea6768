"""Reads a variant of a prompt file: a text, an object with turns, or texts and objects by form of question.

The variants themselves are in `templates/prompts/*.json`; add one there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from calprobe.prompts.entries import Entry
from calprobe.prompts.placeholders import CONCLUSION_PLACEHOLDERS, SHOT_PLACEHOLDERS, TURN_PLACEHOLDERS, placeholders_of
from calprobe.prompts.types import FORMS, Form, Message, Variant

_EXAMPLES = "{fewshot_examples}"
_KEYS = ("turns", "shots", "shot", "max_new_tokens", "final", "raw", "temperature", "conclusion", "stakes")
_FORMS_OF_KEYS: dict[str, tuple[Form, ...]] = {"choice": ("letters", "words"), **{form: (form,) for form in FORMS}}
_SHOTS = 3  # unless the file says another number


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a variant has unless it says something else."""

    max_new_tokens: int
    final: bool


def read_variant(entry: Entry, name: str, defaults: Defaults) -> Variant:
    """The variant of that name, checked.

    Raises:
        ProbeFormatError: it is none; names file, line, key and fix.
    """
    entry.check_name(name)
    if isinstance(entry.value, str) or "turns" in entry:
        return _wording(entry, name, defaults)
    entry.check_keys(("turns", "stakes", *_FORMS_OF_KEYS))
    wordings: dict[Form, Variant] = {}
    for key in (key for key in entry if key != "stakes"):
        wording = _wording(entry.child(key), name, defaults)
        for form in _FORMS_OF_KEYS[key]:
            if form in wordings:
                entry.child(key).fail(f"has questions of the form {form} once more; keep one of the two")
            wordings[form] = wording
    if not wordings:
        entry.fail('must be a text, an object with "turns", or an object with texts for forms of questions')
    first = next(iter(wordings.values()))
    other_wordings = {form: wording for form, wording in wordings.items() if wording is not first}
    forms, stakes = tuple(form for form in FORMS if form in wordings), _stakes(entry.child("stakes"))
    return replace(first, forms=forms, wordings=other_wordings, stakes=stakes)


def _wording(entry: Entry, name: str, defaults: Defaults) -> Variant:
    """One wording: a text, which is the user's turn, or an object with turns."""
    if isinstance(entry.value, str):
        variant = Variant(name, entry.text_value(), defaults.max_new_tokens, final=defaults.final)
        return _with_examples(entry, variant, shots=None, shot="")
    entry.check_keys(_KEYS)
    system, earlier, user, opening = _turns(entry.child("turns", needed=True))
    variant = Variant(
        name,
        user,
        entry.count("max_new_tokens", defaults.max_new_tokens),
        system=system,
        opening=opening,
        earlier=earlier,
        final=entry.flag("final", defaults.final),
        raw=entry.flag("raw", default=False),
        temperature=_temperature(entry.child("temperature")),
        conclusion=entry.text("conclusion"),
        stakes=_stakes(entry.child("stakes")),
    )
    if variant.raw and variant.earlier:
        entry.fail("has earlier turns, raw text has none; write them into the user's turn")
    entry.child("conclusion").check_placeholders(variant.conclusion, CONCLUSION_PLACEHOLDERS)
    if variant.conclusion and entry.child("final").given and variant.final:
        entry.fail("has both a conclusion and a final label behind its reply; keep one of the two")
    variant = replace(variant, final=variant.final and not variant.conclusion)
    shots = entry.count("shots", _SHOTS) if entry.child("shots").given else None
    return _with_examples(entry, variant, shots, entry.text("shot"))


def _temperature(entry: Entry) -> float | None:
    """The temperature of a variant's answers; None where it says none."""
    if not entry.given:
        return None
    value = entry.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 100:
        entry.fail("must be a number of 0 or more: the temperature of this variant's answers")
    return float(value)


def _stakes(entry: Entry) -> float | None:
    """The stakes that a prompt names; None where it names none."""
    if not entry.given:
        return None
    value = entry.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        entry.fail("must be at least 0 and below 1: the probability from which on an answer pays")
    return float(value)


def _turns(entry: Entry) -> tuple[str, tuple[Message, ...], str, str]:
    """The system's text, earlier turns, the user's text and the opening of the reply; empty: none."""
    if not isinstance(entry.value, list):
        entry.fail('must be a list of turns: [{"role": "user", "text": ..}]')
    turns: list[Message] = []
    for turn in entry.value:
        if not isinstance(turn, dict) or turn.keys() != {"role", "text"}:
            entry.fail('must have turns of the form {"role": "user", "text": ..}')
        role, text = turn["role"], turn["text"]
        if role not in ("system", "user", "assistant") or not isinstance(text, str) or not text.strip():
            entry.fail("must have the roles system, user, assistant, and texts that are not empty")
        turns.append(Message(role, text))
    system = turns.pop(0).text if turns and turns[0].role == "system" else ""
    if any(turn.role != ("assistant" if place % 2 else "user") for place, turn in enumerate(turns)):
        entry.fail("must be a system's turn or none, then in turn the user's and the assistant's")
    if not turns:
        entry.fail("lacks the user's turn; add it")
    opening = turns.pop().text if turns[-1].role == "assistant" else ""
    return system, tuple(turns[:-1]), turns[-1].text, opening


def _with_examples(entry: Entry, variant: Variant, shots: int | None, shot: str) -> Variant:
    """The variant with its examples, all texts checked."""
    texts = variant.texts
    entry.check_placeholders(texts, TURN_PLACEHOLDERS)
    placeholders = placeholders_of(texts)
    if not {"input", "question"} & set(placeholders):
        entry.fail("shows no question; put {input} or {question} into its text")
    if "fewshot_examples" not in placeholders:
        if shots or shot:
            entry.fail(f"has examples, and no place for them; put {_EXAMPLES} into its text")
        return variant
    shot = shot or _shot_like(variant)
    entry.check_placeholders(shot, SHOT_PLACEHOLDERS)
    if "answer" not in placeholders_of(shot) or not {"input", "question"} & set(placeholders_of(shot)):
        entry.fail('needs "shot", the form of an example: a text with {input} and {answer}')
    return replace(variant, shots=shots or _SHOTS, shot=shot)


def _shot_like(variant: Variant) -> str:
    """An example as the variant asks: what stands behind the examples, with the answer."""
    behind = variant.user.partition(_EXAMPLES)[2].strip()
    opening = f"\n{variant.opening}" if variant.opening else ""
    return f"{behind}{opening}".rstrip() + " {answer}"
