"""Figures as files: the same bytes from the same numbers, there complete or not at all."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calprobe.errors import UsageError
from calprobe.runs.atomic import named_file
from calprobe.show.plots.style import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DPI = 200

# What a format writes of the moment, the machine or matplotlib's version is left out.
_OPTIONS: dict[str, dict[str, Any]] = {
    ".png": {"format": "png", "dpi": PNG_DPI, "metadata": {"Software": None}},
    ".svg": {"format": "svg", "metadata": {"Date": None, "Creator": None}},
    ".pdf": {"format": "pdf", "metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}
FIGURE_SUFFIXES = tuple(_OPTIONS)


def check_figure_path(path: Path) -> None:
    """Raises UsageError unless the suffix names a format that figures have."""
    if path.suffix.lower() not in _OPTIONS:
        raise UsageError(f"{path}: figures are written as {', '.join(FIGURE_SUFFIXES)}; name one of these suffixes")


def save(figure: Figure, path: Path, style: Path | None = None) -> None:
    """Write a figure of this package to `path`, in the format that the suffix names: .png, .svg or .pdf.

    `style` is the style file that the figure was drawn with, if any.

    Equal figures give equal bytes, in every process. A folder that is not there is made; an existing file is replaced,
    atomically.

    Raises:
        UsageError: another suffix. CalprobeError: the file cannot be written.
    """
    check_figure_path(path)
    made = io.BytesIO()  # where a disk fills up, matplotlib hides the error of a PDF behind another
    with drawing(style):
        figure.savefig(made, **_OPTIONS[path.suffix.lower()])
    with named_file(path, "name another place") as temporary:
        temporary.write_bytes(made.getvalue())
