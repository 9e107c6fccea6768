"""The page's figures of asked runs, each of the composition that paper has, too."""

from __future__ import annotations

from markupsafe import Markup

from calprobe.analysis.curves import (
    budget_figure,
    share_figure,
    size_figure,
)
from calprobe.analysis.curves import (
    grouped_boxes as boxes,
)
from calprobe.analysis.curves import (
    grouped_dots as dots,
)
from calprobe.analysis.curves import (
    stacked_shares as stacks,
)
from calprobe.analysis.curves.matrix_figure import Correlations, Matrix
from calprobe.analysis.html.panels import drawn, heat_map


def grouped_dots(own: dots.GroupedDots, label: str) -> Markup:
    """A dot for each series in each group; `label` says what the figure shows."""
    return drawn(dots.composed(own), label)


def stacked_shares(own: stacks.StackedShares) -> Markup:
    """A bar for each set or run, its parts side by side; the larger a value, the darker."""
    return drawn(stacks.composed(own), f"How often each value of {own.title} comes, by {own.of}.")


def grouped_boxes(own: boxes.GroupedBoxes) -> Markup:
    """A box between the quartiles for each series in each group, with the median in it."""
    return drawn(boxes.composed(own), f"{own.title} by {own.group}: quartiles, median and ends.")


def sizes(own: size_figure.SizePanel) -> Markup:
    """The spread of each model under each reader, against its number of parameters on an axis of powers of ten."""
    return drawn(size_figure.composed(own), f"Parameters and spread on {own.title}, by reader of answers.")


def budget(own: budget_figure.BudgetPanel) -> Markup:
    """The AUROC of each measure under each plan."""
    return drawn(budget_figure.composed(own), f"AUROC of each uncertainty by plan, {own.title}.")


def share(own: share_figure.SharePanel) -> Markup:
    """The share of the wording by number of samples, with lines at the exact shares."""
    return drawn(share_figure.composed(own), f"Share of the wording by number of samples, {own.title}.")


def matrix(own: Matrix) -> Markup:
    """A cell for each variant and set, the darker the nearer to 1, with its number."""
    return heat_map(own.cells, f"{own.title}, variants by sets.")


def correlations(own: Correlations) -> Markup:
    """A cell for each two prompts, the darker the farther from 0, of another colour below 0; columns by number."""
    return heat_map(own.cells, f"{own.of}.")
