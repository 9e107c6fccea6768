"""Plans of fewer answers drawn from one run, and the exact share of the wording that the sampled one converges to."""

from __future__ import annotations

from dataclasses import replace

import asked_replies as made
import numpy as np
import pytest

from calprobe.cells.asked import Asked, read_sets
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.questions.types import Question
from calprobe.runs.replies import Reply
from calprobe.show.html.panels import drawn
from calprobe.show.plots.paper import draw
from calprobe.studies.asked.asked_choice import choose_asked
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.perturbation_figures import perturbation_panels
from calprobe.studies.asked.pooled_samples import pooled
from calprobe.studies.asked.report_asked import report_asked, report_asked_run
from calprobe.studies.asked.results import AskedRunReport
from calprobe.studies.published.published_tables import published_tables
from calprobe.studies.wording.budget_layouts import budget_tables
from calprobe.studies.wording.budget_plans import _drawn, _paraphrases, _supply, plans_of
from calprobe.studies.wording.figures import budget_panels, share_panels
from calprobe.studies.wording.results import BudgetPlan

OPTIONS = ReportOptions(resampling=Resampling(10), budget=(6,), budget_draws=2, with_original=True)
WORDS = ("right", "wrong", "other", "else")


def sampled(n_questions: int, wordings: int, samples: int, sensitivity: float, seed: int = 0) -> Asked:
    """Answers of free questions; each wording's distribution is the question's, mixed with one of its own."""
    rng = np.random.default_rng(seed)
    questions = [Question(f"q{at}", f"What of {at}?", "open", accepted=("right",)) for at in range(n_questions)]
    replies: list[Reply] = []
    for question in questions:
        base = rng.dirichlet(np.full(4, 0.6))
        for wording in range(wordings):
            own = (1 - sensitivity) * base + sensitivity * rng.dirichlet(np.full(4, 0.6))
            for place, at in enumerate(rng.choice(4, samples, p=own)):
                more = {"paraphrase": wording, "sample": place}
                replies.append(
                    replace(made.reply(question.id, WORDS[at]), key=f"{question.id}.{wording}.{place}", **more)
                )
        greedy = made.reply(question.id, WORDS[int(base.argmax())], stage="greedy")
        replies.append(greedy)
    return made.asked(questions, replies)


def cell(asked: Asked, options: ReportOptions = OPTIONS) -> CellReport:
    return report_asked_run(asked, options).sets["quiz"].cells["plain"]


def planned(run: AskedRunReport) -> dict[str, CellReport]:
    return {f"quiz, {variant}": cell for variant, cell in run.sets["quiz"].cells.items()}


@pytest.fixture(scope="module")
def insensitive() -> Asked:
    return sampled(30, 6, 6, 0.0)


def test_plans_are_those_that_most_questions_allow() -> None:
    supply = {name: {w: range(6 * w, 6 * w + 6) for w in range(5)} for name in ("a", "b", "c")}
    supply["c"] = {0: range(6)}
    plans, questions = plans_of(6, supply)
    assert plans == (BudgetPlan(1, 6), BudgetPlan(2, 3), BudgetPlan(3, 2))  # five wordings: no (6, 1)
    assert questions == ("a", "b")


def test_plans_share_questions_and_an_insensitive_model_has_the_share_of_chance(insensitive: Asked) -> None:
    (budget,) = cell(insensitive).budgets
    assert [str(plan) for plan in budget.plans] == ["(1, 6)", "(2, 3)", "(3, 2)", "(6, 1)"]
    assert budget.questions == 30
    shares = {share.plan: share.means for share in budget.shares if share.points == "one_hot"}
    for plan, means in shares.items():
        assert means["by_chance"] == pytest.approx((plan.wordings - 1) / 5)
        assert means["ratio_of_sums"] == pytest.approx(means["by_chance"], abs=0.08)
    aurocs = {(own.measure, own.reading, own.plan.wordings): own for own in budget.aurocs}
    assert {reading for _, reading, _ in aurocs} == {"pooled", "majority", "greedy"}
    greedy = [aurocs["answer_entropy", "greedy", n].value for n in (1, 2, 3, 6)]
    assert np.ptp([own.value for own in greedy]) < 0.2  # no wording matters: no plan is better
    assert all(own.low <= own.value <= own.high for own in greedy)
    assert ("variance_between.one_hot", "pooled", 1) not in aurocs


