"""The texts of a run's instances and candidates: stored in the run, or in its probe, which is found again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.probes import PROBES, Probe, load_probe
from calprobe.runs.manifest import Manifest
from calprobe.runs.manifest_records import SourceRecord
from calprobe.runs.stored_texts import FILE_NAME, read_labels


def find_labels(manifest: Manifest, folder: Path, probe: str | Path | Probe | None = None) -> Probe:
    """The probe of a run, for its texts; its fingerprint shows that it is the one that was scored.

    Args:
        manifest: of the run.
        folder: the run folder, which may have the labels of its probe.
        probe: where the probe is, if the run folder has no labels and the probe is neither a known one (bundled or
            fetched) nor where it was when it was scored.
    Raises:
        UsageError: `probe` is not the one that was scored.
        DataMissingError: no labels in the folder, and no such probe; says what to do.
        CalprobeError: the labels in the folder are damaged, or of another probe.
    """
    source = manifest.probe
    if probe is not None:
        return _as_named(source, folder, probe if isinstance(probe, Probe) else load_probe(probe))
    stored = read_labels(folder)
    if stored is not None:
        if stored.fingerprint != (source.fingerprint or ""):
            fault = f"labels of another probe than the run's, {source.name}; delete the file, or name the probe"
            raise CalprobeError(f"{folder / FILE_NAME}: {fault} with --probe")
        return stored
    return _found_again(source, folder)


def check_labels(labels: Probe, asked: Iterable[tuple[str, int, int, int]], where: str) -> None:
    """Raise CalprobeError unless the labels have each instance, with its answer and as many candidates.

    An instance is (relation, line number, place of the answer, number of candidates); `where` names the run in the
    message. Equal fingerprints make this certain; an import may not know its probe's.
    """
    answers = {
        (relation.name, item.index): (item.answer_idx, len(relation.candidates_of(item)))
        for relation in labels.relations
        for item in relation.instances
    }
    for relation, instance, answer, n_candidates in asked:
        if answers.get((relation, instance)) != (answer, n_candidates):
            fault = f"probe {labels.name} does not have instance {instance} of {relation} with the same answer"
            raise CalprobeError(f"{where}: {fault} and candidates; name the probe that was scored with --probe")


def _as_named(source: SourceRecord, folder: Path, probe: Probe) -> Probe:
    if source.fingerprint is not None and probe.fingerprint != source.fingerprint:
        raise UsageError(
            f"probe {probe.name}: not the one that {folder} was scored with, {source.name}: its fingerprint is "
            f"{probe.fingerprint[:12]}, the run's {source.fingerprint[:12]}\nname that probe with --probe"
        )
    return probe


def _found_again(source: SourceRecord, folder: Path) -> Probe:
    opening = f"{folder}: the run has no labels, and its probe, {source.name},"
    fix = "name it with --probe DIR"
    if source.fingerprint is None:
        fix = f"{fix}, or import the scores again with their labels"
        raise DataMissingError(f"{opening} is not known by its content\n{fix}")
    place = source.path or (source.name if source.name in PROBES else None)
    if place is None:
        raise DataMissingError(f"{opening} is none that calprobe knows\n{fix}")
    try:
        probe = load_probe(place)
    except (DataMissingError, UsageError) as error:
        hint = f"{fix}, or run `calprobe fetch`" if source.path is None else fix
        raise DataMissingError(f"{opening} is not here ({str(error).splitlines()[0].rstrip(';, ')})\n{hint}") from error
    if probe.fingerprint != source.fingerprint:
        changed = f"its fingerprint is {probe.fingerprint[:12]}, the run's {source.fingerprint[:12]}"
        raise DataMissingError(
            f"{opening} has changed since: {changed}\nname the probe that was scored with --probe DIR"
        )
    return probe
