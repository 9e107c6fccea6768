"""bench/asking.py: the same prompts for all, and no ratio without equal answers."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import asking
import numpy as np
import pytest
import torch
from askers.compare import Agreement, labels_agree, rows_of
from askers.contestants import label_forms, letter_logprobs
from askers.job import AskJob, prompts_of
from harness.child import take_part
from harness.job import Outcome
from tiny_models import tiny_tokenizer

from calprobe.models.source import resolve
from calprobe.prompts import load_prompts

TINY_CHAT = resolve("tiny-chat").location


def question_file(folder: Path) -> Path:
    file = folder / "questions.jsonl"
    rows = [
        {"id": str(n), "question": f"Which\u2028{n}?", "options": ["w", "x", "y", "z"], "answer": n % 4}
        for n in range(9)
    ]
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return file


def test_prompts_are_those_of_the_audit_question_by_question(tmp_path: Path) -> None:
    file = str(question_file(tmp_path))
    variants = [each.name for each in load_prompts("audit").variants]
    every, plain = prompts_of(file, 5, 0, "audit"), prompts_of(file, 5, 0, "surface_paraphrase")
    assert len(set(every)) == 25
    assert every[variants.index("surface_paraphrase") :: 5] == plain
    with_shots = every[variants.index("fewshot_3") :: 5]
    assert all(prompt.count("Which\u2028") == 4 for prompt in with_shots)
    asked = {prompt.split("Which\u2028")[4][0] for prompt in with_shots}
    assert not asked & {part[0] for part in with_shots[0].split("Which\u2028")[1:4]}


def test_a_sample_of_prompts_is_evenly_spread() -> None:
    assert AskJob("calprobe", (4, 8), 1, "labels", "folder", ("a", "b", "c", "d"), 1, 2).sample() == ("a", "c")


@pytest.mark.parametrize("wanted", ["labels", "replies"])
def test_contestants_give_the_answers_of_a_plain_forward(wanted: str, tmp_path: Path) -> None:
    """What each child does, in this process."""
    folder = TINY_CHAT
    prompts = prompts_of(str(question_file(tmp_path)), 2, 0, "surface_paraphrase")
    outcomes, longest = {}, 1 if wanted == "labels" else 3
    for name, sizes in (("calprobe", ()), ("pipeline", (1, 2)), ("one by one", ())):
        said = io.StringIO()
        outcomes[name] = take_part(AskJob(name, sizes, 1, wanted, folder, prompts, longest, 2), ["again\n"] * 2, said)
        assert said.getvalue() == "ready\ndone\ndone\n"
        assert len(outcomes[name].seconds) == 2
    assert set(outcomes["pipeline"].trials) == {"1", "2"}
    if wanted == "labels":
        assert outcomes["one by one"].sums.shape == (2, 4)
        assert all(labels_agree(outcomes[name], outcomes["one by one"]).why_not is None for name in outcomes)
    else:
        texts = [outcome.facts["texts"] for outcome in outcomes.values()]
        assert len(texts[0]) == 2
        assert texts[0] == texts[1] == texts[2]


def test_a_letter_is_all_its_tokens() -> None:
    forms = label_forms(tiny_tokenizer())
    assert [len(tokens) for tokens in forms] == [1, 1, 1, 1]
    logits = torch.zeros(1, 260)
    logprobs = letter_logprobs(logits, [[5, 6], [7]])
    assert logprobs[0] == pytest.approx(np.log([2 / 260, 1 / 260]))


def in_this_process(jobs: Sequence[AskJob], repeats: int) -> dict[str, Outcome]:
    """As `in_turns`."""
    return {job.scorer: take_part(job, ["again\n"] * repeats, io.StringIO()) for job in jobs}


@pytest.mark.proof
def test_a_task_from_its_options_to_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "in_turns", in_this_process)
    options = ["--questions", str(question_file(tmp_path)), "--model", "tiny-chat", "--contestants", "pipeline"]
    options += ["--max-new-tokens", "3", "--repeats", "2", "--sample", "1", "--threads", "1"]
    given = asking.options().parse_args(options)
    prompts = prompts_of(given.questions, 2, 0, "surface_paraphrase")
    for wanted in ("labels", "replies"):
        rows = asking.compared(wanted, given, prompts)
        assert [(row["task"], row["contestant"], row["note"]) for row in rows] == [
            (wanted, "calprobe", None), (wanted, "pipeline", None)
        ]  # fmt: skip
        assert rows[1]["calprobe_is_times_as_fast"] > 0
        assert (rows[1]["replies"], rows[1]["repeats"], set(rows[1]["trials"])) == (2, 2, {"4", "8", "16", "32"})


def test_no_ratio_without_the_same_labels() -> None:
    truth = Outcome("one by one", sums=np.zeros((2, 4)), seconds=(9.0,))
    ours = Outcome("calprobe", sums=np.full((2, 4), 5e-4), seconds=(2.0, 1.0, 3.0))
    peer = Outcome("pipeline", sums=np.full((2, 4), 2e-3), seconds=(4.0, 5.0, 6.0))
    agree = {outcome.scorer: labels_agree(outcome, truth) for outcome in (ours, peer)}
    assert agree["calprobe"].why_not is None
    rows = rows_of("labels", {"calprobe": ours, "pipeline": peer}, agree, 2)
    assert "calprobe_is_times_as_fast" not in rows[1]
    assert "differ from a plain forward's by 0.002" in rows[1]["note"]
    right = agree | {"pipeline": Agreement(None, {})}
    rows = rows_of("labels", {"calprobe": ours, "pipeline": peer}, right, 2)
    assert rows[1]["calprobe_is_times_as_fast"] == 2.5
    table = asking.render({"rows": [{"design": "audit"} | row for row in rows]})
    assert "labels, audit: 2.5 times as fast as the fastest peer (goal: 2.0)" in table
    nan = Outcome("pipeline", sums=np.full((2, 4), np.nan), seconds=(1.0,))
    assert labels_agree(nan, truth).why_not is not None
