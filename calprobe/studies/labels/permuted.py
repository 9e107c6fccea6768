"""A design with the options in every cyclic order: means over the orders, and probabilities averaged over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Estimate, Resampling, bootstrap_many, bootstrap_mean
from calprobe.metrics.intervals import UNDEFINED
from calprobe.metrics.registry import named_metrics
from calprobe.studies.labels.masses import DesignMasses
from calprobe.studies.labels.results import LabelUse, Metrics, PermutedDesign

NAMES = ("accuracy", "mean_confidence", "ece_15", "brier", "auroc")


def permuted_design(name: str, variant: str, orders: Sequence[DesignMasses], options: ReportOptions) -> PermutedDesign:
    """The numbers of one design, over the questions that have label probabilities in every order.

    A question with fewer options than there are orders comes back to its first one, which counts once all the same.
    """
    common = sorted(set.intersection(*(set(order.names.tolist()) for order in orders)))
    kept = [
        order.at(np.array([order.names.tolist().index(question) for question in common], np.intp)) for order in orders
    ]
    first = next((order for order in kept if not order.turned), kept[0])
    gold = (first.gold + first.turned) % first.options
    shares = np.stack([order.by_option() for order in kept])
    choices = shares.argmax(axis=2)
    is_new = np.stack([order.turned < order.options for order in kept])
    mean = (shares * is_new[..., None]).sum(axis=0) / is_new.sum(axis=0)[:, None]
    same = (choices == choices[0]).all(axis=0).astype(np.float64)
    return PermutedDesign(
        set=name,
        variant=variant,
        orders=len(kept),
        rows=len(common),
        mean_of_orders=_means([_metrics(order.chosen("normalised"), order.right, Resampling(0)) for order in kept]),
        averaged=_metrics(np.clip(mean.max(axis=1), 0, 1), mean.argmax(axis=1) == gold, options.resampling),
        same_choice=bootstrap_mean(same, options.resampling),
        uses=_uses(kept, options),
    )


def _metrics(confidence: Floats, correct: npt.NDArray[np.bool_], resampling: Resampling) -> Metrics:
    return bootstrap_many(named_metrics(NAMES), {"": (confidence, correct)}, resampling)[""] if len(confidence) else {}


def _means(by_order: Sequence[Metrics]) -> Mapping[str, Estimate]:
    drawn = [name for name in NAMES if name in by_order[0]]
    return {name: Estimate(float(np.mean([metrics[name].value for metrics in by_order]))) for name in drawn}


def _uses(orders: Sequence[DesignMasses], options: ReportOptions) -> tuple[LabelUse, ...]:
    """Over all orders: each label has had each option, so that equal shares and accuracies are without bias."""
    uses = []
    orders = [order.at(np.flatnonzero(order.turned < order.options)) for order in orders]
    for place, label in enumerate(orders[0].labels):
        right = np.concatenate([order.right[order.gold == place] for order in orders]).astype(np.float64)
        names = np.concatenate([order.names[order.gold == place] for order in orders])
        accuracy = bootstrap_mean(right, options.resampling, names) if len(right) else UNDEFINED
        mass = sum(float(order.share[:, place].sum()) for order in orders)
        uses.append(LabelUse(label, mass, len(right), accuracy))
    return tuple(uses)
