"""Labels that no probe should have, from a folder through scores, exports and reports and back; and no secrets."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import exit_code
from probe_folders import write
from proofs import few_of

from calprobe.probes import load_probe
from calprobe.runs import open_run
from calprobe.runs.lock import OWNER_NAME, locked

LABELS = [
    *("\u202e\u05e9\u05dc\u05d5\u05dd", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "a\0b", "x\r\ny", "\x1b[2J"),
    *('"=1+1,', "e\u0301", "\u00e9", "zw", "z\u200bw", "o" + "\u0302" * 9, "</script>"),  # two pairs look alike
]
FORMATS = ("text", "markdown", "latex", "csv", "json")
SMALL = {"ONE": ("Italy",), "TWO": ("Italy", "Peru")}
MODELS = ("tiny-clm", "tiny-mlm")
PASSWORD, TOKEN = "hunter2-secret", "hf_SecretSecretSecret"


def probe_folder(folder: Path, labels: list[str]) -> Path:
    """A label's subject is the label before it. JSON escapes what a file of UTF-8 has no room for."""
    entry = {"templates": ["[X] is [Y].", "[Y], not [X]."], "answer_space_labels": labels}
    rows = [
        {"sub_id": f"Q{place}", "sub_label": labels[place - 1], "obj_label": label, "answer_idx": place}
        for place, label in enumerate(labels)
    ]
    return write(folder, {"P1": entry}, {"P1": rows})


pytestmark = pytest.mark.usefixtures("each_report_once")


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Runs of both tiny models on the labels, made where the environment holds secrets."""
    root = tmp_path_factory.mktemp("labels")
    with pytest.MonkeyPatch.context() as patched:
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            patched.setenv(name, TOKEN)
        for name in ("HF_ENDPOINT", "HTTPS_PROXY"):
            patched.setenv(name, f"https://me:{PASSWORD}@hub.example")
        folder = probe_folder(root / "probe", LABELS)
        for model in MODELS:
            scoring = ("--model", model, "--probe", folder, "--templates", "0,1", "--save-tokens", "--quiet")
            assert exit_code("score", *scoring, "--out", root / model) == 0
        yield root


@pytest.mark.parametrize("model", few_of(MODELS, lambda model: model == "tiny-mlm"))
def test_labels_come_back_as_they_were(scored: Path, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    run, probe = scored / model, scored / "probe"
    assert load_probe(probe).relations[0].candidates == tuple(LABELS)
    assert exit_code("export", run, "--what", "lm-pub-quiz", "--probe", probe, "--out", scored / f"{model}-quiz") == 0
    metadata = json.loads((scored / f"{model}-quiz" / "metadata_results.json").read_text("utf-8"))
    assert metadata["P1"]["answer_space_labels"] == LABELS
    rows = (scored / f"{model}-quiz" / "P1_results.jsonl").read_text("utf-8").split("\n")[:-1]
    assert [json.loads(row)["sub_label"] for row in rows] == [LABELS[-1], *LABELS[:-1]]
    back = ("import", "lm-pub-quiz", scored / f"{model}-quiz", "--probe", probe, "--out", scored / f"{model}-back")
    assert exit_code(*back) == 0
    ours, theirs = open_run(run).table(), open_run(scored / f"{model}-back").table()
    assert theirs.scores.tobytes() == ours.scores[:1].tobytes()
    assert theirs.answer_idx.tolist() == ours.answer_idx.tolist() == list(range(len(LABELS)))
    for what, suffix in (("candidates", "csv"), ("tokens", "jsonl"), ("confidences", "parquet")):
        assert exit_code("export", run, "--what", what, "--out", scored / f"{model}-{what}.{suffix}") == 0
    with (scored / f"{model}-candidates.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 2 * len(LABELS) ** 2
    capsys.readouterr()


@pytest.mark.proof
def test_every_report_is_made_and_none_holds_a_secret(
    scored: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)  # the hub's client waits longer before each new try
    runs, quick = [scored / model for model in MODELS], ("--bootstrap", "0")
    for form in FORMATS:
        assert exit_code("report", *runs, *quick, "--by", "relation", "--format", form) == 0
    assert exit_code("report", *runs, *quick, "--html", scored / "page.html") == 0
    assert exit_code("curve", *runs, *quick, "--kind", "calibration", "--out", scored / "curve.csv") == 0
    for place in (f"https://me:{PASSWORD}@hub.example/m", f"hub/{TOKEN}"):
        assert exit_code("score", "--model", place, "--probe", scored / "probe", "--out", scored / "no") in (2, 3)
        assert exit_code("score", "--model", "tiny-clm", "--probe", place, "--out", scored / "no") == 2
    said = b"".join(capsysbinary.readouterr())
    written = b"".join(path.read_bytes() for path in scored.rglob("*") if path.is_file())
    assert b"\0" not in said
    for secret in (PASSWORD.encode(), TOKEN.encode()):
        assert secret not in said
        assert secret not in written


def test_the_owner_of_a_run_names_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process leaves its command line in the folder."""
    monkeypatch.setattr("sys.argv", ["calprobe", "score", "--probe", f"https://me:{PASSWORD}@h/p", "--revision", TOKEN])
    with locked(tmp_path / "run"):
        owner: dict[str, Any] = json.loads((tmp_path / "run" / OWNER_NAME).read_text())
    assert owner["command"] == "calprobe score --probe https://***@h/p --revision hf_***"


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("long " * 2000, "statement"),
        ("\ud83c", "holds half of a surrogate pair"),
        (LABELS[0], "twice in answer_space_labels"),
        (" \t", "is empty"),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_what_cannot_be_scored_is_named(
    model: str, label: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = probe_folder(tmp_path / "probe", [*LABELS[:2], label])
    assert exit_code("score", "--model", model, "--probe", folder, "--out", tmp_path / "run", "--quiet") == 1
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") <= 2
    assert len(message) < 2500


def test_answer_spaces_of_one_and_relations_of_one_instance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of one candidate it is certain, and right; AUROC and the like are undefined there, and no error."""
    write(
        tmp_path / "probe",
        {name: {"templates": ["[X] is [Y]."], "answer_space_labels": list(labels)} for name, labels in SMALL.items()},
        {name: [{"sub_label": "Rome", "obj_label": labels[0], "answer_idx": 0}] for name, labels in SMALL.items()},
    )
    scoring = ("--model", "tiny-clm", "--probe", tmp_path / "probe", "--relations", "ONE", "--quiet")
    assert exit_code("score", *scoring, "--out", tmp_path / "run") == 0
    capsys.readouterr()
    assert exit_code("report", tmp_path / "run", "--json", "--bootstrap", "0") == 0
    (found,) = json.loads(capsys.readouterr().out).values()
    base = found["estimators"]["base"]
    assert (found["accuracy"]["value"], base["mean_confidence"]["value"], base["ace"]["value"]) == (1, 1, 0)
    assert base["auroc"]["value"] is None
    (tmp_path / "probe" / "TWO.jsonl").write_text("")  # no instance
    assert exit_code("score", *scoring, "--out", tmp_path / "none") == 1
    said = capsys.readouterr().err
    assert "TWO.jsonl: empty file; add instances or remove the relation" in said
    assert said.count("\n") <= 2
