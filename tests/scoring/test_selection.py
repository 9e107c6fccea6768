"""Which statements a run scores, and the handful that its path is checked on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scored_samples import PROBE

from calprobe.errors import UsageError
from calprobe.probes import Instance
from calprobe.probes.relation_sample import sampled_instances
from calprobe.scoring import ScoreOptions
from calprobe.scoring.probe_selection import select
from calprobe.statements import statements_of


def test_first_and_relations_cut_the_probe() -> None:
    selection = select(PROBE, ScoreOptions(first=2, relations=("continent", "continent"), templates="paraphrases"))
    assert [relation.name for relation in selection.relations] == ["continent"]
    assert [instance.subject for instance in selection.relations[0].instances] == ["France", "Japan"]
    assert selection.numbers == (0, 1)
    assert select(PROBE, ScoreOptions(first=99)).relation_records()[0].n_instances == 3


def test_a_limit_samples_each_relation() -> None:
    relation = PROBE.relation("continent")
    selection = select(PROBE, ScoreOptions(limit=2, relations=("continent",)))
    assert selection.relations == (sampled_instances(relation, 2),)
    assert select(PROBE, ScoreOptions(limit=2, seed=7)).relation("continent") == sampled_instances(relation, 2, 7)
    record = selection.relation_records()[0]
    assert (record.n_instances, record.n_in_probe) == (2, len(relation.instances))


def test_labels_that_upper_casing_makes_one_statement_are_refused() -> None:
    capital, continent = PROBE.relations
    twins = replace(PROBE, relations=(replace(capital, candidates=("Paris", "rome", "Rome")), continent))
    assert select(twins, ScoreOptions(templates="0")).numbers == (0,)  # [Y] stands within it
    with pytest.raises(UsageError, match="capital: 'rome' and 'Rome' make one statement under template 1"):
        select(twins, ScoreOptions(templates="0,1"))
    subjects = (*continent.instances, Instance(3, "japan", 1))
    twins = replace(PROBE, relations=(capital, replace(continent, instances=subjects)))
    with pytest.raises(UsageError, match="continent: 'Japan' and 'japan' make one statement under template 0"):
        select(twins, ScoreOptions(templates="0"))
    assert select(PROBE, ScoreOptions(templates="0,1")).numbers == (0, 1)


def test_records_hold_what_a_manifest_needs() -> None:
    selection = select(PROBE, ScoreOptions(templates="1"))
    capital = selection.relation_records()[0]
    assert (capital.n_statements, capital.cardinality, capital.texts) == (9, "1:1", ("[Y] is the capital of [X].",))
    assert [(t.number, t.kind) for t in selection.template_records()] == [(1, "paraphrase")]
    assert selection.template_source() != select(PROBE, ScoreOptions(templates="0")).template_source()


def test_the_sample_shares_prefixes_and_holds_the_longest_statement() -> None:
    sample = select(PROBE, ScoreOptions()).sample()
    texts = [statement.text for relation, template in sample for statement in statements_of(relation, template.text)]
    assert texts[:4] == [
        "The capital of France is Paris.",
        "The capital of France is Rome.",
        "The capital of Italy is Paris.",
        "The capital of Italy is Rome.",
    ]
    everything = [
        f"The capital of {instance.subject} is {candidate}."
        for instance in PROBE.relations[0].instances
        for candidate in PROBE.relations[0].candidates
    ]
    assert len(texts[-1]) == max(map(len, everything))


def test_no_relation_is_an_error() -> None:
    with pytest.raises(UsageError, match="has no names"):
        select(PROBE, ScoreOptions(relations=()))
