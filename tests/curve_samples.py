"""Curves of made-up runs, of every kind: what figures are drawn from in tests."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from calprobe.arrays import Floats
from calprobe.curves.accuracy_ace import AccuracyAce, AccuracyAcePoint, RankCorrelation
from calprobe.curves.accuracy_rejection import (
    AccuracyRejection,
    Band,
    RejectionLine,
    RejectionPoints,
    VoteLine,
)
from calprobe.curves.answer_option_curve import OptionNumbers
from calprobe.curves.calibration_curve import BinnedError, Calibration, CalibrationLine, SmoothError
from calprobe.curves.curve import Curves
from calprobe.curves.exposure import Exposure, ExposureLine
from calprobe.curves.markers import MarkerPoint, Markers
from calprobe.curves.option_counts import Options, OptionsLine
from calprobe.metrics import Difference, Estimate, ace, ece, reject_by_rank, reject_by_threshold, reject_by_vote

PAPERS = ("base", "margin", "average_vote_2", "average_min", "consistency_vote_2", "consistency_min")
RUN = "runs/an-organisation/a-model-of-135m-parameters-mini"


def around(value: float, reach: float = 0.03) -> Estimate:
    return Estimate(value, value - reach, value + reach)


def leads(runs: Sequence[str], estimators: Sequence[str]) -> list[tuple[str, str, str, tuple[int, ...]]]:
    return [(run, f"org/{run.rpartition('/')[2]}", estimator, (0,)) for run in runs for estimator in estimators]


def predictions(seed: int, n_instances: int = 400) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    confidence = generator.beta(1.2, 1.6, n_instances)
    return confidence, (generator.random(n_instances) < confidence**1.3).astype(np.float64)


def rejection(runs: Sequence[str] = (RUN,), estimators: Sequence[str] = PAPERS) -> AccuracyRejection:
    lines, votes = [], []
    for seed, lead in enumerate(leads(runs, estimators)):
        confidence, correct = predictions(seed)
        if lead[2].startswith("consistency"):
            confidence = np.ceil(confidence * 5) / 5
        points, ranks = reject_by_threshold(confidence, correct), reject_by_rank(confidence, correct)
        grid = np.arange(100) / 100
        y = np.interp(grid, ranks.rejected, ranks.accuracy)
        band = Band(grid, y, np.clip(y - 0.02 - grid / 5, 0, 1), np.clip(y + 0.02 + grid / 5, 0, 1))
        lines.append(
            RejectionLine(*lead, RejectionPoints(points, points.accuracy - 0.03, points.accuracy + 0.03), ranks, band)
        )
    for seed, lead in enumerate(leads(runs, ["vote"])):
        generator = np.random.default_rng(seed)
        failed = np.array([generator.random(400) < share for share in (0.1, 0.3, 0.5, 0.7)])
        correct = ~failed & (generator.random((4, 400)) < np.array([[0.3], [0.45], [0.6], [0.8]]))
        found = reject_by_vote([2, 3, 4, 5], failed, correct)
        votes.append(VoteLine(*lead, RejectionPoints(found, found.accuracy - 0.05, found.accuracy + 0.05)))
    return AccuracyRejection(tuple(lines), tuple(votes))


def calibration(runs: Sequence[str] = (RUN,), estimators: Sequence[str] = ("base", "margin")) -> Calibration:
    lines = []
    for seed, lead in enumerate(leads(runs, estimators)):
        confidence, correct = predictions(seed)
        errors = []
        for found in (ace(confidence, correct), ece(confidence, correct)):
            bins = found.bins
            assert bins is not None
            errors.append(
                BinnedError(
                    around(found.value),
                    bins,
                    *(np.clip(bins.accuracy + reach, 0, 1) for reach in (-0.1, 0.1, -0.15, 0.15)),
                )
            )
        grid = np.linspace(0, 1, 101)
        smooth = SmoothError(around(0.08), grid, np.where(grid < 0.97, grid**1.3, np.nan), np.ones(101))
        histogram = np.histogram(confidence, 20, (0, 1))[0]
        lines.append(CalibrationLine(*lead, len(confidence), *errors, smooth, histogram))
    return Calibration(tuple(lines))


def options(runs: Sequence[str] = (RUN,), estimators: Sequence[str] = ("base", "margin")) -> Options:
    counts = np.arange(5, 61, 5)
    lines = []
    for at, lead in enumerate(leads(runs, estimators)):
        draws = [
            OptionNumbers(
                0.2 + 0.02 * at + seed / 50 + 1 / counts,
                0.25 + 0.02 * at + seed / 60 + 1 / counts,
                0.1 + 0.02 * at + seed / 80 + counts / 600,
            )
            for seed in range(3)
        ]
        means = OptionNumbers(*(np.mean([getattr(own, name) for own in draws], axis=0) for name in draws[0].__slots__))
        low, high = (
            OptionNumbers(*(getattr(means, name) + reach for name in draws[0].__slots__)) for reach in (-0.03, 0.03)
        )
        lines.append(OptionsLine(*lead, ("P30", "P36"), 300, counts, (0, 1, 2), means, tuple(draws), low, high))
    return Options(tuple(lines))


def accuracy_ace(
    n_runs: int = 9, estimators: Sequence[str] = ("base", "margin", "average_min"), names: Sequence[str] = ()
) -> AccuracyAce:
    generator = np.random.default_rng(3)
    runs = [f"runs/{name}" for name in names] or [f"runs/model-{at}-{50 * 2**at}m" for at in range(n_runs)]
    n_runs = len(runs)
    points = tuple(
        AccuracyAcePoint(
            *lead,
            around(generator.uniform(0.1, 0.3), 0.01),
            around(generator.uniform(0.05, 0.4), 0.02),
            "masked" if "bert" in lead[1] else "causal",
        )
        for lead in leads(runs, estimators)
    )
    rho = Estimate(-0.45, -0.81, 0.12) if n_runs >= 4 else Estimate(math.nan)
    return AccuracyAce(points, tuple(RankCorrelation(own, n_runs, rho) for own in estimators))


def markers(runs: Sequence[str] = (RUN,)) -> Markers:
    points = []
    for at, run in enumerate(runs):
        for marker in ("plain", "possibly", "certainly", "0", "25", "50", "75", "100"):
            shift = None if marker == "plain" else Difference((len(marker) + at / 5) / 90 - 0.04, -0.08, 0.12, 0.01)
            p_holm = math.nan if marker == "plain" else 0.07
            level = 0.3 + 0.04 * at + len(marker) / 60
            points.append(
                MarkerPoint(
                    *leads([run], ["base"])[0],
                    marker,
                    float(marker) if marker.isdigit() else math.nan,
                    around(level),
                    around(level + 0.1),
                    around(0.15 + at / 200),
                    *(shift, shift, shift),
                    *(p_holm, p_holm / 2, p_holm),
                )
            )
    return Markers(tuple(points))


def exposure(runs: Sequence[str] = (RUN,), estimators: Sequence[str] = ("base", "margin")) -> Exposure:
    counts = np.array([0, 1, 2, 3.4, 6.3, 11.2, 20.5, 62.0])
    least, most = np.array([0, 1, 2, 3, 5, 9, 17, 33]), np.array([0, 1, 2, 4, 8, 16, 30, 64])
    facts = np.array([115, 140, 115, 82, 56, 40, 24, 17])
    numbers = tuple(around(value, 0.05) for value in np.linspace(0.1, 0.9, len(counts)).tolist())
    surer = tuple(around(value, 0.04) for value in np.linspace(0.2, 0.8, len(counts)).tolist())
    return Exposure(
        tuple(ExposureLine(*lead, counts, least, most, facts, numbers, surer) for lead in leads(runs, estimators))
    )


MANY = tuple(f"runs/a-very-long-name-of-a-training-run/step-{step}000" for step in range(1, 11))
SIXTEEN = (
    *("bert-base-cased", "bert-large-cased", "roberta-base", "roberta-large", "xlm-roberta-base", "xlm-roberta-large"),
    *("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "opt-125m", "opt-350m", "opt-1.3b", "opt-6.7b"),
    *("gemma-2b", "gemma-7b"),
)
SAMPLES: dict[str, Curves] = {
    "rejection": rejection(),
    "rejection of runs": rejection(MANY[:3], PAPERS[:2]),
    "rejection of many runs": rejection(MANY, PAPERS[:1]),
    "calibration": calibration(),
    "calibration of runs": calibration(MANY[:2], PAPERS[:3]),
    "options": options(),
    "options of runs": options(MANY[:2]),
    "accuracy-ace": accuracy_ace(),
    "accuracy-ace of the paper": accuracy_ace(names=SIXTEEN, estimators=PAPERS[:4]),
    "accuracy-ace of many": accuracy_ace(28, ("base",)),
    "markers": markers(),
    "markers of runs": markers(MANY[:3]),
    "markers of many runs": markers(SIXTEEN),
    "calibration of many runs": calibration(MANY, PAPERS[:5]),
    "options of many runs": options(MANY),
    "exposure": exposure(),
    "nothing": AccuracyRejection((), ()),
}
