"""The colours of series, one palette for figures on paper and on a page, and the series that each belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calprobe.confidence import Headline, headline

# Okabe and Ito's eight without yellow, which white paper swallows, and with a grey in its place. Neighbours differ in
# lightness, so that two or three series stay apart in grey; more differ by marker and dash.
BLACK = "#000000"
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", BLACK, "#56b4e9", "#aa4499", "#777777")
# The same hues on a dark ground, where the dark ones would not be seen.
DARK_COLOURS = ("#5aaee0", "#f0b13c", "#2fc79c", "#f58b4c", "#f2f2f2", "#9ad4f7", "#df8fd2", "#a8a8a8")
MAX_SERIES = len(COLOURS)  # in one panel

# The estimators that most figures have keep their style from one figure to the next.
_OWN_PLACE: Mapping[str, int] = {name: place for place, name in enumerate(headline(Headline.PAGE))}


def series_places(names: Sequence[str]) -> dict[str, int]:
    """A place in the palette for each name: an estimator's own where it has one, else the first that is free.

    More names than places begin the places anew.

    >>> series_places(["margin", "mixture"])
    {'margin': 1, 'mixture': 0}
    """
    places: dict[str, int] = {}
    for name in names:
        if (place := _OWN_PLACE.get(name)) is not None and place not in places.values():
            places[name] = place
    free = [place for place in range(MAX_SERIES) if place not in places.values()] or list(range(MAX_SERIES))
    unplaced = [name for name in names if name not in places]
    return places | {name: free[at] if at < len(free) else at % MAX_SERIES for at, name in enumerate(unplaced)}
