"""The callback in real trainings: what is logged, that training is left alone, what is kept, what is refused."""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from proofs import few_of
from tiny_models import tiny_tokenizer
from tokenizers.normalizers import Lowercase
from tolerances import TINY_SCORE, TINY_SUM
from trainings import FEW, Recorder, new_model, new_trainer
from transformers import EarlyStoppingCallback, TrainerCallback

import calprobe
import calprobe.training.callback as training
from calprobe.analysis import ReportOptions, report
from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.metrics import Resampling
from calprobe.models.fingerprint import tokenizer_fingerprint
from calprobe.scoring import ScoreOptions
from calprobe.training import ProbeCallback

MADE_UP = Path(__file__).resolve().parent.parent / "data" / "factor" / "made_up.csv"
NAMES = ("accuracy", "ace_base", "brier_base", "ace_margin", "brier_margin", "runtime")
FULL_NAMES = {f"eval_calprobe/mini/{name}" for name in NAMES}
# A masked model has a row for each token.
FEW_OF = {"causal": FEW, "masked": ScoreOptions(relations=("month",), first=1)}


@pytest.fixture(autouse=True)
def quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """Trainers print."""


@pytest.mark.parametrize("kind", few_of(["causal", "masked"], lambda kind: kind == "causal"))
def test_figures_are_those_of_the_checkpoints(kind: str, tmp_path: Path) -> None:
    trainer = new_trainer(tmp_path / "out", kind=kind)
    ProbeCallback("mini", FEW_OF[kind], tmp_path / "runs").attach(trainer)
    trainer.train()
    history = [logs for logs in trainer.state.log_history if logs.keys() >= FULL_NAMES]
    assert [logs["step"] for logs in history] == [2, 4]
    for logs in history:
        step = logs["step"]
        own = calprobe.open_run(tmp_path / "runs" / f"step-{step}")
        later = calprobe.score(
            str(tmp_path / "out" / f"checkpoint-{step}"), "mini", tmp_path / f"later-{step}", FEW_OF[kind]
        )
        np.testing.assert_allclose(own.table().scores, later.table().scores, atol=TINY_SCORE)
        (found,) = report(own, ReportOptions(resampling=Resampling(0))).runs
        (base,) = [estimator for estimator in found.estimators if estimator.name == "base"]
        assert found.accuracy is not None
        assert logs["eval_calprobe/mini/accuracy"] == found.accuracy.value
        assert logs["eval_calprobe/mini/ace_base"] == base.metrics["ace"].value
        assert logs["eval_calprobe/mini/brier_base"] == base.metrics["brier"].value
        assert (own.manifest.model.kind, own.manifest.model.note) == (kind, f"in training, step {step}")
        assert own.manifest.model.name.endswith(f"@{step}")
    assert history[0]["eval_calprobe/mini/brier_base"] != history[1]["eval_calprobe/mini/brier_base"]


class DrawsNumbers(TrainerCallback):
    """A training that takes random numbers from everywhere, and keeps them."""

    def __init__(self) -> None:
        self.drawn: list[Any] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.drawn.append((random.random(), np.random.random(), float(torch.rand(1))))  # noqa: NPY002


@pytest.mark.parametrize("kind", few_of(["causal", "masked"], lambda kind: kind == "causal"))
def test_training_is_the_same_to_the_bit(kind: str, tmp_path: Path) -> None:
    ends = []
    for watched in (False, True):
        trainer = new_trainer(tmp_path / str(watched), kind=kind, eval_on_start=True)
        draws = DrawsNumbers()
        trainer.add_callback(draws)
        if watched:
            ProbeCallback("mini", FEW_OF[kind]).attach(trainer)
        trainer.train()
        losses = [(logs["loss"], logs["grad_norm"]) for logs in trainer.state.log_history if "loss" in logs]
        ends.append((trainer.model.state_dict(), losses, draws.drawn))
    (weights, *others), (watched_weights, *watched_others) = ends
    assert others == watched_others
    assert weights.keys() == watched_weights.keys()
    assert all(torch.equal(weights[name], watched_weights[name]) for name in weights)


def test_every_logger_gets_the_figures(tmp_path: Path) -> None:
    trainer, recorder = new_trainer(tmp_path / "out"), Recorder()
    trainer.add_callback(recorder)
    ProbeCallback("mini", FEW).attach(trainer)
    trainer.train()
    assert [logs.keys() - {"epoch"} for logs in recorder.figures()] == [FULL_NAMES] * 2
    kept = json.loads((tmp_path / "out" / "checkpoint-4" / "trainer_state.json").read_text("utf-8"))["log_history"]
    assert [logs["step"] for logs in kept if logs.keys() >= FULL_NAMES] == [2, 4]
    assert trainer.evaluate().keys() >= FULL_NAMES


