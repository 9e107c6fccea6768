"""The same facts scored and asked: by hand, by pandas and scipy, and by what must change nothing."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import same_facts as made
from scipy.stats import binomtest, mannwhitneyu, spearmanr

from calprobe.cells.asked import Asked, read_sets
from calprobe.cells.asked_extent import NOT_A_SAMPLE, AskedExtent
from calprobe.cells.asked_folder import asked_of
from calprobe.cells.opening import open_scored_runs
from calprobe.errors import UsageError
from calprobe.measures.options import CompareOptions, ReportOptions
from calprobe.metrics import Resampling, holm, paired_differences, standard_metrics
from calprobe.presentation.comparison_pages import four_ways_page
from calprobe.questions.facts import fact_of
from calprobe.questions.types import Question
from calprobe.runs import open_asked
from calprobe.studies.asked.compared import ComparedRun
from calprobe.studies.four_ways.compare_ways import compare_opened
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.layouts import four_ways_tables, run_lines, run_parts
from calprobe.studies.four_ways.ranked import Ranked, columns_of
from calprobe.studies.four_ways.said import Replies
from calprobe.studies.four_ways.way_options import FourWaysOptions

QUICK = FourWaysOptions(CompareOptions(scores=ReportOptions(resampling=Resampling(60))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.scored(tmp_path_factory.mktemp("four") / "scored")


def compared(
    folders: Path | dict[str, Path], asked: Sequence[Asked], options: FourWaysOptions = QUICK, **changes: object
) -> FourWays:
    named = folders if isinstance(folders, dict) else {"scored": folders}
    ranked = [Ranked.of(run) for run in open_scored_runs(named, options.compare.scores)]
    return compare_opened(ranked, asked, replace(options, **changes))


@pytest.fixture(scope="module")
def found(folder: Path) -> FourWays:
    return compared(folder, [made.choosing(), made.answering()])


def numbers(values: dict[str, tuple[int, ...]]) -> list[bool]:
    return [bool(own) for name, _, _ in made.SHAPES for own in values[name]]


def test_each_way_answers_as_it_was_made_to(found: FourWays) -> None:
    ways = {own.way.letter: own.way for own in found.ways}
    assert {letter: way.kind for letter, way in ways.items()} == {
        "A": "ranking",
        "B": "ranking of options",
        "C": "choice",
        "D": "open",
    }
    assert [(fact.relation, fact.instance) for fact in found.facts] == made.KEYS
    assert ways["A"].correct.tolist() == numbers(made.RANKED)
    assert ways["B"].correct.tolist() == numbers(made.OF_OPTIONS)
    assert ways["C"].correct.tolist() == numbers(made.CHOSEN)
    assert ways["D"].correct.tolist() == [name == "capital" for name, _ in made.KEYS]
    assert [ways[letter].chance for letter in "ABC"] == pytest.approx([(1 / 6 + 1 / 4) / 2, 0.25, 0.25])
    assert np.isnan(ways["D"].chance)
    assert found.ways[2].unread == 1
    assert ways["A"].said[5] == "capital u"
    assert ways["B"].said[5] == "capital z" == found.facts[5].answer


def test_the_ranking_of_options_is_the_softmax_over_their_scores(found: FourWays) -> None:
    view = found.ways[1].way.views[0]
    for place, (name, at) in enumerate(made.KEYS):
        options, answer = made.options_of(name, at)
        known = dict(zip(made.candidates(name), made.probabilities(name, at), strict=True))
        masses = np.array([known[option] for option in options])
        assert view.confidence.confidence[place] == pytest.approx(masses.max() / masses.sum())
        assert view.confidence.correct[place] == (masses.argmax() == answer)


def test_ranked_right_against_answered_right_by_hand(found: FourWays) -> None:
    fair, other = (own for own in found.two_by_two if own.answering.letter == "C")
    assert (fair.ranking.letter, fair.fair, other.ranking.letter, other.fair) == ("B", True, "A", False)
    # Both: capital 0, 1, colour 0. Only ranked: capital 2 to 5, colour 1. Only answered: colour 2, 3. Neither: 4, 5.
    assert fair.counts == (3, 5, 2, 2)
    assert other.counts == (3, 4, 2, 3)
    assert [own.value for own in fair.shares] == pytest.approx([3 / 12, 5 / 12, 2 / 12, 2 / 12])
    conditions = (fair.answers_if_ranked, fair.answers_if_not, fair.ranks_if_answered, fair.ranks_if_not)
    assert [own.value for own in conditions] == pytest.approx([3 / 8, 2 / 4, 3 / 5, 5 / 7])
    assert fair.difference.value == pytest.approx(3 / 12)
    sureness, answers = fair.ranking.views[0].confidence.confidence, fair.answering.correct
    wins = mannwhitneyu(sureness[answers], sureness[~answers]).statistic
    assert fair.foretold.value == pytest.approx(wins / (5 * 7))
    assert fair.mcnemar_p == pytest.approx(binomtest(5, 7).pvalue)
    assert {found.facts[place].id for place in fair.answered_only} == {"colour/2", "colour/3"}
    assert {found.facts[place].id for place in fair.ranked_only} == {
        *(f"capital/{at}" for at in (2, 3, 4, 5)),
        "colour/1",
    }
    sure = fair.ranking.views[0].confidence.confidence[list(fair.ranked_only)]
    assert (np.diff(sure) <= 0).all()
    # Said alike: where both are right, and of colour 4 the same wrong one or not.
    alike = [a == b for a, b in zip(fair.ranking.said, fair.answering.said, strict=True)]
    assert fair.same_answer == pytest.approx(np.mean(alike))


def test_relations_that_know_more_than_they_say(found: FourWays) -> None:
    own = found.two_by_two[0].relations
    assert [(gap.relation, gap.facts, gap.few) for gap in own] == [("capital", 6, True), ("colour", 6, True)]
    assert [gap.ranks for gap in own] == pytest.approx([1, 2 / 6])
    assert [gap.answers for gap in own] == pytest.approx([2 / 6, 3 / 6])
    assert [gap.difference.value for gap in own] == pytest.approx([4 / 6, -1 / 6])
    exact = [binomtest(4, 4).pvalue, binomtest(1, 3).pvalue]
    assert [gap.p_value for gap in own] == pytest.approx(exact)
    assert [gap.p_holm for gap in own] == pytest.approx(holm(exact).tolist())
    assert found.two_by_two[1].relations == ()


def test_the_answer_of_several_samples_is_the_most_frequent_one(found: FourWays) -> None:
    way = found.ways[3].way
    assert way.sampled
    views = {view.name: view for view in way.views}
    assert list(views) == ["frequency", "answer_entropy"]
    capital = np.array([name == "capital" for name, _ in made.KEYS])
    assert views["frequency"].confidence.confidence == pytest.approx(np.where(capital, 1.0, 2 / 3))
    entropy = -(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3))
    assert views["answer_entropy"].confidence.confidence == pytest.approx(np.where(capital, 0.0, entropy))
    assert views["answer_entropy"].confidence.correct.tolist() == capital.tolist()
    metrics = {own.view.name: set(own.metrics) for own in found.views}
    assert metrics["answer_entropy"] == {"accuracy", "auroc"}


def test_correlations_are_those_of_scipy_over_a_join_of_pandas(found: FourWays) -> None:
    joined = found.frame()
    names = [f"{own.view.number}_{own.view.name}" for own in found.views]
    signs = [-1 if own.view.estimator.scale == "uncertainty" else 1 for own in found.views]
    for pair in found.correlations:
        one, two = pair.first.number - 1, pair.second.number - 1
        own = joined[[names[one], names[two]]].dropna().round(10)  # ties up to rounding
        assert pair.facts == len(own)
        with warnings.catch_warnings(action="ignore"):  # of a constant confidence
            rho = signs[one] * signs[two] * spearmanr(own[names[one]], own[names[two]]).statistic
        assert pair.rho.value == pytest.approx(rho, nan_ok=True)
        assert found.rho(pair.second, pair.first) is pair.rho


def test_differences_are_those_of_the_paired_bootstrap(found: FourWays) -> None:
    joined = found.frame()
    pair = next(own for own in found.pairs if own.first.name == "stated_decimal")
    assert (pair.second.way, pair.second.name, pair.facts) == ("B", "base", 11)
    first, second = (f"{own.number}_{own.name}" for own in (pair.first, pair.second))
    own = joined.dropna(subset=[first])
    samples = {name: (own[name].to_numpy(), own[f"{name}_correct"].to_numpy()) for name in (first, second)}
    metrics = [metric for metric in standard_metrics() if metric.name in ("accuracy", "brier", "ece", "auroc")]
    wanted = paired_differences(metrics, samples, [(first, second)], Resampling(60))[first, second]
    assert {each.metric: each.difference for each in pair.contrasts} == wanted
    every = [each for each in found.contrasts if not each.repeated]
    assert found.tests == sum(not math.isnan(each.p_holm) for each in every)
    assert [each.p_holm for each in every] == pytest.approx(
        holm([each.difference.p_value for each in every]).tolist(), nan_ok=True
    )
    brier = next(each for each in found.views if each.view.name == "stated_decimal").metrics["brier"].value
    assert brier == pytest.approx(((own[first] - own[f"{first}_correct"]) ** 2).mean())


def test_facts_that_some_run_lacks_are_left_out_and_counted(tmp_path: Path) -> None:
    part = made.scored(tmp_path / "part", only=("colour",))
    asked = made.choosing(keys=made.KEYS[3:])
    failed = replace(asked.replies[-2], finish="error", error="500", text="", label_scores=None)
    found = compared(part, [replace(asked, replies=(*asked.replies[:-2], failed, asked.replies[-1]))])
    assert [fact.id for fact in found.facts] == [f"colour/{at}" for at in range(5)]
    assert found.every == 9
    assert {own.of: dict(own.reasons) for own in found.lacking} == {
        "scored": {"not scored": 3},
        "chosen": {"no reply": 1},
    }
    alone = compared(part, [made.choosing(keys=[("colour", 0), ("colour", 1)])])
    assert {own.of: dict(own.reasons) for own in alone.lacking} == {"chosen": {"not asked": 4}}


def test_a_question_with_another_answer_is_another_fact(folder: Path) -> None:
    asked = made.choosing()
    (questions,) = asked.sets
    first, second, *rest = questions.questions
    wrong = replace(first, answer=(first.answer + 1) % 4)
    foreign = replace(second, options=("elsewhere", *second.options[1:]))
    found = compared(folder, [replace(asked, sets=(replace(questions, questions=(wrong, foreign, *rest)),))])
    assert len(found.facts) == 10
    assert [dict(own.reasons) for own in found.lacking] == [
        {"another right answer": 1, "options that are no candidates": 1}
    ]


def test_without_texts_there_is_no_ranking_of_options(tmp_path: Path) -> None:
    found = compared(made.scored(tmp_path / "bare", labels=False), [made.choosing()])
    assert [own.way.kind for own in found.ways] == ["ranking", "choice"]
    assert "not known in words" in found.left_out[0]
    assert found.two_by_two[0].fair
    assert np.isnan(found.two_by_two[0].same_answer)
    assert found.facts[0].answer is None


def as_values(found: FourWays) -> dict[str, object]:
    """Everything but what runs are called."""
    return {key: value for key, value in found.to_json().items() if key != "runs"}


def test_order_of_questions_replies_and_options_changes_nothing(folder: Path, found: FourWays) -> None:
    asked = made.choosing()
    (questions,) = asked.sets
    shuffled = replace(
        asked, sets=(replace(questions, questions=questions.questions[::-1]),), replies=asked.replies[::-1]
    )
    assert as_values(compared(folder, [shuffled, made.answering()])) == as_values(found)


def test_two_variants_with_the_same_options_share_a_ranking(folder: Path) -> None:
    asked = made.choosing(variants=("plain", "other"))
    both = compared(folder, [asked])
    assert [(own.way.letter, own.way.kind, own.way.of) for own in both.ways] == [
        ("A", "ranking", ""),
        ("B", "ranking of options", "C, D"),
        ("C", "choice", ""),
        ("D", "choice", ""),
    ]
    assert [pair.counts for pair in both.two_by_two if pair.fair] == [(3, 5, 2, 2)] * 2
    one = compared(folder, [asked], variants=("other",))
    assert [own.way.cell.variant for own in one.ways] == ["", "", "other"]


def test_behind_another_form_of_reply_the_label_is_the_one_that_is_answered() -> None:
    asked = asked_of("audit", open_asked(Path(__file__).parents[1] / "golden" / "runs" / "audit"))
    (questions,) = read_sets(asked, ReportOptions())
    stated = ("stated_decimal_01", "stated_percent_0_100")
    assert Replies(asked, questions, "surface_paraphrase", several=True).usual == ("label", *stated)
    assert Replies(asked, questions, "format_change", several=True).usual == ("label_answer", *stated)


def test_base_against_instruct_and_two_scored_runs(folder: Path, tmp_path: Path) -> None:
    base = made.scored(tmp_path / "base", model="tiny-base")
    found = compared({"chat": folder, "base": base}, [made.choosing()])
    assert [own.way.run for own in found.ways] == ["chat", "chat", "base", "base", "chosen"]
    assert [(own.ranking.run, own.fair) for own in found.two_by_two] == [
        ("chat", True),
        ("base", True),
        ("chat", False),
        ("base", False),
    ]
    assert found.models == ("tiny", "tiny-base")
    text = "\n".join(four_ways_tables(found)[0].heading)
    assert "SEVERAL MODELS: scored tiny, tiny-base; asked tiny" in text
    assert found.two_by_two[0].counts == found.two_by_two[1].counts


def test_estimators_and_metrics_by_name(folder: Path) -> None:
    wanted = CompareOptions(
        estimators=("margin", "base", "label_raw"),
        metrics=("brier",),
        pairs="all",
        correction="max-t",
        scores=ReportOptions(resampling=Resampling(40)),
    )
    found = compared(folder, [made.choosing()], FourWaysOptions(wanted))
    assert [own.view.title for own in found.views] == ["1 margin", "2 base", "3 margin", "4 base", "5 label_raw"]
    assert len(found.pairs) == 10
    assert {each.metric for each in found.contrasts} == {"brier"}
    assert found.correction == "max-t"
    assert not np.isnan(found.pairs[0].contrasts[0].p_max_t)
    with pytest.raises(UsageError, match="no estimator margn"):
        compared(folder, [made.choosing()], FourWaysOptions(CompareOptions(estimators=("margn",))))
    with pytest.raises(UsageError, match="did you mean plain"):
        compared(folder, [made.choosing()], variants=("plian",))
    read = CompareOptions(scores=ReportOptions(readers=("last_marker", "constrained")))
    with pytest.raises(UsageError, match="no replies that it reads"):
        compared(folder, [made.choosing()], FourWaysOptions(read))


def test_pmi_among_options_is_their_share_of_pmi_among_all_candidates(folder: Path) -> None:
    wanted = replace(QUICK, compare=replace(QUICK.compare, estimators=("base", "pmi")))
    found = compared(folder, [made.choosing()], wanted)
    (view,) = [own.view for own in found.views if (own.view.way, own.view.name) == ("B", "pmi")]
    (run,) = open_scored_runs({"scored": folder}, wanted.compare.scores)
    every, ranked = run.confidence("pmi").probabilities, Ranked.of(run)
    assert every is not None
    for place, key in enumerate(made.KEYS):
        texts = ranked.candidates(key)
        assert texts is not None
        begin = run.table.offsets[ranked.places[key]]
        own = [every[begin + texts.index(option)] for option in made.options_of(*key)[0]]
        assert view.confidence.confidence[place] == pytest.approx(max(own) / sum(own))


def test_options_and_right_answers_are_matched_by_one_rule() -> None:
    question = Question("q", "", "choice", ("PARIS", "new  york", "May", "may"), ("A", "B", "C", "D"), answer=0)
    assert columns_of(question, ["May", "New York", "Paris", "may"], 2) == [2, 1, 0, 3]
    assert columns_of(question, ["May", "New York", "Paris"], 2) is None  # two options are one candidate
    assert columns_of(question, ["May", "Paris", "may"], 1) is None


def test_what_cannot_be_joined_is_refused(folder: Path) -> None:
    asked = made.choosing()
    (questions,) = asked.sets
    other = replace(questions, source=replace(questions.source, probe="e" * 64))
    with pytest.raises(UsageError, match="facts of another probe"):
        compared(folder, [replace(asked, sets=(other,))])
    renamed = tuple(replace(own, id=own.id.replace("/", "-")) for own in questions.questions)
    replies = tuple(replace(own, question=own.question.replace("/", "-")) for own in asked.replies)
    plain = replace(asked, sets=(replace(questions, questions=renamed),), replies=replies)
    with pytest.raises(UsageError, match=r"no replies to facts(.|\n)*: `calprobe ask --questions "):
        compared(folder, [plain])
    with pytest.raises(UsageError, match="twice"):
        compared(folder, [asked, asked])
    with pytest.raises(UsageError, match="give all or auto"):
        FourWaysOptions(CompareOptions(pairs=(("a", "b"),)))


def test_json_is_json_and_has_every_fact(found: FourWays) -> None:
    content = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert content["n"] == len(content["facts"]) == 12
    assert content["ways"]["B"]["options_of"] == ["C"]
    assert content["facts"][5]["ways"]["A"] == {"said": "capital u", "correct": False}
    last = content["facts"][10]["views"]
    stated = next(number for number, own in content["views"].items() if own["estimator"] == "stated_decimal")
    assert last[stated]["confidence"] is None
    joined = found.frame()
    assert isinstance(joined, pd.DataFrame)
    assert joined.id.tolist() == [fact["id"] for fact in content["facts"]]


def test_tables_say_what_was_found(found: FourWays) -> None:
    tables = {table.label: table for table in four_ways_tables(found)}
    assert list(tables) == [
        "ways",
        "views",
        "view-differences",
        "correlations",
        "two-by-two",
        "relations",
        "facts",
    ]
    assert {row.keys["way"] for row in tables["ways"].rows} == {"A", "B", "C", "D"}
    assert "first_char" not in {row.keys["by"] for row in tables["ways"].rows}, "by the audit's rules, or by name"
    printed = [column.keys.get("metric") for column in tables["views"].columns if column.printed]
    assert {"brier", "auroc", "ece", "ece_if_calibrated"} <= set(printed)
    assert "ace" not in printed, "stated confidences have few values"
    pair = found.pairs[0]
    error = next(own for own in pair.contrasts if own.metric == "ece")
    assert error.by_chance is not None
    rows = {row.keys["metric"]: row.cells[:2] for row in tables["view-differences"].rows[: len(pair.contrasts) + 2]}
    assert rows["ece_if_calibrated"] == tuple(side.size for side in error.by_chance)
    assert rows["ece_p"] == tuple(side.p for side in error.by_chance)
    assert len(tables["correlations"].columns) == len(found.views)
    facts = tables["facts"].rows
    assert [row.label for row in facts if row.group.startswith("B, C: ranked wrong")] == ["colour/3", "colour/2"]
    assert facts[0].group.startswith("B, C: ranked right, answered wrong, all 5")


def test_a_handful_of_facts_has_neither_p_nor_correlation(folder: Path) -> None:
    found = compared(folder, [made.choosing(keys=made.KEYS[:6])])
    assert all(np.isnan(own.difference.p_value) for own in found.contrasts)
    assert found.tests == 0
    assert all(np.isnan(own.rho.value) and own.facts == 6 for own in found.correlations)
    tables = {table.label: table for table in four_ways_tables(found)}
    assert any("No intervals and p-values of fewer than 10 facts" in note for note in tables["view-differences"].notes)
    assert not any("corrected for 0" in note for note in tables["view-differences"].notes)
    # Three of six facts are right in one way alone: one and two of them would be significant on every resample.
    own = found.two_by_two[0].difference
    assert (own.value, np.isnan(own.low), np.isnan(own.p_value)) == (4 / 6, True, True)
    alone = compared(folder, [made.choosing(keys=made.KEYS[2:3])]).to_json()["two_by_two"][0]
    assert alone["difference"] == {"value": 1.0, "ci95": None, "p": None}
    assert alone["relations"][0]["p"] == 1.0


def test_a_variant_without_replies_is_named_as_it_is_typed(folder: Path) -> None:
    asked = made.choosing("runs/chosen")
    lost = tuple(
        replace(own, key=f"lost-{place}", variant="lost", text="", finish="error", label_scores=None)
        for place, own in enumerate(asked.replies)
        if own.stage == "answer"
    )
    found = compared(folder, [replace(asked, replies=(*asked.replies, *lost))])
    assert found.left_out == ("runs/chosen, quiz, lost: no replies",)
    first, *_ = four_ways_tables(found)
    assert "runs/chosen, quiz, lost: no replies." in first.lead


def test_a_variant_of_which_all_answers_failed_leaves_the_others_their_facts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the request for the answer behind the reasons failed of every question."""
    there = Replies.rows
    monkeypatch.setattr(Replies, "rows", lambda own, by: {} if own.variant == "lost" else there(own, by))
    found = compared(folder, [made.choosing("runs/chosen", variants=("plain", "lost"))])
    assert len(found.facts) == len(made.KEYS)
    assert found.left_out == ("runs/chosen, quiz, lost: no answers, all requests failed",)


