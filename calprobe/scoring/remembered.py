"""Batch budgets that were found on this machine, kept in the cache folder: the next run of a model takes the same."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from calprobe.folders import cache_root
from calprobe.models import LoadedModel
from calprobe.models.memory import total_bytes
from calprobe.runs import atomic
from calprobe.scoring.options import Path as ScoringPath
from calprobe.scoring.record import device_name

log = logging.getLogger(__name__)

_FILE_NAME = "budgets.json"
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class RememberedBudget:
    """The budget of one model, path and width of rows on one device.

    What cannot be read or written is as if it were not there: a lost budget is found again.
    """

    key: str

    @classmethod
    def of(cls, model: LoadedModel, path: ScoringPath, width: int) -> RememberedBudget:
        """The one for what is about to run."""
        n_parameters = sum(parameter.numel() for parameter in model.network.parameters())
        weights = f"{model.architecture}, {n_parameters} parameters, {model.dtype}, {model.attention}"
        return cls(f"{_machine(model)}; {weights}; {path}, rows of {width}")

    def recall(self) -> int | None:
        """The budget, in tokens; None if none was kept."""
        budget = _read().get(self.key)
        return budget if isinstance(budget, int) and not isinstance(budget, bool) and budget > 0 else None

    def keep(self, batch_tokens: int) -> None:
        """Keep that budget from now on."""
        file = budgets_file()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            atomic.write_text(file, json.dumps(_read() | {self.key: batch_tokens}, indent=1, sort_keys=True) + "\n")
        except OSError as error:
            log.debug("%s: budget not kept: %s", file, error)

    def lower(self, batch_tokens: int) -> None:
        """Keep that budget, unless a smaller one is kept already."""
        self.keep(min(batch_tokens, self.recall() or batch_tokens))


def budgets_file() -> Path:
    """Where budgets are kept, as JSON from key to tokens."""
    return cache_root() / _FILE_NAME


def _read() -> dict[str, object]:
    file = budgets_file()
    try:
        budgets = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.debug("%s: ignored: %s", file, error)
        return {}
    if isinstance(budgets, dict):
        return budgets
    log.debug("%s: ignored: not an object", file)
    return {}


def _machine(model: LoadedModel) -> str:
    """Each device that the model lies on, with its memory."""
    # Weights that are kept off the device ("meta") lie in no memory of their own.
    devices = {parameter.device for parameter in model.network.parameters() if not parameter.is_meta}
    shown = (f"{device_name(device)}, {total_bytes(device) // _MIB} MiB" for device in sorted(devices, key=str))
    return " + ".join(shown)
