"""Counts with their nouns, and texts that may be shown to anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from calprobe.messages import counted, shown


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 relations"), (1, "1 relation"), (2, "2 relations"), (7731, "7,731 relations")]
)
def test_only_one_is_singular(count: int, said: str) -> None:
    assert counted(count, "relation") == said


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("{home}/models/x", "~/models/x"),
        ("in {home}: nothing", "in ~: nothing"),
        ("{home}work/x", "{home}work/x"),  # another folder that begins like it
        ("/srv{home}/x", "/srv{home}/x"),  # and one whose end is like it
        ("Nothing is in {home}. See `{home}` or <{home}>", "Nothing is in ~. See `~` or <~>"),
        ("{home}.bak/x {home}-2", "{home}.bak/x {home}-2"),
        ("--out={home}/x '{home}/y'", "--out=~/x '~/y'"),
        ("http://me:word@host/{home}", "http://***@host/~"),
        ("Bearer abc123 and hf_abcdefghij", "Bearer *** and hf_***"),
        ("https://hub.lan/?token=abc12&v=2 and ?X-Api-Key=z", "https://hub.lan/?token=***&v=2 and ?X-Api-Key=***"),
        ("(see https://x/?sv=1&sig=a%2Fb-c).", "(see https://x/?sv=1&sig=***)."),
        ("https://x/#access_token=a.b; &amp;pwd=z.", "https://x/#access_token=***; &amp;pwd=***."),
    ],
)
def test_home_and_secrets_are_not_shown(text: str, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert shown(text.format(home="/home/me")) == seen.format(home="/home/me")


def test_a_home_that_is_a_link_is_shown_in_neither_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, target = tmp_path / "home" / "me", tmp_path / "nfs" / "me"
    link.parent.mkdir()
    target.mkdir(parents=True)
    link.symlink_to(target)
    monkeypatch.setattr(Path, "home", lambda: link)
    assert shown(f"{link}/runs and {target}/runs, not {target}2") == f"~/runs and ~/runs, not {target}2"


def test_where_the_root_is_home_paths_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/"))
    assert shown("/models/x") == "/models/x"
