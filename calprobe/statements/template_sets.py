"""Template sets: the project's own, the probe's own ("native"), the paper's, or a file's; and which of them to score.

A file holds `{RELATION: {"paraphrases": [..], "verbal": [possibly, certainly], "numeric": [0, 25, 50, 75, 100 %]}}`,
numbered in that order, or BEAR's flat form `{RELATION: {"templates": [..]}}`, where the number is the position and the
kind is read off the text. Other keys of a relation (answer spaces, for one) are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Literal

from calprobe.errors import DataMissingError, UsageError
from calprobe.folders import data_root
from calprobe.messages import counted, did_you_mean
from calprobe.probes import Probe
from calprobe.probes.datasets import absent_files, dataset
from calprobe.probes.fingerprints import fingerprint_of_wordings
from calprobe.probes.json_files import JsonObject, read_json_object
from calprobe.probes.probe_folder import checked_templates
from calprobe.words import TemplateKind

MARKERS: dict[Literal["verbal", "numeric"], tuple[str, ...]] = {
    "verbal": ("possibly", "certainly"),
    "numeric": ("0", "25", "50", "75", "100"),  # percent
}
GROUPS: dict[str, TemplateKind | None] = {
    "paraphrases": "paraphrase",
    "verbal": "verbal",
    "numeric": "numeric",
    "all": None,
}
PAPER_SET = "kissling2026"

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")  # a number, or the first and last of a range
_VERBAL = re.compile(r"\b(possibly|certainly)\b", re.IGNORECASE)
_NUMERIC = re.compile(r"\b([0-9]+)% confident\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Template:
    """One template of a relation."""

    number: int  # what --templates takes, from 0
    text: str  # with [X] and [Y], each once
    kind: TemplateKind
    marker: str | None = None  # possibly, certainly, or a percentage such as "25"; None for a paraphrase


@dataclass(frozen=True)
class TemplateSet:
    """The templates of each relation, by number."""

    name: str  # calprobe, native, kissling2026, or the file's path as given
    templates: Mapping[str, tuple[Template, ...]]  # relation's name -> its templates, in the order of their numbers

    def template(self, relation: str, number: int) -> Template:
        """The template of that number; KeyError if the relation is not in the set or has no such number."""
        return self._by_number[relation][number]

    @cached_property
    def _by_number(self) -> dict[str, dict[int, Template]]:
        """The templates by relation and number, so that a lookup does not search."""
        return {name: {each.number: each for each in templates} for name, templates in self.templates.items()}

    def fingerprint(self, relations: Iterable[str], numbers: Iterable[int]) -> str:
        """SHA-256 (hex) over the texts of these relations' templates of these numbers; the order of either, and the
        set's name, do not matter. KeyError as in `template`."""
        chosen = set(numbers)
        return fingerprint_of_wordings(
            {name: {number: self.template(name, number).text for number in chosen} for name in set(relations)}
        )


def default_template_set(probe: Probe) -> str:
    """`calprobe` for the probes bear and mini, which the project wrote templates for; `native` for all others.

    A folder is one of the others, whatever its name.

    >>> from calprobe.probes import load_probe
    >>> default_template_set(load_probe("mini"))
    'calprobe'
    """
    return "calprobe" if probe.own_templates is not None else "native"


def load_template_set(name: str, probe: Probe) -> TemplateSet:
    """The template set of that name for a probe. A relation that the set lacks is an error of `select_templates`.

    Args:
        name: `calprobe` (the project's own; mini's for mini and any folder of its relations, else BEAR's), `native`
            (the probe's own), `kissling2026` (the paper's, if it was fetched), or the path of a JSON file in one of
            the two forms of this module's docstring.
        probe: the probe to be scored.
    Raises:
        UsageError: the name is none of these.
        DataMissingError: kissling2026, and it is not here.
        ProbeFormatError: the file is not in either form; names file, line and fix.

    >>> from calprobe.probes import load_probe
    >>> load_template_set("calprobe", load_probe("mini")).template("capital", 0).text
    'The capital of [X] is [Y].'
    """
    if name == "native":
        return TemplateSet(name, {relation.name: _flat(relation.templates) for relation in probe.relations})
    if name == "calprobe":
        return TemplateSet(name, _own(probe))
    path = _fetched(name) if name == PAPER_SET else Path(name).expanduser()
    if not path.is_file():
        raise UsageError(f"no template set {name!r}; give calprobe, native, {PAPER_SET} or the path of a JSON file")
    return TemplateSet(name, _read(path))


def select_templates(template_set: TemplateSet, spec: str, relations: Iterable[str]) -> tuple[int, ...]:
    """The numbers that a `--templates` value stands for, sorted, each once, the same templates for all relations.

    Args:
        template_set: where the templates come from.
        spec: numbers, ranges (0-4) and group names (paraphrases, verbal, numeric, all), combined by commas:
            `0-2,verbal`.
        relations: names of the relations to be scored.
    Raises:
        UsageError: an item of spec is neither; a relation has no templates in the set, lacks one of the numbers, or
            has another kind of template under it; no relation has a template of a group.

    >>> from calprobe.probes import load_probe
    >>> select_templates(load_template_set("calprobe", load_probe("mini")), "0,verbal", ["capital"])
    (0, 5, 6)
    """
    names = list(relations)
    if lacking := [name for name in names if not template_set.templates.get(name)]:
        raise UsageError(
            f"template set {template_set.name!r} has no templates for {_listed(lacking)}; "
            "choose another --template-set or other --relations"
        )
    chosen = sorted({number for item in spec.split(",") for number in _numbers(template_set, item.strip(), names)})
    for number in chosen:
        _check_number(template_set, number, names)
    return tuple(chosen)


