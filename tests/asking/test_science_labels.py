"""The study `science-labels`: four designs, examples balanced over the labels, options in every cyclic order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from asked_samples import question_set
from fake_backend import FakeBackend

from calprobe.analysis.asked.folder import asked_of
from calprobe.asking import AskOptions, ask
from calprobe.backends.protocol import Dialogue, Pending
from calprobe.confidence.asked import cells_of
from calprobe.errors import UsageError
from calprobe.interop.asked_exports import label_table
from calprobe.prompts import fill, fingerprint_of, load_prompts
from calprobe.prompts.types import record_of
from calprobe.questions import balanced, turned
from calprobe.runs import AskedRun, Reply

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
    cells = cells_of(read.sets, read.replies, turns=read.turns)["sums"]
    golds = {name: cell.rows[1].question.gold for name, cell in cells.items()}
    assert golds == {"plain": "B", "plain+1": "A", "plain+2": "D", "plain+3": "C"}
    rows = label_table(read.replies, read.sets, read.turns).to_pylist()
    gold = {row["variant"]: row["label"] for row in rows if row["question"] == "q1" and row["gold"]}
    assert gold == golds


def test_more_examples_than_the_prompts_have_and_nothing_to_permute_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--shots 9: the prompts have 4 examples"):
        asked(tmp_path, AskOptions(study="science-labels", shots=9, quiet=True))


def test_fields_that_came_later_change_no_hash_of_prompts_without_them() -> None:
    audit = load_prompts("audit")
    assert not {"turned", "examples"} & {*record_of(audit), *record_of(audit.variants[0])}
    # As every version has computed it: stored runs are known by it.
    assert fingerprint_of(audit) == "d7b9ffb4bd1881faa1afa59e0d828e08ff1c809b641038c3e520a99646f0ab38"
