"""How many GPUs of one machine a job takes."""

from __future__ import annotations

import math

from calprobe.sweep.order import Planned

_CARD_SHARE = 0.8  # of a card's memory that weights may fill; batches take the rest


def gpus_of(planned: Planned, gpus: int, card_bytes: int | None) -> int:
    """As many as vLLM is told to share a model between, or as a model with a device map fills; one otherwise.

    None with `device = "cpu"` and with a server elsewhere.

    Args:
        planned: the job.
        gpus: of a machine, above 0; all of them are surely enough for what fits on one at all.
        card_bytes: memory of its smallest card; None: not known.
    """
    options = planned.job.options
    if "base-url" in options or str(options.get("device", "auto")) == "cpu":
        return 0
    told = int(options.get("tensor-parallel", 1)) * int(options.get("pipeline-parallel", 1))
    if "device-map" not in options or told > 1:
        return told
    return gpus if not card_bytes else max(1, math.ceil(planned.bytes / (_CARD_SHARE * card_bytes)))
