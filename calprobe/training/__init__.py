"""Watch accuracy and calibration while a model is trained: a callback for the `Trainer` of transformers.

    trainer = Trainer(model, arguments, train_dataset=.., eval_dataset=.., processing_class=tokenizer)
    ProbeCallback("mini", ScoreOptions(relations=("capital", "currency"), limit=20)).attach(trainer)
    trainer.train()

At every evaluation the probe is scored with the model as it is, and the figures stand beside the evaluation's own.
"""

from __future__ import annotations

from calprobe.training.callback import ProbeCallback

__all__ = ["ProbeCallback"]