def test_without_the_trainer_the_history_has_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    trainer, recorder = new_trainer(tmp_path / "out"), Recorder()
    trainer.add_callback(recorder)
    trainer.add_callback(ProbeCallback("mini", FEW))
    trainer.train()
    assert recorder.figures() == []
    history = [logs for logs in trainer.state.log_history if logs.keys() >= FULL_NAMES]
    assert [(logs["step"], logs["epoch"]) for logs in history] == [(2, 2 / 6), (4, 4 / 6)]
    assert "calprobe" not in {record.name.partition(".")[0] for record in caplog.records}
    trainer.args.report_to = ["tensorboard"]
    trainer.train()
    assert "history alone; attach(trainer) sends them to tensorboard too" in caplog.text


def test_paraphrases_give_a_bear_score(tmp_path: Path) -> None:
    trainer = new_trainer(tmp_path / "out")
    ProbeCallback("mini", ScoreOptions(templates="0,1", relations=("month",), first=2)).attach(trainer)
    assert trainer.evaluate().keys() >= FULL_NAMES | {"eval_calprobe/mini/bear_score"}


def test_the_best_model_can_be_chosen_by_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    best = {"metric_for_best_model": "calprobe/mini/brier_margin", "load_best_model_at_end": True}
    trainer = new_trainer(tmp_path / "out", greater_is_better=False, max_steps=6, **best)
    ProbeCallback("mini", FEW, tmp_path / "runs").attach(trainer)
    trainer.train()
    name = "eval_calprobe/mini/brier_margin"
    found = {logs["step"]: logs[name] for logs in trainer.state.log_history if name in logs}
    chosen = min(found, key=lambda step: found[step])
    assert trainer.state.best_metric == found[chosen]
    assert str(trainer.state.best_model_checkpoint).endswith(f"checkpoint-{chosen}")
    # The model is that of the best step now, and the last step's run stays that of its own weights.
    before = calprobe.open_run(tmp_path / "runs" / "step-6").manifest
    assert trainer.evaluate()[name] == pytest.approx(found[chosen], abs=1e-6)
    assert calprobe.open_run(tmp_path / "runs" / "step-6").manifest == before


def test_a_training_stops_early_by_a_figure(tmp_path: Path) -> None:
    best: dict[str, Any] = {"metric_for_best_model": "calprobe/mini/brier_base", "greater_is_better": False}
    trainer = new_trainer(tmp_path / "out", eval_steps=1, save_strategy="best", learning_rate=0.0, **best)
    trainer.add_callback(EarlyStoppingCallback(early_stopping_patience=1))
    ProbeCallback("mini", FEW).attach(trainer)
    trainer.train()
    assert trainer.state.global_step == 2, "the second evaluation is no better"


def test_several_evaluations_of_a_step_score_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = [{"input_ids": tiny_tokenizer()("A text.")["input_ids"]}] * 2
    trainer, recorder = new_trainer(tmp_path / "out", eval_dataset={"one": data, "other": data}), Recorder()
    trainer.add_callback(recorder)
    ProbeCallback("mini", FEW).attach(trainer)
    calls: list[Any] = []
    real = training.score_in_memory
    monkeypatch.setattr(training, "score_in_memory", lambda *args: (calls.append(args), real(*args))[1])
    trainer.train()
    assert len(calls) == len(recorder.figures()) == 2
    assert trainer.evaluate().keys() >= FULL_NAMES | {"eval_one_loss", "eval_other_loss"}
    assert len(calls) == 2


def test_every_second_evaluation(tmp_path: Path) -> None:
    callback = ProbeCallback("mini", FEW, every=2)
    for steps, scored in ((4, [1, 3]), (5, [1, 3, 5]), (5, [1, 3, 5])):  # each training counts its own
        trainer = new_trainer(tmp_path / f"out-{steps}", eval_steps=1, max_steps=steps)
        callback.attach(trainer)
        trainer.train()
        assert [logs["step"] for logs in trainer.state.log_history if logs.keys() >= FULL_NAMES] == scored


