"""The reading side of the folder of an asked run: questions and replies, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from calprobe.errors import CalprobeError
from calprobe.messages import counted
from calprobe.questions.types import QuestionSet
from calprobe.runs.asked_manifest import AskManifest
from calprobe.runs.asked_questions import FILE_NAME, StoredSet, read_questions
from calprobe.runs.asked_records import QuestionSetRecord
from calprobe.runs.grades import StoredGrades, read_grades
from calprobe.runs.journal_reading import read_journals
from calprobe.runs.known_replies import known_replies, without_prompts
from calprobe.runs.records import FewerRowsError, Piece
from calprobe.runs.replies import Reply
from calprobe.runs.reply_records import AskedPiece, PieceReplies
from calprobe.runs.shards import ShardFile
from calprobe.runs.stored_run import StoredRun


class AskedRun(StoredRun[PieceReplies]):
    """A run of replies read from its folder. Shards are read once; damaged ones count as missing."""

    manifest: AskManifest

    def __init__(self, path: Path, manifest: AskManifest) -> None:
        super().__init__(path, manifest)

    def __repr__(self) -> str:
        manifest = self.manifest
        sizes = f"{counted(manifest.n_questions, 'question')}, {counted(len(manifest.prompts.variants), 'variant')}"
        return f"<AskedRun {self.path}: {manifest.model.name} on {', '.join(s.name for s in manifest.sets)}, {sizes}>"

    @cached_property
    def stored_sets(self) -> tuple[StoredSet, ...]:
        """The questions as the folder keeps them, in the manifest's order of sets.

        Raises CalprobeError if the file is missing or damaged, or has other questions than the manifest says.
        """
        stored = {question_set.name: question_set for question_set in read_questions(self.path)}
        sets = []
        for record in self.manifest.sets:
            question_set = stored.get(record.name)
            if question_set is not None:  # a process that was killed while the run grew may have left more
                question_set = question_set.first(record.n_questions)
            if question_set is None or question_set.fingerprint != record.fingerprint:
                file = self.path / FILE_NAME
                raise CalprobeError(
                    f"{file}: not the questions of {record.name} that the manifest describes; restore the file"
                )
            sets.append(question_set)
        return tuple(sets)

    @cached_property
    def set_records(self) -> tuple[QuestionSetRecord, ...]:
        """What the manifest says of each set; of claims with the number of their questions, which older ones lack."""
        if not self.manifest.prompts.claim or all(record.n_roots is not None for record in self.manifest.sets):
            return self.manifest.sets
        return tuple(
            replace(record, n_roots=stored.record.n_roots)
            for record, stored in zip(self.manifest.sets, self.stored_sets, strict=True)
        )

    @cached_property
    def questions(self) -> Mapping[str, QuestionSet]:
        """The question sets by name, with all questions of the complete run, also in the folder of a share.

        Texts are empty in a set that must not be quoted. Raises as `stored_sets`.
        """
        return {stored.name: stored.as_set() for stored in self.stored_sets}

    @cached_property
    def pieces(self) -> tuple[PieceReplies, ...]:
        """The complete pieces that have a shard, sorted by set with variant (as plain strings), then paraphrase.

        Raises CalprobeError if shards are there, and all of them are another run's.
        """
        return tuple(record for record in self._shards if self.kind.is_whole(record))

    @cached_property
    def by_piece(self) -> Mapping[AskedPiece, PieceReplies]:
        """All replies that there are by what they ask, in the order of asking; pieces without any are left out.

        They come from shards, and of pieces that are not complete from the journal, also while another process asks.
        Failed requests are among them. Raises as `pieces` and `stored_sets`.
        """
        shards = {record.piece: record for record in self._shards}
        ids = {stored.name: stored.by_id.keys() for stored in self.stored_sets}
        must_not_be_quoted = {stored.name for stored in self.stored_sets if not stored.source.quotable}
        records = {}
        for asked_piece in self.manifest.asked:
            shard = shards.get(asked_piece.piece)
            later = (
                reply for reply in self._in_journal.get(asked_piece.piece, ()) if reply.question in ids[asked_piece.set]
            )
            record = known_replies(asked_piece, () if shard is None else shard.replies, later)
            if record.replies:
                records[asked_piece] = without_prompts(record) if asked_piece.set in must_not_be_quoted else record
        return records

    @property
    def partial(self) -> bool:
        """Whether the reply to any request is missing; one that failed is there."""
        return len(self.by_piece) < len(self.manifest.asked) or not all(map(self.kind.is_whole, self.by_piece.values()))

    @property
    def grades(self) -> StoredGrades | None:
        """What `calprobe grade` has stored; None where the run was not graded.

        Raises CalprobeError for a damaged file.
        """
        return read_grades(self.path)

    @cached_property
    def _shards(self) -> tuple[PieceReplies, ...]:
        """What the shards have, also those with fewer questions, stages or samples than the run has by now."""
        _ = self._in_journal  # first: the replies of a piece that is completed meanwhile are in both, never in neither
        return self._read_shards()

    @cached_property
    def _in_journal(self) -> Mapping[Piece, Sequence[Reply]]:
        replies: dict[Piece, list[Reply]] = {}
        for reply in read_journals(self.path):
            replies.setdefault(Piece(f"{reply.set}.{reply.variant}", reply.paraphrase), []).append(reply)
        return replies

    def _left_out(self, piece: Piece) -> str:
        asked_piece = self.manifest.asked_piece(piece)
        n_questions = counted(self.manifest.records().n_questions[asked_piece.set], "question")
        return f"its replies to {n_questions} of {asked_piece.set} under {asked_piece.variant} are left out"

    def _record(self, shard: ShardFile) -> PieceReplies:
        try:
            return self.kind.read(shard, shard.piece)
        except FewerRowsError:
            return self.kind.read_part(shard, shard.piece)
