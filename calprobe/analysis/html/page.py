"""The page as one HTML file: templates filled, style and script inside, and a policy that lets nothing else load."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Self

import jinja2
from markupsafe import Markup

from calprobe.analysis.html.views import PageView
from calprobe.analysis.palette import COLOURS, DARK_COLOURS, MAX_SERIES

# A dash for each place in the palette, so that lines differ in more than colour; the first is solid.
DASHES = ("", "7 2.5", "2 2", "8 2 2 2", "4.5 2", "8 2 2 2 2 2", "12 3", "2 4")


@dataclass(frozen=True, slots=True)
class Inline:
    """What stands in the page itself, and the hash by which the page's policy knows it."""

    text: Markup
    hash: str

    @classmethod
    def of(cls, text: str) -> Self:
        """A style sheet or a script of our own. It is not escaped: nothing that anyone else wrote may be in it."""
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        return cls(Markup(text), f"sha256-{digest}")


def render(template: str, page: PageView) -> str:
    """The page's HTML. Equal views give equal bytes; what is not valid Unicode is written as \\udcff."""
    from calprobe import __version__

    style, script = Inline.of(stylesheet()), Inline.of(_packaged("page.js"))
    html = _environment().get_template(template).render(page=page, style=style, script=script, version=__version__)
    return html.encode("utf-8", "backslashreplace").decode("utf-8")


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


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("calprobe.analysis.html", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _packaged(name: str) -> str:
    return files("calprobe.analysis.html").joinpath("pages", name).read_text("utf-8")
