"""The paper's Tables 1, 3 and 4 on scores of tiny-clm, against the definitions written out plainly in pandas.

A few instances of four relations of BEAR under the paper's twelve templates: answer spaces of 5 to 60, templates that
begin with the subject and with the answer.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from proofs import few_of

from calprobe.analysis import ReportOptions, report
from calprobe.interop.exports import token_tables
from calprobe.metrics import Resampling
from calprobe.probes import Probe, load_probe
from calprobe.runs import Run
from calprobe.scoring import ScoreOptions, score

INSTANCES = {"P30": 20, "P105": 12, "P272": 2, "P37": 6}
INSTANCE = ["relation", "instance"]
N_PARAPHRASES = 5
MARKERS = {"possibly": 5, "certainly": 6, "0": 7, "25": 8, "50": 9, "75": 10, "100": 11}


@pytest.fixture(scope="module")
def probe(shared: Path) -> Probe:
    bear = load_probe(shared / "bear" / "BEAR")
    chosen = [bear.relation(name) for name in INSTANCES]
    return replace(bear, relations=tuple(replace(r, instances=r.instances[: INSTANCES[r.name]]) for r in chosen))


@pytest.fixture(scope="module")
def run(probe: Probe, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    templates = str(shared / "paper" / "metadata_relations_12_templates.json")
    options = ScoreOptions("all", templates, save_tokens=True, quiet=True)
    return score("tiny-clm", probe, tmp_path_factory.mktemp("runs") / "bear", options)


@pytest.fixture(scope="module")
def tokens(run: Run) -> pd.DataFrame:
    return pd.concat([table.to_pandas() for table in token_tables(run)])


def heads(tokens: pd.DataFrame, probe: Probe) -> pd.DataFrame:
    """A row a (relation, instance, template): prediction, largest and second-largest probability, right answer."""
    spaces = [*INSTANCE, "template"]
    scores = tokens.astype({"logprob": float}).groupby([*spaces, "candidate"])["logprob"].sum().reset_index()
    weight = np.exp(scores["logprob"] - scores.groupby(spaces)["logprob"].transform("max"))
    scores["p"] = weight / weight.groupby([scores[key] for key in spaces]).transform("sum")
    by_space = scores.groupby(spaces)["p"]
    found = pd.DataFrame({"base": by_space.max(), "second": by_space.apply(lambda p: p.nlargest(2).iloc[1])})
    found["prediction"] = scores.loc[by_space.idxmax(), "candidate"].to_numpy()
    answers = {(r.name, i.index): i.answer_idx for r in probe.relations for i in r.instances}
    found = found.reset_index()
    found["answer"] = [answers[key] for key in found[INSTANCE].itertuples(index=False, name=None)]
    return found


def choose(paraphrases: pd.DataFrame, aggregation: str) -> int | None:
    """The answer of one instance's paraphrases, rows in the order of the templates; None for a vote that fails."""
    if aggregation == "min":
        return int(paraphrases.loc[paraphrases["base"].idxmin(), "prediction"])
    if aggregation == "max":
        return int(paraphrases.loc[paraphrases["base"].idxmax(), "prediction"])
    votes = paraphrases["prediction"].value_counts()
    winners = votes[votes == votes.max()].index
    return int(winners[0]) if len(winners) == 1 and votes.max() >= int(aggregation.removeprefix("vote_")) else None


def aggregated(heads: pd.DataFrame, aggregation: str) -> pd.DataFrame:
    """average and consistency of each instance, and whether the answer is right."""
    rows = []
    for _, paraphrases in heads[heads["template"] < N_PARAPHRASES].groupby(INSTANCE):
        answer = choose(paraphrases, aggregation)
        agreeing = paraphrases[paraphrases["prediction"] == answer]
        average, consistency = agreeing["base"].sum() / N_PARAPHRASES, len(agreeing) / N_PARAPHRASES
        rows.append((average, consistency, answer == paraphrases["answer"].iloc[0]))
    return pd.DataFrame(rows, columns=["average", "consistency", "correct"])


