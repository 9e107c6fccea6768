"""Nothing covers anything else: boxes measured with the renderer, at a column's and at a page's width."""

from __future__ import annotations

import warnings
from itertools import combinations
from pathlib import Path

import pytest
from curve_samples import MANY, RUN, SAMPLES, markers, rejection
from drawn_texts import overlap, texts
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.transforms import Bbox
from proofs import few_of

from calprobe.curves import plot
from calprobe.show.marks import Scale
from calprobe.show.plots import COLUMN_INCHES, PAGE_INCHES
from calprobe.show.plots.frame import MOST_INCHES
from calprobe.show.plots.saving import save
from calprobe.show.plots.style import _say_that_letters_are_missing, drawing

BOTH = ("rejection", "calibration", "options", "accuracy-ace", "markers", "exposure")
PAGE = ("rejection of many runs", "calibration of runs", "options of many runs", "accuracy-ace of many")
COLUMN = ("rejection of runs", "rejection of many runs", "options of runs", "calibration of runs", "nothing")
COLUMN += ("accuracy-ace of the paper", "accuracy-ace of many", "markers of many runs")
FIGURES = [*((name, PAGE_INCHES) for name in BOTH + PAGE), *((name, COLUMN_INCHES) for name in BOTH + COLUMN)]
QUICK = [
    *((name, COLUMN_INCHES) for name in (*BOTH, "accuracy-ace of the paper", "options of runs", "nothing")),
    ("rejection of many runs", PAGE_INCHES),
]


@pytest.fixture(
    params=few_of([(each,) for each in FIGURES], lambda each: each in QUICK),
    ids=[f"{name}, {width} in" for name, width in FIGURES],
    scope="module",
)
def figure(request: pytest.FixtureRequest) -> Figure:
    name, width = request.param
    return plot(SAMPLES[name], width)


def test_no_text_covers_another(figure: Figure) -> None:
    boxes = texts(figure)
    assert boxes
    assert [(a, b) for (a, one), (b, two) in combinations(boxes.items(), 2) if overlap(one, two)] == []


def test_all_text_lies_on_the_figure(figure: Figure) -> None:
    page = figure.bbox.padded(1)
    assert [name for name, (_, box) in texts(figure).items() if Bbox.union([page, box]).bounds != page.bounds] == []


def test_a_figure_is_no_higher_than_a_page(figure: Figure) -> None:
    assert figure.get_figheight() <= MOST_INCHES + 1e-9


def test_legends_and_titles_stand_outside_the_data(figure: Figure) -> None:
    legends = figure.findobj(Legend)
    assert legends == figure.legends  # no panel has its own
    around = [legend.get_window_extent() for legend in legends]
    around += [axes._left_title.get_window_extent() for axes in figure.axes if axes.get_title(loc="left")]
    assert not any(box.overlaps(axes.get_window_extent()) for box in around for axes in figure.axes)


def test_panels_keep_off_each_other(figure: Figure) -> None:
    boxes = [axes.get_window_extent() for axes in figure.axes]
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))
    assert all(box.height > 20 and box.width > 90 for box in boxes)


@pytest.mark.parametrize("width", [COLUMN_INCHES, PAGE_INCHES])
def test_a_figure_is_as_wide_as_asked(width: float) -> None:
    assert plot(markers(), width).get_figwidth() == width


def test_long_names_of_runs_are_shortened_in_the_middle_and_stay_apart() -> None:
    legend = plot(rejection(MANY, ("base",))).legends[0]
    names = [text.get_text() for text in legend.get_texts()]
    assert len(set(names)) == len(MANY) + 1  # and what the points are
    assert plot(markers((RUN,))).get_suptitle() == "a-model-of-135m-parameters-mini"


def test_names_below_an_axis_are_short_lines() -> None:
    (lines, plain) = Scale.of_names("variant", ["x" * 500 + "_\x1b[31m" + "_y" * 50, "few_shot"]).lines
    assert plain == ["few", "shot"]
    assert len(lines) <= 6
    assert max(map(len, lines)) <= 22
    assert "\x1b" not in "".join(lines)


def test_letters_that_a_font_lacks_are_one_line_of_the_log(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    _say_that_letters_are_missing.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with drawing():
                figure = Figure()
                figure.suptitle("\u65e5\u672c\x1b")
            save(figure, tmp_path / "a.png")
    (message,) = caplog.messages
    assert message.startswith("figures: their font lacks some letters of names")
