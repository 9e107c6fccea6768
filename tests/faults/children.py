"""Commands in child processes of their own that meet with a fault: killed before a chosen write, out of room, ..

Importing torch takes seconds, so one process, a fork of that of the tests, loads a tiny model and forks a child for
each command.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TextIO

LONGEST_S = 120.0
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
# What Python does to a file system, by its audit events. Arrow's own writes go unseen; the flush after them is seen.
CHANGES = ("open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir")


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    code: int  # of exit; below 0: the signal that killed it
    stdout: str
    stderr: str
    changes: tuple[str, ...]  # `EVENT PATH` of each change of the watched folder, as they were begun


@dataclass
class Child:
    """A command under way."""

    pid: int
    place: Path  # of what it says
    forge: Forge

    def changes(self) -> list[str]:
        """What it has begun to change by now."""
        log = self.place / "changes"
        return log.read_text().splitlines() if log.exists() else []

    def wait_for_first_shard(self) -> None:
        """Until it has begun to give its first shard a name."""
        end = time.monotonic() + LONGEST_S
        while not any(change.startswith("os.rename") and change.endswith(".parquet") for change in self.changes()):
            assert time.monotonic() < end, "no shard was written"
            time.sleep(0.005)

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> Ended:
        status = self.forge.ask({"wait": self.pid})
        said = [(self.place / name).read_text(errors="replace") for name in ("stdout", "stderr")]
        return Ended(os.waitstatus_to_exitcode(int(status)), *said, tuple(self.changes()))


class Forge:
    """The process that forks the children. A tiny random model stands for whatever model a command names."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.count = 0
        (read_order, write_order), (read_answer, write_answer) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(write_order)  # so that the forge ends with the process of the tests
            os.close(read_answer)
            _be_forge(place / "tiny", os.fdopen(read_order), os.fdopen(write_answer, "w"))
        os.close(read_order)
        os.close(write_answer)
        self.orders, self.answers = os.fdopen(write_order, "w"), os.fdopen(read_answer)

    def ask(self, request: Mapping[str, Any]) -> Any:
        self.orders.write(json.dumps(request) + "\n")
        self.orders.flush()
        return json.loads(self.answers.readline())

    def start(self, *arguments: object, watch: Path, at: int = 0, send: int = signal.SIGKILL, **fault: Any) -> Child:
        """Start a command.

        Args:
            arguments: the command line.
            watch: the folder in which changes are counted.
            at: before its change of this number (from 1) the child gets the signal `send`; 0: never.
            fault: `largest`: no file may grow beyond so many bytes. `clock`: what time.time says, over and over.
                `pause`: seconds to sleep at each change. `out`, `err`: files that stdout and stderr go to.
                `crash_ahead`: the group of this number, from 1, cannot be prepared. `processes`: how many torch's
                launcher makes of the command, with what is `amiss` in all but the first, see `launched.py`.
        """
        self.count += 1
        place = self.place / f"child-{self.count}"
        place.mkdir()
        order = {"arguments": [str(a) for a in arguments], "watch": str(watch), "at": at, "send": int(send)}
        pid = self.ask({"start": order | {"place": str(place), "fault": fault}})
        return Child(int(pid), place, self)

    def run(self, *arguments: object, watch: Path, **fault: Any) -> Ended:
        """Start a command and wait for its end."""
        return self.start(*arguments, watch=watch, **fault).wait()

    def close(self) -> None:
        self.orders.close()
        self.answers.close()
        os.waitpid(self.pid, 0)


def _be_forge(model: Path, orders: TextIO, answers: TextIO) -> NoReturn:
    code = 70
    try:
        _forget_the_tests()
        _serve(_loaded(model), orders, answers)
        code = 0
    except BaseException:  # noqa: BLE001 - what began as a test must not go on as one
        traceback.print_exc()
    finally:
        os._exit(code)


