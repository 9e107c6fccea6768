"""The texts of a figure with their boxes, measured with the renderer."""

from __future__ import annotations

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox


def texts(figure: Figure) -> dict[str, tuple[Text, Bbox]]:
    """Every text that is drawn, with its box."""
    hidden = {id(text) for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for text in beyond(axis)}
    drawn = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    shown = [text for text in drawn if id(text) not in hidden]
    return {f"{at}: {text.get_text()!r}": (text, text.get_window_extent()) for at, text in enumerate(shown)}


def beyond(axis: Axis) -> list[Text]:
    """Labels of ticks outside an axis's limits: they exist, and are not drawn."""
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [text for tick in ticks if not low <= tick.get_loc() <= high for text in (tick.label1, tick.label2)]


def overlap(one: tuple[Text, Bbox], two: tuple[Text, Bbox]) -> bool:
    """Slanted texts have boxes that stand over each other's corners: side by side along the axis is enough for them."""
    (first, a), (second, b) = one, two
    if first.get_rotation() % 90 and second.get_rotation() % 90:
        return abs(a.x1 - b.x1) < first.get_fontsize() and abs(a.y1 - b.y1) < first.get_fontsize()
    shrunk = -0.5  # pixels, less than the blank around letters
    return a.padded(shrunk).overlaps(b.padded(shrunk))
