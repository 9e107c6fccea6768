"""Generated text that lm-evaluation-harness logged as runs of replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lm_eval_rows import generated_row as row
from lm_eval_rows import write_samples

from calprobe.cells.asked_folder import asked_of
from calprobe.errors import CalprobeError, ProbeFormatError, UsageError
from calprobe.interop.lm_eval_import import Evaluation, evaluation_of
from calprobe.interop.lm_eval_replies import HarnessGrades, are_generated, import_generated
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.runs import open_asked
from calprobe.studies.asked.report_asked import report_asked_run

DATA = Path(__file__).resolve().parent.parent / "data" / "lm_eval_generated"
SAID, SAMPLED = (next(DATA.glob(f"samples_capitals_{name}_*")) for name in ("said", "sampled"))
OPTIONS = ReportOptions(resampling=Resampling(0))


def accuracy(path: Path, name: str) -> dict[str, float]:
    found = report_asked_run(asked_of("run", open_asked(path)), OPTIONS)
    return {reader: own.value.value for reader, own in found.sets[name].cells["import"].accuracy.items()}


def test_the_harness_s_grades_are_those_of_a_filter(tmp_path: Path) -> None:
    results = json.loads(next(DATA.glob("results_*")).read_text())["results"]["capitals_said"]
    for name in ("as_said", "first_word"):
        made = import_generated([SAID], tmp_path / name, evaluation_of([SAID]), HarnessGrades(filter=name))
        assert accuracy(made.run.path, "capitals_said") == {"given": results[f"exact_match,{name}"]}
    assert results["exact_match,first_word"] == 0.75
    manifest = open_asked(tmp_path / "as_said").manifest
    assert (manifest.model.name, manifest.backend.name, manifest.backend.versions) == (
        "tiny-clm",
        "lm-eval",
        {"lm_eval": "0.4.13"},
    )
    assert json.loads(manifest.backend.settings["capitals_said"]) == {
        "filter": "as_said",
        "graded by": "exact_match",
        "max_gen_toks": 8,
        "until": ["."],
    }


def test_the_first_filter_is_taken_and_others_are_said(tmp_path: Path) -> None:
    made = import_generated([SAID], tmp_path / "run", Evaluation("m"))
    assert made.notes == ("capitals_said: exact_match under the filter as_said; --filter takes others (first_word)",)
    run = open_asked(made.run.path)
    (first, *_) = run.questions["capitals_said"].questions
    assert (first.id, first.text, first.accepted) == ("0", "The capital of France is", ("Paris",))
    assert run.pieces[0].replies[0].prompt == "The capital of France is"
    assert accuracy(made.run.path, "capitals_said") == {"given": 0.0}  # a blank in front of each reply
    regraded = import_generated([SAID], tmp_path / "own", Evaluation("m"), HarnessGrades(kept=False))
    assert accuracy(regraded.run.path, "capitals_said") == {"short": 0.75}


def test_repeats_are_samples_that_calprobe_grades(tmp_path: Path) -> None:
    made = import_generated([SAMPLED], tmp_path / "run", Evaluation("m"))
    assert made.notes == (
        "capitals_sampled: several replies a document, of which exact_match is one number; calprobe grades each",
    )
    run = open_asked(made.run.path)
    texts = [json.loads(line)["resps"][0] for line in SAMPLED.read_text().splitlines()]
    assert [reply.text for reply in run.pieces[0].replies] == [text for own in texts for text in own]
    assert run.manifest.asked[0].samples == 3


def test_options_of_a_document_make_a_choice(tmp_path: Path) -> None:
    doc = {"question": "Which is a colour?", "options": ["red", "ten"]}
    listed = {"gen_args_0": {"arg_0": "Which is a colour? red or ten?", "arg_1": {"until": ["."]}}}
    rows = [
        row(0, "A", doc=doc, target="A"),
        row(1, "red", doc=doc, target="red", arguments=listed),
        row(2, "x", doc=doc, target="C"),
    ]
    file = write_samples(tmp_path / "samples.jsonl", rows)
    made = import_generated([file], tmp_path / "run", Evaluation("m"))
    assert made.notes == (
        'samples: 1 document with a target that names none of the options (doc_id 2: "C"); taken for open questions',
    )
    run = open_asked(made.run.path)
    own = {question.id: question for question in run.questions["samples"].questions}
    assert [own[key].kind for key in "012"] == ["choice", "choice", "open"]
    assert (own["1"].options, own["1"].gold) == (("red", "ten"), "A")


def test_options_that_no_prompt_shows_make_an_open_question(tmp_path: Path) -> None:
    doc = {"question": "What is the colour of blood?", "choices": ["green", "red", "white"]}
    prompt = {"gen_args_0": {"arg_0": "Question: What is the colour of blood?\nAnswer:", "arg_1": {"until": ["."]}}}
    file = write_samples(tmp_path / "samples.jsonl", [row(0, " Red", doc=doc, target="red", arguments=prompt)])
    run = import_generated([file], tmp_path / "run", Evaluation("m"), HarnessGrades(kept=False)).run
    (question,) = open_asked(run.path).questions["samples"].questions
    assert (question.kind, question.accepted, question.chance) == ("open", ("red",), 0.0)
    assert accuracy(run.path, "samples") == {"short": 1.0}  # as a choice: not read, and wrong


def test_several_right_answers_and_graded_qualities(tmp_path: Path) -> None:
    rows = [row(0, "yes", target="['yes', 'of course']", metrics=["f1"], f1=0.75), row(1, "no", metrics=["f1"], f1=0.2)]
    file = write_samples(tmp_path / "samples.jsonl", rows)
    made = import_generated([file], tmp_path / "run", Evaluation("m"), HarnessGrades(correct_at=0.5))
    run = open_asked(made.run.path)
    assert run.questions["samples"].questions[0].accepted == ("yes", "of course")
    assert [reply.correct for reply in run.pieces[0].replies] == [True, False]


def test_a_document_without_a_right_answer_has_no_accepted_text(tmp_path: Path) -> None:
    bare = {key: value for key, value in row(0, "None").items() if key != "target"}
    file = write_samples(
        tmp_path / "samples.jsonl", [bare, row(1, "None", target=None), row(2, "\ud83d", target="\ud83d")]
    )
    made = import_generated([file], tmp_path / "run", Evaluation("m"), HarnessGrades(kept=False))
    run = open_asked(made.run.path)
    assert [question.accepted for question in run.questions["samples"].questions] == [("",), ("",), ("\ufffd",)]
    assert [reply.text for reply in run.pieces[0].replies] == ["None", "None", "\ufffd"]


def unlisted(doc_id: int, reply: str, **more: Any) -> dict[str, Any]:
    """A document as 0.4.3 to 0.4.6 logged it: no key lists the metrics."""
    return {key: value for key, value in row(doc_id, reply, **more).items() if key != "metrics"}


def test_metrics_that_no_key_lists_are_the_grades(tmp_path: Path) -> None:
    rows = [unlisted(0, "yes", exact_match=0.0, f1=1.0), unlisted(1, "no", exact_match=1.0, f1=0.0)]
    file = write_samples(tmp_path / "samples.jsonl", rows)
    for metric, grades in ((None, [False, True]), ("exact_match", [False, True]), ("f1", [True, False])):
        made = import_generated([file], tmp_path / f"by-{metric}", Evaluation("m"), HarnessGrades(metric))
        assert [reply.correct for reply in open_asked(made.run.path).pieces[0].replies] == grades
        assert made.notes == ()


def test_where_no_grade_is_found_it_says_who_grades(tmp_path: Path) -> None:
    """A number that no key lists is not taken for a metric unless it is named."""
    bare = [{key: value for key, value in unlisted(0, "yes", took=1).items() if key != "exact_match"}]
    file = write_samples(tmp_path / "samples.jsonl", bare)
    made = import_generated([file], tmp_path / "run", Evaluation("m"))
    assert made.notes == ("samples: the samples list no metrics and have no exact_match; calprobe grades the replies",)
    assert accuracy(made.run.path, "samples") == {"short": 1.0}
    assert import_generated([file], tmp_path / "own", Evaluation("m"), HarnessGrades(kept=False)).notes == ()


@pytest.mark.parametrize(
    ("rows", "grades", "error", "said"),
    [
        ([row(0, "a"), row(0, "a")], HarnessGrades(), ProbeFormatError, ":2: doc_id 0 again (filter none), as in"),
        ([row(-1, "a")], HarnessGrades(), ProbeFormatError, ":1: doc_id -1 is not a number from 0"),
        ([row(0, "a", resps=[["a"], ["b"]])], HarnessGrades(), ProbeFormatError, ":1: resps must be one list of texts"),
        ([row(0, "a", exact_match=0.5)], HarnessGrades(), ProbeFormatError, "neither right (1) nor wrong (0); give --"),
        ([row(0, "a", exact_match=10**400)], HarnessGrades(), ProbeFormatError, "neither right (1) nor wrong (0)"),
        ([], HarnessGrades(), ProbeFormatError, "empty file; give a samples_*.jsonl"),
        ([row(0, "a", exact_match="x")], HarnessGrades(), ProbeFormatError, "no grade of one reply; give --regrade"),
        ([row(0, "a", metrics=["f1", "bleu"])], HarnessGrades(), UsageError, "metrics f1, bleu; give the one that"),
        ([unlisted(0, "a", exact_match=0.5)], HarnessGrades(), ProbeFormatError, "neither right (1) nor wrong (0)"),
        ([unlisted(0, "a", exact_match="x")], HarnessGrades(), ProbeFormatError, "no grade of one reply; give --reg"),
        ([unlisted(0, "a")], HarnessGrades("rouge"), UsageError, "no metric 'rouge'; there is exact_match"),
        ([row(0, "a")], HarnessGrades("rouge"), UsageError, "no metric 'rouge'; there is exact_match"),
        ([row(0, "a")], HarnessGrades(filter="nome"), UsageError, "no 'nome'; did you mean none?"),
    ],
)
def test_what_cannot_be_imported(
    tmp_path: Path, rows: list[dict[str, Any]], grades: HarnessGrades, error: type[CalprobeError], said: str
) -> None:
    file = write_samples(tmp_path / "samples.jsonl", rows)
    with pytest.raises(error) as raised:
        import_generated([file], tmp_path / "run", Evaluation("m"), grades)
    assert said in str(raised.value)
    assert not (tmp_path / "run").exists()


def test_both_kinds_of_samples_are_told_apart() -> None:
    choices = next((DATA.parent / "lm_eval").glob("samples_facts_place_*"))
    assert are_generated([SAID, SAMPLED])
    assert not are_generated([choices])
    with pytest.raises(UsageError, match="1 of these are of generated text"):
        are_generated([SAID, choices])
