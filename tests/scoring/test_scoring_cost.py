"""Tokens of a run of scores, counted before a model is loaded."""

from __future__ import annotations

import pytest

from calprobe.models import LoadOptions, load_model
from calprobe.models.texts import tokenizer_files, without_weights
from calprobe.probes import load_probe
from calprobe.scoring import ScoreOptions, cost, select
from calprobe.scoring.cost import counted_tokens, guessed_tokens
from calprobe.scoring.path_choice import executor_of
from calprobe.scoring.scored_pieces import prepare_group

OPTIONS = ScoreOptions(templates="0,1", limit=6)
SELECTION = select(load_probe("mini"), OPTIONS)


@pytest.mark.parametrize(("name", "path"), [("tiny-clm", "tree"), ("tiny-mlm", "masked")])
def test_counted_tokens_are_what_the_planner_forwards(name: str, path: str) -> None:
    model = without_weights(name)
    assert model is not None
    found, exact = counted_tokens(model, SELECTION, OPTIONS)
    assert exact
    loaded = load_model(name, LoadOptions(device="cpu"))
    masking = OPTIONS.masking(loaded.kind, name)
    executor = executor_of(path, loaded, 10**6, masking=masking)  # type: ignore[arg-type]
    planned = 0
    for relation, number in SELECTION.pieces:
        template = SELECTION.template_set.template(relation, number)
        (stretch,) = prepare_group([(SELECTION.relation(relation), template)], loaded, executor, masking).plans
        plan = stretch.plan
        if path == "masked":
            planned += sum(plan.batch(place).token_ids.size for place in range(plan.n_batches))
        else:
            planned += len(plan.token_ids)
    assert found <= planned <= 1.05 * found


def test_large_runs_are_counted_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    selection = select(load_probe("mini"), ScoreOptions())
    for name in ("tiny-clm", "tiny-mlm"):
        model = without_weights(name)
        assert model is not None
        all_of_them, exact = counted_tokens(model, selection, ScoreOptions())
        assert exact
        monkeypatch.setattr(cost, "_SAMPLED", 3000)
        found, exact = counted_tokens(model, selection, ScoreOptions())
        monkeypatch.undo()
        assert not exact
        assert found == pytest.approx(all_of_them, rel=0.1)
        assert 0.4 < guessed_tokens(selection, model.kind) / all_of_them < 2.5


def test_a_model_that_is_not_here_has_no_tokenizer() -> None:
    assert without_weights("nobody/no-such-model") is None
    assert tokenizer_files("nobody/no-such-model") is None
    assert tokenizer_files("tiny-clm") != tokenizer_files("tiny-mlm")
