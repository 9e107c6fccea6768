"""The record of a benchmark: a JSON file with the machine, what others did on it meanwhile, and the figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from peers.machine import PACKAGES, Company, machine


@contextmanager
def recording(device: str = "cpu", packages: Sequence[str] = PACKAGES) -> Iterator[dict[str, Any]]:
    """A record to be filled within: it begins with the machine, and gets what others used of it at the end."""
    company = Company()
    record: dict[str, Any] = {"machine": machine(device, packages)}
    yield record
    record["machine"]["others_used_cores"] = company.cores()


def write_record(record: Any, out: Path | None) -> None:
    """Write one record or several; None: nowhere."""
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
