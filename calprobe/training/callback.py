"""The callback: when it scores, where the run goes, and to whom the figures go."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from accelerate.utils import broadcast_object_list
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from calprobe.analysis import ReportOptions, report
from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import no_such
from calprobe.metrics import Resampling
from calprobe.models import LoadedModel
from calprobe.probes import Probe, load_probe
from calprobe.runs import Manifest, Run
from calprobe.runs.manifest_file import FILE_NAME
from calprobe.scoring import score, score_in_memory, select
from calprobe.scoring.options import ScoreOptions
from calprobe.scoring.probe_selection import refuse_kind
from calprobe.training.lend import undisturbed
from calprobe.training.trained_model import model_in_training, own_tokenizer, refuse_sharded, unwrapped
from calprobe.training.training_log import TrainingLog

log = logging.getLogger(__name__)

_METRICS = ("ace", "brier")
# What can choose the best model -> whether larger is better.
_CHOOSING = {"accuracy": True, "bear_score": True} | {
    f"{metric}_{estimator}": False for metric in _METRICS for estimator in ("base", "margin")
}
# Values alone: intervals would take longer than scoring a small probe.
_VALUES_ALONE = ReportOptions(resampling=Resampling(n_resamples=0))


class ProbeCallback(TrainerCallback):  # type: ignore[misc]  # transformers has no types here
    """Scores a probe at the evaluations of a training run.

    The figures of an evaluation are `eval_calprobe/PROBE/` and `accuracy`, `ace_base`, `brier_base`, `ace_margin`,
    `brier_margin`, `bear_score` (with two paraphrases or more) and `runtime` (seconds). They are put into the metrics
    that the evaluation returns, so that `metric_for_best_model="calprobe/mini/accuracy"` works, and into
    `state.log_history`; with `attach` they reach every logger of the trainer too. Training itself is as without the
    callback, to the bit.

    An evaluation's scores are kept as a run, `OUT/step-N`, for `calprobe report`, `compare` and `curve`. One that holds
    a run of the very same weights is gone on with. One of other weights, which an earlier training left, is replaced;
    but not outside of training, where the best checkpoint may have been loaded: then the new scores are not kept.

    Args:
        probe: as for `calprobe.score`.
        options: which statements. A few relations and a `limit` keep an evaluation short.
        out: the folder of the runs; None keeps none of them, and nothing is written.
        every: score at a training's first evaluation (in this process) and at each `every`-th from there; those of one
            step count as one.
        tokenizer: None for the trainer's `processing_class`.
        stop_on_error: whether training stops if a scoring fails. By default the failure is logged and training goes on;
            it always stops where the best model is chosen by one of the figures.
        log: trackers that get the figures of a training, names in `calprobe.trackers.NAMES`. They join the run that the
            trainer has open there; without one they open a run. What `attach` tells already is not told twice.
        project: of a run that `log` opens; None: calprobe.
    Raises:
        CalprobeError: what cannot be scored, on construction and when training begins. UsageError among them: options
            that the probe does not have, `every` below 1, a sharded model (FSDP, ZeRO-3).

    Example:
        >>> ProbeCallback("mini", ScoreOptions(relations=("month",), limit=2)).prefix
        'eval_calprobe/mini/'
    """

    def __init__(
        self,
        probe: str | Path | Probe,
        options: ScoreOptions = ScoreOptions(),
        out: str | Path | None = None,
        every: int = 1,
        tokenizer: Any = None,
        stop_on_error: bool = False,
        log: Sequence[str] | str = (),
        project: str | None = None,
    ) -> None:
        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            raise UsageError(f"every must be an int of at least 1, got {every!r}")
        self.probe = probe if isinstance(probe, Probe) else load_probe(probe)
        self.options = replace(options, quiet=True)
        self.selection = select(self.probe, options)
        self.every, self.tokenizer, self.stop_on_error = every, tokenizer, stop_on_error
        self.out = None if out is None else Path(out)
        self._log_to = TrainingLog(log, project or "calprobe", (self.out or Path("runs")) / "tensorboard")
        self._scored_last: Manifest | None = None
        self._trainer: Trainer | None = None
        self._own_tokenizer: Any = None
        self._training = False
        self._step: int | None = None  # of the latest evaluation
        self._evaluations = 0  # steps at which there was one
        self._latest: tuple[int, str, dict[str, float]] | None = None  # step, weights' fingerprint, figures

    @property
    def prefix(self) -> str:
        """What the names of the figures begin with."""
        return f"eval_calprobe/{self.probe.name}/"

    def attach(self, trainer: Trainer) -> ProbeCallback:
        """Add the callback to the trainer and log through it; transformers tells a callback of no trainer by itself.

        It comes first among the trainer's callbacks, so that others, such as `EarlyStoppingCallback`, find its figures.
        """
        self._trainer, self._own_tokenizer, self._latest = trainer, None, None  # of an earlier training
        trainer.add_callback(self)
        callbacks = trainer.callback_handler.callbacks
        callbacks.insert(0, callbacks.pop())
        return self

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Refuse what no evaluation could score, before any time is spent."""
        self._training = True
        self._own_tokenizer, self._step, self._evaluations = None, None, 0  # of an earlier training
        refuse_sharded(args, kwargs["model"])
        self._check_best_metric(args)
        model = self._model(state, kwargs)
        self.options.masking(model.kind, model.name)
        refuse_kind(self.selection, model.name, model.kind)
        untold = [name for name in args.report_to if name not in self._log_to.names]
        if self._trainer is None and untold:
            log.warning(
                "the figures of probe %s go into the trainer's history%s; attach(trainer) sends them to %s too",
                self.probe.name,
                f" and to {', '.join(self._log_to.names)}" if self._log_to.names else " alone",
                ", ".join(untold),
            )

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """What is evaluated from now on need not be the step's own weights."""
        self._training = False
        self._log_to.end()

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Score the model, on the first process, and hand its figures to all."""
        if not self._is_due(state.global_step):
            return
        outcome: list[Any] = [None, False, None]
        if state.is_world_process_zero:
            outcome = self._attempted(state, kwargs)
        figures, is_new, failure = broadcast_object_list(outcome)  # where the other processes wait
        if failure is not None:
            if self.stop_on_error or self._chooses_best(args):
                raise CalprobeError(f"step {state.global_step}: probe {self.probe.name} cannot be scored: {failure}")
            return
        kwargs["metrics"].update(figures)
        if is_new:
            self._log(state, figures)
            # Attached, the trainer has told its own loggers.
            self._log_further(state, figures, args.report_to if self._trainer is not None else ())

    def _attempted(self, state: TrainerState, kwargs: Mapping[str, Any]) -> list[Any]:
        """The figures, whether they are new, and what went wrong instead."""
        before = self._latest
        try:
            figures = self._figures(state, kwargs)
            return [figures, self._latest is not before, None]
        except Exception as error:
            # Whatever it is, hours of training are worth more than one evaluation of a probe.
            log.warning("step %d: probe %s is not scored", state.global_step, self.probe.name, exc_info=error)
            return [None, False, str(error) or type(error).__name__]

    def _is_due(self, step: int) -> bool:
        if step != self._step:
            self._step = step
            self._evaluations += 1
        return (self._evaluations - 1) % self.every == 0

    def _model(self, state: TrainerState, kwargs: Mapping[str, Any]) -> LoadedModel:
        if self._own_tokenizer is None:
            given = self.tokenizer if self.tokenizer is not None else kwargs.get("processing_class")
            self._own_tokenizer = own_tokenizer(given)
        return model_in_training(kwargs["model"], self._own_tokenizer, state.global_step)

    def _figures(self, state: TrainerState, kwargs: Mapping[str, Any]) -> dict[str, float]:
        started, step = time.monotonic(), state.global_step
        with undisturbed(unwrapped(kwargs["model"])):
            model = self._model(state, kwargs)
            if self._latest is None or self._latest[:2] != (step, model.weights_fingerprint):
                run = self._scored(model, step)
                self._scored_last = run.manifest
                found = _figures_of(run)
                found["runtime"] = round(time.monotonic() - started, 4)
                figures = {f"{self.prefix}{name}": value for name, value in found.items()}
                self._latest = step, model.weights_fingerprint, figures
        return self._latest[2]

    def _scored(self, model: LoadedModel, step: int) -> Run:
        """The run of that step, in its folder, or in memory where none is to be kept."""
        if self.out is None:
            return score_in_memory(model, self.probe, self.options)
        folder = self.out / f"step-{step}"
        try:
            return score(model, self.probe, folder, self.options)
        except UsageError:
            if not (folder / FILE_NAME).is_file() or not self.options.resume:
                raise
        # Other weights or another request: the run in the folder cannot be resumed.
        if not self._training:
            return score_in_memory(model, self.probe, self.options)
        log.warning("%s: held another run, and is scored anew", folder)
        return score(model, self.probe, folder, replace(self.options, resume=False))

    def _log(self, state: TrainerState, figures: dict[str, float]) -> None:
        if self._trainer is not None:
            self._trainer.log(dict(figures))
        else:
            epoch = {} if state.epoch is None else {"epoch": state.epoch}
            state.log_history.append({**figures, **epoch, "step": state.global_step})

    def _log_further(self, state: TrainerState, figures: dict[str, float], told: Sequence[str]) -> None:
        """Tell the trackers of `log`, while there is a training and from the process that has scored."""
        if self._training and state.is_world_process_zero and self._scored_last is not None:
            self._log_to.log(figures, state.global_step, self._scored_last, told)

    def _chooses_best(self, args: TrainingArguments) -> bool:
        return self._best_metric(args) is not None

    def _best_metric(self, args: TrainingArguments) -> str | None:
        """Which of the figures chooses the best model: its name without the prefix."""
        name = f"eval_{(args.metric_for_best_model or '').removeprefix('eval_')}"
        return name.removeprefix(self.prefix) if name.startswith(self.prefix) else None

    def _check_best_metric(self, args: TrainingArguments) -> None:
        metric = self._best_metric(args)
        if metric is None:
            return
        if self.every > 1:
            raise UsageError(
                f"metric_for_best_model={args.metric_for_best_model}: every evaluation needs the figure, but"
                f" every={self.every}; leave every out"
            )
        if metric not in _CHOOSING:
            raise UsageError(f"metric_for_best_model={args.metric_for_best_model}: {no_such(metric, _CHOOSING)}")
        if metric == "bear_score" and not self._has_paraphrases():
            raise UsageError(
                f"metric_for_best_model={args.metric_for_best_model}: it is of two paraphrases or more; give "
                'ScoreOptions(templates="paraphrases")'
            )
        if args.greater_is_better != _CHOOSING[metric]:
            better = "larger" if _CHOOSING[metric] else "smaller"
            raise UsageError(
                f"metric_for_best_model={args.metric_for_best_model}: {better} is better; set "
                f"greater_is_better={_CHOOSING[metric]}"
            )

    def _has_paraphrases(self) -> bool:
        relation, template_set = self.selection.relations[0], self.selection.template_set
        kinds = [template_set.template(relation.name, number).kind for number in self.selection.numbers]
        return kinds.count("paraphrase") > 1


def _figures_of(run: Run) -> dict[str, float]:
    """The figures of a run by name; those that its templates do not give are left out, and so are undefined ones."""
    (found,) = report(run, _VALUES_ALONE).runs
    estimates = {"accuracy": found.accuracy, "bear_score": found.bear_score}
    for estimator in found.estimators:
        if estimator.group == "intrinsic":  # base and margin
            estimates |= {f"{metric}_{estimator.name}": estimator.metrics[metric] for metric in _METRICS}
    values = {name: float(estimate.value) for name, estimate in estimates.items() if estimate is not None}
    return {name: value for name, value in values.items() if not math.isnan(value)}