def _forget_the_tests() -> None:
    """What pytest has changed of a process, back to what a new one has; the children set the streams."""
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    logging.getLogger().handlers.clear()
    logging.getLogger().setLevel(logging.WARNING)
    importlib.reload(warnings)  # pytest records them
    warnings.resetwarnings()
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _serve(ready: Any, orders: TextIO, answers: TextIO) -> None:
    """Fork a child for each order, or wait for one; an answer is a line each."""
    gc.collect()
    gc.freeze()  # else each child would look through all that the tests hold
    for line in orders:
        request = json.loads(line)
        if "wait" in request:
            answer = os.waitpid(request["wait"], 0)[1]
        else:
            answer = os.fork()
            if not answer:
                orders.close()
                _be_child(request["start"], ready)
        answers.write(f"{answer}\n")
        answers.flush()


def _loaded(folder: Path) -> Any:
    """A tiny random model, and everything that commands import."""
    sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[:2]]
    modules = (
        "calprobe.scoring",
        "calprobe.show.plots",
        "matplotlib.figure",
        "pandas",
        "rich.console",
        "scipy.stats",
        "accelerate",
    )
    for name in (*modules, "launched"):
        importlib.import_module(name)
    import torch
    from tiny_models import save_tiny_model

    from calprobe.models import load_model

    torch.set_num_threads(1)  # OpenMP's threads are lost in a fork
    return load_model(str(save_tiny_model(folder)))


def _be_child(order: dict[str, Any], model: Any) -> None:
    """Run the command as a process of its own would, and end."""
    code: Any = 70
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and a command under nohup this
        place, fault = Path(order["place"]), order["fault"]
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, name in ((1, "out"), (2, "err")):
            (place / f"std{name}").touch()
            file = fault.get(name, place / f"std{name}")
            os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), number)
        _open_streams()
        _meet(fault)
        _watch(order, os.open(place / "changes", os.O_WRONLY | os.O_CREAT | os.O_APPEND), fault.get("pause", 0))
        command = partial(_command, order["arguments"], model)
        code = sys.modules["launched"].launch_command(command, place, fault) if "processes" in fault else command()
    except BaseException:  # noqa: BLE001 - a defect of this file; what a command raises is an exit code by now
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                code = code or 120  # as Python itself ends then
        os._exit(code if isinstance(code, int) else 1)


def _open_streams() -> None:
    """As a new Python opens them for files."""
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # noqa: SIM115
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )


def _command(arguments: list[str], model: Any) -> Any:
    from calprobe.cli import main

    scoring = sys.modules["calprobe.scoring.score"]

    def load_model(name: str, options: Any, check_kind: Any) -> Any:
        check_kind(model.kind)
        return model

    scoring.load_model, scoring.resolve = load_model, lambda name: None  # type: ignore[attr-defined]
    sys.argv = ["calprobe", *arguments]
    try:
        main(arguments)
    except SystemExit as end:
        return 0 if end.code is None else end.code
    return 0


def _meet(fault: Mapping[str, Any]) -> None:
    if "largest" in fault:
        import resource

        sys.dont_write_bytecode = True  # Python would leave cut files in __pycache__, which no later process can read
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault["largest"], resource.RLIM_INFINITY))
    if "clock" in fault:
        moments = list(fault["clock"])

        def now() -> float:
            moments.append(moments.pop(0))
            return float(moments[-1])

        time.time = now
    if "crash_ahead" in fault:
        module = sys.modules["calprobe.scoring.engine"]
        prepare, groups = module.prepare_group, []

        def prepare_or_crash(*given: Any, **named: Any) -> Any:
            groups.append(1)
            if len(groups) == fault["crash_ahead"]:
                raise RuntimeError("the plan is broken")
            return prepare(*given, **named)

        module.prepare_group = prepare_or_crash  # type: ignore[attr-defined]


def _watch(order: Mapping[str, Any], log: int, pause: float) -> None:
    """Count and write down the changes of the folder; the signal comes before the one that was chosen."""
    begun = 0
    inside = order["watch"]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal begun
        if event not in CHANGES or not isinstance(arguments[0], str | os.PathLike):
            return
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & WRITING):
            return
        if not os.path.abspath(arguments[0]).startswith(inside):  # noqa: PTH100 - a Path would be made in a hook
            return
        begun += 1
        target = arguments[1] if event in ("os.rename", "os.link") else arguments[0]
        os.write(log, f"{event} {os.fspath(target)}\n".encode())
        if begun == order["at"]:
            os.kill(os.getpid(), order["send"])
        if pause:
            time.sleep(pause)

    sys.addaudithook(hook)
