"""Labels as patterns: where in a text a label stands that could be an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

# No letter or digit on either side, no part of a compound (vitamin-C), a possession (A's), a number or an abbreviation.
# Chinese writes no space: a letter may follow "is", "answer", "choose" and "option".
BEFORE = r"(?<![^\W_是为為选選择擇案项項])(?<![^\W_]-)(?<![0-9][.,])"
AFTER = r"(?![^\W_])(?!['’][^\W\d_])(?!-[^\W_])(?![.,][0-9])(?!\.[A-Z]\b)(?![+#])(?![^\S\n]?%)"
# "A" and "I" are words of prose where a word follows, except one that can follow an answer.
_NO_PROSE = r"(?![^\S\n]{1,3}(?!(?:because|since|as|for|which|due|and|or|but|with|is|seems)\b|not[^\S\n][A-Z]\b)[a-z])"
_PROSE_LABELS = frozenset("AIai")


@dataclass(frozen=True)
class Labels:
    """The labels of a question, and the sources of patterns that find them.

    `strict` finds a label that is one letter in its own case; `loose` finds it in either. Labels of more characters,
    which are words, are found in either case by both.
    """

    names: tuple[str, ...]
    strict: str
    loose: str

    def name_of(self, text: str) -> str:
        """The label that was found as this text."""
        for same in (_as_is, _spaced, _folded):
            for name in self.names:
                if same(name) == same(text):
                    return name
        return next(name for name in self.names if re.fullmatch(_any_case(name), text))

    def are_same(self, one: str, other: str) -> bool:
        """Whether two texts are the same label."""
        return one == other or self.name_of(one) == self.name_of(other)

    @property
    def prefix(self) -> re.Pattern[str]:
        """A label, whatever follows: the pattern `first_char` begins with."""
        return _compiled("|".join(map(_own_case, _longest_first(self.names))), 0)

    @property
    def alone(self) -> re.Pattern[str]:
        """A label on a line of its own, with punctuation around it."""
        return self._plain(r"^(?:[^\w\n]|_){0,12}<label>(?:[^\w\n]|_){0,12}$", re.MULTILINE)

    @property
    def standing(self) -> re.Pattern[str]:
        """A label with no letter or digit on either side."""
        return self._plain(r"(?<![^\W_])<label>(?![^\W_])")

    def _plain(self, source: str, flags: int = 0) -> re.Pattern[str]:
        alternatives = "|".join(map(_own_case, _longest_first(self.names)))
        return _compiled(source.replace("<label>", f"(?P<label>{alternatives})"), flags)

    @property
    def are_digits(self) -> bool:
        """Whether a label is a number, which stands in a text for many reasons."""
        return any(name.isdigit() for name in self.names)

    def pattern(self, source: str, flags: int = 0) -> re.Pattern[str]:
        """The pattern, with `<strict>` and `<loose>` in its source replaced by a group of the name `label`."""
        return _compiled(source.replace("<strict>", self.strict).replace("<loose>", self.loose), flags)


@lru_cache(maxsize=256)
def labels_of(names: tuple[str, ...]) -> Labels:
    """Labels of a question, longest first within patterns, so that `AB` is not read as `A`."""
    ordered = _longest_first(names)
    return Labels(names, _group(ordered, _own_case), _group(ordered, _any_case))


@lru_cache(maxsize=1024)
def _compiled(source: str, flags: int) -> re.Pattern[str]:
    return re.compile(source, flags)


def _group(names: Sequence[str], form: Callable[[str], str]) -> str:
    alternatives = "|".join(form(name) + (_NO_PROSE if name in _PROSE_LABELS else "") for name in names)
    return f"{BEFORE}(?P<label>{alternatives}){AFTER}"


def _longest_first(names: Sequence[str]) -> list[str]:
    return sorted(names, key=len, reverse=True)


def _own_case(name: str) -> str:
    return re.escape(name) if len(name) == 1 else _any_case(name)


def _any_case(name: str) -> str:
    if len(name) == 1:  # both cases, without letters that Unicode folds into them
        return (
            "["
            + "".join(
                re.escape(letter) for letter in dict.fromkeys((name, name.upper(), name.lower())) if len(letter) == 1
            )
            + "]"
        )
    return f"(?i:{_spaces(name)})"


def _spaces(name: str) -> str:
    return r"[^\S\n]{1,3}".join(map(re.escape, name.split())) or re.escape(name)


def _as_is(text: str) -> str:
    return text


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _folded(text: str) -> str:
    return _spaced(text).casefold()
