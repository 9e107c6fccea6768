"""Short trainings of tiny random models with transformers' own Trainer, on a CPU."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tiny_models import MASKED_CONFIGS, tiny_masked_tokenizer, tiny_tokenizer
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    DataCollatorForLanguageModeling,
    GPT2Config,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from calprobe.scoring import ScoreOptions

# With drop-out, so that a training tells whether its random numbers were touched.
CAUSAL = GPT2Config(
    vocab_size=260, n_embd=32, n_layer=2, n_head=4, n_positions=128, bos_token_id=1, eos_token_id=2, pad_token_id=0
)
MASKED = copy.deepcopy(MASKED_CONFIGS["bert"])
MASKED.max_position_embeddings = 128
FEW = ScoreOptions(relations=("month",), first=3)  # 36 statements
TEXTS = [f"The month after {one} is {other}." for one, other in (("May", "June"), ("June", "July"), ("July", "August"))]


class Recorder(TrainerCallback):
    """Hears what every logger of a trainer hears."""

    def __init__(self) -> None:
        self.logs: list[dict[str, Any]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        self.logs.append(dict(logs))

    def figures(self, prefix: str = "eval_calprobe/") -> list[dict[str, Any]]:
        """The logs that hold a probe's figures."""
        return [logs for logs in self.logs if any(name.startswith(prefix) for name in logs)]


def new_model(kind: str = "causal") -> Any:
    """The same random model each time, with a config of its own: what a trainer saves gives it a name."""
    torch.manual_seed(0)
    if kind == "masked":
        return AutoModelForMaskedLM.from_config(copy.deepcopy(MASKED), dtype=torch.float32)
    return AutoModelForCausalLM.from_config(copy.deepcopy(CAUSAL), dtype=torch.float32)


def new_trainer(out: Path, model: Any = None, kind: str = "causal", **changes: Any) -> Trainer:
    """A trainer of four steps with an evaluation and a checkpoint after every second one.

    `changes` are of the TrainingArguments; of the trainer itself: processing_class, eval_dataset.
    """
    tokenizer = tiny_masked_tokenizer() if kind == "masked" else tiny_tokenizer()
    data = [{"input_ids": tokenizer(text)["input_ids"]} for text in TEXTS * 4]
    of_trainer: dict[str, Any] = {"processing_class": tokenizer, "eval_dataset": data[:2]}
    of_trainer |= {name: changes.pop(name) for name in of_trainer.keys() & changes.keys()}
    arguments: Mapping[str, Any] = {
        "max_steps": 4,
        "eval_strategy": "steps",
        "eval_steps": 2,
        "save_strategy": "steps",
        "save_steps": 2,
        "logging_steps": 1,
        "learning_rate": 1e-2,
        "per_device_train_batch_size": 2,
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    }
    collator = DataCollatorForLanguageModeling(tokenizer, mlm=kind == "masked", mlm_probability=0.3)
    return Trainer(
        new_model(kind) if model is None else model,
        TrainingArguments(str(out), **{**arguments, **changes}),
        data_collator=collator,
        train_dataset=data,
        **of_trainer,
    )
