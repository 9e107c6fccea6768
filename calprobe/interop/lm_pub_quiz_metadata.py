"""What lm-pub-quiz says of its results: an entry a relation in metadata_results.json, in the forms of 0.1 to 0.4."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calprobe.errors import ProbeFormatError
from calprobe.interop.lm_pub_quiz_export import METADATA, RESULTS_SUFFIX
from calprobe.probes.json_files import JsonObject, read_json_object
from calprobe.probes.relation_rows import label_fault
from calprobe.runs.manifest_checks import LARGEST_TEMPLATE
from calprobe.runs.pieces import REDUCTIONS

METADATA_AFTER_0_3 = "metadata_relations.json"
FLAT = "reduce the results in lm-pub-quiz first"


@dataclass(frozen=True, slots=True)
class Common:
    """What the metadata says of every relation alike."""

    model: str
    dataset: str
    templates: tuple[int, ...]  # ascending, at least one
    reduction: str
    pll_metric: str | None  # of masked models only


def read_metadata(folder: Path) -> tuple[JsonObject, Common]:
    """The metadata of a folder of results, and what its relations have in common.

    Raises ProbeFormatError if it is not what lm-pub-quiz saves, if relations differ in model, templates, reduction or
    metric, or if the entries are not those of the RELATION_results.jsonl beside it.
    """
    paths = [path for path in (folder / METADATA, folder / METADATA_AFTER_0_3) if path.is_file()]
    if not paths:
        names = f"neither {METADATA} nor {METADATA_AFTER_0_3}"
        raise ProbeFormatError(f"{folder}: {names} in it; name the folder that lm-pub-quiz saved")
    metadata = read_json_object(paths[0])
    _check_files(folder, metadata)
    entries = [_common(metadata, name) for name in metadata.content]
    for name, entry in zip(metadata.content, entries, strict=True):
        if entry != entries[0]:
            metadata.fail(f"{name}: {entry}, but the first relation has {entries[0]}; import them one by one", name)
    return metadata, entries[0]


def wordings(metadata: JsonObject, name: str, common: Common) -> tuple[str, ...]:
    """The texts of a relation's scored templates, one for each; empty where the metadata does not give them all."""
    texts = _templates(metadata.content[name])
    scored = [texts[number] for number in common.templates if number < len(texts)]
    checked = tuple(_checked(metadata, name, text) for text in scored if isinstance(text, str))
    return checked if len(checked) == len(common.templates) else ()


def domains(metadata: JsonObject, name: str) -> tuple[str, ...]:
    """The domains of a relation; empty where the metadata does not give them."""
    info = metadata.content[name].get("relation_info")
    listed = info.get("domains") if isinstance(info, dict) else None
    return tuple(_checked(metadata, name, str(domain)) for domain in listed) if isinstance(listed, list) else ()


def _check_files(folder: Path, metadata: JsonObject) -> None:
    if not metadata.content:
        metadata.fail("no relation in it; name the folder that lm-pub-quiz saved")
    names = {path.name.removesuffix(RESULTS_SUFFIX) for path in folder.glob(f"*{RESULTS_SUFFIX}")}
    if absent := [name for name in metadata.content if name not in names]:
        metadata.fail(f"no file {absent[0]}{RESULTS_SUFFIX} beside it; add it, or remove the entry", absent[0])
    if extra := sorted(names - set(metadata.content)):
        metadata.fail(f"no entry for {extra[0]}{RESULTS_SUFFIX}, which is there; add it, or remove the file")


def _common(metadata: JsonObject, name: str) -> Common:
    entry = metadata.content[name]
    if not isinstance(entry, dict):
        metadata.fail(f"{name}: must be an object; correct the entry", name)
    model = entry.get("model_name_or_path", entry.get("model_name"))
    if not isinstance(model, str):
        metadata.fail(f"{name}: model_name_or_path must be a text; add it", name)
    if entry.get("reduction") not in REDUCTIONS:
        metadata.fail(f"{name}: reduction must be one of {', '.join(REDUCTIONS)}; {FLAT}", name)
    pll_metric = entry.get("pll_metric", entry.get("model_pll_metric"))
    return Common(
        model=_checked(metadata, name, model),
        dataset=_checked(metadata, name, str(entry.get("dataset_name") or "unknown")),
        templates=_numbers(metadata, name, entry),
        reduction=entry["reduction"],
        pll_metric=None if pll_metric is None else _checked(metadata, name, str(pll_metric)),
    )


def _numbers(metadata: JsonObject, name: str, entry: dict[str, Any]) -> tuple[int, ...]:
    """The templates that were scored: one number, several, or, with null, all that the relation has."""
    index = entry.get("template_index")
    numbers = range(len(_templates(entry))) if index is None else index if isinstance(index, list) else [index]
    if not numbers or not all(type(number) is int and 0 <= number <= LARGEST_TEMPLATE for number in numbers):
        fault = "template_index must be a number or numbers from 0, or null and templates a list"
        metadata.fail(f"{name}: {fault}; correct the entry", name)
    return tuple(sorted(set(numbers)))


def _templates(entry: dict[str, Any]) -> list[Any]:
    texts = entry.get("templates")
    return texts if isinstance(texts, list) else []


def _checked(metadata: JsonObject, name: str, text: str) -> str:
    """The text, which can be written as UTF-8."""
    if (fault := label_fault(text, may_be_empty=True)) is not None:
        metadata.fail(f"{name}: {text!r} {fault}", name)
    return text
