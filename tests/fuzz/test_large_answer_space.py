"""A relation of 100,000 candidates, from its folder to a report; tokens are letters, and their scores are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from probe_folders import write
from run_samples import make_manifest

from calprobe.analysis import ReportOptions, report
from calprobe.metrics import Resampling
from calprobe.planning import TreePlan, plan_tree
from calprobe.planning.token_rows import TokenRows
from calprobe.probes import load_probe
from calprobe.runs import RunFolder, open_run
from calprobe.scoring.executor import EdgeScores
from calprobe.scoring.scored_pieces import PreparedGroup, TokenisedPiece, planned_again, score_group
from calprobe.statements import statements_of
from calprobe.words import Role

N = 100_000


class MadeUp:
    """Plans as the tree path does. Each token scores -1, and a seven -1/2: of all numbers 77777 is likeliest."""

    batch_tokens = 4096

    def plan(self, rows: TokenRows) -> tuple[TreePlan, TokenRows]:
        return plan_tree(rows, 0, self.batch_tokens, 160), rows

    def run(self, plan: tuple[TreePlan, TokenRows], *_after_batch: object) -> EdgeScores:
        edges = np.where(plan[0].edge_tokens == ord("7"), -0.5, -1.0).astype(np.float32)
        return EdgeScores(torch.from_numpy(edges), torch.from_numpy(plan[0].edge_of_token))


@pytest.mark.proof
def test_all_candidates_are_planned_scored_written_and_reported(tmp_path: Path) -> None:
    labels = [f"{number:05d}" for number in range(N)]
    entry = {"templates": ["[X] is [Y]."], "answer_space_labels": labels}
    row = {"sub_label": "A", "obj_label": "77777", "answer_idx": 77_777}
    (relation,) = load_probe(write(tmp_path / "probe", {"P1": entry}, {"P1": [row]})).relations
    texts = [statement.text for statement in statements_of(relation, relation.templates[0])]
    assert texts == [f"A is {label}." for label in labels]
    letters = np.frombuffer("".join(texts).encode(), np.uint8).astype(np.int32)
    rows = TokenRows(letters, np.full(len(letters), Role.ANSWER, np.int8), np.arange(N + 1) * len(texts[0]))
    executor = MadeUp()
    model: Any = None  # would name the tokens, and none are kept
    group = planned_again(PreparedGroup((TokenisedPiece(relation, 0, rows),), (), None), executor)
    ((plan, _),) = (stretch.plan for stretch in group.plans)
    # Each prefix is forwarded once: the start, five of "A is ", and 10 + 100 + .. + 100,000 beginnings of a number.
    assert len(plan.scored) == 6 + 111_110
    (piece,) = score_group(group, model, executor)
    run = RunFolder.create(tmp_path / "run", make_manifest((("P1", 1, N),), (0,)))
    run.write_piece(piece)
    sevens = np.array([label.count("7") for label in labels])
    scores = open_run(tmp_path / "run").table().scores
    np.testing.assert_array_equal(scores, [sevens / 2 - len(texts[0])])
    (found,) = report(tmp_path / "run", ReportOptions(resampling=Resampling(2))).runs
    assert found.accuracy is not None
    assert found.accuracy.value == 1
