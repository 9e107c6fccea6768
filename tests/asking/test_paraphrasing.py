"""Paraphrases by a model: asked for once, checked, written for `--paraphrases`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fake_backend import FakeBackend

from calprobe.asking import AskOptions, ParaphraseOptions, ask, paraphrase
from calprobe.asking.rewordings import checked_rewordings
from calprobe.backends.protocol import Decoding, Dialogue
from calprobe.errors import CalprobeError, UsageError
from calprobe.questions import Question, QuestionSet, SetSource
from calprobe.questions.paraphrase_file import read_paraphrases
from calprobe.runs import Reply

NORWAY, RIVER = "Who led Norway in 1905?", "Which river flows through Paris?"
SCRIPT = {
    "norway": ("In 1905, who led Norway?", "Who led Norway?", '"Who was head of Norway in 1905?"'),
    "river": ("The Seine.", "Does the Seine flow through Paris?", "Through Paris flows which river?"),
}
OPTIONS = ParaphraseOptions(count=2, samples=3, quiet=True)


@dataclass
class ScriptedWriter(FakeBackend):
    """Says of each question what the script has for the sample."""

    script: Mapping[str, Sequence[str]] = field(default_factory=lambda: SCRIPT)
    prompts: list[str] = field(default_factory=list)

    def _reply(
        self, dialogue: Dialogue, stage: str, sample: int, prompt: str, labels: tuple[str, ...], decoding: Decoding
    ) -> Reply:
        made = super()._reply(dialogue, stage, sample, prompt, labels, decoding)
        self.prompts.append(prompt)
        return made if made.finish == "error" else replace(made, text=self.script[dialogue.question][sample])


def questions() -> QuestionSet:
    norway = Question("norway", NORWAY, "open", accepted=("Michelsen",))
    river = Question("river", RIVER, "choice", ("Seine", "Thames"), ("A", "B"), answer=0)
    return QuestionSet("quiz", (norway, river), SetSource("f" * 64))


def test_what_passes_is_a_file_that_ask_takes(tmp_path: Path) -> None:
    writer, file = ScriptedWriter(), tmp_path / "quiz.jsonl"
    found = paraphrase(writer, questions(), file, OPTIONS)
    assert (found.questions, found.replies, found.passed, found.written) == (2, 6, 3, 3)
    assert (found.reached, found.without) == (1, 0)
    assert found.dropped == {"number or date lost": 1, "no question": 1, "gives the answer": 1}
    read = read_paraphrases(file)
    assert read.lines["quiz", "norway"] == ("In 1905, who led Norway?", "Who was head of Norway in 1905?")
    assert read.lines["quiz", "river"] == ("Through Paris flows which river?",)
    assert read.fingerprint == found.fingerprint
    (source,) = read.sources
    assert source.startswith("toy, prompts paraphrase (")
    assert all(RIVER in prompt or NORWAY in prompt for prompt in writer.prompts)
    assert not any("Thames" in prompt for prompt in writer.prompts)  # the text alone is worded anew
    options = AskOptions(study="wording", collect=("answer",), paraphrases=file, wordings=2, quiet=True)
    run = ask(FakeBackend(), questions(), tmp_path / "run", options)
    assert run.manifest.paraphrases is not None
    assert run.manifest.paraphrases.fingerprint == found.fingerprint
    assert run.manifest.paraphrases.dropped == {}


def test_nothing_is_asked_twice_and_no_file_is_written_over(tmp_path: Path) -> None:
    file = tmp_path / "quiz.jsonl"
    first = paraphrase(ScriptedWriter(), questions(), file, OPTIONS)
    again = ScriptedWriter()
    assert paraphrase(again, questions(), file, OPTIONS) == first
    assert not again.asked
    with pytest.raises(UsageError, match=r"quiz\.jsonl is there, with other paraphrases; give another --out"):
        paraphrase(again, questions(), file, replace(OPTIONS, count=1))
    assert read_paraphrases(file).fingerprint == first.fingerprint


def test_a_model_that_words_nothing_anew_leaves_no_file(tmp_path: Path) -> None:
    copies = {"norway": (NORWAY,) * 3, "river": (RIVER,) * 3}
    with pytest.raises(
        CalprobeError, match=r"none of the rewordings of 2 questions passed .* texts are in .*quiz\.run"
    ):
        paraphrase(ScriptedWriter(script=copies), questions(), tmp_path / "quiz.jsonl", OPTIONS)
    assert not (tmp_path / "quiz.jsonl").exists()


def test_replies_that_failed_are_counted_and_asked_for_again(tmp_path: Path) -> None:
    file = tmp_path / "quiz.jsonl"
    found = paraphrase(ScriptedWriter(failing={"answer": ["norway"]}), questions(), file, OPTIONS)
    assert found.dropped["no reply"] == 1
    file.unlink()
    assert paraphrase(ScriptedWriter(), questions(), file, OPTIONS).passed == 3


@pytest.mark.parametrize(
    ("said", "finish", "reason"),
    [
        ("Who was in charge of Norway in 1905 and", "length", "cut off"),
        ("", "stop", "nothing said"),
        ("In 1905, who led Norway under Oscar?", "stop", "name or number added"),
        ("In 1905 and 1906, who led Norway?", "stop", "name or number added"),
        ("In nineteen hundred and five, who led Norway?", "stop", None),
        ("who led norway in 1905", "stop", "no question"),
        ("Who led Norway in 1905?", "stop", "duplicate"),
        ("Was it Michelsen who led Norway in 1905?", "stop", "gives the answer"),
    ],
)
def test_why_a_rewording_is_dropped(said: str, finish: str, reason: str | None) -> None:
    reply = Reply("k", "quiz", "norway", "v", "answer", said, finish)  # type: ignore[arg-type]
    (found,) = checked_rewordings({"norway": [reply]}, questions().questions[:1])
    assert dict(found.dropped) == ({} if reason is None else {reason: 1})
    assert len(found.kept) == (reason is None)


@pytest.mark.parametrize(("said", "passes"), [("A good question?", False), ("Are humans what you are?", True)])
def test_a_rewording_is_about_the_same(said: str, passes: bool) -> None:
    human = Question("human", "Are you a human?", "open", accepted=("no",))
    (found,) = checked_rewordings({"human": [Reply("k", "quiz", "human", "v", "answer", said, "stop")]}, [human])
    assert dict(found.dropped) == ({} if passes else {"another question": 1})


def test_meaning_must_follow_both_ways() -> None:
    texts = ("In 1905, who led Norway?", "Who in 1905 led Norway for a year?")
    replies = [Reply("k", "quiz", "norway", "v", "answer", text, "stop") for text in texts]
    # The longer text says more: it entails the question, and is not entailed by it.
    judge = {(NORWAY, texts[0]): 0.9, (texts[0], NORWAY): 0.8, (NORWAY, texts[1]): 0.2, (texts[1], NORWAY): 0.9}
    (found,) = checked_rewordings(
        {"norway": replies}, questions().questions[:1], lambda pairs: [judge[pair] for pair in pairs]
    )
    assert found.kept == texts[:1]
    assert dict(found.dropped) == {"meaning differs": 1}
