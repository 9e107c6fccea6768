"""lm-pub-quiz's results: published gpt2 scores in, ours out, round trips, and malformed files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_samples import SHAPES, make_manifest, make_piece, without_tokens, write_run

from calprobe.analysis import ReportOptions, ShowOptions, show
from calprobe.errors import CalprobeError, ProbeFormatError, UsageError
from calprobe.interop.lm_pub_quiz_export import export_lm_pub_quiz
from calprobe.interop.lm_pub_quiz_import import import_lm_pub_quiz
from calprobe.probes import Instance, Probe, Relation, load_probe
from calprobe.runs import RunFolder, open_run
from calprobe.runs.stored_texts import read_labels

CITIES = Relation(
    "P36",
    ("Kabul", "Lima", "Oslo"),
    (Instance(0, "Norway", 2, "Q20"), Instance(1, "Peru", 1, "Q419"), Instance(2, "Afghanistan", 0, "Q889")),
    domains=("Geographic",),
)
PROBE = Probe("atlas", (CITIES,), "ab" * 32)
ENTRY: dict[str, Any] = {
    "templates": ["[Y] is the capital of [X].", "[Y] is possibly the capital of [X]."],
    "template_index": 1,
    "model_name_or_path": "gpt2",
    "num_original_instances": 194,
    "reduction": "mean",
    "dataset_name": "atlas-0",
    "relation_info": {"domains": ["Political"]},
    "answer_space_labels": ["Kabul", "Lima", "Oslo"],
}
ROWS = [
    {"instance": 17, "sub_id": "Q419", "answer_idx": 1, "pll_scores": [-3.5, -1.25, -2]},
    {"instance": 4, "sub_id": "Q20", "answer_idx": 2, "pll_scores": [-9.125, None, -0.1]},
]


def write_results(folder: Path, rows: list[Any] = ROWS, **changes: Any) -> Path:
    folder.mkdir()
    entry = {key: value for key, value in (ENTRY | changes).items() if value is not ...}
    (folder / "metadata_results.json").write_text(json.dumps({"P36": entry}, indent=1))
    (folder / "P36_results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_without_a_probe_rows_are_named_by_their_place(tmp_path: Path) -> None:
    import_lm_pub_quiz(write_results(tmp_path / "in"), tmp_path / "run")
    run = open_run(tmp_path / "run")
    (piece,) = run.pieces
    assert piece.instance.tolist() == [0, 0, 0, 1, 1, 1]
    assert piece.answer_idx.tolist() == [1, 1, 1, 2, 2, 2]
    np.testing.assert_array_equal(piece.mean, [-3.5, -1.25, -2, -9.125, np.nan, -0.1])
    for unknown in ("sum", "sum_answer", "mean_answer", "first", "first_role", "n_tokens", "n_answer"):
        assert piece.column(unknown) is None
    manifest = run.manifest
    assert (manifest.model.name, manifest.model.kind, manifest.is_import) == ("gpt2", None, True)
    assert (manifest.probe.name, manifest.probe.fingerprint) == ("atlas-0", None)
    assert [(t.number, t.kind, t.marker) for t in manifest.templates] == [(1, "verbal", "possibly")]
    relation = manifest.relations[0]
    assert (relation.n_instances, relation.n_candidates, relation.cardinality) == (2, 3, "1:1")
    assert (relation.domains, relation.texts) == (("Political",), ("[Y] is possibly the capital of [X].",))
    assert not run.partial
    assert (manifest.settings.dtype, manifest.settings.device, manifest.settings.start_token) == (None, None, None)


def test_with_a_probe_rows_are_named_by_its_line_numbers(tmp_path: Path) -> None:
    import_lm_pub_quiz(write_results(tmp_path / "in"), tmp_path / "run", PROBE, "causal")
    run = open_run(tmp_path / "run")
    (piece,) = run.pieces
    assert piece.instance.tolist() == [0, 0, 0, 1, 1, 1], "Norway is line 0, Peru line 1"
    np.testing.assert_array_equal(piece.mean, [-9.125, np.nan, -0.1, -3.5, -1.25, -2])
    assert run.manifest.model.kind == "causal"
    assert (run.manifest.probe.name, run.manifest.probe.fingerprint) == ("atlas", "ab" * 32)
    assert run.manifest.relations[0].domains == ("Geographic",)


def test_labels_of_the_files_are_kept(tmp_path: Path) -> None:
    rows = [row | {"sub_label": name} for row, name in zip(ROWS, ("Peru", "Norway"), strict=True)]
    folder = write_results(tmp_path / "in", rows)
    import_lm_pub_quiz(folder, tmp_path / "run")
    options = ShowOptions(right=True, template=1, scores=ReportOptions(reduction="mean"))
    answers = show(tmp_path / "run", options).answers
    assert [(one.subject, one.predicted, one.answer) for one in answers] == [
        ("Peru", "Lima", "Lima"),
        ("Norway", None, "Oslo"),
    ]
    assert answers[0].statement == "Lima is possibly the capital of Peru."
    import_lm_pub_quiz(folder, tmp_path / "without", save_labels=False)
    import_lm_pub_quiz(write_results(tmp_path / "unnamed"), tmp_path / "unknown")
    import_lm_pub_quiz(folder, tmp_path / "found again", PROBE)
    for name in ("without", "unknown", "found again"):
        assert read_labels(tmp_path / name) is None
    import_lm_pub_quiz(folder, tmp_path / "asked", PROBE, save_labels=True)
    labels = read_labels(tmp_path / "asked")
    assert labels is not None
    assert labels.fingerprint == PROBE.fingerprint


def _edit_row(**changes: Any) -> list[Any]:
    return [ROWS[0], ROWS[1] | changes]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (_edit_row(pll_scores=[-1, -2]), "2 pll_scores for 3 candidates"),
        (_edit_row(pll_scores=[[-1], [-2, -1], [-3]]), "holds token scores; reduce"),
        (_edit_row(pll_scores=[-1, "x", -2]), "must be a list of numbers"),
        (_edit_row(pll_scores={}), "must be a list of numbers; add it"),
        (_edit_row(pll_scores=[-1, 10**400, -2]), "in pll_scores is not a log-likelihood"),
        (_edit_row(pll_scores=[-1, -(10**400), -2]), "in pll_scores is not a log-likelihood"),
        (_edit_row(pll_scores=[-1, float("inf"), -2]), "inf in pll_scores is not a log-likelihood"),
        (_edit_row(pll_scores=[0.9, 0.1, 0.2]), "0.9 in pll_scores is not a log-likelihood; give natural logs"),
        (_edit_row(pll_scores=[-1, 2e-6, -2]), "2e-06 in pll_scores is not a log-likelihood"),
        (_edit_row(template_index=0), "template_index 0 is not one of 1; correct it"),
        (_edit_row(predicted_tokens=["Oslo"]), "lm-pub-quiz's form before 0.1; load the results there and save"),
        (_edit_row(answer_idx=3), "answer_idx 3 is not 0 to 2"),
        (_edit_row(answer_idx=True), "answer_idx true is not 0 to 2"),
        ([ROWS[0], 7], "JSON int where an object"),
        (_edit_row(sub_id="Q1"), 'no instance of P36 in the probe with sub_id "Q1" and answer_idx 2'),
        (_edit_row(sub_id=None), "no instance of P36 in the probe with sub_id null"),
        ([ROWS[0], ROWS[0]], "the same subject and answer as an earlier line"),
    ],
)
def test_a_malformed_row_names_file_and_line(tmp_path: Path, rows: list[Any], message: str) -> None:
    folder = write_results(tmp_path / "in", rows)
    with pytest.raises(ProbeFormatError) as raised:
        import_lm_pub_quiz(folder, tmp_path / "run", PROBE)
    assert str(raised.value).startswith(f"{folder / 'P36_results.jsonl'}:2: ")
    assert message in str(raised.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reduction": None}, "reduction must be one of sum, mean"),
        ({"template_index": -1}, "template_index must be a number or numbers from 0"),
        ({"template_index": 2**31}, "template_index must be a number or numbers from 0"),
        ({"template_index": []}, "template_index must be a number or numbers from 0"),
        ({"template_index": [0, True]}, "template_index must be a number or numbers from 0"),
        ({"template_index": None, "templates": "[X] [Y]"}, "null and templates a list; correct the entry"),
        ({"dataset_name": "\ud83c"}, "holds half of a surrogate pair"),
        ({"templates": ["", "[X] \udfff [Y]"]}, "holds half of a surrogate pair"),
        ({"model_name_or_path": ...}, "model_name_or_path must be a text"),
        ({"answer_space_labels": ["Lima", "Kabul", "Oslo"]}, "another answer space than in probe atlas"),
    ],
)
def test_malformed_metadata_names_file_and_line(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = write_results(tmp_path / "in", **changes)
    with pytest.raises(ProbeFormatError, match=message) as raised:
        import_lm_pub_quiz(folder, tmp_path / "run", PROBE)
    assert f"{folder / 'metadata_results.json'}:2: P36" in str(raised.value)


BOTH = [row | {"template_index": number} for row in ROWS for number in (0, 1)]  # as 0.3.2 and later save them
KINDS = [(0, "paraphrase", None), (1, "verbal", "possibly")]


@pytest.mark.parametrize("asked", [None, [1, 0], [0, 1]])
def test_several_templates_make_one_run(tmp_path: Path, asked: list[int] | None) -> None:
    rows = [row | {"pll_scores": [place - 4, -0.5, -2]} for place, row in enumerate(BOTH)]
    import_lm_pub_quiz(write_results(tmp_path / "in", rows, template_index=asked), tmp_path / "run", PROBE)
    run = open_run(tmp_path / "run")
    assert [(t.number, t.kind, t.marker) for t in run.manifest.templates] == KINDS
    assert run.manifest.relations[0].texts == tuple(ENTRY["templates"])
    table = run.table("mean")
    assert table.scores.tolist() == [[-2, -0.5, -2, -4, -0.5, -2], [-1, -0.5, -2, -3, -0.5, -2]], (
        "Norway is line 0, Peru line 1"
    )
    assert table.answer_idx.tolist() == [2, 1]


def test_without_a_probe_a_templates_rows_are_named_by_their_place_among_them(tmp_path: Path) -> None:
    import_lm_pub_quiz(write_results(tmp_path / "in", BOTH, template_index=None), tmp_path / "run")
    assert [piece.instance.tolist() for piece in open_run(tmp_path / "run").pieces] == [[0, 0, 0, 1, 1, 1]] * 2


@pytest.mark.parametrize("probe", [None, PROBE])
@pytest.mark.parametrize(
    ("rows", "where", "message"),
    [
        ([*BOTH, BOTH[0] | {"sub_id": "Q889", "answer_idx": 0}], "", "2 rows of template 1, 3 of template 0; save all"),
        ([BOTH[0], BOTH[3]], ":2", "another subject or answer than"),
        ([BOTH[0], ROWS[0]], ":2", "template_index null is not one of 0, 1"),
    ],
)
def test_templates_that_do_not_share_their_instances(
    tmp_path: Path, probe: Probe | None, rows: list[Any], where: str, message: str
) -> None:
    folder = write_results(tmp_path / "in", rows, template_index=None)
    with pytest.raises(ProbeFormatError, match=message) as raised:
        import_lm_pub_quiz(folder, tmp_path / "run", probe)
    assert str(raised.value).startswith(f"{folder / 'P36_results.jsonl'}{where}: ")


def test_the_form_after_0_3(tmp_path: Path) -> None:
    changes = {"model_name_or_path": ..., "model_name": "bert", "model_pll_metric": "original", "templates": ...}
    folder = write_results(tmp_path / "in", **changes)
    (folder / "metadata_results.json").rename(folder / "metadata_relations.json")
    import_lm_pub_quiz(folder, tmp_path / "run")
    manifest = open_run(tmp_path / "run").manifest
    assert (manifest.model.name, manifest.model.kind, manifest.settings.pll_metric) == ("bert", "masked", "original")
    assert [(t.number, t.kind) for t in manifest.templates] == [(1, "paraphrase")]


def _two_models(folder: Path) -> None:
    metadata = {"P36": ENTRY, "P37": ENTRY | {"model_name_or_path": "gpt3"}}
    (folder / "metadata_results.json").write_text(json.dumps(metadata))
    (folder / "P37_results.jsonl").write_bytes((folder / "P36_results.jsonl").read_bytes())


def _two_kinds(folder: Path) -> None:
    _two_models(folder)
    metadata = {"P36": ENTRY, "P37": ENTRY | {"templates": ["a [X] [Y]", "b [X] [Y]"]}}
    (folder / "metadata_results.json").write_text(json.dumps(metadata))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "metadata_results.json").unlink(), "in it; name the folder that lm-pub-quiz saved"),
        (lambda folder: (folder / "metadata_results.json").write_text("{}"), "no relation in it"),
        (lambda folder: (folder / "P36_results.jsonl").unlink(), "no file P36_results.jsonl beside it"),
        (lambda folder: (folder / "P37_results.jsonl").write_text("{}"), "no entry for P37_results.jsonl"),
        (_two_models, "P37: .*gpt3.*, but the first relation has .*gpt2"),
        (_two_kinds, "template 1 differs in kind: possibly in P36, paraphrase in P37"),
    ],
)
def test_folders_that_do_not_fit_together(tmp_path: Path, damage: Callable[[Path], None], message: str) -> None:
    folder = write_results(tmp_path / "in")
    damage(folder)
    with pytest.raises(ProbeFormatError, match=message):
        import_lm_pub_quiz(folder, tmp_path / "run")


def test_a_relation_that_the_probe_lacks(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "in")
    with pytest.raises(ProbeFormatError, match="P36: not in probe atlas"):
        import_lm_pub_quiz(folder, tmp_path / "run", replace(PROBE, relations=()))


def test_an_import_never_writes_over_a_run(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "in")
    import_lm_pub_quiz(folder, tmp_path / "run")
    with pytest.raises(UsageError, match="already contains a run; give another folder with --out"):
        import_lm_pub_quiz(folder, tmp_path / "run")


KILLED_IMPORT = """
import os, signal, sys
from pathlib import Path
from calprobe.runs import RunFolder
from calprobe.interop.lm_pub_quiz_import import import_lm_pub_quiz

