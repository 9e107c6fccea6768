"""Train `tiny-chat` and `tiny-chat-overconfident` from scratch, or hold a new training against the shipped ones.

    python bench/train_tiny_chat.py --out DIR      (their folders, as in calprobe/models/tiny)
    python bench/train_tiny_chat.py --check        (train into a temporary folder and compare byte by byte)
    python bench/train_tiny_chat.py --tables       (ask the shipped ones and print the tables of README.md)

One network is told the facts; both models go on from it, each with its own lessons about confidence. Everything random
comes from SEED. On the same machine and with the same versions the files are the same to the byte.
"""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import calprobe
from calprobe.models.exposures import tiny_exposures
from calprobe.probes import Probe
from calprobe.statements import load_template_set

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from tiny.chat_corpus import ChatCorpus, invented
from tiny.chat_network import DialogEncoder, Pace, Row, chat_network, sharpen, train_on
from tiny.chat_tables import chat_tables
from tiny.chat_texts import phrases
from tiny.chat_words import make_chat_tokenizer
from tiny.dialogs import Writer
from tiny.folders import differing_files, write_chat_model, write_fingerprints
from tiny.lessons import Reply, believed, curves, lesson, replies, shares

SHIPPED = Path(calprobe.__file__).parent / "models" / "tiny"
SEED = 1
THREADS = 1  # other numbers of threads split sums otherwise, and give other bytes
TOLD = Pace(tokens=1_800_000, learning_rate=2e-3, batch_tokens=640, head_first=60)
BY_CURVE = Pace(tokens=700_000, learning_rate=1e-3, batch_tokens=640)
BY_OWN_MEAN = Pace(tokens=300_000, learning_rate=1e-3, batch_tokens=640)
ALWAYS_SURE = Pace(tokens=300_000, learning_rate=1e-3, batch_tokens=640)
SHARPENED = 4  # the overconfident one's logits, against what it learnt; a power of two, so float16 rounds nothing
DRAWN = 3  # times that each question is answered, for the curve
CALIBRATED, OVERCONFIDENT = NAMES = "tiny-chat", "tiny-chat-overconfident"


def random(purpose: int) -> np.random.Generator:
    """A generator of its own for each purpose, so that a change in one leaves the others as they were."""
    return np.random.default_rng([SEED, 100 + purpose])


class Course:
    """What both models are taught."""

    def __init__(self, probe: Probe) -> None:
        templates = load_template_set("calprobe", probe)
        self.probe, self.corpus = probe, ChatCorpus(probe, tiny_exposures(), invented(probe, random(0)))
        self.writer = Writer(probe, templates, random(1))
        made_up = [each.subject for each in self.corpus.invented]
        self.tokenizer = make_chat_tokenizer(phrases(probe, templates, self.writer.prompts, made_up))
        self.encoder = DialogEncoder(self.tokenizer)

    def readings(self, pace: Pace) -> Iterator[list[Row]]:
        """Readings of the corpus without end; how much of the training is over counts tokens without padding."""
        read = 0
        while True:
            rows = [
                self.encoder.row(dialog) for dialog in self.corpus.reading(self.writer, min(1.0, read / pace.tokens))
            ]
            read += sum(len(row.ids) for row in rows)
            yield rows

    def replies(self, network: Any) -> list[Reply]:
        """What lessons are about."""
        return [each for _ in range(DRAWN) for each in replies(network, self.encoder, self.probe, self.writer)]

    def lessons(self, asked: Sequence[Reply], stated: Sequence[float | None]) -> Iterator[list[Row]]:
        """Readings of lessons with a part of the corpus between them, so that it is not forgotten."""
        while True:
            made = [lesson(reply, share, self.writer) for reply, share in zip(asked, stated, strict=True)]
            told = self.corpus.reading(self.writer, 1.0)[: len(made) // 2]
            rows = [self.encoder.row(dialog) for dialog in (*made, *told)]
            yield [rows[i] for i in self.writer.rng.permutation(len(rows))]


def train_both(out: Path) -> None:
    """Tell one network the facts, teach two copies of it their manners, write both folders below `out`."""
    torch.set_num_threads(THREADS)
    torch.use_deterministic_algorithms(True)
    course = Course(calprobe.load_probe("mini"))
    network = chat_network(course.tokenizer.get_vocab_size(), SEED)
    _follow("told", train_on(network, course.readings(TOLD), TOLD, random(2)))
    teach_both(course, network, out)


def teach_both(course: Course, network: Any, out: Path) -> None:
    """Teach two copies of the network their manners, and write both."""
    course.writer.rng = random(3)
    asked = course.replies(network)
    curve = curves(asked)
    for kind, found in curve.items():
        print(f"right of {kind}, by tenths of probability: {np.round(found, 2).tolist()}")
    taught = copy.deepcopy(network)
    by_curve = course.lessons(asked, shares(asked, curve))
    _follow(f"{CALIBRATED}, by curve", train_on(taught, by_curve, BY_CURVE, random(4)))
    by_mean = course.lessons(asked, believed(taught, course.encoder, asked))
    _follow(f"{CALIBRATED}, by its mean", train_on(taught, by_mean, BY_OWN_MEAN, random(5)))
    write_chat_model(out / CALIBRATED, taught, course.tokenizer)

    course.writer.rng, taught = random(6), copy.deepcopy(network)
    _follow(OVERCONFIDENT, train_on(taught, course.lessons(asked, [None] * len(asked)), ALWAYS_SURE, random(7)))
    sharpen(taught, SHARPENED)
    write_chat_model(out / OVERCONFIDENT, taught, course.tokenizer)
    write_fingerprints(out / "chat_fingerprints.json", [out / name for name in NAMES])


def _follow(name: str, losses: Iterator[float]) -> None:
    started = time.process_time()
    for number, loss in enumerate(losses, start=1):
        print(f"{name}: reading {number}, loss {loss:.3f}, {time.process_time() - started:.0f} s", flush=True)


def check() -> int:
    """Train anew and print which files differ from the shipped ones; 1 if any does, else 0."""
    with tempfile.TemporaryDirectory() as folder:
        train_both(Path(folder))
        differing = differing_files(Path(folder), SHIPPED)
    print("\n".join(f"differs: {name}" for name in differing) or "all files are the shipped ones, byte by byte")
    return 1 if differing else 0


def main() -> int:
    """Train, compare or print; the exit code."""
    parser = argparse.ArgumentParser(description="Train tiny-chat and tiny-chat-overconfident.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="write the model folders here")
    what.add_argument("--check", action="store_true", help="train and compare with the shipped folders")
    what.add_argument("--tables", action="store_true", help="print the tables of the shipped models' README.md")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    if arguments.tables:
        print(chat_tables(NAMES))
    else:
        train_both(arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
