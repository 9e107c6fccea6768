"""What a model would state, as a distribution over its scale: by hand, and as an estimator of a report."""

from __future__ import annotations

from collections.abc import Sequence

import asked_replies as made
import numpy as np
import pytest

from calprobe.answers import closed_replies, read_on_scale
from calprobe.cells.cell_readers import stated_reader
from calprobe.confidence.asked import WayToRead, asked_estimators, read_answers, reply_tables
from calprobe.confidence.asked.closed_confidence import closed_readings
from calprobe.confidence.asked.read_cell import Read
from calprobe.measures.options import ReportOptions
from calprobe.prompts import PromptSet, load_prompts
from calprobe.prompts.types import SCALES, Stated, Variant
from calprobe.runs.replies import LabelScores, Reply

TABLE = load_prompts("stated").stated[5].expressions


@pytest.mark.parametrize("scale", SCALES)
def test_every_form_of_a_closed_reply_is_read_as_one_value(scale: str) -> None:
    closed = closed_replies(scale, TABLE)
    assert len({form for forms in closed for form in forms}) == sum(map(len, closed))
    values = []
    for forms in closed:
        readings = [read_on_scale(form, scale, TABLE, lenient=True) for form in forms]
        of_forms = {reading.value for reading in readings if reading.status != "ambiguous"}  # 1 where 1% is meant
        assert len(of_forms) == 1, forms
        assert readings[0].status == "ok"
        values.append(float(of_forms.pop() or 0.0))
    assert sorted(values) == (values[::-1] if scale.startswith("1 - ") else values)


def closed_scores(scale: str, masses: dict[str, float]) -> LabelScores:
    """These masses of replies; the others have next to none."""
    labels = tuple(forms[0] for forms in closed_replies(scale, TABLE))
    with np.errstate(divide="ignore"):
        logprobs = np.log([[max(masses.get(label, 0.0), 1e-300) for label in labels]])
    first = np.zeros(1, np.int64)
    return LabelScores(labels, (), first, logprobs, np.array([-np.inf]), first, np.full((1, len(labels)), -1))


def read_of(stated: Sequence[Stated], replies: list[Reply]) -> Read:
    questions = [made.choice(f"q{at}") for at in range(3)]
    answers = [made.reply(question.id, "A") for question in questions]
    cell = reply_tables([made.question_set(questions)], [*answers, *replies])["quiz"]["plain"]
    prompts = PromptSet("own", "f" * 64, (Variant("plain", "{input}", 8),), tuple(stated))
    return Read(cell, read_answers(cell, "last_marker"), WayToRead(stated_reader(ReportOptions(), prompts)))


TEN, WRONG, SAID = (
    Stated("ten", "?", "x/10", 8),
    Stated("wrong", "?", "1 - x", 8),
    Stated("said", "?", "expressions", 8, TABLE),
)


def test_moments_by_hand() -> None:
    scores = closed_scores("x/10", {"8": 0.3, "10": 0.1})
    read = read_of([TEN], [made.reply("q0", "8", stage="stated:ten", label_scores=scores)])
    found = closed_readings(read.table, "ten", read.way)
    # Shares 0.75 and 0.25 of 0.8 and 1.0.
    assert (found.expected[0], found.mode[0], found.mass[0]) == (pytest.approx(0.85), 0.8, pytest.approx(0.4))
    assert found.spread[0] == pytest.approx(np.sqrt(0.75 * 0.05**2 + 0.25 * 0.15**2))
    assert found.status.tolist() == ["ok", "not asked", "not asked"]
    assert np.isnan(found.expected[1:]).all()


def test_a_reversed_scale_is_turned_around_and_equal_values_are_one() -> None:
    wrong = made.reply("q0", "0.2", stage="stated:wrong", label_scores=closed_scores("1 - x", {"0.20": 0.9}))
    # Likely and Probably both stand for 0.7: together they are the mode.
    masses = {"Likely": 0.25, "Probably": 0.2, "Highly Likely": 0.3}
    said = made.reply("q0", "Likely", stage="stated:said", label_scores=closed_scores("expressions", masses))
    read = read_of([WRONG, SAID], [wrong, said])
    assert closed_readings(read.table, "wrong", read.way).expected[0] == pytest.approx(0.8)
    found = closed_readings(read.table, "said", read.way)
    assert found.mode[0] == 0.7
    assert found.expected[0] == pytest.approx((0.45 * 0.7 + 0.3 * 0.9) / 0.75)


def test_the_estimator_is_there_where_closed_sets_were_scored() -> None:
    scores = closed_scores("x/10", {"5": 0.5, "6": 0.5})
    read = read_of(
        [TEN, WRONG],
        [
            made.reply("q0", "unclear", stage="stated:ten", label_scores=scores),
            made.reply("q0", "0.1", stage="stated:wrong"),
            made.reply("q1", "", stage="stated:ten", finish="error", error="gone"),
        ],
    )
    estimators = asked_estimators(read)
    assert [name for name in estimators if name.startswith("stated_")] == [
        "stated_ten",
        "stated_ten.expected",
        "stated_wrong",
    ]
    found = estimators["stated_ten.expected"].compute(read)
    assert found.confidence[0] == pytest.approx(0.55)
    assert found.correct.tolist() == [True] * 3
    assert (found.more["mode"][0], found.more["spread"][0]) == (0.5, pytest.approx(0.05))
    assert np.isnan(found.more["spread"][1:]).all()
    assert found.status.tolist() == ["ok", "request failed", "not asked"]
    assert found.asked.tolist() == [True, False, False]
    assert np.isnan(estimators["stated_ten"].compute(read).confidence[0])


def test_replaced_answers_have_readings_of_their_own() -> None:
    replies = [
        made.reply("q0", "8", stage="stated:ten", label_scores=closed_scores("x/10", {"8": 1.0})),
        made.reply("q0", "1", stage="stated:ten@target", label_scores=closed_scores("x/10", {"1": 1.0}), given="B"),
    ]
    read = read_of([TEN], replies)
    assert closed_readings(read.table, "ten", read.way).expected[0] == pytest.approx(0.8)
    assert closed_readings(read.table, "ten", read.way, "target").expected[0] == pytest.approx(0.1)
    assert read.table.stated == ("ten",)
