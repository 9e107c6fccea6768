"""What `calprobe sweep --on ray` is told: the options `--ray-..`, and the engine that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calprobe.cli.arguments import Number

if TYPE_CHECKING:
    from calprobe.sweep import Engine

Command = TypeVar("Command", bound=Callable[..., Any])

_MOST_CPUS = 1024  # of a node

_OPTIONS = (
    click.option(
        "--ray-address",
        metavar="ADDRESS",
        help="Ray: the cluster, as auto, HOST:PORT or ray://HOST:PORT.  [default: RAY_ADDRESS; without it, one that is "
        "started on this machine]",
    ),
    click.option(
        "--ray-cpus",
        type=Number(1, _MOST_CPUS),
        metavar="N",
        help="Ray: cores of a job.  [default: those of the smallest node, or of its GPUs' share, at most 8]",
    ),
)


def ray_options(command: Command) -> Command:
    """The options of `--on ray`; their parameters begin with `ray_`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def engine_on_ray(jobs: int | None, given: Mapping[str, Any]) -> Engine:
    """The engine; raises CalprobeError without the package, or without a cluster at the address.

    Args:
        jobs: at once; None: as many as there is room for.
        given: the parameters of `ray_options`, by name.
    """
    from calprobe.sweep.on_ray import connected

    return connected(given["ray_address"], jobs=jobs, cpus=given["ray_cpus"])
