"""Claim-conditioned probability of runs: alternatives judged once, by any judge, read by every report."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import calprobe
from fake_backend import FakeBackend

from calprobe.answers.token_claims import ccp_pairs
from calprobe.arrays import Floats
from calprobe.asking import AskOptions, ask
from calprobe.backends.options import BackendOptions
from calprobe.backends.protocol import Decoding, Dialogue
from calprobe.cells.asked_folder import asked_of
from calprobe.confidence.samples import ccp
from calprobe.errors import UsageError
from calprobe.grading import judge_meanings
from calprobe.grading.entailment import ModelJudge
from calprobe.interop.reply_import import import_replies
from calprobe.measures.options import ReportOptions
from calprobe.questions import Question, QuestionSet, SetSource
from calprobe.runs import LabelScores, Reply, open_asked
from calprobe.runs.meanings import current_sources, read_meanings
from calprobe.studies.asked.frames import confidences_frame
from calprobe.words import AskedCompat

# Of each token of a reply: alternatives with probabilities, the one that was generated first.
SAID = {
    "q0": [[("Paris", 0.6), ("Rome", 0.25), ("The", 0.1)], [(".", 0.9), ("!", 0.05)]],
    "q1": [[("It is", 0.5), ("Rome", 0.5)], [(" Rome", 0.4), (" Paris", 0.3), (" Oslo", 0.2)]],
}


def relation(premise: str, hypothesis: str) -> int:
    """The same but for signs entails; two different towns at the end contradict each other."""
    one, other = (re.sub(r"\W+", " ", text).split()[-1:] for text in (premise, hypothesis))
    towns = {"Paris", "Rome", "Oslo"}
    return 0 if one == other else 2 if set(one) | set(other) <= towns else 1


def judge(pairs: Sequence[tuple[str, str]]) -> Floats:
    return np.array([[0.1, 0.1, 0.1] + 0.7 * np.eye(3)[relation(*pair)] for pair in pairs])


class Scripted(FakeBackend):
    """Answers by `relation`."""

    mass = 0.9  # of the three labels together

    def _reply(
        self, dialogue: Dialogue, stage: str, sample: int, prompt: str, labels: tuple[str, ...], decoding: Decoding
    ) -> Reply:
        made = super()._reply(dialogue, stage, sample, prompt, labels, decoding)
        found = re.search(r"Text 1: (.*)\nText 2: (.*)\n\nSuppose", prompt)
        assert found is not None
        self.pairs = [*getattr(self, "pairs", []), (found[1], found[2])]
        logprobs = np.log(judge([(found[1], found[2])]) * self.mass)
        scores = LabelScores(labels, ((1,), (2,), (3,)), np.array([0]), logprobs, np.array([-np.inf]))
        return replace(made, label_scores=scores)


def imported(path: Path, said: dict[str, list[list[tuple[str, float]]]] = SAID) -> Path:
    lines = [
        {
            "set": "s",
            "question": name,
            "text": "".join(own[0][0] for own in tokens),
            "correct": name == "q0",
            "logprobs": [math.log(own[0][1]) for own in tokens],
            "alternatives": [[[text, math.log(p)] for text, p in own] for own in tokens],
        }
        for name, tokens in said.items()
    ]
    path.with_suffix(".jsonl").write_text("\n".join(map(json.dumps, lines)))
    import_replies(path.with_suffix(".jsonl"), path)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return imported(tmp_path / "run")


def confidences(run: Path, name: str, compat: AskedCompat | None = None) -> dict[str, float]:
    frame = confidences_frame(asked_of("run", open_asked(run)), ReportOptions(compat=compat))
    own = frame[frame.estimator == name]
    return dict(zip(own.question, own.confidence, strict=True))


def tokens_of(name: str, said: dict[str, list[list[tuple[str, float]]]] = SAID) -> list[list[tuple[str, float]]]:
    return [[(text, float(np.float32(math.log(p)))) for text, p in own] for own in said[name]]


def test_reports_have_what_the_function_gives(run: Path) -> None:
    assert confidences(run, "ccp") == {}  # not judged yet
    entropies = {
        name: np.mean([sum(-p * math.log(p) for p in [*(p for _, p in own), rest] if p > 1e-9) for own, rest in each])
        for name, each in ((n, [(o, 1 - sum(p for _, p in o)) for o in t]) for n, t in SAID.items())
    }
    assert confidences(run, "token_entropy") == pytest.approx(entropies, abs=1e-5)
    judge_meanings(run, nli=Scripted())
    for name in SAID:
        expected = ccp(tokens_of(name), judge)
        assert confidences(run, "ccp")[name] == pytest.approx(expected.product)
        assert confidences(run, "ccp_mean")[name] == pytest.approx(expected.mean)
    assert confidences(run, "ccp")["q0"] == pytest.approx(0.6 / 0.85)
    assert confidences(run, "ccp")["q1"] == pytest.approx(0.4 / 0.9)


def test_each_pair_is_judged_once_in_either_direction(run: Path) -> None:
    backend = Scripted()
    judge_meanings(run, nli=backend, contexts=("sentence", "token"))
    pairs = [pair for name in SAID for pair in ccp_pairs(tokens_of(name))]
    alone = {pair for name in SAID for pair in ccp_pairs(tokens_of(name), "token")}
    assert sorted(backend.pairs) == sorted([*pairs, *alone])
    assert {(other, one) for one, other in alone} == alone
    assert [own.kind for own in current_sources(run)] == ["nli", "ccp_sentence", "ccp_token"]
    again = Scripted()
    judge_meanings(run, nli=again, contexts=("token", "sentence"))
    assert not again.asked
    meanings = read_meanings(run)
    assert meanings is not None
    assert meanings.claimed("s", "q1", [("Rome", "Paris")], "token") is not None  # of another question, too
    assert meanings.claimed("s", "q0", [("It is Rome", "It is Paris")], "sentence") is None


def test_what_was_not_judged_is_counted(run: Path, tmp_path: Path) -> None:
    failing = Scripted(failing={"label": ["0"]})
    judge_meanings(run, nli=failing)
    report = json.loads(calprobe("report", str(run), "--json", "--bootstrap", "0").stdout)[str(run)]
    own = report["sets"]["s"]["variants"]["import"]["confidences"]["ccp"]
    assert own["reasons"] == {"not judged; run calprobe grade again": 1}
    assert "up to 3 tokens at each of 4 positions" in report["disclosure"]["alternatives of tokens"]
    assert "least entropies of a window" in report["disclosure"]["alternatives of tokens"]
    again = Scripted()
    judge_meanings(run, nli=again)
    assert again.asked.total() == 1


def test_shares_of_next_to_nothing_are_no_judgement(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    silent = Scripted()
    silent.mass = 0.009
    judge_meanings(run, nli=silent)
    assert "gives A, B and C 0.01 of its probability on average" in caplog.text
    assert "without a judgement" in caplog.text
    assert set(np.isnan([*confidences(run, "ccp").values()])) <= {True}
    report = json.loads(calprobe("report", str(run), "--json", "--bootstrap", "0").stdout)[str(run)]
    own = report["sets"]["s"]["variants"]["import"]["confidences"]
    assert own.get("ccp", {}).get("n", 0) == 0
    judge_meanings(run, nli=Scripted())
    assert confidences(run, "ccp")["q0"] == pytest.approx(0.6 / 0.85)


def test_samples_have_the_readings_of_other_estimators_of_replies(tmp_path: Path) -> None:
    run = imported(tmp_path / "run")
    lines = [json.loads(line) for line in run.with_suffix(".jsonl").read_text().splitlines()]
    several = [{**line, "sample": at} for line in lines for at in (0, 1)]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, several)))
    import_replies(tmp_path / "more.jsonl", tmp_path / "more")
    judge_meanings(tmp_path / "more", nli=Scripted())
    for name in ("ccp", "ccp_mean", "token_entropy"):
        whole, majority = (confidences(tmp_path / "more", own) for own in (name, f"{name}.majority"))
        assert majority.keys() == whole.keys() == SAID.keys()


def test_exports_and_comparisons_know_them(run: Path, tmp_path: Path) -> None:
    other = imported(tmp_path / "other", {name: SAID[name][::-1] for name in SAID})
    for each in (run, other):
        judge_meanings(each, nli=Scripted())
    out = tmp_path / "alternatives.parquet"
    assert calprobe("export", str(run), "--what", "alternatives", "--out", str(out)).returncode == 0
    table = pq.read_table(out).to_pylist()
    assert len(table) == 10
    assert [(row["token"], row["rank"]) for row in table if row["question"] == "q0" and row["position"] == 1] == [
        (".", 0),
        ("!", 1),
    ]
    assert {row["token_id"] for row in table} == {None}
    result = calprobe("compare", str(run), str(other), "--estimator", "ccp_mean", "--json", "--bootstrap", "20")
    assert result.returncode == 0, result.stderr
    assert '"ccp_mean"' in result.stdout


def test_the_model_itself_is_known_of_runs_of_this_tool_alone(run: Path) -> None:
    with pytest.raises(UsageError, match="--nli self: the model that answered is not known, of an import"):
        judge_meanings(run, nli="self")


def test_the_model_that_has_answered_is_opened_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = FakeBackend(name="transformers")
    questions = QuestionSet("s", (Question("q", "Who?", "open", accepted=("so",)),), SetSource("f" * 64))
    options = AskOptions(collect=("answer",), variants=("surface_paraphrase",), samples=3, temperature=1.0, quiet=True)
    run = ask(Varied(name="transformers"), questions, tmp_path / "run", options)
    opened: list[tuple[str, str]] = []
    backend = Scripted(name="transformers", model=asked.model)

    @contextmanager
    def using(model: str, engine: BackendOptions, load_options: object = None) -> Iterator[FakeBackend]:
        opened.append((model, engine.backend))
        yield backend

    monkeypatch.setattr("calprobe.grading.entailment.using_backend", using)
    (source,) = judge_meanings(run, nli="self")
    assert opened == [("toy", "transformers")]
    assert (source.model, source.form) == (
        "toy",
        "each answer behind its question, asked about each pair, by the probabilities of three labels",
    )
    assert len(backend.pairs) == 3 * 2
    meanings = read_meanings(run.path)
    assert meanings is not None
    relations = meanings.relations("s", "q", ["Paris", "Rome"])
    assert relations is not None
    np.testing.assert_allclose(relations[0, 1], [0.1, 0.1, 0.8], atol=1e-6)
    backend.model = replace(asked.model, weights_fingerprint="v" * 64)
    with pytest.raises(UsageError, match="--nli self: toy has other weights than the model that answered"):
        judge_meanings(run, nli="self")


class Varied(FakeBackend):
    """Says another town in each sample."""

    def _reply(
        self, dialogue: Dialogue, stage: str, sample: int, prompt: str, labels: tuple[str, ...], decoding: Decoding
    ) -> Reply:
        made = super()._reply(dialogue, stage, sample, prompt, labels, decoding)
        return replace(made, text=("Paris", "Rome", "Oslo")[sample])


def test_a_sentence_begins_behind_the_last_one() -> None:
    tokens = [[(text, -0.1), ("x", -3.0)] for text in ("It", " is", " 3.5", ".", " Then", "\n", "So")]
    firsts = [one for one, other in ccp_pairs(tokens) if other.endswith("x")]
    assert firsts == ["It", "It is", "It is 3.5", "It is 3.5.", "It is 3.5. Then", "Then", "So"]


class Doubtful(Scripted):
    """Puts hardly any of its probability on the three labels."""

    def _reply(self, *given: Any) -> Reply:
        made = super()._reply(*given)
        assert made.label_scores is not None
        return replace(made, label_scores=replace(made.label_scores, logprobs=made.label_scores.logprobs - 5))


def test_a_model_that_judges_poorly_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    judge = ModelJudge(Doubtful())
    for _ in range(3):
        judge.probabilities([("Paris", "Rome")])
    assert caplog.text.count("judge by another model") == 1
