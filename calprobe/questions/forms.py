"""Question forms: five wordings of one question for each relation of a probe, with [X] for the subject.

A file holds `{RELATION: ["What is the capital of [X]?", ..]}`, the simplest first: the place is the number of the
paraphrase. templates/questions/ has the project's own for BEAR and for the bundled probe.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from calprobe.errors import UsageError
from calprobe.probes import Probe
from calprobe.probes.json_files import JsonObject, read_json_object
from calprobe.probes.types import ANSWER_SLOT, SUBJECT_SLOT, sentence_case

Forms = Mapping[str, tuple[str, ...]]  # relation -> wordings


def forms_for(probe: Probe, file: str | None = None) -> Forms:
    """The question forms for a probe: a file's, else mini's for mini and any probe of its relations, else BEAR's.

    Raises:
        UsageError: the file is not there, or none of the probe's relations has forms.
        ProbeFormatError: the file is not of the form; names file, line and fix.

    >>> from calprobe.probes import load_probe
    >>> forms_for(load_probe("mini"))["capital"][0]
    'What is the capital of [X]?'
    """
    names = [relation.name for relation in probe.relations]
    forms = _chosen(file, names)
    if not any(name in forms for name in names):
        problem = f"no question forms for the relations of {probe.name} ({', '.join(names[:5])})"
        raise UsageError(
            f'{problem}; write a file {{"RELATION": ["What .. [X]?", ..]}} and give it with --forms FILE.json'
        )
    return forms


def filled(form: str, subject: str) -> str:
    """The question about a subject.

    >>> filled("[X] is the capital of which country?", "paris")
    'Paris is the capital of which country?'
    """
    return sentence_case(form.replace(SUBJECT_SLOT, subject))


def read_forms(path: Path) -> dict[str, tuple[str, ...]]:
    """The forms of a file. Raises ProbeFormatError: a relation has no list of distinct questions with one [X] each."""
    source = read_json_object(path)
    return {name: _checked(source, name) for name in source.content}


def _chosen(file: str | None, names: list[str]) -> Forms:
    if file is not None:
        path = Path(file).expanduser()
        if not path.is_file():
            raise UsageError(f"--forms {file}: there is no such file; give a JSON file")
        return read_forms(path)
    mini = _own_forms("mini")
    return mini if all(name in mini for name in names) else _own_forms("bear")


@cache
def _own_forms(name: str) -> Forms:
    return read_forms(Path(str(resources.files("calprobe.templates"))) / "questions" / f"{name}.json")


def _checked(source: JsonObject, name: str) -> tuple[str, ...]:
    forms = source.content[name]
    if not isinstance(forms, list) or not forms or not all(isinstance(form, str) for form in forms):
        source.fail(f"{name!r} must be a list of questions; fix the entry", name)
    for form in forms:
        if fault := form_fault(form):
            source.fail(f"question {form!r} of {name!r} {fault}", name, form)
    if len({form.casefold() for form in forms}) < len(forms):
        source.fail(f"{name!r} has a question twice; change or remove one", name)
    return tuple(forms)


def form_fault(form: str) -> str | None:
    """What is wrong with a question form, and the fix; None if nothing is.

    >>> form_fault("What is the capital?")
    'has [X] 0 times; write it once, where the subject stands'
    """
    if (count := form.count(SUBJECT_SLOT)) != 1:
        return f"has {SUBJECT_SLOT} {count} times; write it once, where the subject stands"
    if ANSWER_SLOT in form:
        return f"has {ANSWER_SLOT}, which gives the answer away; remove it"
    return None if form.endswith("?") else "does not end with a question mark; add it"