def test_a_failure_stops_training_only_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("the card is on fire")

    monkeypatch.setattr(training, "score_in_memory", fail)
    trainer = new_trainer(tmp_path / "out")
    callback = ProbeCallback("mini", FEW).attach(trainer)
    trainer.train()
    assert trainer.state.global_step == 4
    assert [record.getMessage() for record in caplog.records if record.name == "calprobe.training.callback"] == [
        "step 2: probe mini is not scored",
        "step 4: probe mini is not scored",
    ]
    assert "the card is on fire" in caplog.text
    said = r"^step \d: probe mini cannot be scored: the card is on fire$"
    callback.stop_on_error = True
    with pytest.raises(CalprobeError, match=said):
        trainer.evaluate()
    chosen = new_trainer(tmp_path / "other", metric_for_best_model="calprobe/mini/accuracy")
    ProbeCallback("mini", FEW).attach(chosen)
    with pytest.raises(CalprobeError, match=said):
        chosen.train()


def test_a_training_that_goes_on_finds_its_runs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def train(**how: Any) -> list[float]:
        trainer = new_trainer(tmp_path / "out", learning_rate=how.pop("learning_rate", 1e-2))
        ProbeCallback("mini", FEW, tmp_path / "runs").attach(trainer)
        trainer.train(**how)
        name = "eval_calprobe/mini/brier_base"
        return [logs[name] for logs in trainer.state.log_history if name in logs]

    def created() -> str:
        run = calprobe.open_run(tmp_path / "runs" / "step-4")
        return f"{run.progress.pieces} {run.manifest.model.weights_fingerprint}"

    def warned() -> list[str]:
        records = [record for record in caplog.records if record.name.startswith("calprobe")]
        return [record.getMessage() for record in records if record.levelno >= logging.WARNING]

    first, complete = train(), created()
    assert train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-2")) == first
    assert created() == complete  # not a piece was scored again
    assert warned() == []
    assert train(learning_rate=1e-3) != first
    assert created() != complete
    assert warned() == [f"{tmp_path / 'runs' / f'step-{n}'}: held another run, and is scored anew" for n in (2, 4)]


def test_evaluating_needs_no_training(tmp_path: Path) -> None:
    trainer = new_trainer(tmp_path / "out")
    ProbeCallback("mini", FEW, tmp_path / "runs").attach(trainer)
    assert trainer.evaluate().keys() >= FULL_NAMES
    assert (tmp_path / "runs" / "step-0" / "manifest.json").is_file()


@pytest.mark.proof
def test_scores_are_the_weights_own_under_autocast(tmp_path: Path) -> None:
    found = []
    for bf16 in (False, True):
        trainer = new_trainer(tmp_path / str(bf16), bf16=bf16)
        ProbeCallback("mini", FEW, tmp_path / f"runs-{bf16}").attach(trainer)
        trainer.evaluate()
        trainer.accelerator.prepare(trainer.model)  # as training does, once: forward in bfloat16 from here on
        found.append(trainer.evaluate()["eval_calprobe/mini/brier_base"])
        trainer.train()
        manifest = calprobe.open_run(tmp_path / f"runs-{bf16}" / "step-4").manifest
        assert (manifest.settings.path, manifest.settings.dtype) == ("tree", "float32")
    assert found[0] == found[1]


def test_what_cannot_be_scored_is_refused_before_training(tmp_path: Path) -> None:
    def refused(callback: ProbeCallback, said: str, **changes: Any) -> None:
        trainer = new_trainer(tmp_path / "out", **changes)
        callback.attach(trainer)
        with pytest.raises(UsageError, match=said):
            trainer.train()
        assert trainer.state.global_step == 0

    refused(ProbeCallback("mini", FEW), "no tokenizer; give the Trainer a processing_class", processing_class=None)
    refused(ProbeCallback(MADE_UP), "a masked language model, but probe made_up scores completions", kind="masked")
    refused(ProbeCallback("mini", ScoreOptions(pll_metric="original")), "a causal language model, without masking")
    best = {"metric_for_best_model": "eval_calprobe/mini/ace_base"}
    refused(ProbeCallback("mini", FEW), "smaller is better; set greater_is_better=False", **best)
    wrong_way = {"metric_for_best_model": "calprobe/mini/accuracy", "greater_is_better": False}
    refused(ProbeCallback("mini", FEW), "larger is better; set greater_is_better=True", **wrong_way)
    unknown = {"metric_for_best_model": "calprobe/mini/ace"}
    refused(ProbeCallback("mini", FEW), "no 'ace'; give some of accuracy, bear_score, ace_base", **unknown)
    alone = {"metric_for_best_model": "calprobe/mini/bear_score"}
    refused(ProbeCallback("mini", FEW), "it is of two paraphrases or more; give ScoreOptions", **alone)
    refused(ProbeCallback("mini", FEW, every=2), "every evaluation needs the figure", greater_is_better=False, **best)


