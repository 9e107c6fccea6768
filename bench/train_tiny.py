"""Train the tiny pair, `tiny-clm` and `tiny-mlm`, from scratch, or hold a new training against the shipped one.

    python bench/train_tiny.py --out DIR      (the content of calprobe/models/tiny without its README.md)
    python bench/train_tiny.py --check        (train into a temporary folder and compare byte by byte)
    python bench/train_tiny.py --tables       (score the shipped pair and print the tables of its README.md)

Everything random comes from SEED. On the same machine and with the same versions the files are the same to the byte;
config.json also names the version of transformers.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import calprobe
from calprobe.models.exposures import tiny_exposures
from calprobe.statements import load_template_set
from calprobe.words import ModelKind

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from tiny.corpus import make_corpus
from tiny.folders import differing_files, write_exposures, write_fingerprints, write_model
from tiny.networks import causal_network, masked_network
from tiny.tables import exposure_table, readings, wording_table
from tiny.training import Schedule, causal_examples, encoded, masked_examples, train
from tiny.vocabulary import make_tokenizer

SHIPPED = Path(calprobe.__file__).parent / "models" / "tiny"
SEED = 1
THREADS = 1  # two threads split BERT's sums otherwise, and give other bytes; one is what every machine has
# Long enough to distinguish a fact stated once from one never stated, short enough not to know all of
# the former. A masked model reads the corpus three times as often for the same BEAR score: it learns from one word of a
# sentence at a time.
CAUSAL = Schedule(epochs=6, learning_rate=2e-3)
MASKED = Schedule(epochs=18, learning_rate=1e-3)


def random(purpose: int) -> np.random.Generator:
    """A generator of its own for each purpose, so that a change in one leaves the others as they were."""
    return np.random.default_rng([SEED, purpose])


def train_pair(out: Path) -> None:
    """Make the corpus and the tokenizer, train both networks, write both folders and the exposures below `out`."""
    torch.set_num_threads(THREADS)
    torch.use_deterministic_algorithms(True)
    probe = calprobe.load_probe("mini")
    templates = load_template_set("calprobe", probe)
    corpus, tokenizer = make_corpus(probe, templates, random(0)), make_tokenizer(probe, templates)
    rows = encoded(tokenizer, corpus.sentences)
    kinds: dict[str, tuple[ModelKind, Any, Any, Schedule]] = {
        "tiny-clm": ("causal", causal_network(SEED), causal_examples, CAUSAL),
        "tiny-mlm": ("masked", masked_network(SEED), masked_examples(random(1)), MASKED),
    }
    for name, (kind, network, examples, schedule) in kinds.items():
        _report_training(name, train(network, rows, examples, schedule, random(2)), schedule)
        write_model(out / name, network, tokenizer, kind)
    write_exposures(out / "exposures.json", probe, corpus.exposures)
    write_fingerprints(out / "fingerprints.json", [out / name for name in kinds])


def _report_training(name: str, losses: Any, schedule: Schedule) -> None:
    started = time.monotonic()
    for epoch, loss in enumerate(losses, start=1):
        print(f"{name}: epoch {epoch} of {schedule.epochs}, loss {loss:.3f}, {time.monotonic() - started:.0f} s")


def check() -> int:
    """Train anew and print which files differ from the shipped ones; 1 if any does, else 0."""
    with tempfile.TemporaryDirectory() as folder:
        train_pair(Path(folder))
        differing = differing_files(Path(folder), SHIPPED)
    print("\n".join(f"differs: {name}" for name in differing) or "all files are the shipped ones, byte by byte")
    return 1 if differing else 0


def print_tables() -> None:
    """Score the shipped pair with all paraphrases and print what its README shows."""
    options = calprobe.ScoreOptions(templates="paraphrases", quiet=True)
    with tempfile.TemporaryDirectory() as folder:
        found = {
            name: readings(calprobe.score(name, None, Path(folder, name), options), tiny_exposures())
            for name in ("tiny-clm", "tiny-mlm")
        }
    bear_scores = [f"{name} {frame.correct.mean():.3f}" for name, frame in found.items()]
    print(f"BEAR score: {', '.join(bear_scores)}\n\n{exposure_table(found)}\n\n{wording_table(found)}")


def main() -> int:
    """Train, compare or print; the exit code."""
    parser = argparse.ArgumentParser(description="Train tiny-clm and tiny-mlm.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="write the model folders here")
    what.add_argument("--check", action="store_true", help="train and compare with the shipped folders")
    what.add_argument("--tables", action="store_true", help="print the tables of the shipped pair's README.md")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    if arguments.tables:
        print_tables()
    else:
        train_pair(arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
