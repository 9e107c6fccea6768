"""The epistemic forms of a template, made by rule from a relation's first paraphrase.

A file of templates is complete: it carries the forms themselves, and this module fills and verifies them.

    {RELATION: {"paraphrases": [5 texts], "verbal": [possibly, certainly], "numeric": [0, 25, 50, 75, 100 percent],
                "handwritten": [markers of this relation's forms that the rule does not make; may be left out]}}

`python bench/template_forms.py FILE.json` rewrites every form that is not listed as handwritten; `--check`
only verifies.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path

import click

from calprobe.errors import CalprobeError
from calprobe.probes.json_files import read_json_object
from calprobe.probes.types import ANSWER_SLOT, SUBJECT_SLOT
from calprobe.statements.template_sets import MARKERS

ALL_MARKERS = (*MARKERS["verbal"], *MARKERS["numeric"])  # in the order of template numbers
N_PARAPHRASES = 5
KEYS = ("paraphrases", "verbal", "numeric", "handwritten")

SLOTS = (SUBJECT_SLOT, ANSWER_SLOT)
COPULAS = frozenset(("is", "are", "was", "were"))
OTHER_AUXILIARIES = frozenset(("do", "does", "did", "can", "could", "may", "might", "must", "should", "will", "would"))
HAVE = frozenset(("has", "have", "had"))
# After has/have/had one of these (or a word in -ed) makes it an auxiliary; else it is the main verb ("has [Y] as").
IRREGULAR_PARTICIPLES = frozenset(
    ("been", "become", "built", "held", "led", "made", "sung", "taught", "won", "written")
)
RELATIVE_PRONOUNS = frozenset(("that", "which", "who", "whom", "whose", "where", "when"))
# Words behind a slot that belong to the noun phrase: the verb comes later.
NOT_VERBS = frozenset(("and", "or", "of", "in", "on", "at", "from", "by", "for", "with", "as", "to", "the", "a", "an"))
_WORD = re.compile(r"\[[XY]\]|[^\W_]+(?:['’-][^\W_]+)*")


def verbal_form(template: str, marker: str) -> str:
    """The template with an adverb of certainty: `[X] is [Y].` becomes `[X] is possibly [Y].`

    The adverb follows the main clause's first auxiliary or copula; where there is none, it precedes the verb, taken to
    be the first word behind a slot that can be one (`[X] possibly borders [Y].`). Auxiliaries of relative clauses are
    passed over.

    Args:
        template: a sentence with the slots [X] and [Y].
        marker: the adverb, `possibly` or `certainly`.
    Raises:
        ValueError: no verb was found; such a form is written by hand.

    >>> verbal_form("The capital of [X] is [Y].", "possibly")
    'The capital of [X] is possibly [Y].'
    >>> verbal_form("[X] has [Y] as its capital.", "certainly")
    '[X] certainly has [Y] as its capital.'
    """
    words = list(_WORD.finditer(template))
    texts = [word.group() for word in words]
    auxiliary = _first_auxiliary(texts)
    if auxiliary is not None:
        end = words[auxiliary].end()
        return f"{template[:end]} {marker}{template[end:]}"
    for here, following in itertools.pairwise(words):
        between = template[here.end() : following.start()]
        if here.group() in SLOTS and between == " " and _can_be_verb(following.group()):
            return f"{template[: here.end()]} {marker}{template[here.end() :]}"
    raise ValueError(f"template must have a verb that the rule finds, got {template!r}")


def _first_auxiliary(words: list[str]) -> int | None:
    """Place of the main clause's first auxiliary or copula; None if its verb has none."""
    in_relative_clause = False
    for place, word in enumerate(words):
        if word in RELATIVE_PRONOUNS:
            in_relative_clause = True
        elif _is_auxiliary(word, words[place + 1 : place + 2]):
            if not in_relative_clause:
                return place
            in_relative_clause = False
    return None


def _is_auxiliary(word: str, following: list[str]) -> bool:
    if word in HAVE:
        return any(after in IRREGULAR_PARTICIPLES or after.endswith("ed") for after in following)
    return word in COPULAS or word in OTHER_AUXILIARIES


def _can_be_verb(word: str) -> bool:
    return word.islower() and word not in NOT_VERBS


