"""Fetching a question set from a hub: commit and hashes written down, repairs at the same commit, errors in words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import calprobe
from filelock import FileLock
from hub_server import COMMIT, HubServer, serving_hub
from public_rows import repository_files

from calprobe.probes import fetching
from calprobe.questions import NAMED_SETS, load_questions
from calprobe.questions.stored_sets import FETCHED


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def hub(request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A hub that has MMLU, or the set that the test is given, beside files that belong to no split."""
    from huggingface_hub import constants

    name = getattr(request, "param", "mmlu")
    files = {**repository_files(name), "README.md": b"# About", "all/auxiliary_train-00000-of-00001.parquet": b"large"}
    with serving_hub(NAMED_SETS[name].repository, files) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        )
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        yield server


def test_fetch_then_ask(hub: HubServer, root: Path) -> None:
    done = calprobe("fetch", "mmlu")
    assert done.returncode == 0, done.stderr
    folder = root / "questions" / "mmlu"
    assert done.stdout == f"mmlu: in {folder}, 3 files at {COMMIT[:12]}\n"
    source, terms = done.stderr.splitlines()
    assert source.startswith("fetching mmlu: 3 files, 0.0 MB, from https://huggingface.co/datasets/cais/mmlu at 0123")
    assert terms == "Its page names the licence mit."
    record = json.loads((folder / FETCHED).read_text("utf-8"))
    assert record == {
        "repository": "cais/mmlu",
        "revision": COMMIT,
        "files": {
            name: hashlib.sha256(content).hexdigest()
            for name, content in hub.files.items()
            if "aux" not in name and name != "README.md"
        },
    }
    assert sorted(path.name for path in root.joinpath("questions").iterdir()) == [".mmlu.lock", "mmlu"]
    assert not list(folder.rglob(".cache"))
    (mmlu,) = load_questions(["mmlu"])
    assert mmlu.source.revision == COMMIT
    assert mmlu.source.files == {name: record["files"][name] for name in mmlu.source.files}
    assert len(mmlu.questions) == 3
    listed = calprobe("questions").stdout.splitlines()
    assert [line.split()[0] for line in listed if line.endswith("  ready")] == ["mmlu"]


def test_a_second_fetch_gets_nothing(hub: HubServer, root: Path) -> None:
    calprobe("fetch", "mmlu")
    hub.commit = "f" * 40
    done = calprobe("fetch", "mmlu")
    assert done.stdout == (
        f"mmlu: already in {root / 'questions' / 'mmlu'}, 3 files as fetched at {COMMIT[:12]}; "
        "remove the folder to get a newer commit\n"
    )
    assert set(hub.downloads.values()) == {1}


def test_a_damaged_set_is_repaired_at_its_commit(hub: HubServer, root: Path) -> None:
    calprobe("fetch", "mmlu")
    file = next((root / "questions" / "mmlu" / "all").glob("test-*"))
    content = file.read_bytes()
    file.write_bytes(b"spoilt")
    assert calprobe("questions", "mmlu").returncode == 3
    assert calprobe("fetch", "mmlu").returncode == 0
    assert file.read_bytes() == content
    assert calprobe("questions", "mmlu").returncode == 0
    file.write_bytes(b"spoilt")
    hub.files[f"all/{file.name}"] = b"another file under the same commit"
    done = calprobe("fetch", "mmlu")
    assert done.returncode == 3
    assert "is not the file that was fetched before" in done.stderr
    assert file.read_bytes() == b"spoilt"


@pytest.mark.parametrize("hub", ["gpqa"], indirect=True)
def test_a_gated_set_says_where_its_terms_are(hub: HubServer, root: Path) -> None:
    hub.gated = True
    done = calprobe("fetch", "gpqa")
    assert done.returncode == 3
    assert done.stderr == (
        "calprobe: gpqa is gated: its terms have to be accepted first\n"
        "accept them at https://huggingface.co/datasets/Idavidrein/gpqa, then log in with `hf auth login`\n"
    )
    hub.gated = False
    done = calprobe("fetch", "gpqa")
    assert "Its authors ask that none of its questions is published: reports show none." in done.stderr
    assert not load_questions(["gpqa"])[0].source.quotable


@pytest.mark.parametrize("name", NAMED_SETS)
def test_every_set_finds_its_files(name: str, request: pytest.FixtureRequest, root: Path) -> None:
    from huggingface_hub import constants

    monkeypatch = request.getfixturevalue("monkeypatch")
    with serving_hub(NAMED_SETS[name].repository, repository_files(name)) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        )
        done = calprobe("fetch", name)
        assert done.returncode == 0, done.stderr
        assert set(server.downloads) == set(server.files)
    assert len(load_questions([name])[0].questions) == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"repository": "cais/other"}, "cais/mmlu is no longer on the hub, or is private; get its files from https"),
        ({"files": {"README.md": b""}}, r"cais/mmlu has no file all/test-\*.parquet at 0123.*: its layout has changed"),
        ({"status": 500}, "cannot fetch mmlu: the hub refused: .*\nget its files from .*: mmlu=PATH"),
    ],
)
def test_what_the_hub_does_not_give(change: dict[str, object], says: str, hub: HubServer, root: Path) -> None:
    import re

    for name, value in change.items():
        setattr(hub, name, value)
    done = calprobe("fetch", "mmlu")
    assert done.returncode == 3
    assert re.search(says, done.stderr, re.DOTALL), done.stderr
    assert not (root / "questions" / "mmlu").exists()


def test_offline_says_what_to_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    done = calprobe("fetch", "arc-easy")
    assert done.returncode == 3
    first, second = done.stderr.splitlines()
    assert first.startswith("calprobe: cannot fetch arc-easy: the hub cannot be reached (")
    assert "no network, or HF_HUB_OFFLINE is set" in first
    assert second == (
        "get its files from https://huggingface.co/datasets/allenai/ai2_arc by hand and give one, or their folder: "
        "arc-easy=PATH"
    )


def test_a_folder_that_cannot_be_written_to(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path / "file"))
    done = calprobe("fetch", "mmlu")
    assert done.returncode == 1
    assert "set CALPROBE_DATA to a folder that can be written to" in done.stderr


def test_another_fetch_that_never_ends_is_named(hub: HubServer, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "OTHER_FETCH_S", 0.05)
    (root / "questions").mkdir(parents=True)
    with FileLock(root / "questions" / ".mmlu.lock"):
        done = calprobe("fetch", "mmlu")
    assert done.returncode == 1
    assert f"another fetch of mmlu into {root}/questions has not ended in 0 s; end it and run" in done.stderr
    assert calprobe("fetch", "mmlu").returncode == 0
