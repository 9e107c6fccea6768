"""Commands in this process: what `python -m calprobe` gives, without the seconds that a new Python takes to import."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from calprobe.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended, by the names of subprocess.CompletedProcess."""

    returncode: int
    stdout: str
    stderr: str


def calprobe(*arguments: object) -> Done:
    """Run a command as it is typed; both streams are files, as in a pipe."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = exit_code(*arguments)
    said = []
    for stream in (out, err):
        stream.flush()
        said.append(stream.buffer.getvalue().decode())
    return Done(code, *said)


def exit_code(*arguments: object) -> int:
    """Run a command as it is typed, its streams as they are."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def exports_of(run: Path) -> dict[str, bytes]:
    """The bytes of each of a run's exports; that of its tokens too, so the run has to hold them."""
    found = {}
    for what in ("candidates", "tokens", "confidences"):
        file = run.with_name(f"{run.name}-{what}.parquet")
        main(["export", str(run), "--what", what, "--out", str(file)])
        found[what] = file.read_bytes()
    return found