def ace(confidence: pd.Series, correct: pd.Series) -> float:
    edges = np.percentile(confidence, np.linspace(0, 100, 21))
    bins = np.searchsorted(edges[1:-1], confidence)
    return float(abs(confidence.groupby(bins).mean() - correct.groupby(bins).mean()).mean())


def expected_numbers(heads: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """(accuracy, ACE, Brier) by estimator."""
    samples = {}
    for name, template in {"base": 0, **{f"marker_{marker}": number for marker, number in MARKERS.items()}}.items():
        one = heads[heads["template"] == template].reset_index()
        samples[name] = one["base"], one["prediction"] == one["answer"]
    first = heads[heads["template"] == 0].reset_index()
    samples["margin"] = first["base"] - first["second"], first["prediction"] == first["answer"]
    for aggregation in ("vote_2", "vote_3", "vote_4", "vote_5", "min", "max"):
        found = aggregated(heads, aggregation)
        for name in ("average", "consistency"):
            samples[f"{name}_{aggregation}"] = found[name], found["correct"]
    return {
        name: (
            float(correct.mean()),
            ace(confidence, correct.astype(float)),
            float(((confidence - correct) ** 2).mean()),
        )
        for name, (confidence, correct) in samples.items()
    }


@pytest.mark.parametrize("compat", few_of([None, "kissling2026"], lambda compat: compat is None))
def test_columns_of_the_papers_tables(run: Run, tokens: pd.DataFrame, probe: Probe, compat: str | None) -> None:
    found_heads = heads(tokens if compat is None else tokens[tokens["position"] > 0], probe)
    expected = expected_numbers(found_heads)
    (found,) = report(run, ReportOptions(compat=compat, resampling=Resampling(0))).runs
    estimators = {estimator.name: estimator for estimator in found.estimators}
    assert set(estimators) == {
        *(
            *expected,
            "mixture",
            "fixed_mean",
            "fixed_agreement",
            "entropy",
            "temperature",
            "temperature_top",
            "chance",
            "pmi",
        )
    }
    for name, numbers in expected.items():
        mine = tuple(estimators[name].metrics[metric].value for metric in ("accuracy", "ace", "brier"))
        assert mine == pytest.approx(numbers, abs=1e-12), name

    paraphrases = found_heads[found_heads["template"] < N_PARAPHRASES]
    right = paraphrases["prediction"] == paraphrases["answer"]
    assert found.bear_score is not None
    assert found.bear_score.value == pytest.approx(right.groupby(paraphrases["template"]).mean().mean(), abs=1e-12)

    # The slice has what the definitions tell apart: votes that fail and that do not, numbers that differ.
    assert 0 < estimators["average_vote_2"].failed < estimators["average_vote_5"].failed < found.instances
    assert len({numbers[2] for numbers in expected.values()}) > 15


def test_leaving_out_the_first_token_matters_where_the_answer_stands_first(run: Run, tokens: pd.DataFrame) -> None:
    complete, without = run.table(), run.table(compat="kissling2026")
    change = pd.DataFrame({"sum": (complete.scores - without.scores).ravel()})
    change["template"] = np.repeat(np.arange(12), complete.scores.shape[1])
    owners = np.repeat(np.arange(complete.n_instances), np.diff(complete.offsets))
    change["instance"] = np.tile(owners, 12)
    # The same for all candidates of a (template, instance) with statements that begin alike.
    moved = change.groupby(["instance", "template"])["sum"].agg(np.ptp) > 0
    first_roles = tokens[tokens["position"] == 0].groupby(["relation", "template"])["role"].first()
    relations = complete.relation
    for (instance, template), differs in moved.items():
        assert differs == (first_roles[relations[instance], template] == "answer")
    assert moved.any()
    assert not moved.all()
