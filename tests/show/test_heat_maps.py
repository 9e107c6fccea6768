"""Heat maps: every number can be read on its colour, and columns of a narrow figure keep their names apart."""

from __future__ import annotations

import numpy as np
import pytest
from curve_samples import SAMPLES
from drawn_texts import texts
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from calprobe.curves import plot
from calprobe.show.kinds.matrix_figure import Correlations, Matrix
from calprobe.show.plots import COLUMN_INCHES, PAGE_INCHES, Look, drawing
from calprobe.show.plots.paper import draw

PROMPTS = tuple(f"probability_percent_{at}" for at in range(10))
SETS = ("stated_triviaqa", "stated_truthfulqa", "mmlu_test", "arc_challenge")
VARIANTS = ("surface_paraphrase", "instruction_reorder", "implicit_framing")


def correlations(width: float) -> Figure:
    values = np.linspace(-1, 1, len(PROMPTS) ** 2).reshape(len(PROMPTS), -1)
    own = Correlations("a run", PROMPTS, tuple(map(tuple, values.tolist())))
    return draw([own], Look(width))


def matrices(width: float) -> Figure:
    values = np.linspace(0, 1, len(VARIANTS) * len(SETS)).reshape(len(VARIANTS), -1)
    rows = tuple(map(tuple, values.tolist()))
    titles = ("Accuracy by last_marker", "Normalisation shift", "Parse rate, stated_percent_0_100")
    return draw([Matrix("m", title, VARIANTS, SETS, rows) for title in titles], Look(width))


def markers(width: float) -> Figure:
    return plot(SAMPLES["markers of many runs"], width)


@pytest.fixture(params=[correlations, matrices, markers], ids=lambda make: make.__name__, scope="module")
def figures(request: pytest.FixtureRequest) -> list[Figure]:
    with drawing():
        widths = (PAGE_INCHES,) if request.param is markers else (COLUMN_INCHES, PAGE_INCHES)
        found = [request.param(width) for width in widths]
        for figure in found:
            figure.draw_without_rendering()
    return found


def luminance(color: object) -> float:
    """As WCAG defines it."""
    channels = np.array(to_rgb(color))  # type: ignore[arg-type]
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def test_numbers_have_the_contrast_of_readable_text(figures: list[Figure]) -> None:
    for axes in (axes for figure in figures for axes in figure.axes):
        (image,) = axes.images
        colours = image.cmap(image.norm(np.asarray(image.get_array())))
        for text in axes.texts:
            if text.get_text().strip() and text.get_transform() == axes.transData:
                column, row = (round(place) for place in text.get_position())
                contrast = (luminance(colours[row, column][:3]) + 0.05) / (luminance(text.get_color()) + 0.05)
                assert contrast >= 4.5, text.get_text()


def test_no_text_covers_another_at_any_width(figures: list[Figure]) -> None:
    for figure in figures:
        boxes = [box.padded(-0.5) for _, box in texts(figure).values()]
        assert [box for at, box in enumerate(boxes) if box.count_overlaps(boxes[at + 1 :])] == []


def test_all_text_lies_on_the_figure(figures: list[Figure]) -> None:
    for figure in figures:
        width, height = figure.bbox.size
        for name, (_, box) in texts(figure).items():
            assert box.x0 >= -1, name
            assert box.y0 >= -1, name
            assert box.x1 <= width + 1, name
            assert box.y1 <= height + 1, name
