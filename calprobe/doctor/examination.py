"""Every look, in the order of the report; a look that fails becomes a check that says so."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from calprobe import __version__
from calprobe.doctor.diagnosis import Check, Diagnosis, Look
from calprobe.doctor.installation import PLACE_LOOKS, PROBE_LOOKS, VERSION_LOOKS
from calprobe.doctor.machine import DEVICE_LOOKS, KERNEL_LOOKS, MACHINE_LOOKS
from calprobe.doctor.scoring import SELF_TESTS, look_at_model
from calprobe.errors import CalprobeError

Looks = Sequence[tuple[str, Look]]
GROUPS: Sequence[tuple[str, Looks]] = (
    ("versions", VERSION_LOOKS),
    ("machine", MACHINE_LOOKS),
    ("gpu", DEVICE_LOOKS),
    ("kernels", KERNEL_LOOKS),
    ("places", PLACE_LOOKS),
    ("probes", PROBE_LOOKS),
    ("self-test", SELF_TESTS),
)


def examine(model: str | None = None, only: Collection[str] | None = None) -> Diagnosis:
    """Look at the installation, the machine and the folders, score a few statements, and return what was found.

    Needs no network and leaves nothing behind. Raises nothing: what goes wrong is a check with the state `fail` or
    `note`.

    Args:
        model: loaded as `calprobe score` would load it, and its paths are checked; None: no model.
        only: names of the groups to look at; None: all.
    """
    groups = [group for group in GROUPS if only is None or group[0] in only]
    if model is not None:
        groups.append(("model", (("model", partial(look_at_model, model)),)))
    found = (
        replace(check, group=group) for group, looks in groups for name, look in looks for check in attempt(name, look)
    )
    return Diagnosis(__version__, tuple(found))


def attempt(name: str, look: Look) -> Iterator[Check]:
    """The checks of one look with the time that each took, and a failed one under its name if it breaks off."""
    started = time.perf_counter()
    try:
        seen = look()
        for check in [seen] if isinstance(seen, Check) else seen:
            yield replace(check, seconds=round(time.perf_counter() - started, 3))
            started = time.perf_counter()
    except Exception as error:  # noqa: BLE001 - whatever is broken here is what the doctor is asked to tell
        value, fix = described(error)
        yield Check(name, "fail", value, fix)


def described(error: BaseException) -> tuple[str, str]:
    """What an error says first, and its fix: calprobe's own errors have one, others have their type in front."""
    first, *rest = str(error).strip().splitlines() or [""]
    if isinstance(error, CalprobeError) and first:
        return first, " ".join(rest)
    return f"{type(error).__name__}: {first}" if first else type(error).__name__, ""
