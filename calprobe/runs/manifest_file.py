"""`manifest.json`: written atomically, and believed only after every check has passed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from calprobe.errors import CalprobeError
from calprobe.messages import reason
from calprobe.runs import atomic
from calprobe.runs.asked_manifest import AskManifest, asked_faults
from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.manifest import Manifest
from calprobe.runs.manifest_checks import LARGEST, manifest_faults
from calprobe.runs.manifest_records import IMPORTED, EarlierFormat
from calprobe.runs.run_progress import NOTHING, Progress
from calprobe.runs.task import RunManifest

FORMAT = 3
FILE_NAME = "manifest.json"


class Task(NamedTuple):
    """What a task's manifests are, and what no such manifest can have, each fault with its key."""

    manifest: type[RunManifest]
    faults: Callable[[Any], Iterator[str]] = lambda manifest: iter(())


TASKS = {"score": Task(Manifest, manifest_faults), "ask": Task(AskManifest, asked_faults)}


def manifest_json(manifest: RunManifest) -> str:
    """The text of manifest.json: indented, keys in the order of the fields, their checksums, a final line break."""
    fields: dict[str, Any] = {"task": manifest.task} | json.loads(json.dumps(asdict(manifest)))  # type: ignore[call-overload]  # subclasses are dataclasses
    complete = {"calprobe_run": FORMAT} | fields | {_CHECKSUMS: {key: _checksum(fields[key]) for key in fields}}
    return json.dumps(complete, indent=1, ensure_ascii=False) + "\n"


def write_manifest(manifest: RunManifest, folder: Path) -> None:
    """Write `folder`/manifest.json atomically."""
    atomic.write_text(folder / FILE_NAME, manifest_json(manifest))


def read_manifest(folder: Path) -> Manifest:
    """Read `folder`/manifest.json of a run of scores. Raises as `read_any_manifest`, and for a run of another task."""
    manifest = read_any_manifest(folder)
    if not isinstance(manifest, Manifest):
        raise CalprobeError(f"{folder / FILE_NAME}: a run of task {manifest.task}, not of scores; name another run")
    return manifest


def read_any_manifest(folder: Path) -> RunManifest:
    """Read `folder`/manifest.json, of a run of any task.

    Raises CalprobeError if it is damaged, of a newer format, has unknown keys, or was changed since it was written; the
    keys that were are named. One without checksums, as older versions wrote it, is taken as it is.
    """
    path = folder / FILE_NAME
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CalprobeError(f"{path}: cannot be read: {reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise CalprobeError(f"{path}: damaged, not JSON ({str(error).partition(';')[0]}); {_MEND}") from error
    version = data.pop("calprobe_run", None) if isinstance(data, dict) else None
    if type(version) is not int:
        raise CalprobeError(f"{path}: not the manifest of a calprobe run (no key calprobe_run); name a run's folder")
    if not 1 <= version <= FORMAT:
        raise CalprobeError(f"{path}: run format {version}, this calprobe reads 1 to {FORMAT}; upgrade calprobe")
    checksums = data.pop(_CHECKSUMS, None)
    try:
        manifest = _DECODERS[version](data)
    except DecodeError as error:
        raise CalprobeError(f"{path}: {error}; {_MEND}") from error
    if changed := _changed(data, checksums):
        raise CalprobeError(f"{path}: {', '.join(changed)} changed since calprobe wrote the file; {_MEND}")
    if fault := next(TASKS[manifest.task].faults(manifest), None):
        raise CalprobeError(f"{path}: {fault}; {_MEND}")
    return manifest


def _decode(data: Mapping[str, Any]) -> RunManifest:
    fields = dict(data)
    task = fields.pop("task", "score")
    if not isinstance(task, str) or task not in TASKS:
        raise DecodeError(f"task: expected one of {', '.join(TASKS)}, got {task!r:.60}")
    return _without_sentinel(decode(TASKS[task].manifest, fields))


def _without_sentinel(manifest: RunManifest) -> RunManifest:
    """The manifest with no path where an earlier calprobe wrote a word for an import."""
    if isinstance(manifest, Manifest) and manifest.settings.path == IMPORTED:
        return replace(manifest, settings=replace(manifest.settings, path=None))
    return manifest


def _decode_format_2(data: Mapping[str, Any]) -> RunManifest:
    """A manifest of format 2: each shard carries the run's identity."""
    if unknown := {"grew", "earlier_format"}.intersection(data):
        raise DecodeError(f"unknown key {', '.join(map(repr, sorted(unknown)))}")
    return _of_earlier_format(_decode(data), NOTHING, {})


def _of_earlier_format(manifest: RunManifest, spent: Progress, cut_contexts: Mapping[str, int]) -> RunManifest:
    if not isinstance(manifest, Manifest):
        return manifest
    return replace(manifest, earlier_format=EarlierFormat(manifest.identity_hash, spent, cut_contexts))


def _decode_format_1(data: Mapping[str, Any]) -> RunManifest:
    """A manifest of format 1, which has `timings`, and `cut_contexts` in each relation."""
    fixed = {key: value for key, value in data.items() if key != "timings"}
    cut: dict[str, int] = {}
    if isinstance(relations := data.get("relations"), list):
        fixed["relations"] = [_without_count(relation, f"relations[{i}]", cut) for i, relation in enumerate(relations)]
    manifest = decode(Manifest, fixed)
    settings = manifest.settings
    spent = decode(Progress, data.get("timings", {}), "timings")
    if settings.first_batch_tokens is not None and manifest.shard is None:
        spent = replace(spent, first_batch_tokens=settings.first_batch_tokens)
    return _of_earlier_format(_without_sentinel(manifest), spent, cut)


def _without_count(relation: Any, where: str, cut: dict[str, int]) -> Any:
    """The relation without `cut_contexts`, which goes into `cut` by the relation's name if it is not 0."""
    if not isinstance(relation, dict) or "cut_contexts" not in relation:
        return relation
    count = decode(int, relation["cut_contexts"], f"{where}.cut_contexts")
    if not 0 <= count <= LARGEST:
        raise DecodeError(f"{where}.cut_contexts: must be 0 to {LARGEST}, got {count!r:.60}")
    if count and isinstance(relation.get("name"), str):
        cut[relation["name"]] = count
    return {key: value for key, value in relation.items() if key != "cut_contexts"}


def _checksum(value: Any) -> str:
    """CRC-32 (hex) of a JSON value, however it is laid out."""
    return f"{zlib.crc32(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()):08x}"


def _changed(data: Mapping[str, Any], checksums: Any) -> list[str]:
    """The keys with values that do not match their checksums, sorted."""
    if checksums is None:
        return []
    if not isinstance(checksums, dict):
        return [_CHECKSUMS]
    sums = {key: _checksum(value) for key, value in data.items()}
    return sorted(key for key in {*sums, *checksums} if sums.get(key) != checksums.get(key))


_DECODERS = {1: _decode_format_1, 2: _decode_format_2, FORMAT: _decode}
_CHECKSUMS = "checksums"
_MEND = "restore the file, or make the run again in another folder"
