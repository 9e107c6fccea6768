"""One thread tokenises while another plans: after running out of memory, the engine does just that."""

from __future__ import annotations

import sys
import threading

import numpy as np
from tiny_models import loaded, tiny_masked

from calprobe.models import LoadedModel, load_model, tokenise
from calprobe.models.tokenizers import special_tokens_of
from calprobe.scoring.masked import PlainMaskedExecutor
from calprobe.statements import fill

# A label that reads like the mask token: as text it is several tokens, as a special token one.
STATEMENTS = [fill("[X] is <mask> in [Y].", "Oslo", f"<mask> {number} </s> Norway") for number in range(64)]
ROUNDS = 60


def test_planning_does_not_disturb_tokenisation_in_another_thread() -> None:
    model = load_model("tiny-mlm")
    expected = tokenise(STATEMENTS, model)
    executor = PlainMaskedExecutor(model, "original", 4096)
    few = tokenise(STATEMENTS[:1], model)
    done = threading.Event()

    def plan() -> None:
        while not done.is_set():
            executor.plan(few)
            special_tokens_of(model.tokenizer)  # so does a second model that is made of the same tokenizer

    planner, interval = threading.Thread(target=plan), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # the threads take turns inside transformers' own Python too
    planner.start()
    try:
        found = [tokenise(STATEMENTS, model) for _ in range(ROUNDS)]
    finally:
        done.set()
        planner.join()
        sys.setswitchinterval(interval)
    for rows in found:
        np.testing.assert_array_equal(rows.token_ids, expected.token_ids)


def test_planning_asks_the_tokenizer_nothing() -> None:
    model = load_model("tiny-mlm")
    rows = tokenise(STATEMENTS[:2], model)
    assert model.special == special_tokens_of(model.tokenizer)
    deaf = loaded(tiny_masked("bert"), kind="masked", special=model.special)
    assert isinstance(deaf, LoadedModel)
    assert deaf.tokenizer is None
    plan = PlainMaskedExecutor(deaf, "original", 4096).plan(rows)
    assert (plan.before, plan.after, plan.mask) == (model.special.before, model.special.after, model.special.mask)
