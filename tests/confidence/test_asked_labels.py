"""Confidence from label probabilities: masses by hand, windows, the place of the answer, the paper's pairing."""

from __future__ import annotations

from dataclasses import replace

import asked_replies as made
import numpy as np
import pytest

from calprobe.answers import read_stated
from calprobe.confidence.asked import WayToRead, asked_estimators, off_label_mass, read_answers, reply_tables
from calprobe.confidence.asked.label_masses import first_masses, place_of_label
from calprobe.confidence.asked.read_cell import Read
from calprobe.runs.replies import LabelScores, Reply


def read_of(
    replies: list[Reply],
    *,
    answers: tuple[int, ...] = (0, 0, 0),
    compat: bool = False,
    window: int | None = None,
    reader: str = "last_marker",
) -> Read:
    questions = [made.choice(f"q{at}", answer) for at, answer in enumerate(answers)]
    cell = reply_tables([made.question_set(questions)], replies)["quiz"]["plain"]
    way = WayToRead(lambda own, name: read_stated(own.text), compat, window)
    return Read(cell, read_answers(cell, reader), way)


def found(read: Read, name: str):  # type: ignore[no-untyped-def]
    return asked_estimators(read)[name].compute(read)


def test_raw_and_normalised_by_hand() -> None:
    masses = ([0.3, 0.1, 0.05, 0.05], [0.02, 0.06, 0.01, 0.01], [0.25, 0.25, 0.25, 0.25])
    read = read_of([made.reply(f"q{at}", "A", label_scores=made.scores(own)) for at, own in enumerate(masses)])
    raw, label = found(read, "label_raw"), found(read, "label")
    assert raw.confidence == pytest.approx([0.3, 0.06, 0.25])
    assert label.confidence == pytest.approx([0.6, 0.6, 0.25])
    assert raw.prediction.tolist() == [0, 1, 0]  # of equal ones the first
    assert raw.correct.tolist() == label.correct.tolist() == [True, False, True]  # its own letter's, not the text's
    assert off_label_mass(read.first) == pytest.approx([0.5, 0.9, 0.0])


def test_normalising_is_softmax_of_the_labels_logprobs() -> None:
    rng = np.random.default_rng(3)
    masses = rng.dirichlet(np.ones(5), size=20)[:, :4]
    replies = [made.reply(f"q{at}", "A", label_scores=made.scores(own)) for at, own in enumerate(masses)]
    read = read_of(replies, answers=tuple(rng.integers(4, size=20).tolist()))
    expected = np.exp(np.log(masses)) / masses.sum(axis=1, keepdims=True)
    assert found(read, "label").confidence == pytest.approx(expected.max(axis=1))
    assert found(read, "label").prediction.tolist() == expected.argmax(axis=1).tolist()


def test_the_order_of_replies_changes_nothing() -> None:
    replies = [made.reply(f"q{at}", "A", label_scores=made.scores([0.1 + at / 10, 0.2, 0.1, 0.1])) for at in range(3)]
    forward, back = found(read_of(replies), "label"), found(read_of(replies[::-1]), "label")
    assert forward.confidence.tolist() == back.confidence.tolist()


def test_items_with_fewer_options_are_normalised_over_their_own() -> None:
    questions = [made.choice("q0", 1, n_options=2), made.choice("q1", 0)]
    replies = [
        made.reply("q0", "B", label_scores=made.scores([0.2, 0.3])),
        made.reply("q1", "A", label_scores=made.scores([0.2, 0.3, 0.3, 0.2])),
    ]
    cell = reply_tables([made.question_set(questions)], replies)["quiz"]["plain"]
    read = Read(cell, read_answers(cell, "last_marker"), WayToRead(lambda own, name: read_stated(own.text)))
    assert found(read, "label").confidence == pytest.approx([0.6, 0.3])
    assert first_masses(cell).covered.tolist() == [True, True]


def test_a_window_sees_only_its_most_probable_tokens() -> None:
    replies = [
        made.reply("q0", "A", label_scores=made.scores([0.3, 0.1, 0.05, 0.05], ranks=[[0, 3, 9, 10]])),
        made.reply("q1", "A", label_scores=made.scores([0.3, 0.1, 0.05, 0.05], ranks=[[40, 41, 42, 43]])),
    ]
    read = read_of(replies, answers=(0, 0), window=10)
    label = found(read, "label")
    assert label.confidence[0] == pytest.approx(0.3 / 0.45)  # A, B and C are seen
    assert label.read.tolist() == [True, False]
    assert label.reasons == {"no label in the window": 1}
    assert read.first.covered.tolist() == [False, False]
    assert off_label_mass(read.first) == pytest.approx([0.55, 1.0])


def test_what_a_server_did_not_return_is_not_seen() -> None:
    read = read_of([made.reply("q0", "A", label_scores=made.scores([0.5, 0.0, 0.0, 0.25]))], answers=(0,))
    assert read.first.seen.tolist() == [[True, False, False, True]]
    assert found(read, "label").confidence == pytest.approx([2 / 3])


def scores_at_two_places(starts: tuple[int, int] | None) -> LabelScores:
    return made.scores([0.1, 0.1, 0.1, 0.1], [0.05, 0.8, 0.05, 0.1], positions=(0, 3), starts=starts)


@pytest.mark.parametrize("starts", [(0, 13), None])
def test_label_answer_is_of_the_position_where_the_letter_was_generated(starts: tuple[int, int] | None) -> None:
    text = "The answer is B."
    own = made.reply("q0", text, label_scores=scores_at_two_places(starts), token_ids=(1, 2, 3, made.FORM + 1, 4))
    read = read_of([own], answers=(1,))
    assert found(read, "label_answer").confidence == pytest.approx([0.8])
    assert found(read, "label_answer").correct.tolist() == [True]
    assert found(read, "label").confidence == pytest.approx([0.25])


