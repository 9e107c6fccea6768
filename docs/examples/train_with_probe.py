"""Train a small random model on facts of the probe `mini`, and watch what it knows and how well it knows that.

    python docs/examples/train_with_probe.py

Needs no GPU and no network, and takes less than a minute. The model is told every second fact and asked for all of
them: it comes to know what it was told, and its confidence comes to tell the one half from the other.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, DataCollatorForLanguageModeling, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback

import calprobe
from calprobe.probes import Probe
from calprobe.statements import load_template_set
from calprobe.training import ProbeCallback

RELATIONS = ("capital", "young-animal")
STEPS, EVERY = 120, 20


def told(probe: Probe) -> list[str]:
    """Every second fact of the relations, in the wording of template 0."""
    wordings = load_template_set("calprobe", probe)
    texts = []
    for relation in map(probe.relation, RELATIONS):
        wording = wordings.template(relation.name, 0).text
        for instance in relation.instances[::2]:
            answer = relation.candidates[instance.answer_idx]
            texts.append(wording.replace("[X]", instance.subject).replace("[Y]", answer))
    return texts


def train(folder: Path, steps: int = STEPS, every: int = EVERY) -> list[dict[str, Any]]:
    """Train from random weights; the evaluations that hold the probe's figures, in order."""
    torch.manual_seed(0)
    tiny = calprobe.load_model("tiny-clm")  # for its tokenizer and its size
    model = AutoModelForCausalLM.from_config(tiny.network.config)
    model.config.name_or_path = "small"  # what its runs are called
    probe = calprobe.load_probe("mini")
    data = [{"input_ids": tiny.tokenizer(f"{tiny.start_token}{text}")["input_ids"]} for text in told(probe)]
    arguments = TrainingArguments(
        str(folder / "training"),
        max_steps=steps,
        learning_rate=3e-3,
        per_device_train_batch_size=16,
        eval_strategy="steps",
        eval_steps=every,
        eval_on_start=True,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
        use_cpu=True,
    )
    trainer = Trainer(
        model,
        arguments,
        data_collator=DataCollatorForLanguageModeling(tiny.tokenizer, mlm=False),
        train_dataset=data,
        eval_dataset=data[:8],
        processing_class=tiny.tokenizer,
    )
    trainer.remove_callback(PrinterCallback)  # the table shows it all
    options = calprobe.ScoreOptions(relations=RELATIONS)
    callback = ProbeCallback(probe, options, folder / "runs").attach(trainer)
    trainer.train()
    return [logs for logs in trainer.state.log_history if f"{callback.prefix}accuracy" in logs]


def table(history: list[dict[str, Any]]) -> str:
    """A line for each evaluation."""
    columns = ("accuracy", "ace_base", "brier_base", "ace_margin", "brier_margin")
    lines = [f"{'step':>5}" + "".join(f"{column:>14}" for column in columns)]
    for logs in history:
        figures = (logs[f"eval_calprobe/mini/{column}"] for column in columns)
        lines.append(f"{logs['step']:>5}" + "".join(f"{figure:>14.3f}" for figure in figures))
    return "\n".join(lines)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(table(train(Path(temporary))))
