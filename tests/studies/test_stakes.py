"""Stakes: confidences as decisions, by hand and from runs, and prompts that name the stakes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from asked_replies import asked, choice, prompts, reply
from click.testing import CliRunner

import calprobe
from calprobe.cells.candidates import asked_cells
from calprobe.cli.app import cli
from calprobe.errors import ProbeFormatError, UsageError
from calprobe.measures.options import DEFAULT_OPTIONS
from calprobe.metrics import Resampling
from calprobe.prompts import load_prompts
from calprobe.prompts.types import Variant, record_of
from calprobe.studies.stakes.layouts import stakes_sentences, stakes_tables
from calprobe.studies.stakes.numbers import stakes_report
from calprobe.studies.stakes.results import StakesOptions, StakesReport

RUNS = Path(__file__).resolve().parents[1] / "golden" / "runs"
FEW = Resampling(50)


def report_of(run: Path, **options: object) -> StakesReport:
    return calprobe.stakes(run, StakesOptions(resampling=FEW, **options))


def run(*arguments: object) -> str:
    result = CliRunner().invoke(cli, ["stakes", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_answers_of_a_run_are_worth_what_loops_say() -> None:
    confidences = calprobe.confidences(RUNS / "clm")
    found = report_of(RUNS / "clm", at=(0.5, 0.9))
    assert [decided.score for decided in found.decided] == ["base", "margin", "average_min"]
    for decided in found.decided:
        rows = confidences[confidences["estimator"] == decided.score]
        for stakes, cost in ((0.5, 1.0), (0.9, 9.0)):
            worth = [
                0.0 if sure < stakes else 1.0 if right else -cost
                for sure, right in zip(rows["confidence"], rows["correct"], strict=True)
            ]
            at = decided.of(stakes)
            assert at.utility.value == pytest.approx(np.mean(worth))
            assert at.answered == (rows["confidence"] >= stakes).mean()
            right = rows["correct"].mean()
            assert at.always.value == pytest.approx(right - (1 - right) * cost)
            assert at.utility.low <= at.utility.value <= at.utility.high or not at.answered
        assert decided.mean.value <= decided.accuracy.value


def told(texts: dict[str, list[str]], stakes: dict[str, float]) -> StakesReport:
    """Replies by variant to questions whose right option is A."""
    questions = [choice(f"q{place}") for place in range(4)]
    replies = [reply(f"q{place}", text, variant=name) for name, of in texts.items() for place, text in enumerate(of)]
    variants = [Variant(name, "{input}", 8, stakes=stakes.get(name)) for name in texts]
    run_of = asked(questions, replies, prompts(*variants, stated=()))
    return stakes_report(asked_cells(run_of, DEFAULT_OPTIONS), StakesOptions(resampling=FEW))


def test_prompts_that_name_stakes_by_hand() -> None:
    texts = {"free": ["A", "A", "B", "A"], "dear": ["A", "B", "unknown", "What a day"]}
    found = told(texts, {"free": 0.0, "dear": 0.75})
    free, dear = found.told
    assert (free.utility.value, free.abstained.value, free.accuracy.value) == (0.75, 0, 0.75)
    # Right, wrong, abstained, not read: (1 - 3 + 0 - 3) / 4.
    assert (dear.utility.value, dear.abstained.value, dear.unread) == (-1.25, 0.25, 0.25)
    assert dear.accuracy.value == pytest.approx(1 / 3)
    assert stakes_tables(found)[0].rows[0].label == "free"
    assert "told that a wrong answer costs 3: abstains in 25 % of 4 replies" in " ".join(stakes_sentences(found))


def test_all_wrong_has_the_exact_interval_of_its_accuracy_and_none_of_its_utility(tmp_path: Path) -> None:
    table = tmp_path / "answers.csv"
    table.write_text("p,right\n" + "0.9,0\n" * 4)
    found = json.loads(run(table, "--score", "p", "--correct", "right", "--at", "0.5", "--json"))
    (decided,) = found["decided"]
    assert decided["accuracy"]["ci95"] == [0.0, pytest.approx(1 - 0.025**0.25)]
    assert decided["at"][0]["always"] == {"value": -1.0, "ci95": None}


def test_free_answers_abstain_in_words() -> None:
    from calprobe.questions.types import Question

    questions = [Question(f"q{at}", "Who?", "open", accepted=("Ann",)) for at in range(3)]
    replies = [reply(f"q{at}", text, variant="dear") for at, text in enumerate(["Ann", "I don't know.", "Bob"])]
    run_of = asked(questions, replies, prompts(Variant("dear", "{input}", 8, stakes=0.5), stated=()))
    (dear,) = stakes_report(asked_cells(run_of, DEFAULT_OPTIONS), StakesOptions(resampling=FEW)).told
    assert (dear.abstained.value, dear.accuracy.value, dear.utility.value) == (pytest.approx(1 / 3), 0.5, 0)


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(UsageError, match="chance: no probability"):
        report_of(RUNS / "clm", estimators=("chance",))
    with pytest.raises(UsageError, match="--at must be stakes of at least 0 and below 1; got 1"):
        StakesOptions(at=(1.0,))
    with pytest.raises(UsageError, match="no confidences that are probabilities"):
        told({"free": ["A", "A", "B", "A"]}, {})


def test_the_set_of_prompts_names_its_stakes(tmp_path: Path) -> None:
    stakes = load_prompts("stakes")
    assert [variant.stakes for variant in stakes.variants] == [0, 0.5, 0.75, 0.9]
    for variant in stakes.variants[1:]:
        for wording in (variant, *variant.wordings.values()):
            cost = round(variant.stakes / (1 - variant.stakes))
            assert f"costs {cost} point" in wording.user
            assert f"{100 * variant.stakes:.0f}%" in wording.user
    assert "stakes" not in record_of(load_prompts("plain").variants[0])  # prompts without stakes keep their hashes
    assert record_of(stakes.variants[1])["stakes"] == 0.5
    path = tmp_path / "mine.json"
    path.write_text('{"variants": {"a": {"stakes": 1, "open": "{input}"}}}', "utf-8")
    with pytest.raises(ProbeFormatError, match=r"variants\.a\.stakes must be at least 0 and below 1"):
        load_prompts(path)
    path.write_text('{"variants": {"a": {"stakes": 0.25, "turns": [{"role": "user", "text": "{input}"}]}}}', "utf-8")
    assert load_prompts(path).variants[0].stakes == 0.25


def test_the_command_reads_runs_and_tables(tmp_path: Path) -> None:
    printed = " ".join(run(RUNS / "clm", "--bootstrap", 0).split())
    found = json.loads(run(RUNS / "clm", "--bootstrap", 0, "--json"))["decided"][0]
    assert found["estimator"] == "base"
    worth = found["at"][-1]["utility"]["value"]
    assert f"worth {worth:+.2f} on average over all {found['units']:,}; answering always is worth" in printed
    rows = csv.DictReader(io.StringIO(run(RUNS / "clm", "--at", "0.5", "--bootstrap", 0, "--format", "csv")))
    utilities = [float(row["value"]) for row in rows if row["metric"] == "utility" and row["estimator"] == "base"]
    assert utilities == [pytest.approx(found["at"][0]["utility"]["value"])]
    table = tmp_path / "answers.csv"
    table.write_text("p,y\n0.95,1\n0.8,0\n0.6,1\n0.1,0\n", "utf-8")
    arguments = ("--score", "p", "--correct", "y", "--bootstrap", 0, "--at", "0.75", "--json")
    (decided,) = json.loads(run(table, *arguments))["decided"]
    assert decided["at"][0]["utility"]["value"] == (1 - 3) / 4
    assert decided["at"][0]["answered"] == 0.5


def test_the_sentence_on_a_run_of_replies_is_of_label_unless_others_are_named() -> None:
    for options, score in (((), "label"), (("--estimator", "label_raw,label"), "label_raw")):
        said = run(RUNS / "audit", "--bootstrap", 0, *options)
        assert f"surface_paraphrase, {score}: at stakes" in " ".join(said.split())


def test_mistakes_of_the_command_are_refused() -> None:
    for arguments, message in ((("--at", "high"), "--at high: not a number"), (("--score", "p"), "are of tables")):
        result = CliRunner().invoke(cli, ["stakes", str(RUNS / "clm"), *arguments])
        assert message in result.output + str(result.exception)
        assert result.exit_code != 0
