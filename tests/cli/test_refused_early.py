"""What cannot work is refused before weights are loaded and numbers are computed, by the reason that mends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from calprobe.cli.app import main
from calprobe.folders import write_fault


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The message of a command that fails."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code in (1, 2)
    return capsys.readouterr().err


@pytest.fixture
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("weights are read")

    monkeypatch.setattr("calprobe.models.load.load_network", refuse)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "file"
    found.write_text("")
    return found


@pytest.mark.usefixtures("no_weights")
def test_a_folder_below_a_file_is_refused_before_a_model_is_loaded(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = f"{file}/run: cannot be written: Not a directory; fix this, or give another folder with --out"
    asking = ["ask", "--model", "tiny-chat", "--questions", "mini", "--draw", "3"]
    for command in (asking, ["score", "--model", "tiny-clm", "--limit", "1"]):
        assert said in refused(capsys, *command, "--out", f"{file}/run")


@pytest.mark.usefixtures("no_weights")
def test_a_masked_model_is_not_loaded_to_be_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ask", "--model", "tiny-mlm", "--questions", "mini", "--draw", "3", "--out", str(tmp_path / "run")]
    assert "tiny-mlm is a masked model, which cannot answer; give a causal one" in refused(capsys, *arguments)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "gpu"], "--device 'gpu' is not one of auto, cpu, cuda, cuda:N"),
        (["--device", "cuda:x"], "--device 'cuda:x' is not one of"),
        (["--device-map", "foo"], "--device-map 'foo' is not one of auto"),
        (["--device", "cuda", "--device-map", "auto"], "exclude each other"),
    ],
)
def test_a_dry_run_refuses_a_device_that_is_none(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dry = ["--dry-run", "--out", str(tmp_path / "run"), *words]
    assert said in refused(capsys, "ask", "--model", "tiny-chat", "--questions", "mini", "--draw", "3", *dry)
    assert said in refused(capsys, "score", "--model", "tiny-clm", "--limit", "1", *dry)


def test_an_option_without_its_value_names_the_help_of_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "score", "--model", "tiny-clm", "--device-map")
    assert said == "calprobe: Option '--device-map' requires an argument.\nsee `calprobe score --help`\n"


def test_a_dry_run_needs_no_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It loads no weights, and may be made on the node that hands out jobs."""
    dry = ["--dry-run", "--device", "cuda:7", "--out", str(tmp_path / "run")]
    main(["ask", "--model", "tiny-chat", "--questions", "mini", "--draw", "3", *dry])
    assert "tiny-chat" in capsys.readouterr().out


def test_a_model_of_another_kind_is_told_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--probe", "mini", "--relations", "month", "--limit", "1", "--out", str(tmp_path / "run")]
    main(["score", "--model", "tiny-clm", *arguments])
    message = refused(capsys, "score", "--model", "tiny-mlm", *arguments)
    assert "model weights: the run has tiny-clm (" in message
    assert "), requested tiny-mlm." in message


def test_a_study_of_questions_is_one_for_ask(capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "score", "--model", "tiny-clm", "--study", "audit")
    assert "'audit' asks questions and scores nothing: calprobe ask --study audit" in message


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_no_probe(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.csv").write_text(text)
    assert "empty.csv: the file is empty; give FACTOR's CSV" in refused(capsys, "probes", str(tmp_path / "empty.csv"))


@pytest.mark.parametrize(("text", "why"), [("{}", "doc_id null is not a number"), ("", "empty"), ("[]", "JSON array")])
def test_a_file_without_samples_is_told_before_its_model_is_missing(
    tmp_path: Path, text: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wrong.jsonl").write_text(text)
    message = refused(capsys, "import", "lm-eval", str(tmp_path / "wrong.jsonl"), "--out", str(tmp_path / "run"))
    assert why in message
    assert "--model" not in message


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        ("report", "--html", "page.html"),
        ("report", "--plots", "figures"),
        ("compare", "--html", "page.html"),
        ("export", "--out", "scores.csv"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_runs_are_read(
    tmp_path: Path,
    command: str,
    option: str,
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a disk that is full or only read, where the rights of a folder say nothing."""
    monkeypatch.setattr("calprobe.cli.arguments.write_fault", lambda _: "Read-only file system")
    message = refused(capsys, command, str(tmp_path / "none"), option, str(tmp_path / name))
    assert f"{tmp_path / name} cannot be written: Read-only file system; give another path" in message
    assert "none" not in message.replace(str(tmp_path / name), "")


def test_where_files_can_be_made_there_is_no_fault(tmp_path: Path, file: Path) -> None:
    assert write_fault(tmp_path / "new" / "folder") == ""
    assert list(tmp_path.iterdir()) == [file]
    assert write_fault(file / "run") == "Not a directory"


@pytest.mark.usefixtures("no_weights")
def test_a_name_that_the_locale_cannot_read_is_refused_by_the_locale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["ask", "--model", "tiny-chat", "--questions", "mini", "--draw", "3", "--out", f"{tmp_path}/\udcc3\udca4"]
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "ascii")
    said = refused(capsys, *line)
    assert said.startswith("calprobe: the locale is not UTF-8 but ascii, and cannot read '")
    assert said.endswith("\\udcc3\\udca4'; set PYTHONUTF8=1 or LC_ALL=C.UTF-8\n")
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_not_utf8_is_shown_without_the_file_that_it_should_stand_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "utf-8")
    replies = tmp_path / "replies.jsonl"
    replies.write_text('{"set": "s", "question": "a", "text": "Paris", "correct": true}')
    said = refused(capsys, "import", "replies", str(replies), "--out", f"{tmp_path}/run", "--model", "f\udcffm")
    assert said == "calprobe: a given name is not valid UTF-8 ('f\\udcffm'); rename the file or folder\n"
