"""lm-evaluation-harness's samples: real small files in, the harness's own accuracy out, other shapes, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lm_eval_rows import choice_row, write_samples

from calprobe.analysis import ReportOptions, ShowOptions, SliceOptions, report, show
from calprobe.errors import CalprobeError, ProbeFormatError, UsageError
from calprobe.interop.lm_eval_files import task_name
from calprobe.interop.lm_eval_import import Evaluation, evaluation_of, import_lm_eval, probe_name
from calprobe.metrics import Resampling
from calprobe.runs import Run, open_run
from calprobe.runs.stored_texts import read_labels

DATA = Path(__file__).resolve().parent.parent / "data" / "lm_eval"
DATE = "2026-11-21T11-02-40.721746"
VALUES = ReportOptions(resampling=Resampling(0))
TINY = Evaluation("tiny-clm", "main", "float32", "0.4.13")


def samples(task: str) -> Path:
    return DATA / f"samples_{task}_{DATE}.jsonl"


def imported(out: Path, *files: Path) -> Run:
    import_lm_eval(files, out, TINY)
    return open_run(out)


def imported_rows(folder: Path, rows: list[Any]) -> Run:
    return imported(folder / "run", write_samples(folder / "samples_made-up_2026-01-02T03-04-05.6.jsonl", rows))


@pytest.mark.parametrize("task", ["facts_place", "facts_text", "facts_mutual", "pronouns"])
def test_the_harnesss_own_accuracy(tmp_path: Path, task: str) -> None:
    run = imported(tmp_path / "run", samples(task))
    (found,) = report(run, VALUES).runs
    logged = json.loads((DATA / f"results_{DATE}.json").read_text())["results"][task]["acc,none"]
    assert found.accuracy is not None
    assert (found.accuracy.value, found.instances) == (pytest.approx(logged, abs=1e-12), 5)


def test_a_task_is_a_relation_for_each_number_of_choices(tmp_path: Path) -> None:
    run = imported(tmp_path / "run", samples("facts_text"))
    manifest = run.manifest
    assert [(r.name, r.n_instances, r.n_candidates) for r in manifest.relations] == [
        ("facts_text-K2", 1, 2),
        ("facts_text-K3", 1, 3),
        ("facts_text-K4", 3, 4),
    ]
    assert {relation.cardinality for relation in manifest.relations} == {None}
    (sliced,) = report(run, ReportOptions(resampling=Resampling(0), slices=SliceOptions("cardinality"))).runs
    assert sliced.slices is not None
    assert [(part.name, part.instances) for part in sliced.slices.slices] == [("no cardinality", 5)]
    table = run.table()
    assert table.instance.tolist() == [4, 1, 0, 2, 3], "doc_id, within each relation"
    assert table.answer_idx.tolist() == [0, 0, 0, 1, 1]
    assert table.scores[0, 5:9].tolist() == [
        -26.55809783935547,
        -27.654312133789062,
        -23.35833740234375,
        -30.780059814453125,
    ]
    assert (manifest.model.name, manifest.model.revision, manifest.settings.dtype) == ("tiny-clm", "main", "float32")
    assert manifest.describe() == "path imported, dtype float32, start token not known"
    assert (manifest.probe.name, manifest.is_import, manifest.versions["lm_eval"]) == (
        "facts_text",
        True,
        "0.4.13",
    )


def test_what_is_known_of_a_choice_is_its_sum(tmp_path: Path) -> None:
    for piece in imported(tmp_path / "run", samples("facts_place")).pieces:
        np.testing.assert_array_equal(piece.sum, piece.sum_answer)
        unknown = ("mean", "mean_answer", "first", "first_role", "n_tokens", "n_answer")
        assert [piece.column(name) for name in unknown] == [None] * 6
    (pronouns,) = imported(tmp_path / "pronouns", samples("pronouns")).pieces
    assert pronouns.sum is not None
    assert pronouns.sum_answer is None, "the choices are in the contexts"


def test_requests_without_a_context_are_left_out(tmp_path: Path) -> None:
    given, doubled = (imported(tmp_path / task, samples(task)).table() for task in ("facts_place", "facts_mutual"))
    np.testing.assert_array_equal(given.scores, doubled.scores)
    np.testing.assert_array_equal(given.answer_idx, doubled.answer_idx)


def test_of_two_contexts_the_right_one_follows_from_acc(tmp_path: Path) -> None:
    docs = [json.loads(line)["doc"] for line in samples("pronouns").read_text().splitlines()]
    table = imported(tmp_path / "run", samples("pronouns")).table()
    assert table.answer_idx.tolist() == [int(doc["a"]) - 1 for doc in docs]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            "facts_written",
            r":1: resps hold no \(log-likelihood, greedy\) pairs: not a multiple-choice task; import the",
        ),
        ("facts_last_word", ":1: one choice only, not a multiple-choice task; import the samples of one"),
        ("facts_two_right", r':1: target "\[0, 1\]" names several choices; calprobe takes tasks with one right choice'),
    ],
)
def test_other_tasks_are_refused(tmp_path: Path, task: str, message: str) -> None:
    with pytest.raises(ProbeFormatError, match=message) as raised:
        imported(tmp_path / "run", samples(task))
    assert str(raised.value).startswith(str(samples(task)))
    assert not (tmp_path / "run").exists()


def test_both_forms_of_arguments_and_numbers(tmp_path: Path) -> None:
    row = choice_row(0, [-1.5, -0.5, float("-inf")], 1)
    older = row | {"target": 1, "resps": [[[-1.5, False]], [[-0.5, True]], [[float("-inf"), False]]]}
    older["arguments"] = [[pair["arg_0"], pair["arg_1"]] for pair in row["arguments"].values()]
    first, second = imported_rows(tmp_path / "a", [row]), imported_rows(tmp_path / "b", [older])
    assert first.pieces[0].checksum() == second.pieces[0].checksum()
    assert second.table().scores.tolist() == [[-1.5, -0.5, float("-inf")]]


def test_a_document_without_a_score_fails_and_stays(tmp_path: Path) -> None:
    run = imported_rows(tmp_path, [choice_row(0, [-1.0, float("nan")], 1, acc=0.0), choice_row(1, [-1.0, -2.0], 0)])
    assert report(run, VALUES).runs[0].estimators[0].failed == 1


def test_filters_repeat_a_document(tmp_path: Path) -> None:
    rows = [choice_row(doc, [-1.0, -2.0], 0) | {"filter": name} for name in ("none", "strict") for doc in (7, 3)]
    run = imported_rows(tmp_path / "same", rows)
    assert run.table().instance.tolist() == [3, 7]
    again = choice_row(7, [-1.0, -2.5], 0)
    with pytest.raises(ProbeFormatError, match=r":5: doc_id 7 again, with other scores or target than .*:1; import"):
        imported_rows(tmp_path / "other", [*rows, again])


def test_digits_may_be_places_or_texts_and_acc_tells(tmp_path: Path) -> None:
    digits = {"texts": ("2", "0", "1")}
    as_text = choice_row(0, [-3.0, -2.0, -1.0], "1", acc=1.0, **digits)
    assert imported_rows(tmp_path / "text", [as_text]).table().answer_idx.tolist() == [2]
    as_place = choice_row(0, [-3.0, -1.0, -2.0], "1", acc=1.0, **digits)
    assert imported_rows(tmp_path / "place", [as_place]).table().answer_idx.tolist() == [1]
    untold = choice_row(0, [-3.0, -1.0, -2.0], "1", acc=None, **digits)
    with pytest.raises(ProbeFormatError, match='target "1" may be a place or a choice\'s text, and no acc tells which'):
        imported_rows(tmp_path / "untold", [untold])
    mixed = [choice_row(0, [-1.0, -2.0], "1", acc=0.0), choice_row(1, [-1.0, -2.0], "choice 0", acc=1.0)]
    with pytest.raises(ProbeFormatError, match=':2: target "choice 0" is a choice\'s text, other lines have places'):
        imported_rows(tmp_path / "mixed", mixed)


ROW = choice_row(0, [-1.0, -2.0], 0)
CONTEXTS = {"gen_args_0": {"arg_0": "a", "arg_1": " b"}, "gen_args_1": {"arg_0": "c", "arg_1": " b"}}
THREE = choice_row(0, [-1.0, -2.0, -3.0], 0)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1], "a JSON array where an object"),
        (ROW | {"doc_id": "0"}, 'doc_id "0" is not a number from 0'),
        (ROW | {"doc_id": True}, "doc_id true is not a number from 0"),
        (ROW | {"doc_id": 2**31}, "doc_id 2147483648 is not a number from 0"),
        (ROW | {"resps": None}, "resps must be a list of responses"),
        (ROW | {"resps": [["-1.0"], ["-2.0"]]}, "not a multiple-choice task"),
        (ROW | {"resps": [[["x", "False"]], [["-2.0", "False"]]]}, '"x" in resps is not a log-likelihood'),
        (ROW | {"resps": [[["inf", "False"]], [["-2.0", "False"]]]}, '"inf" in resps is not a log-likelihood'),
        (ROW | {"resps": [[["0.1", "False"]], [["0.8", "False"]]]}, '"0.1" in resps is not a log-likelihood; give nat'),
        (ROW | {"resps": [[[-1.0, False]], [[2e-6, False]]]}, "2e-06 in resps is not a log-likelihood"),
        (ROW | {"resps": [[[10**400, "False"]], [["-2.0", "False"]]]}, "in resps is not a log-likelihood"),
        (ROW | {"resps": [[["-1.0", "False"]]]}, "1 resps for 2 arguments"),
        (ROW | {"arguments": None}, "arguments must hold gen_args_0"),
        (ROW | {"arguments": {"gen_args_1": {}, "gen_args_0": {}}}, r"arguments must be \(context, choice\) pairs"),
        (ROW | {"target": "2"}, 'target "2" is neither the place of a choice, 0 to 1, nor the text of one'),
        (ROW | {"target": None}, "target null is neither the place of a choice"),
        (ROW | {"target": [0]}, r"target \[0\] names several choices"),
        (ROW | {"acc": 0.0}, 'acc 0.0 contradicts target "0": the most likely choice is 0'),
        (ROW | {"acc": 0.25}, "acc 0.25 is neither 0 nor 1: more than the choice of target"),
        (ROW | {"arguments": CONTEXTS, "acc": None}, "which of 2 contexts is the right one is in no key, and acc null"),
    ],
)
def test_a_malformed_line_names_file_and_line(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(ProbeFormatError, match=message) as raised:
        imported_rows(tmp_path, [choice_row(9, [-1.0, -2.0], 0), row])
    assert str(raised.value).startswith(f"{tmp_path / 'samples_made-up_2026-01-02T03-04-05.6.jsonl'}:2: ")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ":1: the file is empty"),
        (
            b'[\n{"doc_id": 0}]',
            ":1: a JSON array, as lm-evaluation-harness wrote before 0.4.3; write its elements as lines",
        ),
        (b'{"doc_id": 0', ":1: not JSON"),
        (b"\xff\n", ":1: not UTF-8"),
    ],
)
def test_files_of_another_form(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    with pytest.raises(ProbeFormatError, match=message):
        imported(tmp_path / "run", path)


def test_the_model_is_named_by_the_results_beside_the_samples(tmp_path: Path) -> None:
    files = [samples("facts_place"), samples("pronouns")]
    assert evaluation_of(files) == TINY
    assert evaluation_of(files, "mine").model == "mine"
    path = write_samples(tmp_path / "samples_a_2026-01-02T03-04-05.6.jsonl", [ROW])
    with pytest.raises(
        UsageError, match=r"samples_a_.*: no results_\*.json of its date beside it .*; give --model NAME"
    ):
        evaluation_of([samples("pronouns"), path])
    assert evaluation_of([path], "mine") == Evaluation("mine")
    results = tmp_path / "results_2026-01-02T03-04-05.6.json"
    results.write_text('{"config": {"model_sha": "abc"}}')
    with pytest.raises(ProbeFormatError, match=r"results_.*:1: no text at model_name; name the model with --model"):
        evaluation_of([path])
    results.write_text('{"model_name": "tiny-clm", "config": {"model_sha": "abc", "model_dtype": "torch.bfloat16"}}')
    assert evaluation_of([path]) == Evaluation("tiny-clm", "abc", "bfloat16")
    with pytest.raises(UsageError, match=r"of several models .*revision abc, dtype bfloat16; tiny-clm, revision main"):
        evaluation_of([path, samples("pronouns")])
    results.write_text('{"model_name": "\\ud83c"}')
    with pytest.raises(ProbeFormatError, match=r"model_name .* holds half of a surrogate pair"):
        evaluation_of([path])


def test_names_come_from_the_files(tmp_path: Path) -> None:
    assert task_name(Path(f"samples_leaderboard_bbh_snarks_{DATE}.jsonl")) == "leaderboard_bbh_snarks"
    assert task_name(Path("mine.jsonl")) == "mine"
    assert probe_name([samples("facts_place")]) == "facts_place"
    assert probe_name([samples("facts_place"), samples("pronouns")]) == "lm-eval"
    with pytest.raises(UsageError, match="rename the file"):
        task_name(Path("m\udcff.jsonl"))


def test_several_tasks_make_one_run_each_task_once(tmp_path: Path) -> None:
    run = imported(tmp_path / "run", samples("pronouns"), samples("facts_place"))
    assert run.table().n_instances == 10
    assert run.manifest.probe.name == "lm-eval"
    with pytest.raises(UsageError, match="another file has the task pronouns too; import each evaluation by itself"):
        imported(tmp_path / "twice", samples("pronouns"), samples("pronouns"))


def test_a_run_is_never_written_over(tmp_path: Path) -> None:
    imported(tmp_path / "run", samples("pronouns"))
    with pytest.raises(CalprobeError, match="already contains a run; give another folder with --out"):
        imported(tmp_path / "run", samples("pronouns"))


def test_questions_and_choices_are_kept_as_labels(tmp_path: Path) -> None:
    rows = [choice_row(3, (-1.0, -2.0), 1, acc=0.0, texts=("Rome", "Oslo")), choice_row(5, (-3.0, -1.0), 1)]
    rows[1]["arguments"]["gen_args_0"]["arg_0"] = rows[1]["arguments"]["gen_args_1"]["arg_0"] = "x" * 5000 + " capital?"
    run = imported_rows(tmp_path, rows)
    first, second = show(run.path, ShowOptions(right=True)).answers
    found = {one.instance: one for one in (first, second)}
    assert (found[3].subject, found[3].predicted, found[3].answer) == ("made up:", "Rome", "Oslo")
    assert found[3].statement is None
    subject = found[5].subject
    assert subject is not None
    assert subject.startswith(".. xxx")
    assert subject.endswith("x capital?")
    assert len(subject) < 1010
    import_lm_eval(
        [tmp_path / "samples_made-up_2026-01-02T03-04-05.6.jsonl"], tmp_path / "without", TINY, save_labels=False
    )
    assert read_labels(tmp_path / "without") is None
