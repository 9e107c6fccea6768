"""Made-up runs with a probe that has texts: what tests of answers in words share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from run_samples import SHAPES, make_manifest, make_piece, without_tokens

from calprobe.probes import Instance, Probe, Relation
from calprobe.probes.fingerprints import fingerprint
from calprobe.runs import Manifest, RunFolder, SourceRecord
from calprobe.runs.stored_texts import write_labels

WORDINGS = ("[X] is called [Y].", "[Y] is what [X] is called.", "One calls [X] [Y].")


def named_probe() -> Probe:
    """A probe with the instances and answers of `make_piece`: subjects `P30 subject 0`, candidates `P30 answer 2`."""
    relations = []
    for name, n_instances, n_candidates in SHAPES:
        answers = make_piece((name, n_instances, n_candidates)).answer_idx[::n_candidates].tolist()
        instances = tuple(Instance(i, f"{name} subject {i}", answer) for i, answer in enumerate(answers))
        candidates = tuple(f"{name} answer {k}" for k in range(n_candidates))
        relations.append(Relation(name, candidates, instances, WORDINGS))
    return Probe("named", tuple(relations), fingerprint(relations))


def named_manifest(numbers: tuple[int, ...] = (0, 1, 2)) -> Manifest:
    """The manifest of a run of that probe under these templates."""
    manifest, probe = make_manifest(numbers=numbers), named_probe()
    return replace(
        manifest,
        probe=SourceRecord(probe.name, probe.fingerprint),
        relations=tuple(
            replace(record, texts=tuple(WORDINGS[number] for number in numbers)) for record in manifest.relations
        ),
    )


def named_run(path: Path, numbers: tuple[int, ...] = (0, 1, 2), *, labels: bool = True, imported: bool = False) -> Path:
    """A complete run of that probe at `path`, with its labels or without; of an import, no fingerprint is known."""
    manifest = named_manifest(numbers)
    source = SourceRecord(manifest.probe.name) if imported else manifest.probe
    folder = RunFolder.open(path, replace(manifest, probe=source))
    for shape in SHAPES:
        for number in numbers:
            folder.write_piece(without_tokens(make_piece(shape, number)))
    if labels:
        write_labels(path, named_probe())
    return path
