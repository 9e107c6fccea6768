"""Rows as the public question sets have them on the hub, and files of them. The texts are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from calprobe.questions import NAMED_SETS

# Set -> a row, with the columns of its data set and their types.
ROWS: dict[str, dict[str, Any]] = {
    "mmlu": {"question": "2 + 2? ", "subject": "sums", "choices": ["3", " 4", "5", "6"], "answer": 1},
    "mmlu-pro": {
        "question_id": 70,
        "question": "2 + 2?",
        "options": ["1", "2", "4"],
        "answer": "C",
        "answer_index": 2,
        "cot_content": "",
        "category": "math",
        "src": "made",
    },
    "arc-easy": {
        "id": "AKDE_1",
        "question": "Which is hot?",
        "answerKey": "B",
        "choices": {"text": ["ice", "fire", "snow"], "label": ["A", "B", "C"]},
    },
    "arc-challenge": {
        "id": "NYSEDREGENTS_1",
        "question": "Which is cold?",
        "answerKey": "2",
        "choices": {"text": ["fire", "ice", "sun", "tea"], "label": ["1", "2", "3", "4"]},
    },
    "openbookqa": {
        "id": "8-1",
        "question_stem": "Fog is likely at",
        "answerKey": "A",
        "choices": {"text": ["a marsh", "a desert"], "label": ["A", "B"]},
    },
    "sciq": {
        "question": "What is H2O?",
        "correct_answer": "water",
        "support": "Water is H2O.",
        "distractor1": "salt",
        "distractor2": "gold",
        "distractor3": "air",
    },
    "gpqa": {
        "Record ID": "rec1",
        "Question": "Made up?",
        "Correct Answer": "yes\n",
        "High-level domain": "Physics",
        "Incorrect Answer 1": "no",
        "Incorrect Answer 2": "perhaps",
        "Incorrect Answer 3": "never",
    },
    "sst2": {"idx": 0, "sentence": "a fine film ", "label": 1},
    "mnli": {"premise": "A cat sits.", "hypothesis": "An animal sits.", "label": 0, "idx": 0},
    "ag-news": {"text": "Shares rose.", "label": 2},
    "gsm8k": {"question": "How many?", "answer": "500 + 500 = <<500+500=1000>>1000\n#### 1,000"},
    "gsm-mc": {"Question": "How many?", "A": "1", "B": "2", "C": "3", "D": "4", "Answer": "C"},
    "svamp": {
        "ID": "chal-1",
        "Body": "Dan had 4 dollars.",
        "Question": "How many are left?",
        "Equation": "( 4 - 3 )",
        "Answer": "1",
        "Type": "Subtraction",
        "question_concat": "Dan had 4 dollars. How many are left?",
    },
    "scibench": {
        "answer_latex": " +65.49",
        "answer_number": "+65.49",
        "comment": " ",
        "problem_text": "Calculate it.",
        "problemid": "e2.21(a) ",
        "solution": None,
        "source": "atkins",
        "unit": "$\\mathrm{kJ}$ ",
    },
    "truthfulqa": {
        "type": "Adversarial",
        "category": "Myths",
        "question": "Do bulls hate red?",
        "source": "made",
        "best_answer": "No",
        "correct_answers": ["No", "They do not"],
        "incorrect_answers": ["Yes", "They do"],
    },
    "nq-open": {"question": "who wrote hamlet", "answer": ["Shakespeare", "William Shakespeare"]},
    "triviaqa": {
        "question": "Who wrote Hamlet?",
        "question_id": "tc_1",
        "question_source": "made",
        "answer": {"value": "Shakespeare", "aliases": ["Shakespeare", "The Bard"], "normalized_value": "shakespeare"},
    },
    "popqa": {
        "id": 42,
        "subj": "Ada",
        "prop": "occupation",
        "obj": "poet",
        "question": "What is Ada's occupation?",
        "possible_answers": '["poet", "writer"]',
    },
}


def repository_files(name: str, rows: int = 3) -> dict[str, bytes]:
    """The files of a set's repository, each split with some rows: content by file name."""
    files = {}
    for split, pattern in NAMED_SETS[name].splits.items():
        file = pattern.replace("*", "00000-of-00001" if "-*" in pattern else "atkins")
        files[file] = file_content(file, [varied(name, split, number) for number in range(rows)])
    return files


def file_content(file: str, rows: list[dict[str, Any]]) -> bytes:
    """Rows as a file of the format that its name says."""
    if file.endswith(".parquet"):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        return sink.getvalue().to_pybytes()
    if file.endswith(".jsonl"):
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if file.endswith(".json"):
        return json.dumps(rows).encode()
    import pandas as pd

    return pd.DataFrame(rows).to_csv(index=False, sep="\t" if file.endswith(".tsv") else ",").encode()


def write_repository(folder: Path, name: str, rows: int = 3) -> Path:
    """A set's repository in a folder."""
    for file, content in repository_files(name, rows).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
    return folder


def varied(name: str, split: str, number: int) -> dict[str, Any]:
    """A set's row with texts and ids of its own."""
    row = dict(ROWS[name])
    for column in ("question", "question_stem", "Question", "sentence", "premise", "text", "problem_text", "Body"):
        if column in row:
            row[column] = f"{split} {number}: {row[column]}"
            break
    for column in ("id", "question_id", "ID", "Record ID", "idx"):
        if column in row:
            row[column] = number if isinstance(row[column], int) else f"{split}-{number}"
            break
    return row
