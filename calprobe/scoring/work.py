"""What one process needs to score pieces of a run, and which groups of them are to be scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calprobe.models import LoadedModel
from calprobe.runs import RunFolder
from calprobe.scoring.costs import piece_cost
from calprobe.scoring.dealing import deal, longest_first, parse_shard
from calprobe.scoring.executor import Executor
from calprobe.scoring.groups import Piece, groups_of, least_statements
from calprobe.scoring.options import ScoreOptions
from calprobe.scoring.pieces import PreparedGroup, prepare_group
from calprobe.scoring.remembered import RememberedBudget
from calprobe.scoring.selection import Selection

Group = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """A run that lies open, the model, and the pieces that were missing when it was opened."""

    folder: RunFolder
    selection: Selection
    model: LoadedModel
    executor: Executor
    options: ScoreOptions
    missing: Sequence[Piece]
    remembered: RememberedBudget | None = None  # where smaller batches are kept for other runs; None: nowhere

    def groups(self) -> list[Group]:
        """All groups of the run, or of the shard that is asked for, in the run's order.

        Shards are dealt whole groups, so that a piece has the same neighbours in its batches, and with them the same
        last bits, as in one run of everything. They are cut by the budget that the run began with, since smaller
        batches later on must not move them; those of a shard by the one that all shards share (`find_way`).
        """
        settings = self.folder.manifest.settings
        every = list(groups_of(self._n_statements(), least_statements(settings.path, settings.grouped_by or 1)))
        if self.options.shard is None:
            return every
        shard = parse_shard(self.options.shard)
        return [every[place] for place in deal(self._costs(every), shard.count)[shard.number - 1]]

    def longest_first(self, groups: Sequence[Group]) -> list[Group]:
        """The groups by estimated cost, so that those that are taken last are short."""
        return [groups[place] for place in longest_first(self._costs(groups))]

    def total(self, groups: Sequence[Group]) -> int:
        """Statements in the groups."""
        n_statements = self._n_statements()
        return sum(n_statements[piece] for group in groups for piece in group)

    def prepare(self, group: Group, executor: Executor) -> PreparedGroup:
        """The group tokenised, and planned for that executor."""
        chosen, masking = self.selection, self.options.masking(self.model.kind, self.model.name)
        pieces = [(chosen.relation(name), chosen.template_set.template(name, number)) for name, number in group]
        return prepare_group(pieces, self.model, executor, masking)

    @property
    def _path(self) -> str:
        return self.folder.manifest.settings.path

    def _n_statements(self) -> dict[Piece, int]:
        return {piece: self.selection.relation(piece[0]).n_statements for piece in self.folder.manifest.pieces}

    def _costs(self, groups: Sequence[Group]) -> list[float]:
        chosen = self.selection
        return [
            sum(piece_cost(chosen.relation(name), chosen.text(name, number), self._path) for name, number in group)
            for group in groups
        ]
