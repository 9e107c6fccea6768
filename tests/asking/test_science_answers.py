"""The study `science-answers`: options judged one by one, conclusions, and what is asked about them by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asked_samples import question_set
from fake_backend import ABLE, FakeBackend

from calprobe.answers.number_reader import read_extracted
from calprobe.asking import AskOptions, ask
from calprobe.backends.protocol import Dialogue, Pending
from calprobe.cells.asked_folder import asked_of
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.prompts import PromptSet, Stated, Variant, load_prompts
from calprobe.questions import Question, QuestionSet, SetSource
from calprobe.runs import AskedRun
from calprobe.studies.asked.report_asked import report_asked

STUDY = AskOptions(study="science-answers", samples=2, quiet=True)
STAGES = ("answer", "final", "p_true", "stated:verdict")


class Noting(FakeBackend):
    """Keeps the dialogues that it is asked."""

    def replies(self, pending: Iterable[Pending]) -> Iterator:
        self.dialogues: list[Dialogue] = getattr(self, "dialogues", [])

        def noted() -> Iterator[Pending]:
            for each in pending:
                self.dialogues.append(each.dialogue)
                yield each

        yield from super().replies(noted())


def asked(tmp_path: Path, options: AskOptions = STUDY, **about: object) -> tuple[AskedRun, Noting]:
    backend = Noting(**about)  # type: ignore[arg-type]
    return ask(backend, question_set(2), tmp_path / "run", options), backend


def test_each_option_is_a_claim_that_is_judged_by_itself(tmp_path: Path) -> None:
    run, _ = asked(tmp_path)
    claims = run.questions["sums"].questions
    assert [claim.id for claim in claims] == [f"q{n}#{label}" for n in (0, 1) for label in "ABCD"]
    assert {(claim.of, claim.labels) for claim in claims} == {("q0", ("Yes", "No")), ("q1", ("Yes", "No"))}
    assert [claim.gold for claim in claims] == ["Yes", "No", "No", "No", "No", "Yes", "No", "No"]
    (piece,) = run.by_piece
    assert (piece.stages, piece.samples) == (STAGES, 2)
    assert not run.partial


def test_what_is_asked_about_a_conclusion_names_claim_and_conclusion(tmp_path: Path) -> None:
    run, backend = asked(tmp_path)
    (record,) = run.pieces
    replies = {(reply.question, reply.stage, reply.sample): reply for reply in record.replies}
    for (question, stage, sample), reply in replies.items():
        if stage in ("p_true", "stated:verdict"):
            verdict = replies[question, "final", sample].text
            assert f"Your conclusion was: {verdict}\n" in reply.prompt
            label = question[-1]
            assert f'Option {label}, "' in reply.prompt.rpartition("The question was: ")[2]
        if stage == "final":
            assert reply.label_scores is not None
            assert reply.label_scores.labels == ("Yes", "No")
    p_true = replies["q0#A", "p_true", 1]
    assert p_true.label_scores is not None
    assert p_true.label_scores.labels == ("(A)", "(B)")
    assert sorted(backend.asked.values()) == [1] * (8 * 2 * 4)


def test_braces_of_a_question_stay_where_another_text_names_the_conclusion(tmp_path: Path) -> None:
    asks = Variant("own", "{input}", 8, conclusion="Conclude about {claim}")
    about = (Stated("named", "It was {answer}. How sure?", "x", 8), Stated("other", "Of {claim} How sure?", "x", 8))
    text = "What is x^{n} for {answer} and {{x}}?"
    question = Question("q0", text, "open", accepted=("9",))
    options = AskOptions(prompts=PromptSet("own", "z" * 64, (asks,), about), collect=("answer", "stated"), quiet=True)
    run = ask(FakeBackend(), QuestionSet("braces", (question,), SetSource("f" * 64)), tmp_path / "run", options)
    prompts = {reply.stage: reply.prompt.rpartition("\n")[2] for reply in run.pieces[0].replies}
    assert (prompts["stated:named"], prompts["stated:other"]) == ("It was so. How sure?", f"Of {text} How sure?")


def test_an_interrupted_run_asks_nothing_twice(tmp_path: Path) -> None:
    from calprobe.errors import CalprobeError

    with pytest.raises(CalprobeError, match="gone"):
        asked(tmp_path, most=41)
    run, backend = asked(tmp_path)
    assert not run.partial
    assert set(backend.asked.values()) == {1}
    whole, _ = asked(tmp_path / "whole")
    assert [piece.replies for piece in run.pieces] == [piece.replies for piece in whole.pieces]


def test_what_is_spent_is_of_replies_and_of_what_is_asked_about_them(tmp_path: Path) -> None:
    """The conclusions are asked for first, then what is asked about them; a second session is added."""
    from calprobe.errors import CalprobeError

    for out, most in (("once", None), ("twice", 40)):
        if most is not None:  # among what is asked about conclusions
            with pytest.raises(CalprobeError, match="the fake server is gone"):
                ask(FakeBackend(most=most), question_set(2), tmp_path / out, STUDY)
        run = ask(FakeBackend(pause_s=0.001), question_set(2), tmp_path / out, STUDY)
        replies = [reply for record in run.pieces for reply in record.replies]
        tokens = sum(reply.tokens_in + reply.tokens_out for reply in replies)
        progress = run.progress
        assert (progress.statements, progress.tokens, progress.pieces) == (len(replies), tokens, 1)
        assert progress.wall_s == progress.score_s > 0.001 * (len(replies) - (most or 0))
        assert progress.processes == 1


def test_a_window_of_tokens_shows_the_letters_of_true_and_false(tmp_path: Path) -> None:
    able = replace(ABLE, complete_softmax=False, top_logprobs=20, continues=False)
    _, backend = asked(tmp_path, capabilities=able)
    asks = {each.labels for dialogue in backend.dialogues for each in dialogue.follow_ups if each.stage == "p_true"}
    assert asks == {("A", "B")}


def test_numbers_have_an_extraction_turn(tmp_path: Path) -> None:
    sums = QuestionSet("sums", (Question("n1", "2 + 3?", "number", number=5.0, unit="m"),), SetSource("f" * 64))
    backend = Noting()
    run = ask(backend, sums, tmp_path / "run", STUDY)
    (piece,) = run.by_piece
    assert piece.stages == STAGES
    final = next(reply for record in run.pieces for reply in record.replies if reply.stage == "final")
    assert final.prompt.endswith("reply with NONE.")
    assert final.label_scores is None


def test_wordings_and_a_greedy_answer_go_with_conclusions(tmp_path: Path) -> None:
    question = Question("n1", "2 + 3?", "number", number=5.0, paraphrases=("3 + 2?",))
    sums = QuestionSet("sums", (question,), SetSource("f" * 64))
    options = replace(STUDY, paraphrases="hand", collect=("answer", "greedy", "stated", "p_true"))
    backend = FakeBackend()
    run = ask(backend, sums, tmp_path / "run", options)
    first, second = run.pieces
    greedy = [(reply.stage, reply.sample) for reply in first.replies if reply.stage.startswith("greedy")]
    assert greedy == [("greedy", 0), ("greedy_final", 0)]
    concluded = next(reply for reply in first.replies if reply.stage == "greedy_final")
    assert concluded.prompt.endswith("reply with NONE.")
    assert (len(first.replies), len(second.replies)) == (2 * 4 + 2, 2 * 4)
    assert set(backend.asked.values()) == {1}
    assert not run.partial
    for text, piece in zip(question.wordings, run.pieces, strict=True):
        about = [reply.prompt for reply in piece.replies if reply.stage == "p_true"]
        assert [prompt.count(f"The question was: {text}\n") for prompt in about] == [1, 1]


@pytest.mark.parametrize("replaced", ["target", "counterfactual"])
def test_an_answer_in_the_place_of_a_reply_has_no_conclusion(tmp_path: Path, replaced: str) -> None:
    with pytest.raises(UsageError, match=r"--replaced: prompt set 'science-answers' asks about the conclusion"):
        asked(tmp_path, replace(STUDY, replaced=(replaced,)))


def test_a_variant_without_a_conclusion_has_none_to_be_asked_about(tmp_path: Path) -> None:
    prompts = load_prompts("science-answers")
    plain = replace(load_prompts("audit").variants[0], name="plain")
    options = AskOptions(
        prompts=replace(prompts, variants=(plain,), claim=""), collect=("answer", "stated"), quiet=True
    )
    with pytest.raises(UsageError, match='variant plain has no "conclusion"'):
        asked(tmp_path, options)
    of_question = replace(prompts.stated[0], text="How sure are you of {claim}")
    named = replace(prompts, variants=(plain,), claim="", stated=(of_question,))
    run, _ = asked(tmp_path, replace(options, prompts=named))
    said = [reply.prompt for record in run.pieces for reply in record.replies if reply.stage == "stated:verdict"]
    assert [prompt.rpartition("\n")[2] for prompt in said] == [
        "How sure are you of What is 0 plus 0?",
        "How sure are you of What is 1 plus 1?",
    ]


def test_the_study_collects_alternatives_where_the_backend_shows_any(tmp_path: Path) -> None:
    sums = QuestionSet("sums", (Question("n1", "2 + 3?", "number", number=5.0),), SetSource("f" * 64))
    blind = replace(ABLE, complete_softmax=False, top_logprobs=0)
    for name, able, count in (("exact", ABLE, 10), ("blind", blind, 0)):
        backend = Noting(capabilities=able)
        run = ask(backend, sums, tmp_path / name, STUDY)
        assert [each.alternatives for each in backend.dialogues] == [count] * len(backend.dialogues)
        assert [piece.alternatives for piece in run.manifest.asked] == [count]
    with pytest.raises(UsageError, match="--collect alternatives: toy on fake gives no log-probabilities of tokens"):
        ask(Noting(capabilities=blind), sums, tmp_path / "asked", replace(STUDY, collect=("answer", "alternatives")))
    with pytest.raises(UsageError, match=r"alternatives of tokens .*: the run has some, requested none"):
        ask(Noting(), sums, tmp_path / "exact", replace(STUDY, collect=("answer", "stated", "p_true")))


def test_a_thought_is_ended_by_backends_that_can(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--think-tokens: toy on fake cannot end a thought"):
        asked(tmp_path, replace(STUDY, think_tokens=64))
    run, backend = asked(tmp_path, replace(STUDY, think_tokens=64), capabilities=replace(ABLE, ends_thoughts=True))
    budgets = {own.decoding.think_tokens for each in backend.dialogues for own in (each, *each.follow_ups)}
    assert budgets == {64}
    assert "--think-tokens 64" in run.manifest.overrides


def test_p_true_is_of_an_answer(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--collect p_true"):
        asked(tmp_path, AskOptions(collect=("labels", "p_true"), quiet=True))


def test_any_prompts_can_be_asked_whether_the_answer_is_true(tmp_path: Path) -> None:
    options = AskOptions(prompts="audit", variants=("implicit_framing",), collect=("answer", "p_true"), quiet=True)
    run, _ = asked(tmp_path, options)
    reply = next(reply for record in run.pieces for reply in record.replies if reply.stage == "p_true")
    assert "Is the answer that you have just given" in reply.prompt


def test_verdicts_and_p_true_are_read_and_a_confidence_may_speak_of_the_option(tmp_path: Path) -> None:
    run, _ = asked(tmp_path)
    (opened,) = report_asked([asked_of("run", run)], ReportOptions(resampling=Resampling(20))).runs[0].cells
    assert opened.read.answers.reader == "verdict"
    assert opened.units.clusters is not None
    assert set(opened.units.clusters.tolist()) == {"q0", "q1"}
    found = opened.confidences
    assert {"label_final", "p_true", "p_true_raw", "p_true.option", "stated_verdict", "frequency"} <= set(found)
    for place, row in enumerate(opened.table.rows):
        said_yes = row.replies["final"].text == "Yes"
        assert found["p_true"].correct[place] == (said_yes == (row.question.gold == "Yes"))
        scores = row.replies["p_true"].label_scores
        assert scores is not None
        true, false = np.exp(scores.logprobs[0])
        assert found["p_true"].confidence[place] == pytest.approx(true / (true + false))
        assert found["p_true_raw"].confidence[place] == pytest.approx(true)
        kept = found["p_true"].confidence[place]
        assert found["p_true.option"].confidence[place] == pytest.approx(kept if said_yes else 1 - kept)


@pytest.mark.parametrize(
    ("text", "value", "status"),
    [
        ("-3.5e4", -3.5e4, "ok"),
        (".95", 0.95, "ok"),
        ("3/4", 0.75, "ok"),
        ("1,250 m/s", 1250.0, "ok"),
        ("85%", 85.0, "ok"),
        ("0,8", None, "unclear"),
        ("12 or 13", None, "several"),
        ("NONE", None, "none"),
        ("The answer is 12, not 13.", 12.0, "ok"),
    ],
)
def test_an_extracted_number_is_one_number_in_a_known_form(text: str, value: float | None, status: str) -> None:
    found = read_extracted(text)
    assert (found.value, found.status) == (value, status)
