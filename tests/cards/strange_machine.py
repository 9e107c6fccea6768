"""Runs calprobe's commands on a machine that a CPU build of torch is made to believe in; prints what it computed with.

As a program: `python strange_machine.py MACHINE ARGUMENT ..`, of which the arguments are a command's.
"""

from __future__ import annotations

import sys

import torch

from calprobe.cli import main

TOO_OLD = "The NVIDIA driver on your system is too old (found version 12040). Please update your GPU driver."


def old_driver() -> None:
    """A build of torch for a newer CUDA than the driver has."""

    def init() -> None:
        raise RuntimeError(TOO_OLD)

    torch.version.cuda = "13.0"
    torch.cuda.init = init


def any_machine() -> None:
    """As it is."""


def watch_products() -> set[str]:
    """How float32 products are made in layers that are called from now on."""
    seen: set[str] = set()

    def note(module: torch.nn.Module, given: object) -> None:
        seen.add(torch.get_float32_matmul_precision())

    torch.nn.modules.module.register_module_forward_pre_hook(note)
    return seen


if __name__ == "__main__":
    {"old-driver": old_driver, "any": any_machine}[sys.argv[1]]()
    precisions = watch_products()
    code = 0
    try:
        main(sys.argv[2:])
    except SystemExit as end:
        code = int(end.code or 0)
    outside = torch.get_float32_matmul_precision()
    print(f"products: {' '.join(sorted(precisions))} inside, {outside} outside", file=sys.stderr)
    sys.exit(code)
