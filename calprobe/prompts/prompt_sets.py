"""Prompt sets by name or file.

A file holds `{"variants": {NAME: VARIANT}}` and, if wanted, `source`, `layout`, `separator`, `labels`,
`max_new_tokens`, `stated` (or `verbal`, `prompts`), `expressions`, `groups`, `abstentions` (or `replaced_answers`),
`final_cue` (or `repair_suffix`), `format_changes`, `examples`, `perturbations`, `claim` and `p_true`.
`{"answer": TEXT}` is short for `{"variants": {"answer": TEXT}}`.
docs/reference/files.md says what each is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import get_args

from calprobe.errors import UsageError
from calprobe.messages import did_you_mean, shown
from calprobe.probes.fingerprints import sha256_of_json
from calprobe.probes.json_files import read_json_object
from calprobe.prompts.entries import Entry
from calprobe.prompts.placeholders import (
    ANSWER_PLACEHOLDERS,
    LAYOUT_PLACEHOLDERS,
    TURN_PLACEHOLDERS,
    placeholders_of,
)
from calprobe.prompts.stated_entries import read_stated_part
from calprobe.prompts.types import Labelling, PromptSet, Variant, record_of
from calprobe.prompts.variants import Defaults, read_variant
from calprobe.questions import Question, read_question
from calprobe.questions.gold import QuestionFault

PROMPT_SETS = (
    "plain",
    "audit",
    "stated",
    "judge",
    "science-labels",
    "science-answers",
    "wording",
    "paraphrase",
    "structured",
    "stakes",
)  # calprobe's own
LABELLINGS: tuple[Labelling, ...] = get_args(Labelling)

_ROOT_KEYS = (
    *("source", "layout", "separator", "labels", "max_new_tokens", "variants", "answer", "final_cue", "repair_suffix"),
    *("stated", "verbal", "prompts", "expressions", "groups", "abstentions", "replaced_answers", "format_changes"),
    *("examples", "perturbations", "claim", "p_true"),
)
_NOT_READ = ("name", "fingerprint", "path", "format_changes", "groups", "perturbations")  # by a model
_BUDGET = 32  # tokens of a reply
_STATED_BUDGET = 16  # enough for a sentence around a number
_FINAL_BUDGET = 4  # enough for a label
_SAME_BUDGETS = {"verbal": "stated", "repair": "final"}  # other names of the same


def load_prompts(name: str | Path) -> PromptSet:
    """The prompt set of that name, or in that JSON file.

    Args:
        name: one of `PROMPT_SETS`, or the path of a file.
    Raises:
        UsageError: neither a known name nor a file.
        ProbeFormatError: the file is not a prompt set; names file, line, key and fix.

    >>> [variant.name for variant in load_prompts("audit").variants][:3]
    ['surface_paraphrase', 'instruction_reorder', 'fewshot_3']
    """
    if name in PROMPT_SETS:
        return _bundled(str(name))
    path = Path(name).expanduser()
    if not path.is_file():
        raise UsageError(
            f"no prompt set {str(name)!r}; give {', '.join(PROMPT_SETS)} or the path of a JSON file"
            f"{did_you_mean(str(name), PROMPT_SETS)}"
        )
    return _read(path, path.stem, shown(str(path)))


def prompt_of(text: str) -> PromptSet:
    """The prompt set `plain` with one's own words for every question: one variant, called `prompt`.

    Args:
        text: the user's turn, with {question} or {input} (the question with its options) in the question's place.
    Raises:
        UsageError: no place for the question, or an unknown placeholder.

    >>> prompt_of("Q: {question} A:").variants[0].user
    'Q: {question} A:'
    """
    check_turn("the prompt", text)
    if not {"input", "question"} & set(placeholders_of(text)):
        raise UsageError("the prompt has no place for the question: write {question}, or {input} with its options")
    plain = _bundled("plain")
    prompts = replace(plain, name="prompt", variants=(Variant("prompt", text, _BUDGET),), format_changes=())
    return replace(prompts, fingerprint=fingerprint_of(prompts))


def check_turn(what: str, text: str) -> None:
    """Raise UsageError for a placeholder that a turn has no value for; {{name}} is the text {name}."""
    known = [name for name in TURN_PLACEHOLDERS if name != "fewshot_examples"]
    for name in placeholders_of(text):
        if name not in known:
            places = ", ".join(f"{{{place}}}" for place in known)
            raise UsageError(f"{what} has the unknown placeholder {{{name}}}; known are {places}")


def p_true_text() -> str:
    """What asks whether an answer is true, for prompts that have no `p_true` of their own.

    >>> p_true_text().splitlines()[1:3]
    ['(A) true', '(B) false']
    """
    return _bundled("p-true").p_true


def _bundled(name: str) -> PromptSet:
    return _read(Path(str(resources.files("calprobe.templates"))) / "prompts" / f"{name}.json", name, None)


def fingerprint_of(prompts: PromptSet) -> str:
    """SHA-256 (hex) of all that decides what a model reads and how long it may reply; names of the set and file do not.

    >>> len(fingerprint_of(load_prompts("audit")))
    64
    """
    content = {key: value for key, value in record_of(prompts).items() if key not in _NOT_READ}
    return sha256_of_json(content)


def _read(path: Path, name: str, user_path: str | None) -> PromptSet:
    root = Entry.of_file(read_json_object(path))
    root.check_keys(_ROOT_KEYS)
    root.text("source")
    cue = root.one_of("final_cue", "repair_suffix").text_value()
    budgets = _budgets(root)
    defaults = Defaults(budgets.get("default", _BUDGET), final=bool(cue))
    variants = tuple(read_variant(entry, key, _with_budget(defaults, budgets, key)) for key, entry in _variants(root))
    stated = read_stated_part(root, budgets.get("stated", _STATED_BUDGET))
    prompts = PromptSet(
        name=name,
        fingerprint="",
        variants=variants,
        stated=stated.prompts,
        final_cue=cue,
        final_max_new_tokens=budgets.get("final", _FINAL_BUDGET),
        layout=_layout(root),
        path=user_path,
        separator=root.text("separator", "\n\n"),
        labels=root.choice("labels", LABELLINGS, "own"),
        format_changes=_format_changes(root, names_of(variants), budgets),
        groups=stated.groups,
        abstentions=stated.abstentions,
        claim=_text(root, "claim", LAYOUT_PLACEHOLDERS, needed=LAYOUT_PLACEHOLDERS[1:]),
        p_true=_text(root, "p_true", ANSWER_PLACEHOLDERS),
        examples=_examples(root),
        perturbations=_perturbations(root.child("perturbations"), names_of(variants)),
    )
    return replace(prompts, fingerprint=fingerprint_of(prompts))


def _variants(root: Entry) -> list[tuple[str, Entry]]:
    """The names and entries of variants; `answer` alone is one of that name."""
    if root.one_of("variants", "answer").keys == ("answer",):
        return [("answer", root.child("answer"))]
    entries = root.child("variants", needed=True)
    if not list(entries):
        entries.fail("has no variant; add one: {NAME: TEXT}")
    return [(name, entries.child(name)) for name in entries]


def _layout(root: Entry) -> str:
    layout = root.text("layout", "{label}. {option}")
    root.child("layout").check_placeholders(layout, LAYOUT_PLACEHOLDERS, needed=LAYOUT_PLACEHOLDERS)
    return layout


def _text(root: Entry, key: str, placeholders: Sequence[str], needed: Sequence[str] = ()) -> str:
    """A text that may have these placeholders, and must have some; empty where the file has none."""
    entry = root.child(key)
    text = entry.text_value()
    if text:
        entry.check_placeholders(text, placeholders, needed)
    return text


def _examples(root: Entry) -> tuple[Question, ...]:
    """Questions as a question file has them, to be shown as examples."""
    entry = root.child("examples")
    if not entry.given:
        return ()
    if not isinstance(entry.value, list) or not all(isinstance(record, dict) for record in entry.value):
        entry.fail('must be a list of questions: [{"id": .., "question": .., "options": .., "answer": ..}]')
    try:
        return tuple(read_question(record) for record in entry.value)
    except QuestionFault as fault:
        entry.fail(f"has a question that is none: {fault}")


def _format_changes(root: Entry, variants: tuple[str, ...], budgets: Mapping[str, int]) -> tuple[str, ...]:
    """The variants that the file says ask for another form of reply; if it does not say, those of a larger budget."""
    entry = root.child("format_changes")
    if not entry.given:
        return tuple(name for name in variants if budgets.get(name, 0) > budgets.get("default", _BUDGET))
    if not isinstance(entry.value, list) or not set(map(str, entry.value)) <= set(variants):
        entry.fail("must be a list of names of variants")
    return tuple(name for name in variants if name in entry.value)


def _perturbations(entry: Entry, variants: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Families of variants that apply the same kind of change to a question, by name."""
    families = entry.families(variants, "variants")
    members = [member for family in families.values() for member in family]
    for name, family in families.items():
        if name in variants or any(members.count(member) > 1 for member in family):
            entry.child(name).fail("must have a name that no variant has, and no variant of another family")
    return families


def _budgets(root: Entry) -> dict[str, int]:
    """Budgets by name: `default`, `stated`, `final`, or a variant's."""
    entry = root.child("max_new_tokens")
    if not entry.given:
        return {}
    if not isinstance(entry.value, dict):
        return {"default": entry.count_value()}
    names = tuple(name for name, _ in _variants(root))
    keys = ("default", "stated", "final", *_SAME_BUDGETS, *names)
    entry.check_keys(keys)
    for alias, budget in _SAME_BUDGETS.items():
        entry.one_of(budget, alias)
    return {_SAME_BUDGETS.get(key, key): entry.child(key).count_value() for key in entry}


def _with_budget(defaults: Defaults, budgets: dict[str, int], name: str) -> Defaults:
    return replace(defaults, max_new_tokens=budgets.get(name, defaults.max_new_tokens))


def names_of(variants: tuple[Variant, ...]) -> tuple[str, ...]:
    """The names of variants, in their order."""
    return tuple(variant.name for variant in variants)