def test_a_plan_of_all_answers_is_the_report_itself(insensitive: Asked) -> None:
    """With m the number of answers there is one plan that takes all, and its draws agree with the undrawn cell."""
    few = sampled(30, 2, 3, 0.5)
    found = cell(few, replace(OPTIONS, forms=("lexsim.unique",)))
    (budget,) = found.budgets
    every = {(own.measure, own.reading): own for own in budget.aurocs if own.plan == BudgetPlan(2, 3)}
    for measure in ("answer_entropy", "lexsim", "lexsim.unique"):
        for reading, end in (("pooled", ""), ("majority", ".majority"), ("greedy", ".greedy")):
            own = every[measure, reading]
            assert own.value.value == pytest.approx(found.estimators[measure + end].metrics["auroc"].value)
            assert own.deviation == pytest.approx(0.0)


def test_a_question_whose_answers_are_of_one_wording_has_no_share() -> None:
    """Failed requests leave one wording of ten questions; a plan of all answers has the share of the cell itself."""
    few = sampled(30, 2, 3, 0.5)
    one = [f"q{at}" for at in range(10)]

    def unread(own: Reply) -> Reply:
        return replace(own, text="") if own.question in one and own.paraphrase == 1 else own

    found = cell(replace(few, replies=tuple(map(unread, few.replies))))
    (budget,) = found.budgets
    drawn = {own.points: own.means["ratio_of_sums"] for own in budget.shares if own.plan == BudgetPlan(2, 3)}
    assert drawn == pytest.approx({own.points: own.share.ratio_of_sums for own in found.wording if own.points in drawn})
    assert drawn


def test_draws_do_not_depend_on_the_order_of_replies(insensitive: Asked) -> None:
    turned = replace(insensitive, replies=insensitive.replies[::-1])
    assert repr(cell(turned).budgets) == repr(cell(insensitive).budgets)  # NaN is not equal to itself


def test_tables_figures_and_json_show_the_plans(insensitive: Asked) -> None:
    report = report_asked([insensitive], OPTIONS)
    (run,) = report.runs
    aurocs, shares = budget_tables({name: cell.budgets for name, cell in run.sets["quiz"].cells.items()})
    assert [column.title for column in aurocs.columns][::2] == ["(1, 6)", "(2, 3)", "(3, 2)", "(6, 1)"]
    assert [row.label for row in shares.rows] == ["(2, 3)", "(3, 2)", "(6, 1)"]
    (panel,) = budget_panels(planned(run))
    assert (panel.reading, panel.plans) == ("greedy", ("(1, 6)", "(2, 3)", "(3, 2)", "(6, 1)"))
    assert len(draw([panel]).axes) == 1
    assert "(6, 1), answer_entropy: " in drawn(panel.panel)
    plans = run.to_json()["sets"]["quiz"]["variants"]["plain"]["budget"]["6"]["plans"]
    assert set(plans["1x6"]["auroc"]["answer_entropy"]["greedy"]) == {"value", "ci95", "sd"}
    assert plans["2x3"]["wording"]["one_hot"]["by_chance"]["value"] == pytest.approx(0.2)
    table1, table2 = published_tables("wording2025", report)
    own = [row.label for row in table1.rows if row.group != "published"]
    assert own == ["quiz, plain, Entropy", "  SD over 2 draws", "quiz, plain, LexiSim", "  SD over 2 draws"]
    published = {(row.keys["row"], row.keys["statistic"]): row.cells for row in table1.rows if row.group == "published"}
    assert len(published) == 2 * 14
    assert published["NQ, Var_EU", "mean"][5:7] == pytest.approx((0.68, 0.707))
    assert published["NQ, Var_EU", "sd"][4] is None
    assert published["NQ, Var_EU", "sd"][5:7] == pytest.approx((0.006, 0.016))
    mean, deviation = (row.cells for row in table2.rows if row.keys["row"] == "NQ chat (6, 2)")
    assert mean[:3] == pytest.approx((0.731, 0.546, 0.5))
    assert deviation[:2] == pytest.approx((0.007, 0.002))
    assert "without transposing" in table2.notes[0]


