"""The page as one HTML file: the template filled, style and script inside, and a policy that lets nothing else load."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from calprobe.messages import in_page
from calprobe.show.html.definitions import definition_key
from calprobe.show.html.views import Page
from calprobe.show.palette import COLOURS, DARK_COLOURS, MAX_SERIES
from calprobe.show.tables import Cell, Table, best_cells, value_of
from calprobe.show.tables.cell_text import cell_interval, cell_text
from calprobe.show.tables.types import headings

# A dash for each place in the palette, so that lines differ in more than colour; the first is solid.
DASHES = ("", "7 2.5", "2 2", "8 2 2 2", "4.5 2", "8 2 2 2 2 2", "12 3", "2 4")
UNDEFINED = "–"


def render(page: Page) -> str:
    """The page's HTML. Equal pages give equal bytes; what is not valid Unicode is written as \\udcff."""
    return filled("page.html.j2", "page.js", page=page)


def filled(template: str, script: str, **values: Any) -> str:
    """A template of this package with its script and the style sheet inside. Values are escaped, and `in_page`."""
    from calprobe.version import __version__

    # Neither of the two is escaped: nothing that anyone else wrote may be in them.
    inside = {"style": Markup(stylesheet()), "script": Markup(_packaged(script)), "version": __version__}
    html = _environment().get_template(template).render(**inside, **values)
    return in_page(html.encode("utf-8", "backslashreplace").decode("utf-8"))


def stylesheet() -> str:
    """The page's style sheet, with the palette's colours and the rules by which a legend hides a series."""
    series = range(MAX_SERIES)
    colours = zip(series, COLOURS, DARK_COLOURS, strict=True)
    variables = " ".join(f"--c{place}: light-dark({light}, {dark});" for place, light, dark in colours)
    rules = [f":root {{ {variables} }}"]
    for place, dash in zip(series, DASHES, strict=True):
        rules.append(f".s{place} {{ --c: var(--c{place}); }}")
        rules.append(f"figure:has(.t{place}:not(:checked)) svg .s{place} {{ display: none; }}")
        if dash:
            rules.append(f".s{place} .line {{ stroke-dasharray: {dash}; }}")
    return "\n".join([*rules, _packaged("style.css")])


def digest(text: str) -> str:
    """The hash by which the page's policy knows what stands in the page itself."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def value_text(cell: Cell) -> str:
    """A cell as it is printed; a dash for what is undefined or not there."""
    value = value_of(cell)
    return UNDEFINED if cell is None or (value is not None and math.isnan(value)) else cell_text(cell)


def breakable(text: str) -> Markup:
    """The text, which may go on in a new line after an underscore.

    >>> breakable("average_min <b>")
    Markup('average_<wbr>min &lt;b&gt;')
    """
    return escape(text).replace("_", Markup("_<wbr>"))


def word_columns(table: Table) -> frozenset[int]:
    """The places of the columns that have words in them, which are sorted as text."""
    return frozenset(place for row in table.rows for place, cell in enumerate(row.cells) if _wordy(cell))


def labels_repeat(table: Table) -> bool:
    """Whether rows of different groups have one label, so that a sorted row has to say which group it is of."""
    labels = [row.label for row in table.rows if not row.of]
    return len(set(labels)) < len(labels)


def _wordy(cell: Cell) -> bool:
    """Whether a cell is text that is no number."""
    return isinstance(cell, str) and re.fullmatch(r"[-+]?[\d.,]+", cell) is None


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("calprobe.show.html", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    of_tables = (
        best_cells,
        breakable,
        cell_interval,
        definition_key,
        headings,
        labels_repeat,
        value_text,
        word_columns,
    )
    environment.globals |= {function.__name__: function for function in (digest, *of_tables)}
    return environment


def _packaged(name: str) -> str:
    return files("calprobe.show.html").joinpath("pages", name).read_text("utf-8")
