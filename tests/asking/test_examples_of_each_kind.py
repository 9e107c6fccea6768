"""Few-shot examples of a set of mixed kinds: each question is shown those of its own kind, and none is lost unsaid."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from fake_backend import FakeBackend

from calprobe.asking import AskOptions, ask
from calprobe.backends.protocol import Pending
from calprobe.errors import UsageError
from calprobe.prompts import prompt_of
from calprobe.questions import QuestionOptions
from calprobe.runs import Reply

FEW = AskOptions(variants=("fewshot_3",), collect=("answer",), quiet=True)


class Noting(FakeBackend):
    """Keeps the prompt of each question."""

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        for reply in super().replies(pending):
            self.prompts = {**getattr(self, "prompts", {}), reply.question: reply.prompt}
            yield reply


def mixed(path: Path, choices: int, opens: int, numbers: int) -> Path:
    rows: list[dict[str, object]] = [
        {"id": f"c{n}", "question": f"Which is {n}?", "options": ["Mars", "Moon"], "answer": "A"}
        for n in range(choices)
    ]
    rows += [{"id": f"o{n}", "question": f"Who wrote {n}?", "answer": ["Ann"]} for n in range(opens)]
    rows += [{"id": f"n{n}", "question": f"How many in {n}?", "answer": n} for n in range(numbers)]
    file = path / "mixed.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_a_question_is_shown_examples_of_its_own_kind(tmp_path: Path) -> None:
    backend = Noting()
    run = ask(backend, str(mixed(tmp_path, 5, 4, 6)), tmp_path / "run", FEW)
    (record,) = run.manifest.sets
    assert (record.n_questions, record.held_back, len(record.shots)) == (2 + 1 + 3, 9, 9)
    words = {"c": "Which is", "o": "Who wrote", "n": "How many"}
    for question, prompt in backend.prompts.items():
        counts = {kind: prompt.count(word) for kind, word in words.items()}
        assert counts == {kind: 4 * (kind == question[0]) for kind in words}  # three examples and the question
        assert ("A. Mars" in prompt) == (question[0] == "c")


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((5, 4, 3), r"--shots 3: no question of the kind number is left to be asked; give more"),
        ((5, 4, 2), r"--shots 3: only 2 questions of the kind number can be examples"),
    ],
)
def test_a_kind_with_too_few_questions_is_named(sizes: tuple[int, int, int], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        ask(FakeBackend(), str(mixed(tmp_path, *sizes)), tmp_path / "run", FEW)


def test_the_default_prompt_shows_none_so_all_are_asked(tmp_path: Path) -> None:
    file = str(mixed(tmp_path, 5, 4, 2))
    run = ask(FakeBackend(), file, tmp_path / "run", AskOptions(collect=("answer",), quiet=True))
    assert [variant.name for variant in run.manifest.prompts.variants] == ["plain"]
    (record,) = run.manifest.sets
    assert (record.n_questions, record.held_back) == (11, 0)
    with pytest.raises(UsageError, match="--shots 3: only 2 questions of the kind number"):
        ask(FakeBackend(), file, tmp_path / "chosen", AskOptions(study="audit", quiet=True))
    with pytest.raises(UsageError, match=r"--shots 3: no variant shows examples; .* --variants fewshot_3"):
        ask(FakeBackend(), file, tmp_path / "chosen", AskOptions(shots=3, quiet=True))
    with pytest.raises(UsageError, match="the default is plain; give --study audit to go on"):
        ask(FakeBackend(), file, audited(tmp_path), AskOptions(quiet=True))
    typed = tmp_path / "typed"
    ask(FakeBackend(), file, typed, AskOptions(prompts=prompt_of("{input} Now!"), collect=("answer",), quiet=True))
    with pytest.raises(UsageError, match="give its --prompt again to go on"):
        ask(FakeBackend(), file, typed, AskOptions(collect=("answer",), quiet=True))


def audited(path: Path) -> Path:
    """A run that was asked under the study's variants."""
    return ask(FakeBackend(), str(mixed(path, 5, 4, 4)), path / "audit", AskOptions(study="audit", quiet=True)).path


def in_groups(path: Path, name: str, sizes: dict[str, int]) -> str:
    rows = [
        {"id": f"{group}{n}", "question": f"{group} of {name} {n}?", "answer": n, "group": group}
        for group, size in sizes.items()
        for n in range(size)
    ]
    file = path / f"{name}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def test_examples_of_the_questions_own_group(tmp_path: Path) -> None:
    asked = in_groups(tmp_path, "asked", {"law": 2, "art": 2, "few": 1})
    others = in_groups(tmp_path, "dev", {"few": 2, "law": 5, "art": 5})
    for by in ("group", "any"):
        backend = Noting()
        chosen = QuestionOptions(shots_from=others, shots_by=by)
        run = ask(backend, asked, tmp_path / by, FEW, question_options=chosen)
        (record,) = run.manifest.sets
        assert len(record.shots) >= 3 if by == "group" else len(record.shots) == 3
        prompts = backend.prompts
        for question, prompt in prompts.items():
            assert prompt.count(" of dev ") == 3
            if by == "group" and not question.startswith("few"):  # of which there are too few examples
                assert prompt.count(f"{question[:3]} of dev ") == 3
        heads = {prompt.partition(" of asked ")[0][:-3] for prompt in prompts.values()}
        assert len(heads) == (1 if by == "any" else 3)


def test_examples_of_each_group_are_held_back(tmp_path: Path) -> None:
    asked = in_groups(tmp_path, "asked", {"law": 6, "art": 5})
    backend = Noting()
    run = ask(backend, asked, tmp_path / "run", FEW, question_options=QuestionOptions(shots_by="group"))
    (record,) = run.manifest.sets
    assert (record.n_questions, record.held_back) == (5, 6)
    assert all(prompt.count(f"{question[:3]} of asked ") == 4 for question, prompt in backend.prompts.items())
