"""Panels of how often values come and how long answers are, of one run and of several."""

from __future__ import annotations

from dataclasses import replace

import asked_replies as made
import pytest

from calprobe.cells.asked import Asked
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.show.html.panels import drawn as page
from calprobe.show.kinds.stacked_shares import Part, StackedShares
from calprobe.show.marks import Box
from calprobe.show.plots.paper import draw
from calprobe.studies.asked.answer_figures import (
    length_panels,
    length_panels_of_runs,
    value_panels,
    value_panels_of_runs,
)
from calprobe.studies.asked.report_asked import report_asked_run
from calprobe.studies.asked.results import AskedRunReport

OPTIONS = ReportOptions(resampling=Resampling(0))
SAID = ["0.9"] * 12 + ["0.95"] * 7 + ["0.1"] + ["perhaps"]  # the last one cannot be read


def asked(label: str = "run", tokens: tuple[int, ...] = (4, 8, 6), thoughts: int = 0) -> Asked:
    questions, replies = made.answered({"plain": ["A"] * len(SAID)}, [0] * len(SAID), {"plain": SAID})
    counted = [
        replace(own, token_ids=(made.FORM,) * (tokens[at % len(tokens)] + thoughts), thought_tokens=thoughts)
        if own.stage == "answer"
        else own
        for at, own in enumerate(replies)
    ]
    return made.asked(questions, counted, made.prompts(made.PLAIN), label)


def run(label: str = "run", **more: object) -> AskedRunReport:
    return report_asked_run(asked(label, **more), OPTIONS)  # type: ignore[arg-type]


def test_each_value_that_is_said_often_has_a_part() -> None:
    (panel,) = value_panels(run())
    assert (panel.title, panel.of, panel.bars) == ("stated_decimal", "set", ("quiz, 20 of 21",))
    assert panel.parts == ((Part("0.1", 0.05, 0.1), Part("0.9", 0.6, 0.9), Part("0.95", 0.35, 0.95)),)
    assert [start for start, _ in panel.placed(0)] == [0.0, 0.05, 0.65]


def test_rare_values_are_one_part_that_says_how_many_they_are() -> None:
    many = [f"0.{at}" for at in range(10, 34)]  # 24 values with a share of 1/24 each
    questions, replies = made.answered({"plain": ["A"] * 24}, [0] * 24, {"plain": many})
    (panel,) = value_panels(report_asked_run(made.asked(questions, replies, made.prompts(made.PLAIN)), OPTIONS))
    assert panel.parts == ((Part("other (24)", 1.0, None),),)


def test_several_sets_have_a_bar_for_all_of_them() -> None:
    one = asked()
    (quiz,) = one.sets
    more = replace(quiz, name="more")
    replies = [*one.replies, *(replace(own, set="more", key=f"m{own.key}") for own in one.replies)]
    (panel,) = value_panels(report_asked_run(replace(one, sets=(quiz, more), replies=tuple(replies)), OPTIONS))
    assert panel.bars == ("quiz, 20 of 21", "more, 20 of 21", "all sets, 40 of 42")
    assert panel.parts[0] == panel.parts[1] == panel.parts[2]


def test_runs_stand_side_by_side_and_one_alone_does_not() -> None:
    runs = [run("runs/a/quiz"), run("runs/b/quiz")]  # as a sweep names them
    (values,), (lengths,) = (
        value_panels_of_runs(runs, {"runs/b/quiz": " (PARTIAL)"}),
        length_panels_of_runs(runs, {"runs/b/quiz": " (PARTIAL)"}),
    )
    assert lengths.groups == ("a", "b (PARTIAL)")
    assert values.bars == ("a, 20 of 21", "b (PARTIAL), 20 of 21")
    assert lengths.series == ("quiz",)
    assert value_panels_of_runs(runs[:1]) == length_panels_of_runs(runs[:1]) == ()


def test_boxes_are_of_the_tokens_behind_the_thoughts_and_of_these() -> None:
    (answers,) = length_panels(run())
    assert (answers.groups, answers.series, answers.title) == (("quiz",), ("plain",), "tokens of the answer")
    assert answers.values == ((Box(4, 4, 6, 8, 8),),)  # seven times 4, 8 and 6 each
    with_thoughts = length_panels(run(thoughts=3))
    assert with_thoughts[0].values == answers.values
    assert len(with_thoughts) == 1  # thoughts all have three tokens: nothing to draw
    assert length_panels(run(tokens=(1,))) == ()


def test_a_bar_is_drawn_from_0_to_1_with_the_names_that_have_room() -> None:
    panel = StackedShares("p", "set", ("a",), ((Part("0.5", 0.97, 0.5), Part("other (3)", 0.03, None)),))
    figure = draw([panel])
    (axes,) = figure.axes
    (legend,) = figure.legends  # of the grey part
    assert [text.get_text() for text in legend.get_texts()] == ["other values, and how many they are"]
    assert draw([replace(panel, parts=((Part("0.5", 1.0, 0.5),),))]).legends == []
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0.0, 0.97), pytest.approx((0.97, 0.03))]
    assert [text.get_text() for text in axes.texts] == ["0.5"]
    drawn = page(panel.panel)
    assert drawn.count("<rect") == 2
    assert "other (3): 3.0%" in drawn


def test_a_box_has_its_five_numbers_and_a_missing_one_is_left_out() -> None:
    (panel,) = length_panels(run())
    two = replace(panel, groups=("quiz", "none"), values=(*panel.values, (None,)))
    (axes,) = draw([two]).axes
    drawn = {float(y) for line in axes.lines for y in line.get_ydata()}  # whiskers, caps, median
    assert drawn == {4.0, 6.0, 8.0}
    assert len(axes.patches) == 1
    assert [label.get_text() for label in axes.get_xticklabels()] == ["quiz", "none"]
    html = page(two.panel)
    assert html.count("<rect") == 1
    assert "quiz, plain: median 6, quartiles 4 and 8, from 4 to 8" in html