def numeric_form(template: str, percent: int) -> str:
    """The template with a stated confidence: `I'm 25% confident that the capital of [X] is [Y].`

    The first word loses its capital unless it is a slot or has capitals or digits within (`NATO`); a form that begins
    with another name is written by hand.

    Args:
        template: a sentence that begins with a slot or a capital.
        percent: 0 to 100.

    >>> numeric_form("The capital of [X] is [Y].", 25)
    "I'm 25% confident that the capital of [X] is [Y]."
    >>> numeric_form("[X] is the capital of [Y].", 100)
    "I'm 100% confident that [X] is the capital of [Y]."
    """
    first = template.split(maxsplit=1)[0]
    keeps_case = template.startswith(SLOTS) or first[1:] != first[1:].lower() or any(map(str.isdigit, first))
    return f"I'm {percent}% confident that {template if keeps_case else template[0].lower() + template[1:]}"


def rule_form(template: str, marker: str) -> str:
    """The form of one of ALL_MARKERS: `possibly`, `certainly`, or a percentage as text.

    Raises:
        ValueError: the form is verbal and no verb was found.
    """
    return verbal_form(template, marker) if marker in MARKERS["verbal"] else numeric_form(template, int(marker))


def refreshed(entry: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """One relation's entry with every form made anew by the rule, except those that it lists as handwritten.

    Raises:
        ValueError: not five paraphrases, an unknown key or marker, a handwritten form that is not there or that the
            rule makes too, or a form that the rule cannot make.
    """
    paraphrases, handwritten = entry.get("paraphrases", []), entry.get("handwritten", [])
    if unknown := [key for key in entry if key not in KEYS]:
        raise ValueError(f"keys must be among {', '.join(KEYS)}, got {unknown[0]!r}")
    if unknown := [marker for marker in handwritten if marker not in ALL_MARKERS]:
        raise ValueError(f"handwritten must be among {', '.join(ALL_MARKERS)}, got {unknown[0]!r}")
    if len(paraphrases) != N_PARAPHRASES:
        raise ValueError(f"paraphrases must be {N_PARAPHRASES}, got {len(paraphrases)}")
    result = {"paraphrases": list(paraphrases)}
    for kind, markers in MARKERS.items():
        written = dict(zip(markers, entry.get(kind, ()), strict=False))
        result[kind] = [
            _handwritten(paraphrases[0], marker, written.get(marker))
            if marker in handwritten
            else rule_form(paraphrases[0], marker)
            for marker in markers
        ]
    return result | ({"handwritten": list(handwritten)} if handwritten else {})


def _handwritten(template: str, marker: str, written: str | None) -> str:
    """The written form, if it is there and is not what the rule makes."""
    if written is None:
        raise ValueError(f"handwritten form {marker!r} must be in the file, got none")
    try:
        by_rule = rule_form(template, marker)
    except ValueError:  # no verb found: just what is written by hand for
        return written
    if written == by_rule:
        raise ValueError(f"handwritten form {marker!r} must differ from the rule's, got {written!r}")
    return written


def refresh_file(path: Path, *, check: bool = False) -> list[str]:
    """Fill or refresh a file of templates; returns the relations with entries that differed from the rule.

    The file's order of relations is kept; the form is two spaces of indent, UTF-8 unescaped, a final newline.

    Args:
        path: the JSON file.
        check: verify only, write nothing.
    Raises:
        ProbeFormatError: the file is not what the module's docstring describes; names file, line and rule.
    """
    source = read_json_object(path)
    fresh = {}
    for name, entry in source.content.items():
        if not isinstance(entry, dict):
            source.fail(f"{name!r} must be an object; fix the entry", name)
        try:
            fresh[name] = refreshed(entry)
        except ValueError as error:
            source.fail(f"{name}: {error}; fix the entry, or write the form by hand and list it", name)
    if not check:
        path.write_text(json.dumps(fresh, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [name for name, entry in fresh.items() if entry != source.content[name]]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Verify only; exit 1 if a form differs from the rule.")
def main(file: Path, check: bool) -> None:
    """Make the epistemic forms of FILE's relations from their first paraphrases."""
    try:
        changed = refresh_file(file, check=check)
    except CalprobeError as error:
        raise click.ClickException(str(error)) from error
    if check and changed:
        raise click.ClickException(f"{file}: forms not by the rule in {', '.join(changed)}; run without --check")
    click.echo(f"{file}: {'as the rule makes it' if not changed else 'refreshed ' + ', '.join(changed)}")


if __name__ == "__main__":
    main()
