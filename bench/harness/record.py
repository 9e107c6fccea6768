"""The record of a benchmark: a JSON file with the machine, what others did on it meanwhile, and the figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from calprobe.doctor.diagnosis import publishable
from harness.machine import PACKAGES, Company, machine


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


def fill_report(report: dict[str, Any], parts: Mapping[str, Callable[[], Any]], out: Path) -> int:
    """Add each part's outcome to `report["parts"]`, print it, and write the report anew; 1 if a part failed, else 0.

    The report is what `calprobe doctor --report` writes, or empty. A part that fails says why and does not end the
    others: they are worth their time on a lent card.
    """
    outcomes = report.setdefault("parts", {})
    for name, part in parts.items():
        outcomes[name] = publishable(outcome(part))
        print(f"{name}: {json.dumps(outcomes[name])[:300]}", flush=True)
        write_record(report, out)
    return int(any(_failed(outcomes[name]) for name in parts))


def outcome(part: Callable[[], Any]) -> Any:
    """What the part returns, or why it failed."""
    try:
        with torch.inference_mode():
            return part()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the outcome
        return {"failed": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
    finally:
        torch.cuda.empty_cache()


def _failed(outcome: Any) -> bool:
    """Whether it says so, or holds a command that did."""
    if not isinstance(outcome, Mapping):
        return False
    return "failed" in outcome or bool(outcome.get("exit")) or any(map(_failed, outcome.values()))
