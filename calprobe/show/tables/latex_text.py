"""Any text as LaTeX that pdflatex sets, whatever the document loads beside it.

Kept instead of pylatexenc: its commands need packages, and without them pdflatex stops at several hundred characters.
"""

from __future__ import annotations

import re
import unicodedata

from calprobe.show.tables.cell_text import one_line

_ASCII = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",  # the old text encoding OT1 has other signs at these three places
    ">": "$>$",
    "|": "$|$",
    '"': "''",
    "`": r"\textasciigrave{}",
    "[": "{[}",  # after the end of a row, one would begin an option of it
    "]": "{]}",
    "*": "{*}",
}
# Signs that LaTeX has without a package.
_SIGNS = {
    "\u00a0": "~",
    "–": "--",
    "—": "---",
    "‐": "-",
    "‑": "-",
    "−": "$-$",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "∞": r"$\infty$",
    "§": r"\S{}",
    "©": r"\copyright{}",
    "£": r"\pounds{}",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "å": r"\aa{}",
    "Å": r"\AA{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
    "▁": r"\_",  # a tokenizer's blank
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "δ": r"$\delta$",
    "ε": r"$\varepsilon$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "µ": r"$\mu$",
    "π": r"$\pi$",
    "ρ": r"$\rho$",
    "σ": r"$\sigma$",
    "τ": r"$\tau$",
}
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0323": "d",
    "\u0327": "c",
    "\u0331": "b",
}
# Pairs that TeX would draw together into another sign: --, ,, '' and the like.
_LIGATURES = re.compile(r"(?<=-)(?=-)|(?<=,)(?=,)|(?<=')(?=')|(?<=[?!])(?=`)")


def latex_text(text: str) -> str:
    r"""The text such that pdflatex shows it as it is, on one line, in any text encoding.

    Accented letters and common signs become commands. A character that LaTeX does not have without a package, such as
    one of another script or an emoji, is shown by its number.

    >>> print(latex_text("runs/a_b: 50 % ≥ é"), latex_text("א"))
    runs/a\_b: 50 \% $\geq$ \'{e} {[}U+05D0{]}
    """
    separate = _LIGATURES.sub("\0", one_line(text))
    return "".join(map(_character, unicodedata.normalize("NFC", separate)))


def _character(character: str) -> str:
    if character == "\0":
        return "{}"
    spelling = _ASCII.get(character) or _SIGNS.get(character)
    if spelling is not None:
        return spelling
    if character.isascii():
        return character
    characters = unicodedata.normalize("NFD", character)
    if len(characters) == 2 and characters[0].isascii() and characters[0].isalpha() and characters[1] in _ACCENTS:
        return rf"\{_ACCENTS[characters[1]]}{{{characters[0]}}}"
    return f"{{[}}U+{ord(character):04X}{{]}}"
