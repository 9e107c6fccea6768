"""Slices that trees find: of scores and of replies, with a file's columns, as `--by tree` asks for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import asked_replies as made
import numpy as np
import pytest
from compared_runs import run_of

from calprobe.analysis import RunSlices, SliceOptions, report
from calprobe.cells.asked import Asked
from calprobe.cli.by_options import covariate_of, sliced_by
from calprobe.confidence import confidences
from calprobe.errors import UsageError
from calprobe.measures.covariates import SliceTree
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.metrics.gap_tree import UNCUT, Feature, gap_tree
from calprobe.runs import open_run
from calprobe.show.prose import tree_notes
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.scored.report_tables import report_sections

QUICK = Resampling(20)
WIDE = [("P30", 150, 4), ("P36", 150, 6), ("P1376", 150, 9)]


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_of(tmp_path_factory.mktemp("runs") / "wide", shapes=WIDE)


def exposures(path: Path, run_path: str) -> str:
    """A file in which half of the instances, those that base is the surest of, are told twice."""
    rows = confidences(open_run(run_path)).query("estimator == 'base'")
    told = np.where(rows["confidence"] > rows["confidence"].median(), 2, 0)
    lines = [f"{a},{b},{t}" for a, b, t in zip(rows["relation"], rows["instance"], told, strict=True)]
    path.write_text("relation,instance,told\n" + "\n".join(lines) + "\n", "utf-8")
    return str(path)


def scored(run_path: str, by: str) -> RunSlices:
    tree = sliced_by(by, None)
    assert isinstance(tree, SliceTree)
    (run,) = report(run_path, ReportOptions(slices=SliceOptions(tree), resampling=QUICK)).runs
    assert run.slices is not None
    return run.slices


def test_instances_are_grouped_once_and_the_gaps_are_those_of_the_groups(run_path: str, tmp_path: Path) -> None:
    found = scored(run_path, f"tree:{exposures(tmp_path / 'told.csv', run_path)}")
    assert found.by == "tree"
    assert sum(part.instances for part in found.slices) == 450
    names = [part.name for part in found.slices]
    assert any("told" in name for name in names)
    for group, part in zip(found.gaps["base"].found.groups, found.slices, strict=True):
        assert (group.name, group.instances) == (part.name, part.instances)
        assert group.gap.value == pytest.approx(part.estimators["base"]["confidence_gap"].value)
    assert found.gaps["base"].maps is not None  # groups of a tree have nothing in common


def test_tables_say_what_a_and_b_are(run_path: str) -> None:
    tree = sliced_by("tree", None)
    assert isinstance(tree, SliceTree)
    whole = report(run_path, ReportOptions(slices=SliceOptions(tree), resampling=QUICK))
    (table, *_) = [table for table in report_sections(whole) if table.kind == "slices"]
    assert any(note.startswith("By tree: cut where confidence - accuracy differs most") for note in table.notes)
    assert table.rows[0].label.startswith("a: ")


def test_notes_say_what_is_in_the_names_and_where_nothing_was_cut() -> None:
    (how,) = tree_notes(["a: told <= 1", "a: told > 1", "b: relation capital, sport"])
    assert how.startswith("By tree: cut where")
    _, more, uncut = tree_notes(["a: all", "b: relation capital, sport +3 and told > 1", "b: relation moon"])
    assert more == "+2 in a name: and two more categories."
    assert uncut.startswith("a: all: no cut in the other half has 30 instances on both sides")


def test_an_uncut_half_has_the_name_that_the_notes_know() -> None:
    found = gap_tree(np.zeros(120), [Feature("words", np.arange(120.0))], np.arange(120) % 2 == 0)
    assert tuple(np.unique(found)) == UNCUT


def asked_run(n: int = 240) -> Asked:
    """Replies to long questions of which the model is too sure by 0.3, two to each question."""
    rng = np.random.default_rng(0)
    long = np.arange(n) % 2 == 0
    questions = [
        replace(made.choice(f"q{at}"), text=f"Which of {'all of ' * 9 if of else ''}these?", group="physics")
        for at, of in enumerate(long)
    ]
    replies = []
    for question, of in zip(questions, long, strict=True):
        for sample in range(2):
            sure = float(rng.uniform(0.4, 0.8))
            letter = "A" if rng.random() < sure - 0.3 * of else "B"
            texts = {"answer": letter, "stated:decimal": f"{sure:.2f}"}
            replies += [
                replace(made.reply(question.id, text, stage=stage), sample=sample, key=f"{question.id}{stage}{sample}")
                for stage, text in texts.items()
            ]
    return made.asked(questions, replies)


def test_replies_are_grouped_by_question() -> None:
    tree = covariate_of("tree", None)
    options = ReportOptions(resampling=Resampling(100), slices=SliceOptions(tree))
    whole = report_asked([asked_run()], options)
    cell = whole.runs[0].sets["quiz"].cells["plain"]
    assert cell.slices is not None
    names = [part.name for part in cell.slices.slices]
    assert names == [f"{letter}: words of the question {rule}" for letter in "ab" for rule in ("<= 3", "> 3")]
    assert sum(part.questions or 0 for part in cell.slices.slices) == 240
    gaps = cell.slices.gaps["stated_decimal"].found
    for group in gaps.groups:
        assert group.gap.low <= (0.3 if "> 3" in group.name else 0.0) <= group.gap.high
    assert gaps.p_value < 0.05
    assert any(note.startswith("By tree") for table in asked_tables(whole) for note in table.notes)
    again = report_asked([replace(asked_run(), replies=asked_run().replies[::-1])], options)
    assert again.runs[0].sets["quiz"].cells["plain"].slices.gaps == cell.slices.gaps  # type: ignore[union-attr]


def test_what_cannot_be_cut_is_refused(tmp_path: Path, run_path: str) -> None:
    with pytest.raises(UsageError, match="--by tree finds its own cuts, leave it out"):
        sliced_by("tree", 3)
    empty = tmp_path / "empty.csv"
    empty.write_text("relation,instance\nP30,0\n", "utf-8")
    with pytest.raises(UsageError, match="it has no further column"):
        covariate_of(f"tree:{empty}", None)
    tree = SliceTree()
    with pytest.raises(UsageError, match=r"--by tree: none of .* is a probability"):
        report(run_path, ReportOptions(slices=SliceOptions(tree, ()), resampling=QUICK))
    questions, replies = made.answered({"plain": ["A", "B"]}, [0, 0])
    silent = [replace(reply, label_scores=None) for reply in replies]
    with pytest.raises(UsageError, match="--by tree: no confidence of run is a probability"):
        report_asked([made.asked(questions, silent)], ReportOptions(resampling=QUICK, slices=SliceOptions(tree)))
