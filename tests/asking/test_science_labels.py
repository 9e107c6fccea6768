"""The study `science-labels`: four designs, examples balanced over the labels, options in every cyclic order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from asked_samples import question_set
from fake_backend import FakeBackend

from calprobe.asking import AskOptions, ask
from calprobe.backends.protocol import Dialogue, Pending
from calprobe.cells.asked_folder import asked_of
from calprobe.confidence.asked import reply_tables
from calprobe.errors import UsageError
from calprobe.interop.asked_exports import label_table
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.prompts import fill, fingerprint_of, load_prompts
from calprobe.prompts.types import PromptSet, Stated, Variant
from calprobe.questions import Question, QuestionSet, SetSource, balanced, turned
from calprobe.runs import AskedRun, Reply
from calprobe.studies.asked.report_asked import report_asked

STUDY = AskOptions(study="science-labels", quiet=True)
DESIGNS = ["headings", "plain", "sentence", "tags"]


class Noting(FakeBackend):
    """Keeps the dialogues that it is asked."""

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        def noted() -> Iterator[Pending]:
            for each in pending:
                self.dialogues = [*getattr(self, "dialogues", []), each.dialogue]
                yield each

        yield from super().replies(noted())


def asked(tmp_path: Path, options: AskOptions = STUDY, n: int = 8) -> tuple[AskedRun, list[Dialogue]]:
    backend = Noting()
    run = ask(backend, question_set(n), tmp_path / "run", options)
    return run, backend.dialogues


def test_the_study_asks_for_label_probabilities_alone_under_four_designs(tmp_path: Path) -> None:
    run, dialogues = asked(tmp_path)
    assert [piece.variant for piece in run.by_piece] == DESIGNS
    assert {(each.stage, each.labels, each.follow_ups) for each in dialogues} == {("label", ("A", "B", "C", "D"), ())}
    assert run.manifest.study == "science-labels"
    for each in dialogues:
        text = each.messages[-1].text
        assert text == text.rstrip()  # no blank takes the label's own away
        assert text.count("\nC) ") == 4  # three examples and the question


def test_examples_show_three_different_labels_and_over_questions_all_equally_often() -> None:
    prompts = load_prompts("science-labels")
    assert {each.gold for each in prompts.examples} == {"A", "B", "C", "D"}
    counts: Counter[str] = Counter()
    for number in range(400):
        shown = [shot.gold for shot in balanced(prompts.examples, f"q{number}")][:3]
        assert len(set(shown)) == 3
        counts.update(shown)
    assert min(counts.values()) > 260  # of 300
    question = question_set(1).questions[0]
    text = fill(prompts.variants[1], question, balanced(prompts.examples, "q1"), prompts)[0].text
    assert text.count("The right option is") == 4
    assert text.endswith("The right option is")


def test_turned_options_keep_labels_and_move_the_answer() -> None:
    question = question_set(2).questions[1]
    right = question.options[question.answer or 0]
    for places in range(8):
        found = turned(question, places)
        assert found.labels == question.labels
        assert found.options[found.answer or 0] == right
        assert sorted(found.options) == sorted(question.options)
    assert turned(question, 4) == question


def test_permuted_runs_ask_each_order_and_read_each_by_its_own_right_answer(tmp_path: Path) -> None:
    options = AskOptions(study="science-labels", variants=("plain",), permute="cyclic", quiet=True)
    run, dialogues = asked(tmp_path, options)
    assert [piece.variant for piece in run.by_piece] == ["plain", "plain+1", "plain+2", "plain+3"]
    assert run.manifest.overrides == ("--variants plain", "--permute cyclic")
    one = {each.variant: each.messages[-1].text for each in dialogues if each.question == "q1"}
    assert one["plain"].endswith("A) 1\nB) 2\nC) 3\nD) 4\n\nThe right option is")
    assert one["plain+1"].endswith("A) 2\nB) 3\nC) 4\nD) 1\n\nThe right option is")

    read = asked_of("run", run)
    cells = reply_tables(read.sets, read.replies, turns=read.turns)["sums"]
    golds = {name: cell.rows[1].question.gold for name, cell in cells.items()}
    assert golds == {"plain": "B", "plain+1": "A", "plain+2": "D", "plain+3": "C"}
    rows = label_table(read.replies, read.sets, read.turns).to_pylist()
    gold = {row["variant"]: row["label"] for row in rows if row["question"] == "q1" and row["gold"]}
    assert gold == golds


def test_more_examples_than_the_prompts_have_and_nothing_to_permute_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--shots 9: the prompts have 4 examples"):
        asked(tmp_path, AskOptions(study="science-labels", shots=9, quiet=True))


# Prompts with what prompts had when the first runs were stored, and with none of the fields that came later.
FIRST_FIELDS = PromptSet(
    "own",
    "",
    (
        Variant("plain", "{input}\nAnswer:", 32, system="Be brief.", wordings={"open": Variant("plain", "{input}", 8)}),
        Variant("final", "{fewshot_examples}\n{input}", 256, shots=3, final=True, shot="{input} {answer}"),
    ),
    stated=(
        Stated("decimal", "How sure are you, from 0 to 1?", "x", 16),
        Stated("words", "How sure are you?", "expressions", 16, {"sure": 1.0, "unsure": 0.5}),
    ),
    final_cue="\n\nAnswer:",
    groups={"numbers": ("decimal",)},
    abstentions=("I do not know.",),
    format_changes=("final",),
)


def test_fields_that_came_later_change_no_hash_of_prompts_without_them() -> None:
    # As the first version computes it: stored runs are known by it.
    assert fingerprint_of(FIRST_FIELDS) == "081902107149c319b8ca65f688a9a1003ad98a0d569379445a3e81e1fbb145f5"
    with_later = replace(FIRST_FIELDS, claim="{option}?")
    assert fingerprint_of(with_later) != fingerprint_of(FIRST_FIELDS)


def three_options(name: str) -> Question:
    return Question(name, "Which?", "choice", ("x", "y", "z"), ("A", "B", "C"), answer=0)


def test_no_question_is_asked_in_more_orders_than_its_set_has(tmp_path: Path) -> None:
    small = QuestionSet("small", (three_options("a"),), SetSource("f" * 64))
    options = replace(STUDY, variants=("plain",), permute="cyclic", shots=0)
    run = ask(FakeBackend(), [small, question_set(2)], tmp_path / "run", options)
    orders = [(piece.set, piece.variant) for piece in run.by_piece]
    assert [variant for name, variant in orders if name == "small"] == ["plain", "plain+1", "plain+2"]
    assert len(orders) == 3 + 4


def test_an_order_that_comes_again_counts_once(tmp_path: Path) -> None:
    mixed = QuestionSet("mixed", (three_options("a"), *question_set(2).questions), SetSource("f" * 64))
    options = replace(STUDY, variants=("plain",), permute="cyclic", shots=0)
    run = asked_of("run", ask(FakeBackend(), mixed, tmp_path / "run", options))
    (report,) = report_asked([run], ReportOptions(resampling=Resampling(10))).runs
    assert report.labels is not None
    (permuted,) = report.labels.sets["mixed"].permuted
    assert sum(use.gold for use in permuted.uses) == 3 + 4 + 4
    imported = replace(run, asked_as="unknown")
    (unknown,) = report_asked([imported], ReportOptions(resampling=Resampling(10))).runs
    assert unknown.labels is not None
    assert unknown.labels.asked_as == "unknown"


def test_claims_have_no_order_of_options(tmp_path: Path) -> None:
    options = AskOptions(study="science-answers", permute="cyclic", quiet=True)
    with pytest.raises(UsageError, match="--permute cyclic: the prompts ask about one option at a time"):
        ask(FakeBackend(), question_set(2), tmp_path / "run", options)


def test_examples_have_the_labels_of_the_questions(tmp_path: Path) -> None:
    file = tmp_path / "prompts.json"
    own = {"id": "sky", "question": "Sky?", "options": ["blue", "red"], "answer": "A"}
    texts = {"variants": {"plain": "{fewshot_examples}\n{input}\nAnswer:"}, "labels": "words", "examples": [own]}
    file.write_text(json.dumps(texts))
    backend = Noting()
    ask(backend, question_set(1), tmp_path / "run", AskOptions(prompts=file, shots=1, quiet=True))
    assert "Answer: blue" in backend.dialogues[0].messages[-1].text


def test_an_order_of_options_is_no_wording(tmp_path: Path) -> None:
    options = replace(STUDY, variants=("plain", "tags"), permute="cyclic", shots=0)
    run = asked_of("run", ask(FakeBackend(), question_set(2), tmp_path / "run", options))
    (report,) = report_asked([run], ReportOptions(resampling=Resampling(10))).runs
    assert {spread.variants for spread in report.sets["sums"].spread.values()} == {("plain", "tags")}
