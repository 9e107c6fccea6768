"""What a terminal gets: no escape sequence of a stranger's label, no secret of the user, no line without end."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import labelled_runs
import pytest
from asked_samples import write_asked
from hypothesis import given
from hypothesis import strategies as st
from probe_folders import ENTRY, OTHER, ROW, write
from run_samples import make_manifest, make_piece, without_tokens

from calprobe.cli import output, terminal_text
from calprobe.cli.app import main
from calprobe.cli.terminal_text import explained_wait, message
from calprobe.messages import cleaned, printable, printable_json, without_secrets
from calprobe.runs import RunFolder

# Colour, the window's title, a link (OSC 8), the C1 form of "clear the screen", a line written backwards.
EVIL = "\x1b[31mR\x1b]0;t\x07\x1b]8;;http://e\x1b\\x\x9b2J\u202eexe\u2066\rP"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
OWN = re.compile(r"\x1b\[[0-9;]*m")  # colour and weight, which rich sets


@pytest.fixture
def run(tmp_path: Path) -> Path:
    shapes = [(EVIL, 4, 3), ("P36", 3, 2)]
    folder = RunFolder.open(tmp_path / "run", make_manifest(shapes))
    for shape in shapes:
        for template in (0, 1):
            folder.write_piece(without_tokens(make_piece(shape, template)))
    return tmp_path / "run"


@given(st.text())
def test_text_of_any_kind_becomes_printable(text: str) -> None:
    assert not OBEYED.search(printable(text) + cleaned(text) + message(text))
    assert len(cleaned(text)) == len(text)
    assert printable(printable(text)) == printable(text)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5))
def test_json_reads_back_the_same(value: object) -> None:
    text = printable_json(json.dumps(value, ensure_ascii=False))
    assert not OBEYED.search(text)
    assert json.loads(text) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:pass@example.org/a?b", "https://***@example.org/a?b"),
        ("https://user:p@ss@example.org/", "https://***@example.org/"),
        ("https://token@example.org and http://a:b@c/d", "https://***@example.org and http://***@c/d"),
        ("Bearer hf_abcdefghijklmnopqrstuvwxyz", "Bearer hf_***"),
        ("https://example.org/a@b", "https://example.org/a@b"),
        ("me@example.org, hf_hub", "me@example.org, hf_hub"),
    ],
)
def test_secrets_are_left_out(text: str, shown: str) -> None:
    assert without_secrets(text) == message(text) == shown


def test_very_long_lines_keep_both_ends() -> None:
    shown = message("FILE:7: " + "x" * 10_000 + "; the fix\nsecond")
    first, second = shown.split("\n")
    assert first.startswith("FILE:7: x")
    assert first.endswith("x; the fix")
    assert len(first) < 1010
    assert second == "second"


@pytest.fixture(params=[False, True], ids=["piped", "terminal"])
def on_terminal(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> bool:
    if request.param:
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setattr(output.sys.stdout.__class__, "isatty", lambda self: True, raising=False)
    return bool(request.param)


@pytest.mark.parametrize("arguments", [[], ["--json"], ["--format", "markdown"], ["--format", "latex"]])
def test_reports_pass_no_escape_sequence_of_a_label(
    run: Path, on_terminal: bool, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", str(run), "--bootstrap", "0", "--by", "relation", *arguments])
    printed = OWN.sub("", capsys.readouterr().out)
    assert "P36" in printed
    assert "31m" in printed.replace("{", "").replace("}", "")
    assert not OBEYED.search(printed)


@pytest.mark.parametrize(
    "arguments",
    [
        *(["show", "--format", form] for form in ("text", "csv", "markdown", "json")),
        ["sets", "--coverage", "0.5"],
        ["threshold", "--risk", "0.2"],
        ["stakes"],
    ],
    ids=" ".join,
)
def test_other_commands_pass_none_either(
    tmp_path: Path,
    on_terminal: bool,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command, *options = arguments
    monkeypatch.setattr(labelled_runs, "WORDINGS", [f"{EVIL} [X] is called [Y]."] * 3)
    evil = labelled_runs.named_run(tmp_path / EVIL.replace("/", ""))
    main([command, str(evil), *options])
    printed = OWN.sub("", capsys.readouterr().out)
    assert "31m" in printed
    # What goes into a file is data, and stays as it was.
    assert not OBEYED.search(printed) or ("csv" in options and not on_terminal)


def test_what_the_label_itself_colours_is_not_passed(
    run: Path, on_terminal: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", str(run), "--bootstrap", "0", "--by", "relation"])
    assert "\x1b[31m" not in capsys.readouterr().out


def test_probes_pass_none_either(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = ENTRY | {"templates": [f"[X] {EVIL} in [Y]"]}
    folder = write(tmp_path / "p", {"P1": entry}, {"P1": [ROW | {"sub_label": EVIL}, ROW | {"sub_label": EVIL}, OTHER]})
    main(["probes", str(folder)])
    main(["probes", str(folder), "--json"])
    assert not OBEYED.search(capsys.readouterr().out)


def test_errors_and_logs_pass_none_and_fit_two_lines(
    tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "p", {"P1": ENTRY}, {"P1": [ROW | {"obj_label": EVIL + "x" * 10_000}]})
    for arguments in (
        ["probes", str(folder)],
        ["probes", f"https://me:secret@host/{EVIL}"],
        ["--debug", "probes", EVIL],
    ):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code in (1, 2)
        printed = capsys.readouterr().err
        assert not OBEYED.search(printed)
        assert "secret" not in printed
        assert "--debug" in arguments or printed.count("\n") <= 2
    next((run / "shards").iterdir()).write_text("damaged")
    main(["report", str(run), "--bootstrap", "0"])
    printed = capsys.readouterr().err
    assert "left out" in printed
    assert not OBEYED.search(printed)


class _AtOnce(threading.Timer):
    """A timer that rings as it is started."""

    def start(self) -> None:
        self.function(*self.args)


@pytest.mark.parametrize(
    ("resamples", "said"),
    [
        (1000, "computing 1,000 resamples of the numbers; --bootstrap 100 is faster, and rougher\n"),
        (50, "computing 50 resamples of the numbers\n"),
        (0, "reading the files\n"),
    ],
)
def test_a_long_wait_has_a_reason_on_a_terminal_alone(
    resamples: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal_text.threading, "Timer", _AtOnce)
    with explained_wait(resamples):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(terminal_text, "is_terminal", lambda _: True)
    with explained_wait(resamples):
        pass
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("command", [("show",), ("threshold", "--risk", "0.5"), ("sets",), ("stakes",)])
def test_what_only_reads_a_run_says_so_too(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_asked(tmp_path / "run")
    monkeypatch.setattr(terminal_text.threading, "Timer", _AtOnce)
    monkeypatch.setattr(terminal_text, "is_terminal", lambda _: True)
    main([command[0], str(tmp_path / "run"), *command[1:]])
    assert capsys.readouterr().err.startswith("reading the files\n")
