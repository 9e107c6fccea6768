"""Tokens that a run of scores forwards, before any model is loaded: counted by its tokenizer, or guessed by letters."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.models import LoadedModel
from calprobe.planning.masked_rows import distinct_rows, masked_rows
from calprobe.planning.prefix_tree import build_prefix_tree
from calprobe.planning.token_rows import TokenRows
from calprobe.probes import Relation
from calprobe.probes.relation_sample import sampled_instances
from calprobe.scoring.options import DEFAULT_METRIC, Masking, ScoreOptions
from calprobe.scoring.probe_selection import Selection
from calprobe.scoring.scheduling import piece_cost
from calprobe.scoring.scored_pieces import tokenise_pieces
from calprobe.statements import Template
from calprobe.words import ModelKind

LETTERS_OF_A_TOKEN = 4.0  # of English text, roughly
_SAMPLED = 30_000  # statements that are tokenised of a run that has more: about a second


def counted_tokens(model: LoadedModel, selection: Selection, options: ScoreOptions) -> tuple[int, bool]:
    """Tokens that go through the model, and whether each is counted.

    Of a causal model the distinct prefixes of each relation under each template, of a masked one its distinct rows, as
    the planner forwards them; batches repeat a few where they cut a tree. A run of more than 30,000 statements is
    counted on a sample of the instances of each relation, and scaled by the letters of all. Raises CalprobeError for a
    statement without tokens.
    """
    masking = options.masking(model.kind, model.name)
    wanted = sum(relation.n_statements for relation in selection.relations) * len(selection.numbers)
    share = min(1.0, _SAMPLED / max(1, wanted))
    total = 0.0
    for relation, template in _pieces(selection):
        part = relation if share == 1.0 else _sampled(relation, share)
        if not part.n_statements:
            continue
        tokens = _forwarded(model, part, template, masking)
        path = _path(model.kind)
        scale = (
            1.0
            if part is relation
            else piece_cost(relation, template.text, path) / piece_cost(part, template.text, path)
        )
        total += tokens * scale
    return round(total), share == 1.0


def guessed_tokens(selection: Selection, kind: ModelKind) -> int:
    """The same without a tokenizer, by the letters of all texts: within a factor of two for English."""
    path = _path(kind)
    letters = sum(piece_cost(relation, template.text, path) for relation, template in _pieces(selection))
    # A masked model forwards a statement once for each of its tokens: letters count squared there.
    return round(letters / LETTERS_OF_A_TOKEN ** (2 if kind == "masked" else 1))


def _pieces(selection: Selection) -> Iterator[tuple[Relation, Template]]:
    for relation in selection.relations:
        for number in selection.numbers:
            yield relation, selection.template_set.template(relation.name, number)


def _sampled(relation: Relation, share: float) -> Relation:
    return sampled_instances(relation, max(1, round(share * len(relation.instances))))


def _forwarded(model: LoadedModel, relation: Relation, template: Template, masking: Masking) -> int:
    (piece,) = tokenise_pieces([(relation, template)], model, masking)
    if model.kind == "masked":
        return _masked(piece.rows, model, masking)
    return build_prefix_tree(piece.rows, model.start_token_id).n_nodes


def _masked(rows: TokenRows, model: LoadedModel, masking: Masking) -> int:
    assert model.special is not None
    of_tokens = masked_rows(rows, masking.metric or DEFAULT_METRIC)
    representative, _ = distinct_rows(of_tokens, model.special.mask)
    around = len(model.special.before) + len(model.special.after)
    return int((of_tokens.length[representative] + around).sum())


def _path(kind: ModelKind) -> str:
    return "masked" if kind == "masked" else "tree"