def test_an_unfinished_run_says_so_in_its_state_and_not_in_how_it_was_made(found: FourWays) -> None:
    scored, asked, *_ = found.runs
    assert isinstance(asked, ComparedRun)
    asked = replace(asked, extent=AskedExtent(1, 2, 1, 2, 1, 1, {}, held_back=3), how="asked by x")
    state = (
        f"PARTIAL, replies to 1 of 2 questions under 1 of 1 variant (1 of 2 requests), {NOT_A_SAMPLE}; "
        "3 questions held back as examples"
    )
    assert state in four_ways_page(replace(found, runs=(scored, asked)))
    assert run_lines(asked)[0].endswith(f": {state}; asked by x")
    assert run_parts(asked)[:2] == (state, "asked by x")


def test_ids_that_are_spelled_otherwise_are_no_facts() -> None:
    spelled = {"P36/7": ("P36", 7), "a/b/0": ("a/b", 0), "P36/07": None, "P36/": None, "/": None, "P36/-1": None}
    assert {name: fact_of(name) for name in spelled} == spelled


def test_many_confidences_are_correlated_in_a_few_letters_on_a_terminal(found: FourWays) -> None:
    tables = {narrow: four_ways_tables(found, narrow=narrow)[3] for narrow in (True, False)}
    assert len(found.views) == 6 > 5
    brief, rho = tables[True].rows[0].cells[1], tables[False].rows[0].cells[1]
    assert brief == f"{found.correlations[0].rho.value:+.2f}".replace("0.", ".")
    assert rho is found.correlations[0].rho


def test_where_relations_are_resampled_no_test_takes_single_facts(folder: Path) -> None:
    options = CompareOptions(scores=ReportOptions(resampling=Resampling(20), cluster="relation"))
    found = compared(folder, [made.choosing()], FourWaysOptions(options))
    assert found.unit == "relation"
    assert np.isnan(found.two_by_two[0].mcnemar_p)
    assert np.isnan(found.two_by_two[0].shares[0].low)  # two relations are too few for an interval
    tables = four_ways_tables(found)
    assert "No intervals and no p-values by relation: 2 relations, fewer than 10." in tables[-1].general
    assert not any("Ranges:" in note for table in tables for note in table.general)
    assert found.to_json()["two_by_two"][0]["mcnemar_p"] is None