def test_a_letter_that_two_tokens_wrote_has_no_known_place_without_their_starts() -> None:
    def twice(starts: tuple[int, int] | None) -> Reply:
        both = made.scores([0.1, 0.9, 0.0, 0.0], [0.2, 0.6, 0.1, 0.1], positions=(0, 2), starts=starts)
        return made.reply("q0", "B or B", label_scores=both, token_ids=(made.FORM + 1, 5, made.FORM + 1))

    assert place_of_label(twice(None), 1, 5) is None
    assert place_of_label(twice((0, 4)), 1, 5) == 1  # the blank in front is part of the token
    assert place_of_label(twice((0, 4)), 1, 0) == 0


def test_labels_without_known_tokens_are_placed_where_the_reply_begins_with_one() -> None:
    scores = replace(made.scores([0.1, 0.8, 0.05, 0.05]), forms=())
    behind = made.reply("q0", "The answer is B", label_scores=scores, token_ids=(1, 2, 3, 4))
    assert place_of_label(behind, 1, 14) is None
    assert place_of_label(replace(behind, text=" B", token_ids=(4,)), 1, 1) == 0


def test_without_an_answer_label_answer_has_no_confidence_and_label_has() -> None:
    read = read_of(
        [made.reply("q0", "I cannot say", label_scores=made.scores([0.7, 0.1, 0.1, 0.1]), token_ids=(1,))], answers=(0,)
    )
    assert found(read, "label_answer").reasons == {"no answer": 1}
    assert found(read, "label").correct.tolist() == [True]


def test_label_final_reads_behind_the_cue() -> None:
    replies = [
        made.reply("q0", "Let me think", label_scores=made.scores([0.25] * 4)),
        made.reply("q0", " C", stage="final", label_scores=made.scores([0.0, 0.1, 0.6, 0.1])),
    ]
    read = read_of(replies, answers=(2,), reader="constrained")
    assert found(read, "label_final").confidence == pytest.approx([0.75])
    assert read.answers.correct.tolist() == [True]


def test_the_papers_pairing() -> None:
    replies = [
        made.reply("q0", "B", label_scores=made.scores([0.6, 0.2, 0.1, 0.1])),  # the text says B, the argmax A
        made.reply("q1", "Hm", label_scores=made.scores([0.6, 0.2, 0.1, 0.1])),  # no letter: argmax, incorrect
        made.reply("q2", "B", label_scores=made.scores([0.6, 0.0, 0.1, 0.1])),  # not in the window: 0
    ]
    label = found(read_of(replies, compat=True, reader="first_char"), "label")
    assert label.confidence == pytest.approx([0.2, 0.6, 0.0])
    assert label.correct.tolist() == [False, False, False]
    assert label.status.tolist() == ["ok", "ok", "letter not in the window"]
    own = found(read_of(replies, reader="first_char"), "label")
    assert own.correct.tolist() == [True, True, True]


def test_the_paper_keeps_rows_without_any_label_at_confidence_0() -> None:
    replies = [made.reply("q0", "A", label_scores=made.scores([0.0] * 4))]
    label = found(read_of(replies, answers=(0,), compat=True), "label")
    assert label.confidence.tolist() == [0.0]
    assert label.correct.tolist() == [False]
    assert found(read_of(replies, answers=(0,)), "label").read.tolist() == [False]


def test_a_failed_request_has_no_row_and_an_unasked_stage_no_estimator() -> None:
    replies = [
        made.reply("q0", "A", label_scores=made.scores([0.7, 0.1, 0.1, 0.1]), token_ids=(made.FORM,)),
        made.reply("q1", "", finish="error", error="the server hung up"),
    ]
    read = read_of(replies)
    assert len(read.table) == 1
    assert read.table.failed == 1
    assert list(asked_estimators(read)) == ["label_raw", "label", "label_answer"]


def test_a_reply_to_an_unknown_question_is_refused() -> None:
    with pytest.raises(ValueError, match="question 'q9' of 'quiz'"):
        read_of([made.reply("q9", "A")])


def test_a_reply_that_a_window_lacks_is_not_impossible() -> None:
    """Of twenty tokens shown, the least probable has 0.01: so much may the reply (B) have, and no less is known."""
    window = replace(made.scores([0.9, 0.0]), least=np.log([0.01]))
    both = [made.reply("q0", "A"), made.reply("q0", "(A)", stage="p_true", label_scores=window)]
    read = read_of(both, answers=(0,))
    assert found(read, "p_true").confidence.tolist() == pytest.approx([0.9 / 0.91])
    unseen = replace(made.scores([0.0, 0.5]), least=np.log([0.01]))
    read = read_of([both[0], replace(both[1], label_scores=unseen)], answers=(0,))
    assert found(read, "p_true").confidence.tolist() == pytest.approx([0.01 / 0.51])
    assert found(read, "p_true").mass == pytest.approx([0.51])
    assert found(read, "p_true_raw").mass is None
    bounds = found(read, "p_true")
    assert (bounds.status.tolist(), bounds.bounded) == (["one reply below the window, a bound"], 1)
    ends = [bounds.more["low"][0], bounds.confidence[0], bounds.more["high"][0]]
    assert ends == pytest.approx([0.0, 0.01 / 0.51, 0.01 / 0.51])
    known = replace(made.scores([0.9, 0.05]), least=np.log([0.01]))
    read = read_of([both[0], replace(both[1], label_scores=known)], answers=(0,))
    exact = found(read, "p_true")
    assert (exact.status.tolist(), exact.bounded) == (["ok"], 0)
    assert exact.more["low"] == exact.more["high"] == exact.confidence
