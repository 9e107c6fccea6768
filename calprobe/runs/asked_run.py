"""The reading side of the folder of an asked run: questions and replies, checked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from calprobe.errors import CalprobeError
from calprobe.messages import counted
from calprobe.questions.types import QuestionSet
from calprobe.runs.asked_manifest import AskManifest
from calprobe.runs.asked_questions import FILE_NAME, StoredSet, read_questions
from calprobe.runs.grades import StoredGrades, read_grades
from calprobe.runs.reply_records import AskedPiece, PieceReplies
from calprobe.runs.stored_run import StoredRun


class AskedRun(StoredRun[PieceReplies]):
    """A run of replies read from its folder. Shards are read once; damaged ones count as missing."""

    manifest: AskManifest

    def __init__(self, path: Path, manifest: AskManifest) -> None:
        super().__init__(path, manifest)

    def __repr__(self) -> str:
        made = self.manifest
        sizes = f"{counted(made.n_questions, 'question')}, {counted(len(made.prompts.variants), 'variant')}"
        return f"<AskedRun {self.path}: {made.model.name} on {', '.join(s.name for s in made.sets)}, {sizes}>"

    @cached_property
    def stored_sets(self) -> tuple[StoredSet, ...]:
        """The questions as the folder keeps them, in the manifest's order of sets.

        Raises CalprobeError if the file is missing or damaged, or has other questions than the manifest says.
        """
        stored = {found.name: found for found in read_questions(self.path)}
        sets = []
        for record in self.manifest.sets:
            found = stored.get(record.name)
            if found is not None:  # a process that was killed while the run grew may have left more
                found = found.first(record.n_questions)
            if found is None or found.fingerprint != record.fingerprint:
                file = self.path / FILE_NAME
                raise CalprobeError(
                    f"{file}: not the questions of {record.name} that the manifest describes; restore the file"
                )
            sets.append(found)
        return tuple(sets)

    @cached_property
    def questions(self) -> Mapping[str, QuestionSet]:
        """The question sets by name, with all questions of the complete run, also in the folder of a share.

        Texts are empty in a set that must not be quoted. Raises as `stored_sets`.
        """
        return {stored.name: stored.as_set() for stored in self.stored_sets}

    @cached_property
    def by_piece(self) -> Mapping[AskedPiece, PieceReplies]:
        """The complete pieces by what they ask, in the order of asking."""
        there = {record.piece: record for record in self.pieces}
        return {asked: there[asked.piece] for asked in self.manifest.asked if asked.piece in there}

    @property
    def grades(self) -> StoredGrades | None:
        """What `calprobe grade` has stored; None where the run was not graded.

        Raises CalprobeError for a damaged file.
        """
        return read_grades(self.path)