def _numbers(template_set: TemplateSet, item: str, relations: list[str]) -> set[int]:
    """What one item of a `--templates` value stands for; a group is all numbers of its kind in any relation."""
    if found := _RANGE.fullmatch(item):
        return _range(template_set, int(found[1]), int(found[2] or found[1]), names=relations)
    if item not in GROUPS:
        what = f"{item!r} is neither a number, a range such as 0-4, nor one of {', '.join(GROUPS)}"
        raise UsageError(f"--templates: {what}{did_you_mean(item, GROUPS)}")
    kind = GROUPS[item]
    templates = (template for name in relations for template in template_set.templates[name])
    numbers = {template.number for template in templates if kind in (None, template.kind)}
    if not numbers:
        raise UsageError(f"--templates: template set {template_set.name!r} has no {item} templates; choose numbers")
    return numbers


def _range(template_set: TemplateSet, first: int, last: int, names: list[str]) -> set[int]:
    """The numbers from the first to the last; a range beyond the templates is refused before it is made."""
    if last < first:
        raise UsageError(f"--templates: range {first}-{last} goes down; write {last}-{first}")
    largest = max(template.number for name in names for template in template_set.templates[name])
    if last > first and last > largest:
        what = f"range {first}-{last} goes beyond template {largest}, the last of set {template_set.name!r}"
        raise UsageError(f"--templates: {what}; write {min(first, largest)}-{largest}")
    return set(range(first, last + 1))


def _check_number(template_set: TemplateSet, number: int, relations: list[str]) -> None:
    """Every relation has the number, and it stands for the same kind of template in all."""
    by_name = {name: {t.number: t for t in template_set.templates[name]} for name in relations}
    if lacking := [name for name in relations if number not in by_name[name]]:
        shared = sorted(set.intersection(*(set(templates) for templates in by_name.values())))
        raise UsageError(
            f"--templates: template set {template_set.name!r} has no template {number} for {_listed(lacking)}; "
            f"all relations have {', '.join(map(str, shared)) or 'none'}"
        )
    kinds = {(by_name[name][number].kind, by_name[name][number].marker): name for name in relations}
    if len(kinds) > 1:
        said = ", ".join(f"{marker or kind} in {name}" for (kind, marker), name in kinds.items())
        raise UsageError(f"--templates: template {number} of set {template_set.name!r} differs in kind: {said}")


def _listed(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {counted(len(names) - 5, 'more relation')}" if len(names) > 5 else "")


def _own(probe: Probe) -> dict[str, tuple[Template, ...]]:
    """The project's templates for a probe that it knows, else for one of the same relations."""
    folder = Path(str(resources.files("calprobe.templates")))
    if probe.own_templates is not None:
        return _read(folder / f"{probe.own_templates}.json")
    mini = _read(folder / "mini.json")
    return mini if all(relation.name in mini for relation in probe.relations) else _read(folder / "bear.json")


def _fetched(name: str) -> Path:
    """The file of a template set that `calprobe fetch` gets."""
    data, root = dataset(name), data_root()
    if absent_files(data.files, root):
        raise DataMissingError(f"template set {name!r} is not in {root / data.folder}; run `calprobe fetch {name}`")
    return root / data.files[0].path


def _read(path: Path) -> dict[str, tuple[Template, ...]]:
    source = read_json_object(path)
    return {name: _read_relation(source, name) for name in source.content}


def _read_relation(source: JsonObject, name: str) -> tuple[Template, ...]:
    entry = source.content[name]
    if not isinstance(entry, dict):
        source.fail(f"{name!r} must be an object with 'templates' or 'paraphrases'; fix the entry", name)
    if ("templates" in entry) == ("paraphrases" in entry):
        source.fail(f"{name!r} must have either 'templates' or 'paraphrases'; fix the entry", name)
    if "templates" in entry:
        return _flat(checked_templates(source, name, "templates"))
    paraphrases = checked_templates(source, name, "paraphrases")
    kinds: list[tuple[str, TemplateKind, str | None]] = [(text, "paraphrase", None) for text in paraphrases]
    for kind, markers in MARKERS.items():
        texts = checked_templates(source, name, kind) if kind in entry else ()
        if texts and len(texts) != len(markers):
            what = f"{kind!r} of {name!r} has {len(texts)} texts; give {len(markers)}: {', '.join(markers)}"
            source.fail(what, name, kind)
        kinds.extend((text, kind, marker) for text, marker in zip(texts, markers, strict=False))
    return tuple(Template(number, *which) for number, which in enumerate(kinds))


def _flat(texts: Iterable[str]) -> tuple[Template, ...]:
    """Templates numbered by position, kinds read off their texts."""
    return tuple(Template(number, text, *kind_of(text)) for number, text in enumerate(texts))


def kind_of(text: str) -> tuple[TemplateKind, str | None]:
    """A template's kind and marker, read off its wording.

    >>> kind_of("I'm 25% confident that [X] is in [Y].")
    ('numeric', '25')
    """
    if found := _NUMERIC.search(text):
        return "numeric", found[1]
    if found := _VERBAL.search(text):
        return "verbal", found[1].lower()
    return "paraphrase", None
