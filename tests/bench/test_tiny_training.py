"""How the tiny pair is made: the counts are those of the sentences, and masks are those of scoring."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tiny.corpus import INVENTED, MENTIONS, MOST, Corpus, counts_of, make_corpus
from tiny.folders import differing_files, write_exposures, write_model
from tiny.networks import causal_network, masked_network
from tiny.training import IGNORED, MASK_ID, Batch, Schedule, batches, causal_examples, encoded, masked_examples, train
from tiny.vocabulary import make_tokenizer
from tokenizers import Tokenizer
from train_tiny import SHIPPED, random

from calprobe.probes import Probe, load_probe
from calprobe.statements import TemplateSet, fill, load_template_set


@pytest.fixture(scope="module")
def probe() -> Probe:
    return load_probe("mini")


@pytest.fixture(scope="module")
def templates(probe: Probe) -> TemplateSet:
    return load_template_set("calprobe", probe)


@pytest.fixture(scope="module")
def corpus(probe: Probe, templates: TemplateSet) -> Corpus:
    return make_corpus(probe, templates, random(0))


@pytest.fixture(scope="module")
def tokenizer(probe: Probe, templates: TemplateSet) -> Tokenizer:
    return make_tokenizer(probe, templates)


@pytest.fixture(scope="module")
def rows(corpus: Corpus, tokenizer: Tokenizer) -> list[Batch]:
    return encoded(tokenizer, corpus.sentences)


def test_each_fact_stands_in_the_corpus_as_often_as_counted_and_only_in_its_paraphrases(
    corpus: Corpus, probe: Probe, templates: TemplateSet
) -> None:
    seen, counted = Counter(sentence.text for sentence in corpus.sentences), Counter[str]()
    every = set()
    for relation in probe.relations:
        own = corpus.exposures[relation.name]
        for instance, count in zip(relation.instances, own.counts, strict=True):
            answer = relation.candidates[instance.answer_idx]
            texts = [fill(form.text, instance.subject, answer).text for form in templates.templates[relation.name]]
            every |= set(texts)
            in_turn = Counter(texts[number] for number in own.paraphrases if seen[texts[number]])
            assert len(in_turn) == min(count, 3), texts[0]
            counted.update({text: seen[text] for text in in_turn})
    assert sum(counted.values()) == sum(sum(own.counts) for own in corpus.exposures.values())
    assert every & set(seen) == set(counted)


def test_the_corpus_is_facts_invented_ones_and_mentions(corpus: Corpus, probe: Probe) -> None:
    facts = sum(sum(own.counts) for own in corpus.exposures.values())
    candidates = sum(len(relation.candidates) for relation in probe.relations)
    subjects = len({instance.subject for relation in probe.relations for instance in relation.instances})
    assert len(corpus.sentences) == facts + candidates * INVENTED * 7 + subjects * len(MENTIONS)


@pytest.mark.parametrize("n_facts", [12, 18, 58])
def test_counts_follow_zipf(n_facts: int) -> None:
    counts = sorted(counts_of(n_facts, np.random.default_rng(0)), reverse=True)
    stated = [count for count in counts if count]
    assert len(counts) - len(stated) == round(0.2 * n_facts)
    assert (stated[0], stated[-1]) == (MOST, 1)
    slope = np.diff(np.log(stated[:3])) / np.diff(np.log([1, 2, 3]))
    assert slope == pytest.approx(-np.log(MOST) / np.log(len(stated)), abs=0.15)


def test_what_ships_is_made_of_this_corpus_and_vocabulary(
    corpus: Corpus, probe: Probe, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    write_model(tmp_path / "tiny-mlm", masked_network(0), tokenizer, "masked")
    write_model(tmp_path / "tiny-clm", causal_network(0), tokenizer, "causal")
    write_exposures(tmp_path / "exposures.json", probe, corpus.exposures)
    weights = {f"{name}/model.safetensors" for name in ("tiny-clm", "tiny-mlm")}
    configs = {f"{name}/config.json" for name in ("tiny-clm", "tiny-mlm")}  # they name the version of transformers
    assert set(differing_files(tmp_path, SHIPPED)) - configs == weights


def test_a_reading_has_each_row_once_in_batches_of_one_length(rows: list[Batch]) -> None:
    read = list(batches(rows, 32, np.random.default_rng(0)))
    assert max(len(batch.ids) for batch in read) == 32
    assert Counter(tuple(row) for batch in read for row in batch.ids.tolist()) == Counter(
        tuple(row.ids[0].tolist()) for row in rows
    )


def test_causal_targets_are_the_next_tokens(rows: list[Batch]) -> None:
    inputs, targets = causal_examples(rows[0])
    assert inputs.tolist() == rows[0].ids.tolist()
    assert targets[0].tolist() == [*rows[0].ids[0, 1:].tolist(), IGNORED]


def test_masks_are_tails_of_words_and_every_row_has_one(rows: list[Batch]) -> None:
    examples = masked_examples(np.random.default_rng(0))
    n_tails = n_answers = 0
    for batch in batches(rows, 32, np.random.default_rng(0)):
        inputs, targets = examples(batch)
        masked = inputs == MASK_ID
        assert (masked == (targets != IGNORED)).all()
        assert masked.any(axis=1).all()
        assert not masked[batch.words < 0].any()
        assert (inputs[~masked] == batch.ids[~masked]).all()
        assert (targets[masked] == batch.ids[masked]).all()
        inside = batch.words[:, 1:] == batch.words[:, :-1]
        assert not (inside & masked[:, :-1] & ~masked[:, 1:]).any()  # what follows in the word is masked too
        n_tails += int((inside & masked[:, 1:] & ~masked[:, :-1]).sum())
        n_answers += int((masked & batch.answers).any(axis=1).sum())
    assert n_tails > 500
    assert n_answers > len(rows) / 3


@pytest.mark.proof
@pytest.mark.parametrize("kind", ["causal", "masked"])
def test_training_learns_and_is_the_same_again(kind: str, rows: list[Batch]) -> None:
    def trained() -> tuple[list[float], bytes]:
        network = causal_network(0) if kind == "causal" else masked_network(0)
        examples = causal_examples if kind == "causal" else masked_examples(np.random.default_rng(1))
        losses = list(train(network, rows[:48], examples, Schedule(3, 1e-3), np.random.default_rng(2)))
        return losses, next(network.parameters()).detach().numpy().tobytes()

    losses, weights = trained()
    assert losses[2] < losses[0]
    assert trained() == (losses, weights)
