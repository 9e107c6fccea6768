"""Options of the commands that run a model into a run folder, each declared once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from calprobe.cli.option_kinds import Group, option
from calprobe.errors import UsageError
from calprobe.words import Dtype

if TYPE_CHECKING:
    from calprobe.models import LoadOptions

Command = TypeVar("Command", bound=Callable[..., Any])

# In the order of the help text; their parameters are fields of `calprobe.models.LoadOptions`.
_LOADING = (
    option(
        "--dtype",
        kinds=("transformers", "vllm"),
        group=Group.LOADING,
        type=click.Choice(get_args(Dtype)),
        default="auto",
        show_default=True,
        help="auto: the checkpoint's own on a GPU (float16 for bfloat16 on T4, RTX 20), float32 on a CPU.",
    ),
    option(
        "--device",
        kinds=("transformers",),
        group=Group.LOADING,
        default="auto",
        show_default=True,
        metavar="auto|cpu|cuda|cuda:N",
        help="The device that computes; auto: the first GPU, else the CPU. AMD's GPUs (ROCm) are cuda, too.",
    ),
    option(
        "--device-map",
        kinds=("transformers",),
        group=Group.LOADING,
        metavar="auto",
        help="Spread a large model over devices (accelerate).",
    ),
    option(
        "--revision",
        kinds=("transformers", "vllm"),
        group=Group.LOADING,
        metavar="R",
        help="Branch, tag or commit of a hub id.",
    ),
    option(
        "--allow-pickle",
        kinds=("transformers", "vllm"),
        group=Group.LOADING,
        is_flag=True,
        help="Read .bin checkpoints; they can run code.",
    ),
    option(
        "--trust-remote-code",
        kinds=("transformers", "vllm"),
        group=Group.LOADING,
        is_flag=True,
        help="Run Python code from the model's repository.",
    ),
)
LOADING = ("dtype", "device", "device_map", "revision", "allow_pickle", "trust_remote_code")  # the parameters

_DEVICE = re.compile(r"auto|(cpu|cuda)(:[0-9]+)?")

quiet_option = option("--quiet", group=Group.RUN, is_flag=True, help="Show no progress on stderr.")


def load_options(command: Command) -> Command:
    """How a model is loaded; the command gets the parameters in LOADING."""
    for declaration in reversed(_LOADING):
        command = declaration(command)
    return command


def loading_options(values: Mapping[str, Any], *, quiet: bool) -> LoadOptions:
    """How models are loaded into this process, from the command's parameters.

    Raises UsageError for what is wrong on any machine, such as a name that no device has. Whether the device is there
    is known where the model is loaded: a dry run may be made elsewhere.
    """
    from calprobe.models import LoadOptions

    if not _DEVICE.fullmatch(device := values["device"]):
        raise UsageError(f"--device {device!r} is not one of auto, cpu, cuda, cuda:N")
    names = (*LOADING, "precision") if "precision" in values else LOADING
    return LoadOptions(**{name: values[name] for name in names}, quiet=quiet)


def out_option(default: str) -> Callable[[Command], Command]:
    """`--out`, the run folder; `default` says where it is without the option."""
    return option(
        "--out",
        group=Group.RUN,
        type=click.Path(path_type=Path),
        metavar="RUN",
        help=f"Run folder.  [default: {default}]",
    )


def resume_option(results: str) -> Callable[[Command], Command]:
    """`--resume/--no-resume`; `results` are what the run has: scores, replies."""
    return option(
        "--resume/--no-resume",
        group=Group.RUN,
        default=True,
        show_default=True,
        help=f"Resume the run in RUN; --no-resume deletes its {results} and starts over.",
    )
