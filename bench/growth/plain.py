"""The same numbers by pandas, plainly from their definitions: what calprobe is held against, and its speed with it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from calprobe.arrays import Floats, Ints
from calprobe.runs import ScoreTable

GROUP = ["template", "instance"]
FAILED = -1


def plain_confidences(table: ScoreTable) -> dict[str, pd.DataFrame]:
    """Prediction and confidence of each instance by estimator, all but `temperature`. Needs two candidates or more."""
    frame = long_frame(table)
    heads = heads_of(frame)
    first = under(heads, 0)
    p = under(frame, 0).p
    k, spread = p.groupby("instance").size(), -(p * np.log(p)).groupby("instance").sum()
    found = {
        "base": first[["prediction", "confidence"]],
        "margin": first.assign(confidence=first.confidence - first.second),
        "entropy": first.assign(confidence=1 - spread / np.log(k)),
        "chance": first.assign(confidence=(first.confidence - 1 / k) / (1 - 1 / k)),
    }
    paraphrases = [row for row, template in enumerate(table.templates) if template.kind == "paraphrase"]
    mixture = frame[frame.index.get_level_values("template").isin(paraphrases)]
    mixture = mixture.groupby(["instance", "candidate"]).p.mean().to_frame()
    found["mixture"] = under(heads_of(pd.concat({0: mixture}, names=["template"])), 0)
    for row, template in enumerate(table.templates):
        if template.marker is not None:
            found[f"marker_{template.marker}"] = under(heads, row)
    return found | agreements(heads.loc[paraphrases], len(paraphrases))


def long_frame(table: ScoreTable) -> pd.DataFrame:
    """A row a template, instance and candidate, with its probability `p`."""
    widths = np.diff(table.offsets)
    index = pd.DataFrame(
        {
            "instance": np.repeat(np.arange(table.n_instances), widths),
            "candidate": np.arange(table.offsets[-1]) - np.repeat(table.offsets[:-1], widths),
        }
    )
    rows = [index.assign(template=row, score=scores) for row, scores in enumerate(table.scores)]
    frame = pd.concat(rows).set_index([*GROUP, "candidate"])
    frame["weight"] = np.exp(frame.score - frame.groupby(GROUP).score.transform("max"))
    return frame.assign(p=frame.weight / frame.groupby(GROUP).weight.transform("sum"))


def under(frame: pd.DataFrame, template: int) -> pd.DataFrame:
    """The rows of one template, without its level."""
    return frame[frame.index.get_level_values("template") == template].droplevel("template")


def heads_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Prediction, confidence (its probability) and the second-largest, by template and instance."""
    at = frame.groupby(GROUP).p.idxmax()  # the first on a tie
    second = frame.drop(at).groupby(GROUP).p.max()
    confidence = frame.p.loc[at].droplevel("candidate")
    return pd.DataFrame({"prediction": [place for _, _, place in at], "confidence": confidence, "second": second})


def agreements(heads: pd.DataFrame, n_paraphrases: int) -> dict[str, pd.DataFrame]:
    """average and consistency under each aggregation."""
    votes = heads.groupby(["instance", "prediction"]).size().rename("votes").reset_index()
    most = votes[votes.votes == votes.groupby("instance").votes.transform("max")]
    winner = most.drop_duplicates("instance", keep=False).set_index("instance")
    bases = heads.groupby("instance").confidence
    extremes = {"min": bases.idxmin(), "max": bases.idxmax()}  # of the first such paraphrase on a tie
    chosen = {name: heads.loc[at].droplevel("template").prediction for name, at in extremes.items()}
    instances = heads.index.get_level_values("instance").unique()
    for k in range(2, n_paraphrases + 1):
        chosen[f"vote_{k}"] = winner.prediction[winner.votes >= k].reindex(instances, fill_value=FAILED)
    found = {}
    for name, answer in chosen.items():
        agree = heads[heads.prediction == answer.reindex(heads.index, level="instance")]
        sums = agree.groupby("instance").confidence.agg(["sum", "size"]).reindex(instances, fill_value=0)
        found[f"average_{name}"] = pd.DataFrame({"prediction": answer, "confidence": sums["sum"] / n_paraphrases})
        found[f"consistency_{name}"] = pd.DataFrame({"prediction": answer, "confidence": sums["size"] / n_paraphrases})
    return found


def plain_bootstrap(confidence: Floats, correct: Ints, counts: Iterable[Ints], n_bins: int) -> pd.DataFrame:
    """Accuracy, Brier score and ACE of each resample, one resample at a time, from its counts [instances]."""
    instances = pd.DataFrame({"confidence": confidence, "correct": correct})
    return pd.DataFrame([plain_metrics(instances.loc[instances.index.repeat(count)], n_bins) for count in counts])


def plain_metrics(instances: pd.DataFrame, n_bins: int) -> dict[str, float]:
    """Accuracy, Brier score and ACE."""
    edges = np.percentile(instances.confidence, np.linspace(0, 100, n_bins + 1))
    bins = instances.groupby(np.searchsorted(edges[1:-1], instances.confidence)).mean()
    return {
        "accuracy": instances.correct.mean(),
        "brier": ((instances.confidence - instances.correct) ** 2).mean(),
        "ace": (bins.confidence - bins.correct).abs().mean(),
    }