def test_perturbations_take_the_place_of_wordings() -> None:
    asked = sampled(12, 3, 4, 0.5)
    names = ("one", "two", "three")
    replies = [
        replace(own, variant=names[own.paraphrase], paraphrase=0) for own in asked.replies if own.stage != "greedy"
    ]
    variants = tuple(replace(made.PLAIN, name=name) for name in names)
    prompts = replace(made.prompts(*variants), perturbations={"dummy": names})
    as_variants = report_asked_run(replace(asked, replies=tuple(replies), prompts=prompts), OPTIONS).sets["quiz"].cells
    assert list(as_variants) == ["dummy"]
    assert repr(as_variants["dummy"].wording) == repr(cell(asked).wording)
    assert repr(as_variants["dummy"].budgets[0].shares) == repr(cell(asked).budgets[0].shares)


@pytest.mark.proof
@pytest.mark.parametrize("off_label", [0.0, 0.3])
def test_the_sampled_share_converges_to_the_exact_one_of_label_probabilities(off_label: float) -> None:
    rng = np.random.default_rng(5)
    questions = [made.choice(f"q{at}") for at in range(8)]
    p = (1 - off_label) * rng.dirichlet(np.full(4, 0.7), size=(len(questions), 3))
    every = np.concatenate([p, 1 - p.sum(axis=2, keepdims=True)], axis=2)  # a fifth reply is no label
    found = {}
    for samples in (6, 150):
        replies = [
            made.reply(
                question.id,
                "Well" if at == 4 else made.LETTERS[at],
                paraphrase=wording + 1,  # 0 is the question's own text, and no wording of it
                sample=place,
                label_scores=made.scores(p[n, wording]),
            )
            for n, question in enumerate(questions)
            for wording in range(3)
            for place, at in enumerate(rng.choice(5, samples, p=every[n, wording].clip(0)))
        ]
        shares = {
            own.points: own.share
            for own in cell(made.asked(questions, replies), ReportOptions(resampling=Resampling(0))).wording
        }
        found[samples] = shares["one_hot"]
        exact = shares["exact"]
    total = 1 - (p.mean(axis=1) ** 2).sum(axis=1)
    within = 1 - (p**2).sum(axis=2).mean(axis=1)
    assert exact.ratio_of_sums == pytest.approx((total - within).sum() / total.sum())
    assert found[150].ratio_of_sums == pytest.approx(exact.ratio_of_sums, abs=0.02)
    assert found[150].unbiased == pytest.approx(exact.unbiased, abs=0.03)
    assert found[6].ratio_of_sums > exact.ratio_of_sums + 0.02  # few samples add what chance makes


