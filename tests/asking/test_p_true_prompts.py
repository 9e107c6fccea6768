"""What asks whether an answer is true: in a prompt file's words, one wording a run, and how its replies count."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_backend import ABLE, FakeBackend

from calprobe.asking import AskOptions, ask
from calprobe.backends.local.closed import reply_tree
from calprobe.confidence.asked.p_true import _reading
from calprobe.confidence.asked.reply_table import Row
from calprobe.errors import UsageError
from calprobe.prompts import load_prompts
from calprobe.prompts.prompt_sets import p_true_text
from calprobe.questions import Question, QuestionSet, SetSource
from calprobe.runs import AskedRun, Reply
from calprobe.runs.window import Step, WindowToken, window_label_scores

OPEN = QuestionSet("s", (Question("o1", "Who?", "open", accepted=("Ann",)),), SetSource("x" * 64))
CHOICE = QuestionSet("c", (Question("1", "Which?", "choice", ("x", "y"), ("A", "B"), answer=0),), SetSource("x" * 64))
COLLECT = ("answer", "p_true")
BASE: Mapping[str, Any] = {"variants": {"d": "{input}\nAnswer:"}, "p_true": "FIRST (A) true (B) false?"}


def asked(tmp_path: Path, prompts: Mapping[str, Any], **changes: Any) -> AskedRun:
    file = tmp_path / "prompts.json"
    file.write_text(json.dumps(prompts))
    backend = changes.pop("backend", None) or FakeBackend()
    return ask(backend, OPEN, tmp_path / "run", AskOptions(prompts=file, quiet=True, **{"collect": COLLECT} | changes))


def about_truth(run: AskedRun) -> list[str]:
    return [reply.prompt for piece in run.pieces for reply in piece.replies if reply.stage == "p_true"]


def test_another_wording_is_another_run(tmp_path: Path) -> None:
    run = asked(tmp_path, BASE)
    with pytest.raises(UsageError, match="p_true: the text differs"):
        asked(tmp_path, {**BASE, "p_true": "SECOND (A) true (B) false?"})
    assert about_truth(run)[0].endswith("FIRST (A) true (B) false?")


def test_a_run_without_the_question_takes_any_wording_later(tmp_path: Path) -> None:
    first = asked(tmp_path, BASE, collect=("answer",))
    run = asked(tmp_path, {**BASE, "p_true": "SECOND (A) true (B) false?"})
    assert run.manifest.prompts.p_true.startswith("SECOND")
    assert run.manifest.prompts.fingerprint != first.manifest.prompts.fingerprint
    assert len(about_truth(run)) == 1


def test_another_budget_of_conclusions_is_another_run(tmp_path: Path) -> None:
    open_ = {"turns": [{"role": "user", "text": "{input}"}], "conclusion": "So?"}
    prompts = {"variants": {"d": {"open": open_}}, "max_new_tokens": {"default": 8, "final": 4}}
    asked(tmp_path, prompts, collect=("answer",))
    with pytest.raises(UsageError, match="variant d: the text or its settings differ"):
        asked(tmp_path, prompts | {"max_new_tokens": {"default": 8, "final": 64}}, collect=("answer",))


def test_the_default_wording_is_in_the_manifest(tmp_path: Path) -> None:
    plain = {"variants": BASE["variants"]}
    run = asked(tmp_path, plain)
    assert run.manifest.prompts.p_true == p_true_text()
    assert about_truth(run)[0].endswith(p_true_text())
    assert run.manifest.prompts.fingerprint != load_prompts(tmp_path / "prompts.json").fingerprint


def test_braces_and_claims_are_filled_in_without_a_conclusion(tmp_path: Path) -> None:
    run = asked(tmp_path, {**BASE, "p_true": "Is it {{so}}, (A) or (B)?"})
    assert about_truth(run)[0].endswith("Is it {so}, (A) or (B)?")


def test_a_backend_that_shows_fewer_than_two_tokens_is_not_asked(tmp_path: Path) -> None:
    blind = FakeBackend(capabilities=replace(ABLE, complete_softmax=False, top_logprobs=1))
    with pytest.raises(UsageError, match="--collect p_true: toy on fake does not show the log-probabilities of two"):
        asked(tmp_path, BASE, backend=blind)


def test_labels_alone_are_not_asked_for_behind_conclusions() -> None:
    options = AskOptions(study="science-answers", collect=("labels",), quiet=True)
    with pytest.raises(UsageError, match="stand behind the conclusion of a reply; collect answer, too"):
        ask(FakeBackend(), CHOICE, "runs/never", options)


def window(*texts: str) -> Reply:
    """A reply of these tokens; A is nearly certain where it was generated, and rare elsewhere."""
    rare = (WindowToken("A", -9.0), WindowToken("B", -8.0))
    steps = [
        Step(WindowToken(text, -0.02), (WindowToken(text, -0.02), *([WindowToken("B", -4.0)] if text == "A" else rare)))
        for text in texts
    ]
    scores = window_label_scores(("A", "B"), steps, "".join(texts))
    return Reply("k", "s", "o1", "d", "p_true", "".join(texts), "stop", label_scores=scores)


@pytest.mark.parametrize("texts", [("(", "A", ")"), ("A", ")"), ("A", " or ", "B")])
def test_the_letter_is_read_where_it_was_generated(texts: tuple[str, ...]) -> None:
    row = Row(OPEN.questions[0], 0, 0, {"p_true": window(*texts)}, {})
    both = np.exp(-0.02) + np.exp(-4.0)
    found = _reading(row, normalised=True)
    assert (found.value, found.both, found.status) == (pytest.approx(np.exp(-0.02) / both), pytest.approx(both), "ok")


def test_replies_count_wherever_one_begins_so() -> None:
    """By hand: the forms of `true` are 5 6 and 7, those of `false` 5 8; 7 9 begins with 7, and counts with it."""
    ids = {"(A)": (5, 6), "A": (7,), "A)": (7, 9), "(B)": (5, 8)}
    tree = reply_tree((("(A)", "A", "A)"), ("(B)",)), ids.__getitem__, ())
    first = {5: 0.5, 7: 0.3}
    behind = {6: 0.75, 8: 0.25}
    edges = [first.get(token, behind.get(token)) for token in tree.targets.tolist()]
    (found,) = tree.scores(np.log([edges]))
    assert np.exp(found.logprobs[0]) == pytest.approx([0.5 * 0.75 + 0.3, 0.5 * 0.25])
