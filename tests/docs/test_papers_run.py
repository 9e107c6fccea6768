"""docs/papers.md: its commands that read runs are run as they stand there, on small runs in the place of a paper's.

What asks or scores, and so needs the paper's models, is parsed by test_papers.py.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from commands import calprobe
from proofs import few_of
from sources import ROOT
from tiny_classifiers import tiny_nli

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
GOLDEN = ROOT / "tests" / "golden" / "runs"
# By heading: the runs that stand for the RUNS of its commands; what stands for a single run that a command names.
RUNS = {
    "Kissling et al. 2026": ("clm", "clm-2", "clm-3", "clm-4"),
    "The reliability audit": ("audit", "audit-overconfident"),
    "Stated confidence": ("stated",),
    "Experiment 1: label probabilities": ("labels",),
    "Experiment 2: long answers": ("answers",),
    "Mapping from meaning": ("wording",),
}
OTHERS = {"Kissling et al. 2026": "clm-5", "Stated confidence": "wording"}  # the latter has open questions to grade
# The shortest that cover all commands; `make test-proofs` runs the others.
QUICK = ("Experiment 2: long answers", "Mapping from meaning")
UNPUBLISHED, UNKNOWN = ("Kissling et al. 2026",), re.compile(" --against paper( --tables paper)?")
READS_RUNS = ("report", "curve", "grade", "compare")
HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| (?P<item>[^|]+) \| (?P<commands>[^|]+) \|", re.MULTILINE)
COMMAND = re.compile(r"`(calprobe \w+ [^`\n]+)`")


def sections() -> dict[str, str]:
    """The text below each heading, to the next one."""
    parts = HEADING.split(PAGE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(heading: str) -> list[tuple[str, list[str]]]:
    """The commands of a section's table that read runs, by item, in their order."""
    found = []
    for row in ROW.finditer(sections()[heading]):
        for text in COMMAND.findall(row["commands"]):
            words = shlex.split(text)[1:]
            if words[0] in READS_RUNS:
                found.append((row["item"], words))
    return found


def on_small_runs(words: list[str], heading: str, folder: Path, nli: Path) -> list[str]:
    """A command with small runs and models in the place of the page's, and without resamples.

    Runs of scores are held against no published numbers, which are known of the paper's models alone.
    """
    text = shlex.join(words)
    words = shlex.split(UNKNOWN.sub("", text) if heading in UNPUBLISHED else text)
    names = RUNS[heading]
    runs = [str(folder / name) for name in names]
    other = str(folder / OTHERS.get(heading, names[0]))
    put = {"RUNS": runs, "RUN": [other], "MODEL": ["tiny-chat"], "microsoft/deberta-large-mnli": [str(nli)]}
    made = [part for word in words for part in put.get(word, [other] if word.startswith("runs/") else [word])]
    return made + ([] if words[0] == "grade" else ["--bootstrap", "0"])


@pytest.mark.parametrize("heading", few_of(RUNS, QUICK.__contains__))
def test_the_commands_of_each_table_run_one_after_the_other(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in {*RUNS[heading], OTHERS.get(heading, RUNS[heading][0])}:
        shutil.copytree(GOLDEN / name.partition("-")[0] if name.startswith("clm-") else GOLDEN / name, tmp_path / name)
    nli = tiny_nli(tmp_path / "nli")
    failed = []
    for item, words in rows(heading):
        done = calprobe(*on_small_runs(words, heading, tmp_path, nli))
        if done.returncode:
            failed.append(f"{item}: {shlex.join(words)}: {done.stderr.strip()[-300:]}")
    assert not failed, "\n".join(failed)