def test_a_figure_shows_how_sampled_shares_come_near_the_exact_one() -> None:
    rng = np.random.default_rng(6)
    questions = [made.choice(f"q{at}") for at in range(6)]
    p = rng.dirichlet(np.full(4, 0.7), size=(len(questions), 2))
    replies = [
        made.reply(
            question.id, made.LETTERS[at], paraphrase=wording, sample=place, label_scores=made.scores(p[n, wording])
        )
        for n, question in enumerate(questions)
        for wording in range(2)
        for place, at in enumerate(rng.choice(4, 16, p=p[n, wording]))
    ]
    options = ReportOptions(resampling=Resampling(0), budget=(2, 8, 32), budget_draws=3, with_original=True)
    run = report_asked_run(made.asked(questions, replies), options)
    (panel,) = [own for own in share_panels(planned(run)) if own.title.endswith("one_hot")]
    assert (panel.wordings, panel.samples) == (2, (1, 4, 16))
    assert [n for _, n, _, _ in panel.points("unbiased")] == [4, 16]  # of single samples there is no within
    (own,) = [each.share for each in run.sets["quiz"].cells["plain"].wording if each.points == "exact"]
    assert panel.exact["unbiased"] == own.unbiased
    apart = [abs(mean - own.ratio_of_sums) for _, _, mean, _ in panel.points("ratio_of_sums")]
    assert apart[2] < apart[1] < apart[0]
    (axes,) = draw([panel]).axes
    assert [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "None"] == [
        own.ratio_of_sums,
        own.unbiased,
    ]
    assert "rho*, 16 samples: " in drawn(panel.panel)
    assert share_panels({}) == ()
    assert len(pooled(list(run.cells), "label")[0]) == 6 * 2  # samples of a question share its label probabilities


def test_no_plans_are_drawn_where_all_answers_are_wrong() -> None:
    asked = sampled(3, 2, 3, 0.0)
    wrong = replace(asked, replies=tuple(replace(own, text="wrong") for own in asked.replies))
    run = report_asked_run(wrong, replace(OPTIONS, budget_draws=1))
    assert run.sets["quiz"].cells["plain"].budgets
    assert budget_panels(planned(run)) == ()


def test_plans_have_the_chosen_uncertainties_alone() -> None:
    whole = report_asked([sampled(4, 2, 6, 0.5)], OPTIONS)
    few = choose_asked(whole, ["answer_entropy", "answer_entropy.majority"], None)
    (budget,) = few.runs[0].sets["quiz"].cells["plain"].budgets
    assert {(own.measure, own.reading) for own in budget.aurocs} == {
        ("answer_entropy", "pooled"),
        ("answer_entropy", "majority"),
    }
    without = choose_asked(whole, ["frequency"], ["accuracy"])
    captions = [
        table.caption
        for table in budget_tables({name: cell.budgets for name, cell in without.runs[0].sets["quiz"].cells.items()})
    ]
    assert captions
    assert not any("AUROC" in caption for caption in captions)
    assert not budget_panels(planned(without.runs[0]))


def test_perturbations_are_compared_at_equally_many_answers() -> None:
    asked = sampled(12, 3, 4, 0.5)
    replies = [own for own in asked.replies if own.stage != "greedy"]
    few = [own for own in replies if own.paraphrase == 0]
    other = [replace(own, key=f"o{own.key}", variant="other") for own in few]
    both = replace(asked, replies=(*replies, *other), prompts=made.prompts(made.PLAIN, made.OTHER))
    run = report_asked_run(both, replace(OPTIONS, budget=(3,)))
    (panel,) = perturbation_panels(run)
    assert panel.title == "quiz: answer_entropy, 3 answers"
    assert panel.groups == ("plain_(1, 3)", "plain_(3, 1)", "other_(1, 3)")
    cells = run.sets["quiz"].cells
    for name, (accuracy, found) in zip(panel.groups, panel.values, strict=True):
        variant, plan = name.split("_")
        assert accuracy == cells[variant].budgets[0].accuracy
        assert accuracy.value == cells[variant].accuracy[cells[variant].reader].value.value  # all answers are in plans
        (expected,) = (
            own.value
            for own in cells[variant].budgets[0].aurocs
            if (str(own.plan), own.measure, own.reading) == (plan, "answer_entropy", "pooled")
        )
        assert found == expected
    (without,) = perturbation_panels(report_asked_run(both, replace(OPTIONS, budget=())))
    assert without.groups == ("plain", "other")
    # One variant has no AUROC of the plans: none is left out, all are shown by all of their answers.
    bare = replace(cells["other"], budgets=tuple(replace(own, aurocs=()) for own in cells["other"].budgets))
    quiz = replace(run.sets["quiz"], cells={**cells, "other": bare})
    (panel,) = perturbation_panels(replace(run, sets={"quiz": quiz}))
    assert (panel.title, panel.groups) == ("quiz: answer_entropy", ("plain", "other"))


