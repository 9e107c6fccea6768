"""What a piece will cost to score, near enough to deal pieces out: known from its texts, before any is tokenised."""

from __future__ import annotations

import numpy as np

from calprobe.probes import Relation
from calprobe.probes.types import ANSWER_SLOT, SUBJECT_SLOT
from calprobe.scoring.options import Path


def piece_cost(relation: Relation, template: str, path: Path | str) -> float:
    """Estimated cost of a relation under one template: in characters that go through the model, >= 0.

    On the tree path, what statements begin with in common counts once: context and subject where the subject comes
    first, the candidate where that does. On the padded and the plain path every statement counts whole. A masked model
    forwards a statement once for each of its tokens, so there its length counts squared.

    A pure function of texts and path, so that every machine deals the same.

    >>> from calprobe.probes import Instance
    >>> relation = Relation("P30", ("Asia", "Africa"), (Instance(0, "Ghana", 1), Instance(1, "Iran", 0)))
    >>> [piece_cost(relation, "[X] is in [Y].", path) for path in ("tree", "padded", "masked")]
    [47.0, 70.0, 1230.0]
    """
    subjects = np.array([len(instance.subject) for instance in relation.instances], np.float64)
    answers = np.array(  # [instances, candidates], or one row for all where they share their candidates
        [[len(text) for text in texts] for texts in _answer_spaces(relation)], np.float64
    ).reshape(-1, relation.n_candidates)
    if not relation.n_statements:
        return 0.0
    around = len(template) - len(SUBJECT_SLOT) - len(ANSWER_SLOT)
    if path == "tree":
        return _tree_cost(template, subjects, answers, relation.n_candidates)
    lengths = around + subjects[:, None] + answers
    return float((lengths**2 if path == "masked" else lengths).sum())


def _tree_cost(template: str, subjects: np.ndarray, answers: np.ndarray, n_candidates: int) -> float:
    subject_at, answer_at = template.index(SUBJECT_SLOT), template.index(ANSWER_SLOT)
    if subject_at < answer_at:
        before = answer_at - len(SUBJECT_SLOT)
        after = len(template) - answer_at - len(ANSWER_SLOT)
        return float((before + subjects).sum() + (after + answers).sum() * len(subjects) / len(answers))
    before = subject_at - len(ANSWER_SLOT)
    after = len(template) - subject_at - len(SUBJECT_SLOT)
    return float((before + answers).sum() + n_candidates * (after + subjects).sum())


def _answer_spaces(relation: Relation) -> list[tuple[str, ...]]:
    if all(instance.candidates is None for instance in relation.instances):
        return [relation.candidates]
    return [relation.candidates_of(instance) for instance in relation.instances]
