"""Data sets of the hub by id, `hf:OWNER/NAME[@REVISION][:CONFIG[:SPLIT]]`, read by the library `datasets`.

A folder of data files that the library reads takes the place of OWNER/NAME. Nothing of calprobe's is stored: the
library keeps what it downloads in its own cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calprobe.errors import DataMissingError, UsageError
from calprobe.messages import without_secrets
from calprobe.questions.question_rows import NAMES, Row

PREFIX = "hf:"
_ASKED = ("test", "validation")  # splits that are asked, where none is named and there are several
_SHOWN = ("dev", "train", "validation")  # splits that examples come from
_FORM = re.compile(r"hf:(?P<id>[^:@]+)(?:@(?P<revision>[^:]+))?(?::(?P<config>[^:]*))?(?::(?P<split>[^:]+))?")


@dataclass(frozen=True, slots=True)
class HubSet:
    """A data set of the hub as a user names it."""

    id: str  # OWNER/NAME, or a folder
    revision: str | None = None  # a commit, branch or tag; None: the newest
    config: str | None = None
    split: str | None = None

    @property
    def name(self) -> str:
        """The name of the question set: OWNER-NAME, or OWNER-NAME-CONFIG.

        >>> hub_set("hf:cais/mmlu:anatomy").name
        'cais-mmlu-anatomy'
        """
        parts = (*self.id.strip("/.").split("/")[-2:], self.config or "")
        return "-".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class HubRows:
    """The splits of a data set; rows are read when they are asked for."""

    splits: tuple[str, ...]
    revision: str | None  # the commit; None: not known
    rows_of: Callable[[str], list[Row]]

    def asked(self, wanted: str | None, name: str) -> str:
        """The split that is asked. Raises UsageError for one that is not there, and where there is a choice to make."""
        usual = next((split for split in _ASKED if split in self.splits), None)
        split = wanted or usual or (self.splits[0] if len(self.splits) == 1 else None)
        if split in self.splits:
            return str(split)
        problem = "no usual split" if wanted is None else f"no split {wanted!r}"
        raise UsageError(f"{name}: {problem}; it has {', '.join(self.splits)}: choose by --split, or {name}::SPLIT")

    def shown(self, asked: str) -> str | None:
        """The split that examples come from; None: there is no other one of these."""
        return next((split for split in _SHOWN if split in self.splits and split != asked), None)


def hub_set(text: str) -> HubSet:
    """What `hf:..` names. Raises UsageError if it names nothing.

    >>> hub_set("hf:cais/mmlu::dev")
    HubSet(id='cais/mmlu', revision=None, config=None, split='dev')
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"{text}: a data set of the hub is named hf:OWNER/NAME, hf:OWNER/NAME:CONFIG or :CONFIG:SPLIT")
    return HubSet(match["id"], match["revision"], match["config"] or None, match["split"])


def read_hub(hub: HubSet) -> HubRows:
    """The splits of a data set.

    Raises:
        UsageError: the library is not installed, or the data set has several configurations and none is named.
        DataMissingError: it cannot be had; says why.
    """
    try:
        import datasets
    except ImportError as error:
        raise UsageError(f"{PREFIX}{hub.id} needs the package datasets: pip install 'calprobe[datasets]'") from error
    try:
        loaded: Mapping[str, Any] = datasets.load_dataset(hub.id, hub.config, revision=hub.revision)
    except Exception as error:  # the library raises what its loaders and the network raise
        why = without_secrets(" ".join(str(error).split()))[:300] or type(error).__name__
        if isinstance(error, ValueError) and "onfig" in why:
            raise UsageError(f"{PREFIX}{hub.id}: {why}\nname one: {PREFIX}{hub.id}:CONFIG") from error
        raise DataMissingError(f"{PREFIX}{hub.id} cannot be had: {why}") from error

    def rows_of(split: str) -> list[Row]:
        classes = _class_names(loaded[split])
        return [
            Row({**content, **classes}, f"{PREFIX}{hub.id}: {split}, row {number}", number)
            for number, content in enumerate(loaded[split])
        ]

    return HubRows(tuple(map(str, loaded)), _commit(loaded.values()), rows_of)


def _class_names(split: Any) -> dict[str, list[str]]:
    """Of each column of class labels, which are numbers in rows: the names of its classes, as a column COLUMN.names."""
    features = getattr(split, "features", None) or {}
    return {f"{column}{NAMES}": list(names) for column, f in features.items() if (names := getattr(f, "names", None))}


def _commit(splits: Iterable[Any]) -> str | None:
    """The commit that the files were downloaded at, as their addresses have it."""
    for split in splits:
        addresses: Sequence[str] = tuple(getattr(split.info, "download_checksums", None) or ())
        for address in addresses:
            if match := re.search(r"@([0-9a-f]{40})/", address):
                return match[1]
    return None
