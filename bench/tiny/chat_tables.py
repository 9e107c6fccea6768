"""The tables of what the tiny chat models know and say, by exposure and over all facts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import calprobe
from calprobe.metrics import ece
from calprobe.models.exposures import tiny_exposures
from calprobe.questions import QuestionOptions
from tiny.tables import BUCKETS, markdown

LIKELIHOOD, LABEL, STATED, FREQUENCY = "base", "label", "stated_percent_0_100", "frequency.majority"
SAMPLES = 5


def chat_tables(names: Sequence[str]) -> str:
    """As scored, by letter, without options: accuracy and confidences by exposure; how far these are off; Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        scored = {name: by_likelihood(name, Path(folder, f"{name}-scored")) for name in names}
        letters = {name: by_letter(name, Path(folder, f"{name}-letters")) for name in names}
        free = {name: without_options(name, Path(folder, f"{name}-open")) for name in names}
    views = ((scored, (LIKELIHOOD,)), (letters, (LABEL, STATED)), (free, (FREQUENCY, STATED)))
    off = [[name, *_gaps(found, name)] for found, estimators in views for name in estimators]
    tables = [exposure_table(found, estimators) for found, estimators in views]
    return "\n\n".join((*tables, markdown(["", *names], off)))


def by_likelihood(model: str, out: Path) -> pd.DataFrame:
    """Likelihoods of the candidates under template 0: a row for each fact, with the fact's exposures."""
    frame = calprobe.confidences(calprobe.score(model, "mini", out, calprobe.ScoreOptions(quiet=True)))
    frame = frame[frame.estimator == LIKELIHOOD].assign(question=frame.relation + "/" + frame.instance.astype(str))
    return _with_exposures(frame)


def by_letter(model: str, out: Path) -> pd.DataFrame:
    """Choices of four options: a row for each fact and estimator, with the fact's exposures."""
    how = calprobe.AskOptions(
        prompts="audit", variants=("surface_paraphrase",), collect=("labels", "answer", "stated"), quiet=True
    )
    return _asked(model, out, how, QuestionOptions(as_="choice"))


def without_options(model: str, out: Path) -> pd.DataFrame:
    """Samples at temperature 1 of each answer without options, and the confidence stated behind each, likewise."""
    how = calprobe.AskOptions(
        prompts="audit",
        variants=("surface_paraphrase",),
        collect=("answer", "stated"),
        samples=SAMPLES,
        temperature=1.0,
        quiet=True,
    )
    return _asked(model, out, how, QuestionOptions(as_="open"))


def _asked(model: str, out: Path, how: calprobe.AskOptions, questions: QuestionOptions) -> pd.DataFrame:
    return _with_exposures(
        calprobe.asked_confidences(calprobe.ask(model, "mini", out, how, question_options=questions))
    )


def _with_exposures(frame: pd.DataFrame) -> pd.DataFrame:
    facts = frame.question.str.split("/")
    frame["exposures"] = [tiny_exposures()[name].counts[int(number)] for name, number in facts]
    return frame


def exposure_table(by_model: Mapping[str, pd.DataFrame], estimators: Sequence[str]) -> str:
    """Accuracy and the mean of each confidence in each bucket of exposures, in Markdown."""
    rows = []
    for least, (name, most) in zip([0, *(most + 1 for most in BUCKETS.values())], BUCKETS.items(), strict=False):
        inside = {
            model: frame[frame.exposures.between(least, most)].groupby("estimator") for model, frame in by_model.items()
        }
        (first, *_) = inside.values()
        facts = first.get_group(estimators[0]).question.nunique()
        rows.append([name, str(facts), *(each for found in inside.values() for each in _figures(found, estimators))])
    header = [f"{model} {what}" for model in by_model for what in ("accuracy", *estimators)]
    return markdown(["times told", "facts", *header], rows)


def _gaps(by_model: Mapping[str, pd.DataFrame], estimator: str) -> Iterator[str]:
    """Of each model, mean confidence minus accuracy over all facts, and the ECE in brackets."""
    for frame in by_model.values():
        own = frame[(frame.estimator == estimator) & frame.confidence.notna()]
        confidence, correct = own.confidence.to_numpy(float), own.correct.to_numpy(bool)
        yield f"{confidence.mean() - correct.mean():+.2f} ({ece(confidence, correct).value:.2f})"


def _figures(found: Any, estimators: Sequence[str]) -> Iterator[str]:
    first = found.get_group(estimators[0])
    yield f"{first[first.confidence.notna()].correct.astype(float).mean():.2f}"  # of samples, the most frequent alone
    for name in estimators:
        yield f"{found.get_group(name).confidence.mean():.2f}"