def test_wrong_options_are_refused_on_construction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    with pytest.raises(DataMissingError, match="calprobe fetch bear"):
        ProbeCallback("bear")
    with pytest.raises(UsageError, match="probe mini has no P30"):
        ProbeCallback("mini", ScoreOptions(relations=("P30",)))
    for every in (0, True, 1.5):
        with pytest.raises(UsageError, match="every must be an int of at least 1, got"):
            ProbeCallback("mini", every=every)  # type: ignore[arg-type]


def test_a_tokenizer_may_be_given_and_is_left_alone(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.enable_truncation(5)
    trainer = new_trainer(tmp_path / "out", processing_class=None)
    ProbeCallback("mini", FEW, tokenizer=tokenizer).attach(trainer)
    assert trainer.evaluate().keys() >= FULL_NAMES
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 5


def test_each_training_has_its_own_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lower = tiny_tokenizer()
    lower.backend_tokenizer.normalizer = Lowercase()
    scored: list[str] = []
    real = training.score_in_memory
    monkeypatch.setattr(
        training,
        "score_in_memory",
        lambda model, *rest: (scored.append(model.tokenizer_fingerprint), real(model, *rest))[1],
    )
    callback = ProbeCallback("mini", FEW)
    for tokenizer in (tiny_tokenizer(), lower):
        trainer = new_trainer(tmp_path / "out", processing_class=tokenizer)
        callback.attach(trainer)
        trainer.evaluate()
    assert scored == [tokenizer_fingerprint(tiny_tokenizer()), tokenizer_fingerprint(lower)]


def test_a_model_with_an_adapter(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=4, target_modules=["c_attn"], init_lora_weights=False, task_type="CAUSAL_LM")
    adapted = peft.get_peft_model(new_model(), config)
    trainer = new_trainer(tmp_path / "out", adapted)
    ProbeCallback("mini", FEW, tmp_path / "runs").attach(trainer)
    trainer.train()
    run = calprobe.open_run(tmp_path / "runs" / "step-4")
    assert (run.manifest.model.adapter_merged, run.manifest.model.architecture) == (False, "GPT2LMHeadModel")
    adapted.eval().merge_and_unload().save_pretrained(tmp_path / "merged")
    tiny_tokenizer().save_pretrained(tmp_path / "merged")
    merged = calprobe.score(str(tmp_path / "merged"), "mini", tmp_path / "later", FEW)
    np.testing.assert_allclose(run.table().scores, merged.table().scores, atol=TINY_SUM)


def test_a_process_that_is_not_the_first_has_the_figures_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a first one that is made up; two real processes are a proof."""
    figures = {name: float(place) for place, name in enumerate(FULL_NAMES)}
    sent: list[Any] = []
    monkeypatch.setattr(training, "score_in_memory", lambda *_: pytest.fail("scored here too"))
    monkeypatch.setattr(
        training, "broadcast_object_list", lambda outcome: (sent.append(outcome), [figures, True, None])[1]
    )
    trainer = new_trainer(tmp_path / "out")
    ProbeCallback("mini", FEW, tmp_path / "runs").attach(trainer)
    trainer.state.is_world_process_zero = False
    assert trainer.evaluate().items() >= figures.items()
    assert sent == [[None, False, None]]
    assert not (tmp_path / "runs").exists()


TWO_PROCESSES = """
import json, sys
from pathlib import Path
import torch
from forked_launch import launch
from trainings import FEW, new_model, new_trainer
from calprobe.training import ProbeCallback
out = Path(sys.argv[1])
def train():
    best = {"metric_for_best_model": "calprobe/mini/accuracy"}
    trainer = new_trainer(out / "out", ddp_backend="gloo", max_steps=2, save_strategy="no", **best)
    ProbeCallback("mini", FEW, out / "runs").attach(trainer)
    trainer.train()
    (out / f"{trainer.args.process_index}.json").write_text(json.dumps([trainer.evaluate(), trainer.state.log_history]))
    torch.distributed.destroy_process_group()  # else one that ends first can take the other's last word with it
new_model()  # imports its class
launch(train, 2, out / "logs")
"""


@pytest.mark.proof
def test_one_of_several_processes_scores_for_all(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TWO_PROCESSES, "utf-8")
    tests = str(Path(__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": tests, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    one, other = (json.loads((tmp_path / f"{rank}.json").read_text("utf-8")) for rank in (0, 1))
    for metrics, history in (one, other):
        assert metrics.keys() >= FULL_NAMES
        assert [logs["step"] for logs in history if logs.keys() >= FULL_NAMES] == [2]
    assert all(one[0][name] == other[0][name] for name in FULL_NAMES)
    assert calprobe.open_run(tmp_path / "runs" / "step-2").progress.pieces == 1
