"""The public names of the package, whatever is imported first."""

from __future__ import annotations

import subprocess
import sys

import pytest

import calprobe


def test_every_public_name_is_one() -> None:
    assert all(callable(getattr(calprobe, name)) for name in calprobe.__all__ if name != "__version__")
    assert not hasattr(calprobe, "no_such_name")


@pytest.mark.proof
def test_every_public_name_is_there() -> None:
    code = "import calprobe; print(all(callable(getattr(calprobe, n)) for n in calprobe.__all__ if n != '__version__'))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr


def test_an_unknown_name_is_an_attribute_error() -> None:
    code = "import calprobe, calprobe.analysis; print(hasattr(calprobe, 'no_such_name'), callable(calprobe.report))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "False True\n", done.stderr


def test_a_stage_does_not_take_the_name_of_a_public_function() -> None:
    code = (
        "import calprobe.answers.reading, calprobe\n"
        "from calprobe.answers import read\n"
        "print(calprobe.answers.__module__)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "calprobe.presentation.reporting\n", done.stderr
