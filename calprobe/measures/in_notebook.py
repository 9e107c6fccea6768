"""Results in a notebook: their tables in the place of a line of text."""

from __future__ import annotations

from importlib import import_module


class InNotebook:
    """A result that a notebook shows as the tables of its command."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The first look that a terminal has, as HTML."""
        # Tables are made of results and know them, so a result can only ask for its own by name.
        html: str = import_module("calprobe.presentation.present_results").html_of(self)
        return html
