"""What two runs have in common: refusals that name the difference and the fix, and --intersect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from compared_runs import SHAPES, run_of, with_model, with_relations
from lm_eval_rows import choice_row, write_samples

from calprobe.analysis import CompareOptions, ReportOptions, compare
from calprobe.cells.opening import open_scored_runs
from calprobe.confidence import estimate
from calprobe.errors import UsageError
from calprobe.interop.lm_eval_import import Evaluation, import_lm_eval
from calprobe.measures.compare_match import Comparable, shared_part
from calprobe.measures.options import DEFAULT_OPTIONS
from calprobe.metrics import Resampling
from calprobe.runs import Manifest, PieceScores, SourceRecord, TemplateRecord

QUICK = CompareOptions(scores=ReportOptions(resampling=Resampling(0)))
INTERSECT = replace(QUICK, intersect=True)
FEWER = (("P1376", 8, 5), ("P30", 5, 3))


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_of(tmp_path_factory.mktemp("runs") / "complete")


def scored(path: str) -> Comparable:
    (run,) = open_scored_runs(path, DEFAULT_OPTIONS)
    return Comparable(run)


def other_answers(piece: PieceScores) -> PieceScores:
    return replace(piece, answer_idx=0 * piece.answer_idx) if piece.relation == "P36" else piece


def worded(manifest: Manifest) -> Manifest:
    first, *rest = manifest.relations
    texts = ("[X] otherwise [Y]", *first.texts[1:])
    return replace(manifest, relations=(replace(first, texts=texts), *rest))


def imported(manifest: Manifest) -> Manifest:
    manifest = with_relations(texts=())(manifest)
    return replace(manifest, probe=SourceRecord("made-up"), template_set=SourceRecord("imported"))


def a_marker(manifest: Manifest) -> Manifest:
    first, second, _ = manifest.templates
    return replace(manifest, templates=(first, second, TemplateRecord(2, "verbal", "possibly")))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"change": lambda manifest: replace(manifest, probe=SourceRecord("made-up", "dd" * 32))},
            r"differ in probe: made-up \(bbbbbbbb\) against made-up \(dddddddd\): score both alike, or compare what "
            "they have in common with --intersect$",
        ),
        ({"shapes": FEWER[:1]}, r"differ in relations: \S+other lacks P30, P36: "),
        (
            {"edit": lambda piece: None if (piece.relation, piece.template) == ("P30", 1) else piece},
            r"differ in relations: \S+other lacks P30 \(partial run: resume it\): ",
        ),
        ({"shapes": (*FEWER, SHAPES[2])}, "differ in instances of P30: 12 against 5: "),
        ({"shapes": (("P1376", 3, 5), *FEWER[1:], SHAPES[2])}, "P1376: 8 against 3, and of 1 other relation: "),
        ({"edit": other_answers}, "instances of P36: as many, with other lines, answers or numbers of candidates: "),
        ({"numbers": (0, 2)}, "differ in templates: 0-2 against 0,2: "),
        ({"change": a_marker}, "differ in template 2: paraphrase against possibly: "),
        ({"change": worded}, "differ in template set: native against native, other words in 1 of 3 relations: "),
        (
            {"change": imported},
            r"differ in probe: made-up \(bbbbbbbb\) against made-up \(an import, content not known\); "
            "template set: native against imported; the wordings are not known: ",
        ),
    ],
)
def test_runs_that_are_not_alike_are_refused(complete: str, tmp_path: Path, how: dict, message: str) -> None:
    other = run_of(tmp_path / "other", seed=1, **how)
    with pytest.raises(UsageError, match=message):
        compare([complete, other], QUICK)
    (pair,) = compare([complete, other], INTERSECT).pairs
    assert pair.differences
    assert pair.everything.instances > 0


@pytest.mark.parametrize(
    "change",
    [
        with_model(kind="masked", weights_fingerprint="cc" * 32),
        # Content counts, not the name; the same words are the same templates.
        lambda manifest: replace(manifest, probe=SourceRecord("a copy", "bb" * 32)),
        lambda manifest: replace(manifest, template_set=SourceRecord("a copy", "dd" * 32)),
        lambda manifest: replace(manifest, settings=replace(manifest.settings, dtype="bfloat16", device="cuda")),
    ],
)
def test_what_runs_may_differ_in(complete: str, tmp_path: Path, change: Callable[[Manifest], Manifest]) -> None:
    (pair,) = compare([complete, run_of(tmp_path / "other", change=change)], QUICK).pairs
    assert (pair.differences, pair.everything.instances) == ((), 30)


def test_imports_of_one_source_are_alike(tmp_path: Path) -> None:
    paths = [run_of(tmp_path / name, seed, imported) for seed, name in enumerate("ab")]
    assert compare(paths, QUICK).pairs[0].differences == ()


def test_order_of_relations_does_not_matter(complete: str, tmp_path: Path) -> None:
    other = run_of(tmp_path / "other", shapes=SHAPES[::-1])
    assert compare([complete, other], QUICK).pairs[0].differences == ()


def test_intersect_takes_the_common_scores(complete: str, tmp_path: Path) -> None:
    # Another number of candidates in P1376, fewer instances of P30, other answers in P36, and other templates.
    shapes = (("P1376", 8, 6), *FEWER[1:], SHAPES[2])
    other = run_of(tmp_path / "other", 1, shapes=shapes, numbers=(0, 2, 7), edit=other_answers)
    first, second = scored(complete), scored(other)
    shared = shared_part(first, second)
    tables = shared.first.of(first.run).table, shared.second.of(second.run).table
    whole_table = first.run.table
    kept = (whole_table.relation == "P36") & (whole_table.answer_idx == 0)
    expected = [("P30", line) for line in range(5)] + [("P36", int(line)) for line in whole_table.instance[kept]]
    assert 5 < len(expected) < 15
    for found, table in zip((first, second), tables, strict=True):
        assert list(zip(table.relation.tolist(), table.instance.tolist(), strict=True)) == expected
        assert [template.number for template in table.templates] == [0, 2]
        for place, (relation, line) in enumerate(expected):
            (there,) = np.flatnonzero((found.run.table.relation == relation) & (found.run.table.instance == line))
            own = slice(*table.offsets[place : place + 2])
            theirs = slice(*found.run.table.offsets[there : there + 2])
            rows = [0, 2] if found is first else [0, 1]
            np.testing.assert_array_equal(table.scores[:, own], found.run.table.scores[rows, theirs])
            assert table.answer_idx[place] == found.run.table.answer_idx[there]
    (pair,) = compare([complete, other], INTERSECT).pairs
    assert (pair.templates, pair.everything.instances, pair.everything.relations) == ((0, 2), len(expected), 2)
    brier = pair.everything.estimators["average_min"]["brier"]
    for table, found in zip(tables, (brier.first, brier.second), strict=True):
        confidence = estimate(table)["average_min"]
        assert found.value == pytest.approx(((confidence.confidence - confidence.correct) ** 2).mean(), abs=1e-15)


@pytest.mark.parametrize(
    ("how", "what"), [({"numbers": (7, 8)}, "template"), ({"shapes": (("P36", 10, 7),)}, "instance")]
)
def test_nothing_in_common(complete: str, tmp_path: Path, how: dict, what: str) -> None:
    other = run_of(tmp_path / "other", **how)
    with pytest.raises(UsageError, match=rf"and \S+other have no {what} in common \(.+\): leave one"):
        compare([complete, other], INTERSECT)


def test_samples_of_lm_evaluation_harness(tmp_path: Path) -> None:
    first = [choice_row(doc, (-1.0, -2.0, -3.0), 0) for doc in range(6)]
    second = [choice_row(doc, (-2.0, -1.0, -3.0), 0, acc=0.0) for doc in range(2, 7)]
    for name, rows in (("a", first), ("b", second)):
        file = write_samples(tmp_path / name / "samples_arc_2026-01-01T00-00-00.jsonl", rows)
        import_lm_eval([file], tmp_path / f"run-{name}", Evaluation(name))
    runs = [tmp_path / "run-a", tmp_path / "run-b"]
    with pytest.raises(UsageError, match="differ in instances of arc: 6 against 5"):
        compare(runs, QUICK)
    (pair,) = compare(runs, INTERSECT).pairs
    assert (pair.everything.instances, pair.accuracy_of, pair.nearest_domain) == (4, "base", None)
    accuracy = pair.everything.accuracy
    assert accuracy is not None
    assert (accuracy.first.value, accuracy.second.value, accuracy.difference.value) == (1.0, 0.0, 1.0)
    assert list(pair.everything.estimators) == ["base", "margin"]
