"""Label probabilities and written replies of a model on one card, as `calprobe ask` computes them.

What is known: the weights, and how many kernels are launched for a wave of rows and for a step (tests of the launches
count them on tensors without storage). What is assumed, and printed with the result: rates of an H100, seconds of the
host for a launch, and that a wave's launches are not hidden behind its products, since its uploads wait for them.
"""

from __future__ import annotations

import argparse
from math import ceil
from typing import Any

from simulated.many_models import LAYERS


def add_options(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("--billions", type=float, default=8.0, help="parameters (default: 8)")
    parser.add_argument("--prompts", type=int, default=70_210, help="default: 70210, MMLU under five variants")
    parser.add_argument("--new-tokens", type=float, default=110.0, help="of a prompt, not shared (default: 110)")
    parser.add_argument("--rows", type=int, default=256, help="of a wave (default: 256)")
    parser.add_argument("--launches", type=int, nargs="+", required=True, help="of a wave of label probabilities")
    parser.add_argument("--step-launches", type=int, nargs="*", default=[], help="of a step of written replies")
    parser.add_argument("--launch-us", type=float, default=14.0, help="of the host, each (default: 14)")
    parser.add_argument("--tflops", type=float, default=LAYERS["bfloat16"], help="reached (default: %(default)s)")
    parser.add_argument("--tb-s", type=float, default=2.8, help="at which a step reads weights (default: 2.8)")


def labels_s(given: argparse.Namespace, launches: int) -> float:
    """Seconds for the label probabilities of all prompts: products and launches of each wave, one after the other."""
    products = 2e9 * given.billions * given.new_tokens * given.rows / (given.tflops * 1e12)
    return float(ceil(given.prompts / given.rows) * (products + launches * given.launch_us / 1e6))


def written_per_s(given: argparse.Namespace, launches: int) -> float:
    """Tokens a second of replies that fill all rows: a step reads the weights while the host launches the next."""
    step = max(2e9 * given.billions / (given.tb_s * 1e12), launches * given.launch_us / 1e6)
    return float(given.rows / step)


def simulate(given: argparse.Namespace) -> dict[str, Any]:
    """Print and return what each number of launches comes to."""
    assumed = {name: getattr(given, name) for name in ("billions", "rows", "launch_us", "tflops", "tb_s")}
    print(f"assumed: {', '.join(f'{name} {value:g}' for name, value in assumed.items())}")
    labels = {launches: round(labels_s(given, launches), 1) for launches in given.launches}
    written = {launches: round(written_per_s(given, launches)) for launches in given.step_launches}
    for launches, seconds in labels.items():
        print(
            f"labels   {launches:6} launches a wave: {seconds / 60:5.1f} min, {given.prompts / seconds:4.0f} prompts/s"
        )
    for launches, tokens in written.items():
        print(f"writing  {launches:6} launches a step: {tokens:6} tokens/s")
    asked = {"prompts": given.prompts, "new_tokens": given.new_tokens}
    return {"assumed": assumed, **asked, "labels_s": labels, "written_tokens_per_s": written}
