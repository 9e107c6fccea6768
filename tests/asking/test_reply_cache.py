"""Replies of earlier runs in place of new ones: only to the same request, and only where that is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from asked_samples import PROMPTS, question_set
from fake_backend import FakeBackend

from calprobe.asking import AskOptions, ask
from calprobe.backends.protocol import Pending
from calprobe.errors import CalprobeError
from calprobe.runs import AskedRun, Reply, open_asked

OPTIONS = AskOptions(
    prompts=PROMPTS,
    variants=("direct",),
    collect=("answer", "stated"),
    samples=3,
    temperature=1.0,
    cache=True,
    quiet=True,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "replies.sqlite3"


def texts(run: AskedRun) -> list[tuple[str, str, int, str]]:
    return [(r.question, r.stage, r.sample, r.text) for piece in run.by_piece.values() for r in piece.replies]


def test_a_run_of_the_same_requests_asks_none_of_them(tmp_path: Path) -> None:
    first, second = FakeBackend(), FakeBackend(backwards=2)
    one = ask(first, question_set(3), tmp_path / "one", OPTIONS)
    two = ask(second, question_set(4), tmp_path / "two", OPTIONS)
    assert (first.asked.total(), second.asked.total()) == (3 * 3 * 2, 3 * 2)
    assert set(texts(one)) < set(texts(two))
    assert (one.manifest.from_cache, two.manifest.from_cache) == (0, 18)
    assert "18 replies from the cache of earlier runs" in two.manifest.describe()
    anew = ask(FakeBackend(), question_set(4), tmp_path / "anew", replace(OPTIONS, cache=False))
    assert [piece.checksum() for piece in two.pieces] == [piece.checksum() for piece in anew.pieces]


def test_other_requests_and_runs_without_the_option_are_asked(tmp_path: Path, cache: Path) -> None:
    few = question_set(2)
    ask(FakeBackend(), few, tmp_path / "without", replace(OPTIONS, cache=False))
    assert not cache.exists()
    ask(FakeBackend(), few, tmp_path / "first", OPTIONS)
    others = {
        "without": (FakeBackend(), replace(OPTIONS, cache=False)),
        "seed": (FakeBackend(), replace(OPTIONS, seed=1)),
        "longer": (FakeBackend(), replace(OPTIONS, max_new_tokens=9)),
        "backend": (FakeBackend(dtype="bfloat16"), OPTIONS),
        "model": (FakeBackend(model=replace(FakeBackend().model, weights_fingerprint="v" * 64)), OPTIONS),
        "address": (Elsewhere(), OPTIONS),
    }
    for name, (backend, options) in others.items():
        run = ask(backend, few, tmp_path / f"{name}-again", options)
        assert (backend.asked.total(), run.manifest.from_cache) == (12, 0), name


@dataclass
class Elsewhere(FakeBackend):
    """The same model at another address."""

    def settings(self) -> dict[str, object]:
        return {**super().settings(), "address": "elsewhere"}


@dataclass
class Changing(FakeBackend):
    """Gives other first replies than the fake one, to the same requests: a server that promises nothing."""

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        for reply in super().replies(pending):
            yield replace(reply, text=f"{reply.text}!") if reply.stage == "answer" else reply


def test_a_follow_up_is_taken_only_behind_its_own_reply(tmp_path: Path) -> None:
    few, answers = question_set(2), replace(OPTIONS, collect=("answer",))
    ask(FakeBackend(), few, tmp_path / "whole", OPTIONS)  # the cache has answers with what was stated behind them
    uncached = replace(answers, cache=False)
    ask(Changing(), few, tmp_path / "changed", uncached)
    backend = FakeBackend()
    run = ask(backend, few, tmp_path / "changed", OPTIONS)
    assert (backend.asked.total(), run.manifest.from_cache) == (6, 0), "these stand behind other answers"
    ask(FakeBackend(), few, tmp_path / "same", uncached)
    backend = FakeBackend()
    assert ask(backend, few, tmp_path / "same", OPTIONS).manifest.from_cache == 6
    assert not backend.asked


@dataclass
class Down(FakeBackend):
    """Takes all requests, and breaks down before its first reply."""

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        if list(pending):
            raise CalprobeError("the server is down")
        yield from ()


def test_replies_count_once_they_are_in_the_run(tmp_path: Path) -> None:
    ask(FakeBackend(), question_set(3), tmp_path / "one", OPTIONS)
    for _ in range(2):
        with pytest.raises(CalprobeError, match="the server is down"):
            ask(Down(), question_set(4), tmp_path / "two", OPTIONS)
        assert open_asked(tmp_path / "two").manifest.from_cache == 0
    assert ask(FakeBackend(), question_set(4), tmp_path / "two", OPTIONS).manifest.from_cache == 18


def test_failures_are_not_kept(tmp_path: Path) -> None:
    failing = FakeBackend(failing={"answer": ["q1"]})
    greedy = replace(OPTIONS, samples=1, temperature=0.0)
    ask(failing, question_set(2), tmp_path / "one", greedy)
    backend = FakeBackend()
    assert ask(backend, question_set(2), tmp_path / "two", greedy).manifest.from_cache == 2
    assert backend.asked.total() == 2


def test_a_folder_that_cannot_be_written_is_named_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "passwd").touch()
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "passwd"))
    words = "passwd: calprobe's cache cannot be written: Not a directory\nset CALPROBE_CACHE to a folder"
    with pytest.raises(CalprobeError, match=words):
        ask(FakeBackend(), question_set(1), tmp_path / "run", OPTIONS)


def test_a_file_that_is_no_cache_is_the_one_to_delete(tmp_path: Path, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_bytes(b"no database" * 100)
    with pytest.raises(CalprobeError, match=r"replies\.sqlite3: file is not a database; delete this file, or ask with"):
        ask(FakeBackend(), question_set(1), tmp_path / "run", OPTIONS)
