"""Answers in the place of the model's own: right ones, others by a seeded derangement, and none."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from fake_backend import ABLE, FakeBackend
from hypothesis import given
from hypothesis import strategies as st

from calprobe.answers import answer_type
from calprobe.answers.short import normalised
from calprobe.asking import AskOptions, ask
from calprobe.asking.plan import Plan
from calprobe.asking.replacing import Replacing, derangement, target_of
from calprobe.errors import CalprobeError, UsageError
from calprobe.prompts import PromptSet, load_prompts
from calprobe.prompts.types import Stated, Variant
from calprobe.questions import Question, QuestionSet, SetSource
from calprobe.runs import Reply
from calprobe.runs.stages import StatedStage, stated_stage

STATED = (Stated("one", "How sure, 0 to 1?", "x", 8), Stated("ten", "How sure, 0 to 10?", "x/10", 8))
PROMPTS = PromptSet("own", "p" * 64, (Variant("direct", "{input}", 8),), STATED, abstentions=("I don't know.", "Hm."))
ALL = AskOptions(
    prompts=PROMPTS,
    collect=("answer", "stated"),
    replaced=("target", "counterfactual", "abstain"),
    seed=42,
    quiet=True,
)
CONDITIONS = ("target", "counterfactual", "abstain1", "abstain2")
NAMES = ("Ann Lee", "Bob", "Cy Young", "Dora", "Eve Ray", "Flo", "1969", "2001", "1850", "12 km")


def people(n: int = 6) -> QuestionSet:
    questions = [Question(f"q{i}", f"Who is {i}?", "open", accepted=(NAMES[i], f"{NAMES[i]} II")) for i in range(n)]
    return QuestionSet("people", tuple(questions), SetSource("f" * 64))


def replies_of(run: object) -> list[Reply]:
    return [reply for piece in run.pieces for reply in piece.replies]  # type: ignore[attr-defined]


def given_of(replies: list[Reply], condition: str, prompt: str = "one") -> dict[str, str | None]:
    stage = StatedStage(prompt, condition).stage
    return {reply.question: reply.given for reply in replies if reply.stage == stage}


def test_every_prompt_is_asked_behind_every_answer(tmp_path: Path) -> None:
    run = ask(FakeBackend(), people(), tmp_path / "run", ALL)
    assert not run.partial
    replies = replies_of(run)
    stages = Counter(reply.stage for reply in replies)
    assert stages == Counter(
        {"answer": 6} | {StatedStage(each.name, c).stage: 6 for each in STATED for c in ("", *CONDITIONS)}
    )
    targets = {question.id: question.accepted[0] for question in people().questions}
    assert given_of(replies, "") == dict.fromkeys(targets)
    assert given_of(replies, "target") == targets
    assert set(given_of(replies, "abstain2").values()) == {"Hm."}
    for condition in CONDITIONS:
        assert given_of(replies, condition) == given_of(replies, condition, "ten")
    for reply in replies:
        found = stated_stage(reply.stage)
        if found is not None and found.condition:
            assert f"assistant: {reply.given}\n" in reply.prompt
    others = given_of(replies, "counterfactual")
    assert sorted(map(str, others.values())) == sorted(targets.values())
    assert all(others[name] != targets[name] for name in targets)
    assert run.manifest.counterfactual is not None
    assert run.manifest.counterfactual.pool == "targets"


def test_closed_sets_are_scored_behind_own_answers_and_counterfactuals() -> None:
    options = replace(ALL, collect=("answer", "stated", "closed")).filled()
    plan = Plan((people(),), PROMPTS, options)
    (asked,) = plan.asked
    for dialogue in plan.dialogues(asked, "engine"):
        for follow_up in dialogue.follow_ups:
            found = stated_stage(follow_up.stage)
            assert found is not None
            assert bool(follow_up.closed) == (found.condition in ("", "counterfactual"))


def test_counterfactuals_are_the_same_for_all_models_and_orders(tmp_path: Path) -> None:
    first = given_of(replies_of(ask(FakeBackend(), people(), tmp_path / "one", ALL)), "counterfactual")
    turned = replace(people(), questions=people().questions[::-1])
    other = FakeBackend(dtype="bfloat16")
    assert given_of(replies_of(ask(other, turned, tmp_path / "two", ALL)), "counterfactual") == first
    seeded = ask(FakeBackend(), people(), tmp_path / "three", replace(ALL, seed=7))
    assert given_of(replies_of(seeded), "counterfactual") != first


def test_the_models_own_answers_stand_in_for_each_other(tmp_path: Path) -> None:
    class Speaking(FakeBackend):
        def _reply(self, dialogue, stage, *rest):  # type: ignore[no-untyped-def]
            made = super()._reply(dialogue, stage, *rest)
            return replace(made, text=f"answer of {dialogue.question}") if stage == "answer" else made

    options = replace(ALL, counterfactual="responses")
    backend = Speaking()
    run = ask(backend, people(), tmp_path / "run", options)
    others = given_of(replies_of(run), "counterfactual")
    assert sorted(map(str, others.values())) == sorted(f"answer of q{i}" for i in range(6))
    assert all(text != f"answer of {question}" for question, text in others.items())
    assert not run.partial
    assert sorted(backend.asked.values()) == [1] * (6 * 11)
    again = Speaking()
    ask(again, people(), run.path, options)
    assert not again.asked


@pytest.mark.parametrize("most", [3, 20, 40, 64])
def test_a_stopped_run_asks_for_nothing_twice(tmp_path: Path, most: int) -> None:
    options = replace(ALL, counterfactual="responses")
    with pytest.raises(CalprobeError, match="replies are left, none that arrived is lost"):
        ask(FakeBackend(most=most), people(), tmp_path / "run", options)
    rest = FakeBackend()
    run = ask(rest, people(), tmp_path / "run", options)
    whole = ask(FakeBackend(), people(), tmp_path / "whole", options)
    assert rest.asked.total() == 66 - most
    assert replies_of(run) == replies_of(whole)


def test_another_kind_of_counterfactual_is_another_run(tmp_path: Path) -> None:
    run = ask(FakeBackend(), people(), tmp_path / "run", ALL)
    with pytest.raises(UsageError, match="counterfactual answers: these differ"):
        ask(FakeBackend(), people(), run.path, replace(ALL, answer_type="same"))
    changed = replace(ALL, prompts=replace(PROMPTS, abstentions=("No idea.", "Hm.")))
    with pytest.raises(UsageError, match="abstentions: these differ"):
        ask(FakeBackend(), people(), run.path, changed)


def test_a_run_grows_by_replaced_answers(tmp_path: Path) -> None:
    run = ask(FakeBackend(), people(), tmp_path / "run", replace(ALL, replaced=None))
    more = FakeBackend()
    grown = ask(more, people(), run.path, ALL)
    assert more.asked.total() == 6 * 8
    assert grown.manifest.prompts.abstentions == PROMPTS.abstentions
    assert replies_of(grown) == replies_of(ask(FakeBackend(), people(), tmp_path / "whole", ALL))


def test_more_questions_draw_counterfactuals_anew(tmp_path: Path) -> None:
    run = ask(FakeBackend(), people(4), tmp_path / "run", ALL)
    grown = ask(FakeBackend(), people(6), run.path, ALL)
    assert not grown.partial
    assert replies_of(grown) == replies_of(ask(FakeBackend(), people(6), tmp_path / "whole", ALL))


def test_answers_of_the_same_type(tmp_path: Path) -> None:
    made = Replacing(("counterfactual",), kind="same", seed=1).answers(people(10), PROMPTS)["counterfactual"]
    for question in people(10).questions:
        own = target_of(question)
        if answer_type(own) == "number":  # the only one of its type
            assert made[question.id] != own
        else:
            assert answer_type(made[question.id]) == answer_type(own)


def test_a_fact_gets_another_answer_of_its_relation() -> None:
    facts = [
        Question(f"{group}-{n}", "?", "open", accepted=(f"{group}{n}",), group=group)
        for group in "AB"
        for n in range(4)
    ]
    found = QuestionSet("mini", tuple(facts), SetSource("f" * 64, probe="p" * 64))
    made = Replacing(("counterfactual",)).answers(found, PROMPTS)["counterfactual"]
    assert all(text[0] == name[0] and text != name.replace("-", "") for name, text in made.items())


def test_another_form_of_the_right_answer_stands_in_for_nothing() -> None:
    names = ("May 18, 2018", "18 May 2018", "the 18th of May, 2018", "May 19, 2018")
    days = tuple(Question(f"q{n}", "When?", "open", accepted=(name,)) for n, name in enumerate(names))
    made = Replacing(("counterfactual",)).answers(QuestionSet("days", days, SetSource("f" * 64)), PROMPTS)
    assert [made["counterfactual"][f"q{n}"] for n in range(3)] == [names[3]] * 3
    numbers = tuple(Question(f"q{n}", "?", "number", number=value) for n, value in enumerate((3.5, 35.0)))
    made = Replacing(("counterfactual",)).answers(QuestionSet("sums", numbers, SetSource("f" * 64)), PROMPTS)
    assert list(made["counterfactual"].values()) == ["35", "3.5"]


def test_a_choice_gets_another_of_its_options() -> None:
    questions = [Question(f"q{n}", "?", "choice", ("x", "y", "z"), ("A", "B", "C"), answer=n % 3) for n in range(30)]
    made = Replacing(("counterfactual", "target")).answers(
        QuestionSet("quiz", tuple(questions), SetSource("f" * 64)), PROMPTS
    )
    for question in questions:
        assert made["target"][question.id] == question.gold
        assert made["counterfactual"][question.id] in set("ABC") - {question.gold}
    assert len(set(made["counterfactual"].values())) == 3


def test_what_cannot_be_replaced_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="question q0 of people has no counterfactual: no other question"):
        ask(FakeBackend(), people(1), tmp_path / "run", ALL)
    with pytest.raises(UsageError, match="--replaced abstain: prompt set 'own' has no abstentions"):
        ask(FakeBackend(), people(), tmp_path / "run", replace(ALL, prompts=replace(PROMPTS, abstentions=())))
    for changed, said in (
        ({"collect": ("answer",)}, "--replaced: is about stated confidence; collect stated, too"),
        ({"collect": ("answer", "closed")}, "--collect closed: is about stated confidence"),
        (
            {"replaced": ("targets",)},
            "--replaced targets: known are target, counterfactual, abstain; did you mean target?",
        ),
        ({"counterfactual": "others"}, "--counterfactual others: known are targets, responses"),
        ({"replaced": None, "answer_type": "same"}, "--answer-type has no meaning without counterfactual"),
    ):
        with pytest.raises(UsageError, match=said):
            replace(ALL, **changed).filled()  # type: ignore[arg-type]


def test_the_study_asks_61_times_a_question(tmp_path: Path) -> None:
    run = ask(FakeBackend(), people(2), tmp_path / "run", AskOptions(study="stated", quiet=True))
    (piece,) = run.manifest.asked
    assert len(piece.stages) == 1 + 10 * 6
    assert run.manifest.overrides == ()
    assert run.manifest.prompts.groups == load_prompts("stated").groups
    assert run.manifest.prompts.stated == load_prompts("stated").stated
    scored = [reply for reply in replies_of(run) if reply.label_scores is not None]
    assert {len(reply.label_scores.labels) for reply in scored if reply.label_scores} == {101, 11, 13}
    assert len(scored) == 2 * 2 * 10  # questions, conditions (own and counterfactual), prompts


def test_a_backend_without_probabilities_reads_replies_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    window = replace(ABLE, complete_softmax=False, top_logprobs=20)
    with caplog.at_level(logging.INFO):
        run = ask(FakeBackend(capabilities=window), people(2), tmp_path / "run", AskOptions(study="stated", quiet=True))
    assert "toy on fake shows no probabilities of all tokens" in caplog.text
    assert all(reply.label_scores is None for reply in replies_of(run))
    assert run.manifest.overrides == ("--collect answer,stated",)
    wanted = AskOptions(study="stated", collect=("answer", "stated", "closed"), quiet=True)
    with pytest.raises(UsageError, match="--collect closed: toy on fake gives no probabilities of all tokens"):
        ask(FakeBackend(capabilities=window), people(2), tmp_path / "other", wanted)


@given(st.integers(2, 40), st.integers(0, 99))
def test_a_derangement_is_a_permutation_without_fixed_points(n: int, seed: int) -> None:
    found = derangement(n, lambda place, other: True, str(seed))
    assert sorted(map(int, found)) == list(range(n))  # type: ignore[arg-type]
    assert all(place != other for place, other in enumerate(found))


@given(st.lists(st.sampled_from("abcde"), min_size=2, max_size=25), st.integers(0, 9))
def test_equal_answers_never_stand_in_for_each_other(answers: list[str], seed: int) -> None:
    found = derangement(len(answers), lambda place, other: answers[place] != answers[other], str(seed))
    for place, other in enumerate(found):
        if other is None:
            assert set(answers) == {answers[place]}
        else:
            assert answers[other] != answers[place]
    if max(Counter(answers).values()) * 3 <= len(answers):
        assert len(set(found)) == len(answers)


def test_targets_that_are_right_by_another_name_are_not_given() -> None:
    accepted = [("Paris", "City of Light"), ("The city of light!",), ("Rome",), ("Oslo",)]
    questions = tuple(Question(f"q{n}", "?", "open", accepted=each) for n, each in enumerate(accepted))
    for seed in range(20):
        made = Replacing(("counterfactual",), seed=seed).answers(
            QuestionSet("s", questions, SetSource("f" * 64)), PROMPTS
        )["counterfactual"]
        for question in questions:
            assert normalised(made[question.id]) not in {normalised(each) for each in question.accepted}
