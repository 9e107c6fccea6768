"""What estimators of replies need is declared: a cell has those whose needs it has the evidence for, and no others."""

from __future__ import annotations

import asked_replies as made
import pytest

from calprobe.answers import read_stated
from calprobe.confidence.asked import Read, WayToRead, asked_estimators, read_answers, reply_tables
from calprobe.confidence.asked.reply_estimators import ENTRIES, evidence_of
from calprobe.confidence.estimators import ENTRIES as OF_SCORES
from calprobe.confidence.estimators import SHARED
from calprobe.runs.replies import Reply


def read_of(*replies: Reply) -> Read:
    questions = made.question_set([made.choice("q0", 0), made.choice("q1", 1)])
    cell = reply_tables([questions], replies)["quiz"]["plain"]
    return Read(cell, read_answers(cell, "last_marker"), WayToRead(lambda own, name: read_stated(own.text)))


LABELS = made.scores([0.4, 0.3, 0.2, 0.1])
ONE = read_of(made.reply("q0", "A", label_scores=LABELS))
TWO = read_of(made.reply("q0", "A", label_scores=LABELS), made.reply("q0", "B", sample=1))
BARE = read_of(made.reply("q0", "A"), made.reply("q1", "B"))


def test_the_evidence_of_replies() -> None:
    # Options need no judge: equal ones entail each other.
    closed = {"relations", "contradictions"}
    assert evidence_of(BARE) == closed
    assert evidence_of(ONE) >= closed | {"labels"}
    assert evidence_of(TWO) >= closed | {"labels", "samples", "repeats"}


@pytest.mark.parametrize("read", [ONE, TWO, BARE])
def test_a_cell_has_what_it_has_the_evidence_for(read: Read) -> None:
    evidence = evidence_of(read)
    allowed = {entry.estimator.name for entry in ENTRIES if entry.estimator.needs <= evidence}
    usual = {entry.estimator.name for entry in ENTRIES if not entry.estimator.on_request}
    shown = {name.removesuffix(".majority").removesuffix(".greedy") for name in asked_estimators(read)}
    assert shown == (allowed & usual) - {"stated_{}"}  # which no prompt asked for


def test_forms_are_there_for_those_who_ask() -> None:
    assert "answer_entropy.exact" not in asked_estimators(TWO)
    assert "answer_entropy.exact.majority" in asked_estimators(TWO, ["answer_entropy.exact"])


def test_no_table_names_an_estimator_twice_or_needs_what_no_evidence_is_called() -> None:
    names = [entry.estimator.name for entry in (*OF_SCORES, *ENTRIES)]
    assert len(names) == len(set(names))
    words = {
        *("labels", "places of labels", "final labels", "p_true", "verdicts", "written replies", "alternatives"),
        *("claims", "samples", "wordings", "repeats", "relations", "contradictions", "embeddings", "logprobs"),
    }
    assert set().union(*(entry.estimator.needs for entry in ENTRIES)) <= words
    assert {need for entry in OF_SCORES for need in entry.estimator.needs} == {SHARED}