write, left = RunFolder.write_piece, [int(sys.argv[3])]

def write_or_die(self, piece):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    write(self, piece)

RunFolder.write_piece = write_or_die
import_lm_pub_quiz(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.parametrize("pieces", [0, 1])
def test_a_killed_import_leaves_nothing_that_stops_the_next(tmp_path: Path, pieces: int) -> None:
    folder, out = write_results(tmp_path / "in"), tmp_path / "runs" / "gpt2"
    (folder / "metadata_results.json").write_text(json.dumps({"P36": ENTRY, "P37": ENTRY}))
    (folder / "P37_results.jsonl").write_bytes((folder / "P36_results.jsonl").read_bytes())
    command = [sys.executable, "-P", "-c", KILLED_IMPORT, str(folder), str(out), str(pieces)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert not out.exists()
    import_lm_pub_quiz(folder, out)
    run = open_run(out)
    assert (run.partial, len(run.pieces)) == (False, 2)
    assert [path.name for path in out.parent.iterdir()] == ["gpt2"]


def test_an_import_goes_into_an_empty_folder_and_no_other(tmp_path: Path) -> None:
    folder, out = write_results(tmp_path / "in"), tmp_path / "run"
    out.mkdir()
    import_lm_pub_quiz(folder, out)
    assert not open_run(out).partial
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("kept")
    with pytest.raises(UsageError, match="notes: not a run folder, and not empty; give another folder with --out"):
        import_lm_pub_quiz(folder, tmp_path / "notes")
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["mine.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "notes", "run"]


def test_exported_and_imported_again_the_scores_are_the_same(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "run", numbers=(3, 5)))
    for reduction in ("sum", "mean", "sum_answer", "mean_answer"):
        export_lm_pub_quiz(run, tmp_path / reduction, reduction, template=5)
        import_lm_pub_quiz(tmp_path / reduction, tmp_path / f"{reduction}-run")
        again = open_run(tmp_path / f"{reduction}-run")
        assert [t.number for t in again.manifest.templates] == [5]
        assert again.manifest.relation("P30").domains == ("Made-up",)
        table, expected = again.table(reduction), run.table(reduction)
        np.testing.assert_array_equal(table.scores[0], expected.scores[1])
        np.testing.assert_array_equal(table.offsets, expected.offsets)
        np.testing.assert_array_equal(table.answer_idx, expected.answer_idx)


def test_a_masked_models_metric_goes_in_and_out_again(tmp_path: Path) -> None:
    import_lm_pub_quiz(write_results(tmp_path / "in", pll_metric="sentence_l2r"), tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert (run.manifest.model.kind, run.manifest.settings.pll_metric) == ("masked", "sentence_l2r")
    export_lm_pub_quiz(run, tmp_path / "out", "mean")
    assert json.loads((tmp_path / "out" / "metadata_results.json").read_text())["P36"]["pll_metric"] == "sentence_l2r"
    export_lm_pub_quiz(open_run(write_run(tmp_path / "causal")), tmp_path / "causal-out")
    assert "pll_metric" not in (tmp_path / "causal-out" / "metadata_results.json").read_text()


def test_an_export_with_the_probe_names_subjects_and_answers(tmp_path: Path) -> None:
    import_lm_pub_quiz(write_results(tmp_path / "in"), tmp_path / "run", PROBE)
    export_lm_pub_quiz(open_run(tmp_path / "run"), tmp_path / "out", "mean", probe=PROBE)
    entry = json.loads((tmp_path / "out" / "metadata_results.json").read_text())["P36"]
    assert entry["answer_space_labels"] == ["Kabul", "Lima", "Oslo"]
    assert (entry["templates"], entry["template_index"]) == ([None, ENTRY["templates"][1]], 1)
    assert (entry["reduction"], entry["model_name_or_path"], entry["dataset_name"]) == ("mean", "gpt2", "atlas")
    rows = [json.loads(line) for line in (tmp_path / "out" / "P36_results.jsonl").read_text().splitlines()]
    norway = {"instance": 0, "sub_id": "Q20", "sub_label": "Norway", "answer_idx": 2}
    assert rows[0] == norway | {"pll_scores": [-9.125, None, -0.1]}
    import_lm_pub_quiz(tmp_path / "out", tmp_path / "again", PROBE)
    assert open_run(tmp_path / "again").pieces[0].checksum() == open_run(tmp_path / "run").pieces[0].checksum()


def test_an_export_that_cannot_be_is_refused(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "run"))
    with pytest.raises(UsageError, match="--template 7: the run has 0, 1"):
        export_lm_pub_quiz(run, tmp_path / "out", template=7)
    with pytest.raises(UsageError, match=r"not the one that .* was scored with"):
        export_lm_pub_quiz(run, tmp_path / "out", probe=PROBE)
    with pytest.raises(UsageError, match="not an empty folder"):
        export_lm_pub_quiz(run, tmp_path / "run")
    nothing = RunFolder.open(tmp_path / "nothing", make_manifest())
    with pytest.raises(CalprobeError, match="no scores of template 0 yet"):
        export_lm_pub_quiz(open_run(nothing.path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_partial_run_exports_the_relations_that_have_the_template(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", make_manifest())
    folder.write_piece(without_tokens(make_piece(SHAPES[2], 1)))
    export_lm_pub_quiz(open_run(folder.path), tmp_path / "out", template=1)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["P36_results.jsonl", "metadata_results.json"]


def test_the_published_gpt2_scores(shared: Path, tmp_path: Path) -> None:
    probe = load_probe(shared / "bear" / "BEAR")
    source = shared / "lm_pub_quiz_gpt2"
    import_lm_pub_quiz(source, tmp_path / "run", probe, "causal")
    run = open_run(tmp_path / "run")
    assert (run.manifest.model.name, len(run.manifest.relations), run.table().n_instances) == ("gpt2", 10, 1053)
    assert not run.partial
    for piece in run.pieces:
        relation = probe.relation(piece.relation)
        rows = [json.loads(line) for line in (source / f"{piece.relation}_results.jsonl").read_text().splitlines()]
        by_subject = {row["sub_id"]: row for row in rows}
        k = len(relation.candidates)
        assert piece.sum is not None
        for place, index in enumerate(piece.instance[::k]):
            row = by_subject[relation.instances[index].subject_id]
            assert piece.sum[place * k : (place + 1) * k].tolist() == row["pll_scores"]
            assert piece.answer_idx[place * k] == row["answer_idx"] == relation.instances[index].answer_idx
        assert run.manifest.relation(piece.relation).domains == relation.domains != ()


def test_the_published_gpt2_scores_go_round(shared: Path, tmp_path: Path) -> None:
    probe = load_probe(shared / "bear" / "BEAR")
    import_lm_pub_quiz(shared / "lm_pub_quiz_gpt2", tmp_path / "run", probe)
    first = open_run(tmp_path / "run")
    export_lm_pub_quiz(first, tmp_path / "out", probe=probe)
    import_lm_pub_quiz(tmp_path / "out", tmp_path / "again", probe)
    np.testing.assert_array_equal(open_run(tmp_path / "again").table().scores, first.table().scores)
