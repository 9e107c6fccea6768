"""The wording study: greedy answers beside samples, paraphrases out of a file, perturbations."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from asked_samples import question_set
from fake_backend import FakeBackend

from calprobe.asking import AskOptions, ask
from calprobe.asking.paraphrase_wordings import checked, with_paraphrases
from calprobe.errors import ProbeFormatError, UsageError
from calprobe.prompts import load_prompts
from calprobe.questions import Question, QuestionSet, SetSource
from calprobe.questions.paraphrase_file import read_paraphrases
from calprobe.runs import AskedRun, open_asked
from calprobe.runs.merge import merge_runs

TEXTS = {"q1": "Which river flows through Paris?", "q2": "Who led Norway in 1905?"}
LINES = [
    {
        "id": "q1",
        "paraphrases": ["What river does Paris lie on?", "Name the river of Paris?"],
        "paraphrase_source": "hand",
    },
    {"id": "q2", "set": "people", "paraphrases": ["In 1905, who led Norway?", "Norway's leader in 1905 was who?"]},
]
STUDY = AskOptions(study="wording", samples=3, quiet=True)


def questions() -> QuestionSet:
    own = tuple(Question(name, text, "open", accepted=("so",)) for name, text in TEXTS.items())
    return QuestionSet("people", own, SetSource("f" * 64))


def written(path: Path, lines: list[dict[str, object]] = LINES) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def asked(out: Path, file: Path, backend: FakeBackend | None = None, **changes: object) -> AskedRun:
    return ask(backend or FakeBackend(), questions(), out, replace(STUDY, paraphrases=file, **changes))


def test_each_wording_is_sampled_and_the_question_itself_answered_once_without_chance(tmp_path: Path) -> None:
    run = asked(tmp_path / "run", written(tmp_path / "p.jsonl"))
    replies = [reply for piece in run.pieces for reply in piece.replies]
    assert [(piece.paraphrase, len(piece.replies)) for piece in run.pieces] == [(0, 2 * 4), (1, 2 * 3), (2, 2 * 3)]
    greedy = [reply for reply in replies if reply.stage == "greedy"]
    assert [(reply.question, reply.paraphrase, reply.sample) for reply in greedy] == [("q1", 0, 0), ("q2", 0, 0)]
    assert not run.partial
    again = FakeBackend()
    asked(run.path, tmp_path / "p.jsonl", again)
    assert not again.asked  # what is there is not asked for again
    record = run.manifest.paraphrases
    assert record is not None
    assert (record.wordings, record.kept, record.sources) == (3, 4, ("hand",))
    assert record.fingerprint == read_paraphrases(tmp_path / "p.jsonl").fingerprint
    assert "4 paraphrases kept" in run.manifest.origin()["paraphrases"]


def test_more_samples_and_a_greedy_answer_come_into_a_run_later(tmp_path: Path) -> None:
    file = written(tmp_path / "p.jsonl")
    first = asked(tmp_path / "run", file, collect=("answer",))
    backend = FakeBackend()
    grown = asked(first.path, file, backend, samples=4)
    assert backend.asked.total() == 2 * 3 + 2
    assert not open_asked(grown.path).partial


def test_lines_of_no_question_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked(tmp_path / "run", written(tmp_path / "p.jsonl"))
    assert "no question" not in caplog.text
    slip = written(tmp_path / "slip.jsonl", [*LINES, {"id": "q9", "paraphrases": ["So?"]}])
    asked(tmp_path / "other", slip)
    assert "slip.jsonl: 1 line of no question that is asked: id 'q9'" in caplog.text


def test_another_file_is_refused_by_name(tmp_path: Path) -> None:
    run = asked(tmp_path / "run", written(tmp_path / "p.jsonl"))
    other = written(tmp_path / "other.jsonl", [*LINES, {"id": "q9", "paraphrases": ["So?"]}])
    with pytest.raises(
        UsageError, match=r"paraphrases: the run has .*p\.jsonl, requested .*other\.jsonl, another file"
    ):
        asked(run.path, other)


@pytest.mark.parametrize(
    ("text", "paraphrase", "reason"),
    [
        ("Who led Norway in 1905?", "Who led Norway?", "number or date lost"),
        ("Who led Norway in 1905?", "Who was in charge in 1905?", "name lost"),
        ("Who led Norway in 1905?", "who led the Norway in 1905", "duplicate"),
        ("Who led Norway in 1905?", "Tell me who led Norway in 1905", None),
        ("Who followed Balfour as British premier?", "Who succeeded Balfour as premier of Britain?", None),
        ("how many moons has mars", "What is the number of moons of Mars?", None),
    ],
)
def test_what_a_paraphrase_may_not_lose(text: str, paraphrase: str, reason: str | None) -> None:
    found = checked(text, [paraphrase])
    assert dict(found.dropped) == ({} if reason is None else {reason: 1})
    assert len(found.kept) == (reason is None)


def test_a_missing_question_mark_is_counted_and_the_paraphrase_kept() -> None:
    found = checked("Who led Norway?", ["Say who led Norway.", "Who has led Norway?"])
    assert (len(found.kept), dict(found.noted)) == (2, {"ending differs": 1})


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({"id": "q3"}, '"paraphrases" must be a list of texts'),
        ({"paraphrases": ["So?"]}, '"id" must be the id of a question'),
        ({"id": "q3", "paraphrases": [""]}, "none of them empty"),
        ({"id": "q3", "paraphrases": ["\ud83d?"]}, "half of a surrogate pair"),
        ({"id": "q1", "paraphrases": ["So?"]}, "id 'q1' is also in line 1"),
        ({"id": "q3", "paraphrase": ["So?"]}, "unknown key 'paraphrase'"),
    ],
)
def test_faults_of_a_file_name_its_line(tmp_path: Path, line: dict[str, object], what: str) -> None:
    with pytest.raises(ProbeFormatError, match=rf"p\.jsonl:3: .*{what}"):
        read_paraphrases(written(tmp_path / "p.jsonl", [*LINES, line]))


def test_questions_with_fewer_wordings_are_left_out_and_counted(tmp_path: Path) -> None:
    file = read_paraphrases(written(tmp_path / "p.jsonl", [LINES[0], {"id": "q2", "paraphrases": ["Who led Norway?"]}]))
    (made,), record = with_paraphrases([questions()], file, 3)
    assert [question.id for question in made.questions] == ["q1"]
    assert (record.left_out, record.dropped) == (1, {"number or date lost": 1})
    with pytest.raises(UsageError, match="no question of people has 4 wordings by it"):
        with_paraphrases([questions()], file, 4)


def test_perturbations_are_asked_by_the_name_of_their_family(tmp_path: Path) -> None:
    options = replace(STUDY, paraphrases="none", variants=("temperature",), samples=2)
    run = ask(FakeBackend(), questions(), tmp_path / "run", options)
    prompts = load_prompts("wording")
    assert [variant.name for variant in run.manifest.prompts.variants] == list(prompts.perturbations["temperature"])
    temperatures = [variant.temperature for variant in run.manifest.prompts.variants]
    assert temperatures == [pytest.approx((at + 0.5) / 6, abs=1e-3) for at in range(6)]  # evenly over [0, 1]


def test_fixed_temperatures_are_variants_of_their_own() -> None:
    prompts = load_prompts("wording")
    fixed = {
        v.name: v.temperature for v in prompts.variants if v.name.startswith("temperature_") and "_of_" not in v.name
    }
    assert fixed == {f"temperature_{percent}": percent / 100 for percent in (25, 50, 75, 100)}
    assert not {name for family in prompts.perturbations.values() for name in family} & set(fixed)


def test_a_greedy_answer_stands_beside_sampled_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--collect greedy: is one greedy answer beside sampled ones"):
        ask(FakeBackend(), question_set(2), tmp_path / "run", AskOptions(collect=("answer", "greedy")))
    with pytest.raises(UsageError, match="--wordings: questions are asked in one wording"):
        ask(FakeBackend(), question_set(2), tmp_path / "run", AskOptions(wordings=3))


def test_more_wordings_of_a_file_can_be_asked_later(tmp_path: Path) -> None:
    file = written(tmp_path / "p.jsonl")
    asked(tmp_path / "run", file, wordings=2)
    more = FakeBackend()
    run = asked(tmp_path / "run", file, more, wordings=3)
    assert [piece.paraphrase for piece in run.pieces] == [0, 1, 2]
    assert more.asked.total() == 2 * 3
    assert {len(question.paraphrases) for question in run.questions["people"].questions} == {2}
    again = FakeBackend()
    asked(tmp_path / "run", file, again, wordings=2)  # and fewer are there
    assert not again.asked


def test_other_wordings_by_hand_are_other_questions(tmp_path: Path) -> None:
    by_hand = replace(STUDY, paraphrases="hand", samples=1)
    first = replace(questions(), questions=(replace(questions().questions[0], paraphrases=("One?", "Two?")),))
    ask(FakeBackend(), first, tmp_path / "run", by_hand)
    other = replace(first, questions=(replace(first.questions[0], paraphrases=("One?", "Three?")),))
    with pytest.raises(UsageError, match="q1 of people is not what it was"):
        ask(FakeBackend(), other, tmp_path / "run", by_hand)
    with pytest.raises(UsageError, match="--wordings 9: 1 of 1 question of people have fewer; 3 or fewer can be asked"):
        ask(FakeBackend(), first, tmp_path / "new", replace(by_hand, wordings=9))


def test_shares_with_other_wordings_by_hand_are_not_merged(tmp_path: Path) -> None:
    parts = []
    for place, word in enumerate(("Tell me:", "Please say:", "Tell me:")):
        own = tuple(replace(question, paraphrases=(f"{word} {question.text}",)) for question in questions().questions)
        options = AskOptions(paraphrases="hand", shard=f"{min(place, 1) + 1}/2", quiet=True)
        parts.append(ask(FakeBackend(), replace(questions(), questions=own), tmp_path / f"{place}", options).path)
    with pytest.raises(UsageError, match=r"1: question q1 of people is not what it is in the other runs \(its text, "):
        merge_runs(parts[:2], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    assert not open_asked(merge_runs(parts[::2], tmp_path / "merged").path).partial


def test_messages_name_the_study_that_asks_for_something(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--study wording: 2 of 2 questions of people have no other wording"):
        ask(FakeBackend(), questions(), tmp_path / "run", STUDY)
    greedy = AskOptions(study="science-answers", temperature=0.0, collect=("answer",), quiet=True)
    with pytest.raises(UsageError, match="--study science-answers asks for 10 samples, and greedy ones are all the"):
        ask(FakeBackend(), questions(), tmp_path / "run", greedy)
    assert AskOptions(study="stated", collect=("answer",)).filled().replaced == ()
    with pytest.raises(UsageError, match="--study wording has one greedy answer beside sampled ones"):
        replace(STUDY, temperature=0.0).filled()
    with pytest.raises(UsageError, match="--collect greedy: is one greedy answer beside sampled ones"):
        AskOptions(collect=("greedy",)).filled()


def test_variants_with_temperatures_of_their_own_are_sampled(tmp_path: Path) -> None:
    own = AskOptions(prompts="wording", variants=("temperature",), collect=("answer",), samples=2, quiet=True)
    run = ask(FakeBackend(), questions(), tmp_path / "run", own)
    assert [len(piece.replies) for piece in run.pieces] == [4] * 6


def test_wordings_by_hand_that_are_copies_are_not_asked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    others = ("who led it", "It was led by whom?", "Who led it??")
    own = Question("q", "Who led it?", "open", accepted=("so",), paraphrases=others)
    with caplog.at_level(logging.WARNING):
        run = ask(FakeBackend(), QuestionSet("s", (own,), SetSource("f" * 64)), tmp_path / "run", STUDY)
    assert [piece.paraphrase for piece in run.pieces] == [0, 1]
    assert "2 paraphrases the same as another wording" in caplog.text


def test_temperatures_of_variants_are_said(tmp_path: Path) -> None:
    file = tmp_path / "prompts.json"
    cold = {"open": {"turns": [{"role": "user", "text": "{input}"}], "temperature": 0}}
    file.write_text(json.dumps({"variants": {"cold": cold, "plain": "{input}!"}}))
    options = AskOptions(prompts=file, temperature=1.0, collect=("answer",), quiet=True)
    with pytest.raises(UsageError, match="--samples 2: variant cold has the temperature 0"):
        ask(FakeBackend(), questions(), tmp_path / "run", replace(options, samples=2))
    run = ask(FakeBackend(), questions(), tmp_path / "run", options)
    assert "temperature 1, top-p 1, cold at temperature 0" in run.manifest.describe()
