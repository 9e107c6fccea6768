"""Make the runs of this folder anew: python tests/golden/record.py [NAME ..]; then write all outputs anew, too.

They are kept as they were written, so that later versions show the numbers of old runs as they were. A manifest names
the place of the model's files: record from a checkout whose place may be read by everybody.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LETTERS = "--questions mini --as choice"
OPEN = "--questions mini --as open"
RELATIONS = "--relations capital,author,main-language,continent --limit 8"

# What each run was made with; the pair of tiny chat models knows facts of `mini`, and one of them is too sure of them.
RUNS = {
    "clm": f"score --model tiny-clm --templates all {RELATIONS}",
    "mlm": f"score --model tiny-mlm --templates paraphrases {RELATIONS}",
    "chat": "score --model tiny-chat --templates 0",
    "audit": f"ask --model tiny-chat {LETTERS} --study audit --draw 12",
    "audit-overconfident": f"ask --model tiny-chat-overconfident {LETTERS} --study audit --draw 12",
    "stated": f"ask --model tiny-chat {LETTERS} --study stated --draw 12",
    "labels": f"ask --model tiny-chat {LETTERS} --study science-labels --draw 12",
    "answers": f"ask --model tiny-chat {LETTERS} --study science-answers --draw 8 --samples 4",
    "wording": f"ask --model tiny-chat {OPEN} --study wording --paraphrases hand --draw 12 --samples 3",
}


def record(name: str) -> None:
    folder = HERE / "runs" / name
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "calprobe", *RUNS[name].split(), "--out", str(folder), "--quiet"]
    subprocess.run(command, check=True, cwd=HERE)
    for lock in folder.rglob(".lock"):
        lock.unlink()


if __name__ == "__main__":
    for name in sys.argv[1:] or RUNS:
        record(name)
