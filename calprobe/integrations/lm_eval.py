"""calprobe's numbers as aggregations and metrics of lm-evaluation-harness (`lm_eval`), for multiple-choice tasks.

A document's confidence is the softmax of the choices' log-likelihoods at the largest of them, as the harness's own
`brier_score` takes it; its prediction, of which the harness's `acc` is the accuracy, is that choice.

An aggregation takes what the harness collects, an item for each document:

- `(gold, log-likelihoods)`, what it passes on for the metric `likelihood`,
- `(gold, probabilities)`, what it passes on for the metric `brier_score`,
- `(confidence, correct)`, what a task's own `process_results` may return.

A document without a confidence (NaN, of the pair or among the log-likelihoods) is left out, and a warning counts them.

Importing this module registers each aggregation, and a metric with it, as `calprobe_NAME`. The harness passes nothing
on for a metric that it does not know, so tasks that name them are of the class `ChoiceTask`:

    class: !function calprobe.integrations.lm_eval.ChoiceTask
    metric_list:
      - metric: acc
      - metric: calprobe_ece

Groups of tasks: the harness averages a metric over the tasks of a group, and a mean of calibration errors is not the
error of all their documents.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from lm_eval.api.registry import register_aggregation, register_metric
from lm_eval.api.task import ConfigurableTask

from calprobe.integrations.run_numbers import NUMBERS

log = logging.getLogger(__name__)

PREFIX = "calprobe_"  # another library's `ece` may be another number
Item = tuple[Any, Any]


def ece(items: Iterable[Item]) -> float:
    """`calprobe.metrics.ece`: ten equal-width bins. In [0, 1], smaller is better; NaN without items.

    >>> round(ece([(0, [-0.1, -2.4]), (1, [-0.1, -2.4])]), 3)
    0.409
    """
    return _value("ece", items)


def ace(items: Iterable[Item]) -> float:
    """`calprobe.metrics.ace`: twenty quantile bins, each weighing the same. In [0, 1], smaller is better.

    >>> round(ace([(0.8, True), (0.6, False)]), 3)
    0.4
    """
    return _value("ace", items)


def smooth_ece(items: Iterable[Item]) -> float:
    """`calprobe.metrics.smooth_ece`, as relplot 1.0.3 has it, up to its grid. In [0, 1], smaller is better.

    >>> round(smooth_ece([(0.75, True), (0.75, False)]), 3)
    0.25
    """
    return _value("smooth_ece", items)


def brier(items: Iterable[Item]) -> float:
    """`calprobe.metrics.brier` of the prediction: scikit-learn's `brier_score_loss`. In [0, 1], smaller is better.

    It is not the harness's `brier_score`, a sum over all choices in [0, 2]; of two choices that one is twice this one.

    >>> round(brier([(0.8, True), (0.6, False)]), 3)
    0.2
    """
    return _value("brier", items)


def nll(items: Iterable[Item]) -> float:
    """`calprobe.metrics.nll` of the predicted choice, in nats: scikit-learn's `log_loss`. Smaller is better.

    It is not the negative of the right choice's log-likelihood.

    >>> round(nll([(0.5, True), (0.25, False)]), 4)
    0.4904
    """
    return _value("nll", items)


def auroc(items: Iterable[Item]) -> float:
    """`calprobe.metrics.auroc`: scikit-learn's `roc_auc_score`. In [0, 1], larger is better; NaN of one class.

    >>> auroc([(0.8, True), (0.6, False), (0.7, False)])
    1.0
    """
    return _value("auroc", items)


def aurc(items: Iterable[Item]) -> float:
    """`calprobe.metrics.aurc`, ties in expectation. In [0, 1], smaller is better.

    >>> round(aurc([(0.9, True), (0.6, False)]), 3)
    0.25
    """
    return _value("aurc", items)


def mean_confidence(items: Iterable[Item]) -> float:
    """Mean of the confidences, to be held against `acc`. In [0, 1].

    >>> mean_confidence([(0.75, True), (0.25, False)])
    0.5
    """
    return _value("mean_confidence", items)


def confidence_gap(items: Iterable[Item]) -> float:
    """`calprobe.metrics.confidence_gap`: mean confidence minus accuracy. In [-1, 1], above 0 overconfident.

    >>> confidence_gap([(0.75, True), (0.75, False)])
    0.25
    """
    return _value("confidence_gap", items)


def confidence_of(item: Item) -> tuple[float, bool]:
    """Confidence and correctness of one item; several right choices (a list as gold) are all right.

    NaN where the item has none: it is NaN itself, or so is the number of a choice. Raises ValueError for what is none
    of the forms above.

    >>> confidence_of((1, [0.25, 0.75])), confidence_of(([0, 2], [-1.0, -1.0]))
    ((0.75, True), (0.5, True))
    """
    first, second = item
    if isinstance(second, bool | int | float | np.bool_ | np.number):
        return float(first), bool(second)
    values = np.asarray(second, np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"{item!r:.100} has no number for each choice; calprobe takes (gold, log-likelihoods)")
    if np.isnan(values).any():
        return math.nan, False
    place = int(values.argmax())
    right = place in first if isinstance(first, list | tuple) else place == first
    if values.min() >= 0 and abs(values.sum() - 1) < 1e-3:  # probabilities
        return float(min(values[place], 1.0)), right
    if values[place] == -np.inf:
        return 1 / len(values), right
    return float(1 / np.exp(values - values[place]).sum()), right


class ChoiceTask(ConfigurableTask):
    """A multiple-choice task whose `metric_list` may name calprobe's metrics, beside the harness's own."""

    def __init__(self, config: Mapping[str, Any], **more: Any) -> None:
        """Of a task's file; the key that names this class is none of the task's own."""
        super().__init__(config={key: value for key, value in config.items() if key != "class"}, **more)

    def process_results(self, doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        """The document's values for the metrics of the task: for each of calprobe's its gold and log-likelihoods."""
        own = [name for name in self._metric_fn_list if name.startswith(PREFIX)]
        if self.OUTPUT_TYPE != "multiple_choice":
            raise ValueError(f"{self.config.task}: {', '.join(own)} need output_type multiple_choice")
        values: dict[str, Any] = super().process_results(doc, results)
        choices = self.doc_to_choice(doc)
        gold = self.doc_to_text(doc) if self.multiple_input else self.doc_to_target(doc)
        if isinstance(gold, str):
            gold = choices.index(gold) if gold in choices else -1
        scored = [float(logprob) for logprob, _ in results[: len(choices)]]  # behind them those of acc_mutual_info
        return values | dict.fromkeys(own, (gold, scored))


def _value(name: str, items: Iterable[Item]) -> float:
    every = [confidence_of(item) for item in items]
    pairs = [(confidence, correct) for confidence, correct in every if not math.isnan(confidence)]
    if len(pairs) < len(every):
        lack = len(every) - len(pairs)
        log.warning("%s: %d of %d documents have no confidence (NaN), and are left out", name, lack, len(every))
    return NUMBERS[name].of([confidence for confidence, _ in pairs], [correct for _, correct in pairs])


def _passed_on(items: Any) -> Any:
    """The metric itself: the harness calls it for generated text alone."""
    return items


_AGGREGATIONS: tuple[Callable[[Iterable[Item]], float], ...] = (
    *(ece, ace, smooth_ece, brier, nll, auroc, aurc, mean_confidence, confidence_gap),
)


def _register() -> None:
    for function in _AGGREGATIONS:
        name = PREFIX + function.__name__
        register_aggregation(name)(function)
        better = NUMBERS[function.__name__].larger_is_better
        direction = {} if better is None else {"higher_is_better": better}
        register_metric(metric=name, aggregation=name, output_type="multiple_choice", **direction)(_passed_on)


_register()
