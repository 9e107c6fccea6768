"""Coverage-guided fuzzing of one reader: `python tests/fuzz/harness.py READER -runs=20000` (see `make fuzz`).

atheris follows which branches of calprobe a damaged file reaches, and keeps those that reach new ones. It stops at the
first exception that is no CalprobeError, and writes the file that caused it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

with atheris.instrument_imports(include=["calprobe"]):
    from readers import READERS

    from calprobe.errors import CalprobeError


def main() -> None:
    if len(sys.argv) == 1:
        print("\n".join(READERS))
        return
    name, *flags = sys.argv[1:]
    reader = READERS[name]

    def once(content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                reader.read(Path(folder), content)
            except CalprobeError as error:
                assert folder in str(error), error  # noqa: PT017 - what atheris is to find
                assert str(error).count("\n") <= 1, error  # noqa: PT017

    with tempfile.TemporaryDirectory() as corpus:
        (Path(corpus) / "taken").write_bytes(reader.taken)
        atheris.Setup(["harness", corpus, "-timeout=20", "-rss_limit_mb=2048", *flags], once)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