def reworded(said: dict[int, list[str]]) -> Asked:
    """One question and what is said to each of its wordings, 0 its own text."""
    question = Question("q0", "What?", "open", accepted=("right",))
    replies = [
        replace(made.reply("q0", text), key=f"{wording}.{place}", paraphrase=wording, sample=place)
        for wording, texts in said.items()
        for place, text in enumerate(texts)
    ]
    return made.asked([question], replies)


def test_the_share_of_the_wording_is_of_the_paraphrases_alone() -> None:
    """Two paraphrases that always say two things: all of the variance lies between them, and the question itself says a
    third thing, which is reported apart."""
    asked = reworded({0: ["else", "else"], 1: ["right", "right"], 2: ["wrong", "wrong"]})
    options = replace(OPTIONS, budget=(), with_original=False)
    (share,) = (own.share for own in cell(asked, options).wording if own.points == "one_hot")
    # Four one-hot answers, two of each: U_t = 1/4 + 1/4 (Gini's index 1/2), U_e the same; MS_b = 4 (1/2), MS_w = 0.
    assert share.rho == pytest.approx((0.5 + 1e-4) / (0.5 + 2e-4))
    assert share.by_chance == pytest.approx(1 / 3)
    every = cell(asked, replace(options, with_original=True)).wording
    (share,) = (own.share for own in every if own.points == "one_hot")
    assert share.rho == pytest.approx((2 / 3 + 1e-4) / (2 / 3 + 2e-4))
    assert share.by_chance == pytest.approx(2 / 5)
    found = cell(asked, options).itself
    assert found is not None
    assert (found.itself.accuracy.value, found.others.accuracy.value) == (0.0, 0.5)


def test_plans_draw_no_answer_to_the_question_itself() -> None:
    said = {0: ["else"] * 6, **{wording: ["right", "wrong"] * 3 for wording in range(1, 6)}}
    asked = reworded(said)
    options = replace(OPTIONS, budget=(6, 5), with_original=False)
    plans = {own.answers: own.plans for own in cell(asked, options).budgets}
    assert BudgetPlan(5, 1) in plans[5]
    assert BudgetPlan(6, 1) not in plans[6]  # five paraphrases
    (kept,) = cell(asked, OPTIONS).budgets
    assert BudgetPlan(6, 1) in kept.plans
    read = next(read_sets(asked, OPTIONS)).cells["plain"].read
    (drawn,) = _drawn(read, {"q0": _paraphrases(_supply(read.table)["q0"])}, BudgetPlan(5, 6), (0, 0)).samples
    assert set(drawn.wordings.tolist()) == {1, 2, 3, 4, 5}


def test_the_accuracy_of_plans_is_of_the_answers_that_they_draw() -> None:
    """The question's own text is always answered wrongly, its paraphrases half of the time; one has a single sample."""
    said = {0: ["else"] * 6, 1: ["right", "wrong"] * 3, 2: ["right"] * 6, 3: ["wrong"]}
    asked = reworded(said)
    without = cell(asked, replace(OPTIONS, budget=(3,), with_original=False))
    assert without.budgets[0].accuracy.value == pytest.approx((0.5 + 1 + 0) / 3)  # each wording counts alike
    assert without.budgets[0].to_json()["accuracy"]["value"] == pytest.approx(0.5)
    assert without.accuracy[without.reader].value.value == pytest.approx(9 / 19)
    every = cell(asked, replace(OPTIONS, budget=(3,), with_original=True))
    assert every.budgets[0].accuracy.value == pytest.approx((0 + 0.5 + 1 + 0) / 4)


def test_a_question_in_its_own_words_alone_keeps_them() -> None:
    asked = reworded({0: ["right", "wrong", "right", "wrong"]})
    options = replace(OPTIONS, budget=(4,), with_original=False)
    (own,) = cell(asked, options).budgets
    assert own.plans == (BudgetPlan(1, 4),)
    assert cell(asked, options).wording == ()
