"""Fine-tune `tiny-clm` on every second fact of three relations, and save it as a model folder.

    python docs/examples/fine_tune.py models/tuned --runs runs/training

Takes less than a minute on a CPU. The callback scores the three relations before the first step and at each evaluation.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback

import calprobe
from calprobe.statements import load_template_set
from calprobe.training import ProbeCallback

RELATIONS = ("author", "city-country", "main-language")
STEPS, EVERY = 120, 40


def told() -> list[str]:
    """Every second fact of the relations, in the wording of template 0."""
    probe = calprobe.load_probe("mini")
    wordings = load_template_set("calprobe", probe)
    texts = []
    for relation in map(probe.relation, RELATIONS):
        wording = wordings.template(relation.name, 0).text
        for fact in relation.instances[::2]:
            texts.append(wording.replace("[X]", fact.subject).replace("[Y]", relation.candidates[fact.answer_idx]))
    return texts


def tune(folder: Path, runs: Path, steps: int = STEPS, every: int = EVERY) -> list[dict[str, Any]]:
    """Train, save the model to `folder`, and return the evaluations that hold the probe's numbers, in order."""
    torch.manual_seed(0)
    tiny = calprobe.load_model("tiny-clm")
    network: Any = tiny.network
    data = [{"input_ids": tiny.tokenizer(f"{tiny.start_token}{text}")["input_ids"]} for text in told()]
    arguments = TrainingArguments(
        str(folder.with_name(folder.name + "-training")),
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
        network.requires_grad_(True),
        arguments,
        data_collator=DataCollatorForLanguageModeling(tiny.tokenizer, mlm=False),
        train_dataset=data,
        eval_dataset=data[:8],
        processing_class=tiny.tokenizer,
    )
    trainer.remove_callback(PrinterCallback)  # the table shows it all
    callback = ProbeCallback("mini", calprobe.ScoreOptions(relations=RELATIONS), runs).attach(trainer)
    trainer.train()
    network.save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    return [logs for logs in trainer.state.log_history if f"{callback.prefix}accuracy" in logs]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the model goes")
    parser.add_argument("--runs", type=Path, required=True, help="where the runs of the evaluations go")
    given = parser.parse_args()
    print(f"{'step':>5}{'accuracy':>14}{'ace_base':>14}{'brier_base':>14}")
    for logs in tune(given.folder, given.runs):
        numbers = (logs[f"eval_calprobe/mini/{column}"] for column in ("accuracy", "ace_base", "brier_base"))
        print(f"{logs['step']:>5}" + "".join(f"{number:>14.3f}" for number in numbers))
