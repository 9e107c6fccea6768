"""Candidates that a tokenizer cannot tell apart, or drops."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from models.sample_tokenizers import byte_level, with_tokenizer, word_piece
from scored_samples import PROBE
from tiny_models import save_tiny_model

from calprobe.errors import CalprobeError
from calprobe.models import load_model
from calprobe.probes import Instance, Probe, Relation, load_probe
from calprobe.scoring import ScoreOptions, score, select
from calprobe.scoring.candidate_tokens import same_tokens, warn_of_same_tokens

FACTS = (Instance(0, "the", 0), Instance(1, "is", 1))


def probe_of(*candidates: str) -> Probe:
    relation = Relation("same", candidates, FACTS, ("[X] is [Y].", "The [Y] of [X]."))
    return Probe("twins", (relation, PROBE.relations[1]), "e" * 64)


def test_an_uncased_tokenizer_reads_other_cases_and_unknown_signs_as_the_same() -> None:
    probe = probe_of("one", "One", "two", "ONE", "\U0001f600", "\U0001f601")
    found = same_tokens(with_tokenizer(word_piece()), select(probe, ScoreOptions(templates="all")))
    assert found["same"].groups == (("one", "One", "ONE"), ("\U0001f600", "\U0001f601"))
    assert (found["same"].count, found["continent"].count) == (5, 0)
    assert same_tokens(with_tokenizer(byte_level()), select(probe, ScoreOptions()))["same"].groups == ()


def test_candidates_of_the_instances_own_are_compared_within_an_instance() -> None:
    own = (replace(FACTS[0], candidates=("one", "two")), replace(FACTS[1], candidates=("ONE", "One")))
    relation = Relation("own", (), own, ("[X] is [Y].",))
    probe = Probe("own", (relation,), "e" * 64)
    found = same_tokens(with_tokenizer(word_piece()), select(probe, ScoreOptions()))
    assert found["own"].groups == (("ONE", "One"),)


@pytest.mark.parametrize("label", ["\u200b", "\ufeff", "\u200d", "\u0301"])
def test_a_candidate_that_the_tokenizer_drops_is_refused(label: str) -> None:
    probe = probe_of("one", label)
    with pytest.raises(CalprobeError, match=r"^same, template 0: candidate '.*' has no token of its own") as raised:
        same_tokens(with_tokenizer(word_piece()), select(probe, ScoreOptions()))
    assert "remove it from the answer space" in str(raised.value)
    assert same_tokens(with_tokenizer(byte_level()), select(probe, ScoreOptions()))["same"].groups == ()


def test_a_statement_that_does_not_fit_is_named() -> None:
    probe = probe_of("one", "a" * 60)
    with pytest.raises(CalprobeError, match=r"same, template \d, instance 0, candidate 'aaa.*: statement .* tokens"):
        same_tokens(with_tokenizer(byte_level(), max_positions=50), select(probe, ScoreOptions(templates="0,1")))


def test_one_warning_names_a_few(caplog: pytest.LogCaptureFixture) -> None:
    model = with_tokenizer(word_piece())
    with caplog.at_level(logging.WARNING, "calprobe"):
        warn_of_same_tokens(same_tokens(model, select(probe_of("one", "One", "two"), ScoreOptions())))
        warn_of_same_tokens(same_tokens(model, select(probe_of("one", "two"), ScoreOptions())))
    said = "2 candidates have the same tokens as another, so their scores are equal: of 'same' 'one', 'One'"
    assert [record.getMessage() for record in caplog.records] == [said]


def test_mini_has_none_with_the_tiny_pair() -> None:
    for name in ("tiny-clm", "tiny-mlm"):
        found = same_tokens(load_model(name), select(load_probe("mini"), ScoreOptions()))
        assert sum(same.count for same in found.values()) == 0


def test_a_runs_manifest_has_their_number(tmp_path: Path) -> None:
    model = load_model(str(save_tiny_model(tmp_path / "tiny")))
    run = score(model, PROBE, tmp_path / "run")
    assert [relation.n_same_tokens for relation in run.manifest.relations] == [0, 0]
    assert run.manifest.n_same_tokens == 0
    assert replace(run.manifest, relations=()).n_same_tokens == 0
