"""Token rows made in other processes: the same arrays, whoever ends early, and nothing stays behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scored_samples import PROBE
from tiny_models import loaded, save_tiny_model, tiny_masked_tokenizer, tiny_tokenizer

from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel, load_model
from calprobe.models.token_server import Request, Served, from_frame, read_frame, serve, write_frame
from calprobe.planning.token_rows import TokenRows
from calprobe.probes import Instance, Relation
from calprobe.scoring import ScoreOptions, engine, score_pieces, select, token_workers
from calprobe.scoring.token_workers import TokenWorkers, worker_count
from calprobe.scoring.token_workers import token_workers as workers_of

CONTINENTS = Relation("P30", ("Africa", "Asia", "<s>"), (Instance(0, "Ghana", 0), Instance(1, "été 日本", 1)))
OWN = Relation("own", (), (Instance(0, "two", 0, None, ("even", "odd")), Instance(1, "three", 1, None, ("a", "b c"))))
COMPLETED = replace(OWN, scored="completion")
REQUESTS = {
    "statements": Request(((CONTINENTS, "[X] is in [Y]."), (OWN, "[Y]: [X]")), None),
    "words": Request(((CONTINENTS, "[X] is in [Y]."),), "unicode"),
    "completions": Request(((COMPLETED, "[X] [Y]"),), None),
    "nothing": Request(((replace(CONTINENTS, instances=()), "[X] is in [Y]."),), None),
}


@pytest.fixture(scope="module")
def causal() -> LoadedModel:
    return loaded(torch.nn.Identity(), tokenizer=tiny_tokenizer())


@pytest.fixture(scope="module")
def masked() -> LoadedModel:
    return loaded(torch.nn.Identity(), tokenizer=tiny_masked_tokenizer(), kind="masked")


@pytest.fixture(scope="module")
def two(causal: LoadedModel) -> Iterator[TokenWorkers]:
    """Two workers, past their first request."""
    with workers_of(causal, 2) as workers:
        assert workers is not None
        assert workers.rows(REQUESTS["words"]) is None
        yield workers


def columns(rows: TokenRows) -> list[Any]:
    contexts = rows.contexts and [rows.contexts.lengths, rows.contexts.cut]
    return [*(getattr(rows, field.name) for field in fields(rows) if field.name != "contexts"), *(contexts or [])]


def assert_same(found: Any, expected: list[TokenRows]) -> None:
    assert len(found) == len(expected)
    for pair in zip(found, expected, strict=True):
        for mine, right in zip(*map(columns, pair), strict=True):
            assert (mine is None) == (right is None)
            if right is not None:
                assert mine.dtype == right.dtype
                np.testing.assert_array_equal(mine, right)


def answered(model: LoadedModel, request: Request) -> Any:
    """What the server answers, in this process."""
    served, asked, answers = Served.of(model), BytesIO(), BytesIO()
    assert served is not None
    write_frame(asked, served.as_json())
    write_frame(asked, request.as_json())
    asked.seek(0)
    serve(asked, answers)
    answers.seek(0)
    return read_frame(answers)


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("kind", ["causal", "masked"])
def test_the_server_gives_the_rows_of_this_process(
    kind: str, request_name: str, request: pytest.FixtureRequest
) -> None:
    asked, model = REQUESTS[request_name], request.getfixturevalue(kind)
    if kind == "masked" and request_name == "statements":
        asked = replace(asked, word_split="tokenizer")
    assert_same(from_frame(answered(model, asked)), asked.rows(model))


def test_a_statement_that_cannot_be_taken_is_left_to_who_asks(causal: LoadedModel) -> None:
    assert answered(replace(causal, max_positions=4), REQUESTS["statements"])[0] is None
    assert answered(replace(causal, embedding_rows=5), REQUESTS["statements"])[0] is None


def test_frames_that_end_early() -> None:
    pipe = BytesIO()
    write_frame(pipe, {"a": 1}, b"body")
    for end in (0, 3, 18, len(pipe.getvalue()) - 1):
        with pytest.raises(EOFError):
            read_frame(BytesIO(pipe.getvalue()[:end]))
    assert read_frame(BytesIO(pipe.getvalue())) == ({"a": 1}, b"body")


def test_workers_give_the_same_rows_and_ignore_interrupts(two: TokenWorkers, causal: LoadedModel) -> None:
    for _ in range(2):  # each of the two
        for request in REQUESTS.values():
            assert_same(two.rows(request), request.rows(causal))
        for worker in two.workers:
            for each in (signal.SIGINT, signal.SIGTERM):
                os.kill(worker.process.pid, each)


def test_scores_are_the_same_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = load_model(str(save_tiny_model(tmp_path / "model")))
    options = ScoreOptions(templates="0,1", batch_tokens=64, quiet=True)
    selection = select(PROBE, options)
    own = list(score_pieces(model, selection, options))
    used: list[Any] = []
    monkeypatch.setattr(engine, "worker_count", lambda *_: 2)
    rows = TokenWorkers.rows
    monkeypatch.setattr(TokenWorkers, "rows", lambda self, request: used.append(found := rows(self, request)) or found)
    pieces = list(score_pieces(model, selection, options))
    assert [piece.checksum() for piece in pieces] == [piece.checksum() for piece in own]
    assert [piece.piece for piece in pieces] == [piece.piece for piece in own]
    assert [found is None for found in used] == [True, *[False] * (len(used) - 1)]
    assert len(used) > 1
    assert not caplog.records
    with pytest.raises(CalprobeError, match=r", template 0, instance 0, candidate '.*': statement \("):
        list(score_pieces(replace(model, max_positions=3), selection, options))


def test_a_worker_that_dies_leaves_its_work(causal: LoadedModel, caplog: pytest.LogCaptureFixture) -> None:
    request = REQUESTS["statements"]
    with workers_of(causal, 2) as workers:
        assert workers is not None
        assert workers.rows(request) is None
        for worker in workers.workers:
            worker.process.kill()
        assert [workers.rows(request) for _ in range(4)] == [None] * 4
    assert [record.getMessage() for record in caplog.records] == [
        "a process that makes tokens has ended (exit code -9); its work is done here, slower"
    ]


def test_a_system_that_starts_no_more_processes(
    causal: LoadedModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started: list[Any] = []
    popen = subprocess.Popen

    def full(*given: Any, **named: Any) -> Any:
        if started:
            raise BlockingIOError(errno.EAGAIN, "no more")
        started.append(popen(*given, **named))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", full)
    with workers_of(causal, 2) as workers:
        assert workers is None
        assert started[0].poll() == -signal.SIGKILL
    (said,) = caplog.messages
    assert said.startswith("no process that makes tokens can be started: Resource temporarily unavailable; its work")


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_no_worker_outlives_its_block(error: type[BaseException], causal: LoadedModel) -> None:
    started: list[Any] = []

    def work() -> None:
        with workers_of(causal, 1) as workers:
            assert workers is not None
            started.extend(workers.workers)
            raise error

    with pytest.raises(error):
        work()
    assert [worker.process.poll() for worker in started] == [-signal.SIGKILL]


SCRIPT = """
import sys, time
from pathlib import Path
with Path(sys.argv[1]).open("a") as file: file.write("run\\n")  # no guard: a new import would add a line
from calprobe.models.token_server import Request, Served
from calprobe.probes import Instance, Relation
from calprobe.scoring.token_workers import TokenWorkers
request = Request(((Relation("P", ("a", "b"), (Instance(0, "x", 0),)), "[X] [Y]"),), None)
workers = TokenWorkers(Served("tiny", "causal", Path(sys.argv[2]).read_text("utf-8"), 0, None, None), 1)
workers.rows(request)
assert len(workers.rows(request)) == 1
print(workers.workers[0].process.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.proof  # imports torch anew; that a server ends with its input is shown above
def test_a_worker_ends_with_a_killed_process_and_does_not_run_its_script(causal: LoadedModel, tmp_path: Path) -> None:
    script, log, backend = tmp_path / "script.py", tmp_path / "log", tmp_path / "backend.json"
    script.write_text(SCRIPT)
    backend.write_text(causal.tokenizer.backend_tokenizer.to_str(), "utf-8")
    command = [sys.executable, str(script), str(log), str(backend)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        worker = int(run.stdout.readline())
        run.kill()
    assert ends(worker)
    assert log.read_text() == "run\n"


def test_a_worker_ends_with_its_input(causal: LoadedModel) -> None:
    with workers_of(causal, 1) as workers:
        assert workers is not None
        process = workers.workers[0].process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0


def ends(process: int) -> bool:
    """Whether it is gone soon."""
    deadline = time.monotonic() + 30
    while is_running(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_running(process)


def is_running(process: int) -> bool:
    """Whether it is there, and not waiting to be buried by a parent that does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_tokenizers_that_are_more_than_their_backend_stay(causal: LoadedModel) -> None:
    class Own(type(causal.tokenizer)):  # type: ignore[misc]
        def __call__(self, *texts: Any, **named: Any) -> Any:
            return super().__call__(*texts, **named)

    tokenizer = tiny_tokenizer()
    tokenizer.__class__ = Own
    assert Served.of(replace(causal, tokenizer=tokenizer)) is None
    with workers_of(replace(causal, tokenizer=tokenizer), 2) as workers:
        assert workers is None
    with workers_of(causal, 0) as workers:
        assert workers is None


@pytest.mark.parametrize(
    ("device", "n_statements", "cores", "expected"),
    [
        *(("cuda", 209_499, 16, 4), ("cuda", 209_499, 64, 4), ("cuda", 209_499, 8, 2), ("cuda", 209_499, 3, 0)),
        *(("cpu", 209_499, 64, 0), ("cuda", 49_999, 64, 0)),
    ],
)
def test_when_workers_pay(
    device: str, n_statements: int, cores: int, expected: int, causal: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_workers, "usable_cores", lambda: cores)
    assert worker_count(replace(causal, device=torch.device(device)), n_statements) == expected


def test_a_worker_loads_no_torch() -> None:
    code = "import sys, calprobe.models.token_server; print({'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
