"""GPUs on paper: what is counted here at rates that are assumed, and printed. Nothing is measured on a GPU.

    python bench/simulate.py models --probe DIR --out FILE.json       the paper's 16 models on several GPUs
    python bench/simulate.py sweep --tasks FILE.toml .. --out FILE    a thousand models, 64 GPUs, and nodes that fail
    python bench/simulate.py timeline --probe DIR --out FILE          what a GPU does and waits for, gpt2 and gemma-7b
    python bench/simulate.py asking --launches 7066 --out FILE       label probabilities and writing of an 8B model

`python bench/simulate.py SIMULATION --help` says what is known, and what is assumed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from simulated import asking, large_sweep, many_models, timeline

SIMULATIONS = {"models": many_models, "sweep": large_sweep, "timeline": timeline, "asking": asking}


def main() -> None:
    """Print what the simulation says, and write its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="simulation", required=True)
    for name, module in SIMULATIONS.items():
        described = kinds.add_parser(
            name, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.add_options(described)
        described.add_argument("--out", type=Path, help="write the figures as JSON")
    given = parser.parse_args()
    print("A SIMULATION: nothing here was measured on a GPU")
    figures = SIMULATIONS[given.simulation].simulate(given)
    if given.out:
        given.out.write_text(json.dumps({"simulation": True, **figures}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
