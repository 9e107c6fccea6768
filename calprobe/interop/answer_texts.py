"""The texts of a run's instances: subjects, candidates, and statements as they were scored."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from calprobe.errors import CalprobeError, DataMissingError
from calprobe.interop.probe_texts import check_labels, find_labels
from calprobe.probes import Instance, Probe, Relation
from calprobe.probes.types import slot_fault
from calprobe.runs import Manifest, Run
from calprobe.statements import fill, join

log = logging.getLogger(__name__)


class AnswerTexts:
    """The texts of a run, from its probe and from the wordings in its manifest."""

    def __init__(self, manifest: Manifest, labels: Probe | None) -> None:
        """`labels` are from `find_labels`; without them there are no texts."""
        self._manifest = manifest
        self._labels = labels

    @property
    def known(self) -> bool:
        """Whether there are any texts."""
        return self._labels is not None

    def of(self, manifest: Manifest) -> AnswerTexts:
        """The texts of another run of the same probe."""
        return AnswerTexts(manifest, self._labels)

    def subject(self, relation: str, instance: int) -> str | None:
        """The subject of an instance; None without labels."""
        entry = self._instances.get((relation, instance))
        return None if entry is None else entry[1].subject

    def label(self, relation: str, instance: int, place: int) -> str | None:
        """The candidate at a place of the answer space; None without labels, and for -1."""
        entry = self._instances.get((relation, instance))
        return None if entry is None or place < 0 else entry[0].candidates_of(entry[1])[place]

    def statement(self, relation: str, instance: int, place: int, template: int) -> str | None:
        """The statement with that candidate under a template, as it was scored.

        None without labels, for -1, and for an import that does not know the wording.
        """
        subject, answer = self.subject(relation, instance), self.label(relation, instance, place)
        if subject is None or answer is None:
            return None
        if self._manifest.relation(relation).scored == "completion":
            return join(subject, answer).text
        wording = self._wordings.get((relation, template))
        return None if wording is None else fill(wording, subject, answer).text

    @cached_property
    def _instances(self) -> Mapping[tuple[str, int], tuple[Relation, Instance]]:
        if self._labels is None:
            return {}
        return {
            (relation.name, instance.index): (relation, instance)
            for relation in self._labels.relations
            for instance in relation.instances
        }

    @cached_property
    def _wordings(self) -> Mapping[tuple[str, int], str]:
        """By relation and template; an import may have wordings without slots, which cannot be filled."""
        numbers = [template.number for template in self._manifest.templates]
        return {
            (relation.name, number): text
            for relation in self._manifest.relations
            for number, text in zip(numbers, relation.texts, strict=False)
            if slot_fault(text) is None
        }


def texts_of(run: Run, probe: str | Path | Probe | None = None) -> AnswerTexts:
    """The texts of all instances that a run has scores of. Raises as `find_labels` and `check_labels`."""
    labels = find_labels(run.manifest, run.path, probe)
    check_labels(labels, _instances_of(run), str(run.path))
    return AnswerTexts(run.manifest, labels)


def texts_if_known(manifest: Manifest, folder: Path | None) -> AnswerTexts:
    """The texts of a run; without labels where they are not found."""
    try:
        return AnswerTexts(manifest, find_labels(manifest, folder or Path()))
    except DataMissingError as error:
        log.debug("%s", error)  # what shows the answers says that they are not known in words
        return AnswerTexts(manifest, None)
    except CalprobeError as error:
        log.info("%s", error)
        return AnswerTexts(manifest, None)


def _instances_of(run: Run) -> Iterator[tuple[str, int, int, int]]:
    for piece in run.pieces:
        k = run.manifest.relation(piece.relation).n_candidates
        for instance, answer in zip(piece.instance[::k].tolist(), piece.answer_idx[::k].tolist(), strict=True):
            yield piece.relation, instance, answer, k
