"""An entry of a prompt file, with its place, so that each error names file, line and key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from calprobe.messages import did_you_mean
from calprobe.probes.json_files import JsonObject
from calprobe.prompts.placeholders import placeholders_of

_ABSENT = object()
_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True, slots=True)
class Entry:
    """A value of the file, and the keys that lead to it."""

    source: JsonObject
    keys: tuple[str, ...]
    value: Any

    @classmethod
    def of_file(cls, source: JsonObject) -> Entry:
        """The file's object."""
        return cls(source, (), source.content)

    @property
    def given(self) -> bool:
        """Whether the file has it."""
        return self.value is not _ABSENT

    def __iter__(self) -> Iterator[str]:
        """The keys of the entry, which is an object."""
        return iter(self._object())

    def child(self, key: str, *, needed: bool = False) -> Entry:
        """The entry below that key; an error if it is needed and not there."""
        entry = Entry(self.source, (*self.keys, key), self._object().get(key, _ABSENT))
        if needed and not entry.given:
            self.fail(f"lacks {key!r}; add it")
        return entry

    def one_of(self, key: str, *others: str) -> Entry:
        """The entry below one of several names of the same thing; an error if two are there."""
        entries = [entry for name in (key, *others) if (entry := self.child(name)).given]
        if len(entries) > 1:
            entries[1].fail(f"is another name of {entries[0].keys[-1]!r}; keep one of them")
        return entries[0] if entries else self.child(key)

    def fail(self, what: str) -> NoReturn:
        """Raise ProbeFormatError with file, line and key; `what` begins behind the key."""
        self.source.fail(f"{'.'.join(self.keys) or 'the file'} {what}", *self.keys)

    def check_keys(self, known: Sequence[str]) -> None:
        """An error for the first key that is not one of the known."""
        for key in self:
            if key not in known:
                self.child(key).fail(f"is no key; known are {', '.join(known)}{did_you_mean(key, known)}")

    def check_name(self, name: str) -> None:
        """An error unless options and tables can hold the name."""
        if not name.strip() or name != name.strip() or "," in name or not name.isprintable():
            self.fail("is a name with a comma, a line break, or blanks around it; choose another")

    def check_placeholders(self, text: str, known: Sequence[str], needed: Sequence[str] = ()) -> None:
        """An error for a placeholder that is not one of the known, or for one that is needed and not there."""
        names = placeholders_of(text)
        for name in names:
            if name not in known:
                may = (
                    f"known are {', '.join(f'{{{placeholder}}}' for placeholder in known)}"
                    if known
                    else "there are none here"
                )
                self.fail(f"has the unknown placeholder {{{name}}}; {may}, and {{{{{name}}}}} is the text {{{name}}}")
        if lacking := [name for name in needed if name not in names]:
            self.fail(f"lacks {' and '.join(f'{{{name}}}' for name in lacking)}; add what is lacking")

    def text(self, key: str, default: str = "") -> str:
        """The text below that key."""
        entry = self.child(key)
        return entry.text_value() if entry.given else default

    def text_value(self) -> str:
        """The entry's text; empty where it is not given."""
        if not self.given:
            return ""
        if not isinstance(self.value, str):
            self.fail(f"must be a text; got {_shown(self.value)}")
        return self.value

    def choice(self, key: str, words: Sequence[_Word], default: _Word) -> _Word:
        """One of some words below that key."""
        text = self.text(key, default)
        if text not in words:
            self.child(key).fail(f"must be one of {', '.join(words)}; got {text!r}{did_you_mean(text, words)}")
        return next(word for word in words if word == text)

    def flag(self, key: str, default: bool) -> bool:
        """True or false below that key."""
        entry = self.child(key)
        if entry.given and not isinstance(entry.value, bool):
            entry.fail(f"must be true or false; got {_shown(entry.value)}")
        return bool(entry.value) if entry.given else default

    def count(self, key: str, default: int) -> int:
        """A whole number of at least 1 below that key."""
        entry = self.child(key)
        return entry.count_value() if entry.given else default

    def count_value(self) -> int:
        """The entry's whole number of at least 1."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 1:
            self.fail(f"must be a whole number of at least 1; got {_shown(self.value)}")
        return self.value

    def families(self, names: Sequence[str], noun: str) -> dict[str, tuple[str, ...]]:
        """Lists of two or more of these names, by names of their own; empty where the entry is not given."""
        families: dict[str, tuple[str, ...]] = {}
        for name in self if self.given else ():
            family = self.child(name)
            family.check_name(name)
            members = family.value
            if not isinstance(members, list) or len(set(map(str, members)) & set(names)) < max(2, len(members)):
                family.fail(f"must be a list of two or more of the {noun} {', '.join(names)}, each once")
            families[name] = tuple(map(str, members))
        return families

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.fail(f"must be an object {{..}}; got {_shown(self.value)}")
        return self.value


def _shown(value: object) -> str:
    names = {list: "a list", dict: "an object", type(None): "null", bool: "true or false", str: "a text"}
    return names.get(type(value), repr(value))
