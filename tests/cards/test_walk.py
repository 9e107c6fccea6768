"""What each family has a card and its host do: launches, copies and waits that may only become fewer.

No card is needed, see `fake_cards`; the numbers are those of counts.json, which `make golden-cards` writes anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

pytest.importorskip("triton", reason="Triton exists for Linux on x86-64 only")

import triton
from fake_cards import COMPILER
from walks import ASKED, QUICK, walks

HERE = Path(__file__).parent
COUNTS = HERE / "counts.json"
WRITE = os.environ.get("CALPROBE_CARDS") == "write"
VERSIONS = {
    "torch": torch.__version__.split("+")[0],
    "transformers": transformers.__version__,
    "triton": triton.__version__,
}
MOST_VARIANTS = 9  # of kernels, with two kinds of layers and norms of heads: each takes up to three seconds to compile
INDEXES_BY_A_LIST = "falcon"  # transformers' own file does, twice a layer
needs_a_compiler = pytest.mark.skipif(COMPILER is None, reason="the device guard of fake cards needs a C++ compiler")

Counts = dict[str, dict[str, Any]]


def stored() -> Counts:
    found: Counts = json.loads(COUNTS.read_text())["walks"]
    return found


def store(counts: Counts) -> None:
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in counts.items())
    COUNTS.write_text(f'{{"versions": {json.dumps(VERSIONS)},\n "walks": {{\n{rows}\n }}\n}}\n')


def walked(names: tuple[str, ...], guard: Path) -> Counts:
    """The numbers of walks, from a process of its own: the guard stays, and Triton must not interpret."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(str(HERE.parent / name) for name in ("", "scoring", "cards"))
    }
    environment.pop("TRITON_INTERPRET", None)
    environment.pop("CALPROBE_KERNELS", None)
    command = [sys.executable, "-W", "ignore", str(HERE / "walks.py"), str(guard), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return {name: numbers for line in done.stdout.splitlines() for name, numbers in json.loads(line).items()}


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """In words, what of a walk's numbers is another one."""
    where, numbers = now.get("where", {}), {name: value for name, value in now.items() if name != "where"}
    if before.keys() != numbers.keys() or before.get("refused") != numbers.get("refused"):
        return [f"is {numbers}, was {before}"]
    return [
        f"{'MORE' if numbers[name] > value else 'fewer'} {name}: {numbers[name]}, were {value}; waits at {where}"
        for name, value in before.items()
        if numbers[name] != value
    ]


@needs_a_compiler
@pytest.mark.parametrize(
    "names",
    [QUICK, pytest.param(tuple(walk.name for walk in walks() if walk.name not in QUICK), marks=pytest.mark.proof)],
    ids=["quick", "others"],
)
def test_nothing_is_launched_copied_or_waited_for_that_was_not(
    names: tuple[str, ...], pytestconfig: pytest.Config
) -> None:
    known = json.loads(COUNTS.read_text()) if COUNTS.is_file() else {"versions": VERSIONS, "walks": {}}
    if not WRITE and known["versions"] != VERSIONS:
        pytest.skip(f"the numbers of {COUNTS.name} are those of {known['versions']}")
    found = walked(names, pytestconfig.cache.mkdir("fake-cards"))
    assert found.pop("known work") == {
        "launches": 9, "uploads": 1, "waiting uploads": 2, "waits": 2, "moves": 1, "free memory": 0, "variants": 2,
        "where": {"waiting uploads ?": 2, "waits ?": 2},
    }  # fmt: skip
    if WRITE:
        plain = {name: {k: v for k, v in numbers.items() if k != "where"} for name, numbers in found.items()}
        both = known["walks"] | plain
        store({walk.name: both[walk.name] for walk in walks() if walk.name in both})
        return
    changed = {name: differences(known["walks"].get(name, {}), numbers) for name, numbers in found.items()}
    lines = [f"{name}: {line}" for name, of_walk in changed.items() for line in of_walk]
    assert not lines, "\n".join(["if these are meant, write them anew: make golden-cards", *lines])


def test_every_family_has_its_numbers() -> None:
    assert list(stored()) == [walk.name for walk in walks()]


@pytest.mark.parametrize("path", ["flat", "tree"])
def test_a_card_is_never_waited_for_on_the_fast_paths(path: str) -> None:
    """One copy from pinned memory a batch, and one for all of them."""
    of_path = {name: numbers for name, numbers in stored().items() if name.split(" ")[1] == path}
    scored = {name: numbers for name, numbers in of_path.items() if "refused" not in numbers}
    assert len(scored) > 0.8 * len(of_path)
    for name, numbers in scored.items():
        assert numbers["uploads"] == numbers["batches"] + 1, name
        assert numbers["waits"] == numbers["free memory"] == 0, name
        if not name.startswith(INDEXES_BY_A_LIST):
            assert numbers["waiting uploads"] == 0, name


# Each step waits for the tokens that it chooses. A reply has two; a nucleus waits once more in each. Of 400 rows some
# begin late: nine steps. Follow-ups have three steps more, of closed sets behind one wait for their probabilities, as
# labels of several tokens have one; alternatives are looked at in each step.
_WAITS = {
    "ask": 2,
    "draw": 2 * 2,
    "join": 9,
    "follow": 2 + 3,
    "closed": 2 + 3 + 1,
    "words": 2 + 1,
    "alternatives": 2 * 2,
}


def test_asked_rows_upload_without_waiting_and_wait_a_few_times() -> None:
    asked = {
        name: numbers for name, numbers in stored().items() if name.split(" ")[1] in _WAITS and "refused" not in numbers
    }
    assert _WAITS.keys() == ASKED.keys() - {"generate"}
    assert len(asked) > 2 * len(ASKED)
    for name, numbers in asked.items():
        assert numbers["waits"] <= _WAITS[name.split(" ")[1]], name
        if not name.startswith(INDEXES_BY_A_LIST):
            assert numbers["waiting uploads"] == 0, name


def test_few_kernels_are_compiled_for_a_model() -> None:
    counts = [(name, numbers.get("variants", 0)) for name, numbers in stored().items()]
    with_tree = 1  # a closed set's
    assert not [(name, found) for name, found in counts if found > MOST_VARIANTS + with_tree * ("closed" in name)]
