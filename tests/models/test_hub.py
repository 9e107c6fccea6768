"""What happens when there is no hub: an answer at once, no retries, no noise."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import NoReturn

import pytest
from huggingface_hub import constants
from tiny_models import save_tiny_model

from calprobe.errors import DataMissingError
from calprobe.models import load_model
from calprobe.models.libraries import look_for_hub, patient_hub


def unresolved(*_: object) -> NoReturn:
    raise socket.gaierror(-2, "Name or service not known")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def test_without_a_network_the_client_looks_into_its_cache_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", unresolved)
    with patient_hub():
        assert not constants.HF_HUB_OFFLINE
        look_for_hub()
        assert constants.HF_HUB_OFFLINE
        assert not logging.getLogger("huggingface_hub").isEnabledFor(logging.WARNING)
    assert not constants.HF_HUB_OFFLINE


def test_with_a_network_or_a_proxy_it_stays_online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [])
    with patient_hub():
        look_for_hub()
        assert not constants.HF_HUB_OFFLINE
    monkeypatch.setattr(socket, "getaddrinfo", unresolved)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    with patient_hub():
        look_for_hub()
        assert not constants.HF_HUB_OFFLINE


def test_a_user_who_is_offline_on_purpose_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [])
    with patient_hub():
        look_for_hub()
        assert constants.HF_HUB_OFFLINE


def test_the_hub_is_looked_for_only_when_it_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def counted(*address: object) -> NoReturn:
        asked.append(address)
        unresolved()

    monkeypatch.setattr(socket, "getaddrinfo", counted)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    load_model(str(save_tiny_model(tmp_path / "model")))
    assert not asked
    with pytest.raises(DataMissingError, match="the hub cannot be reached"):
        load_model("gpt2")
    assert len(asked) == 1
    assert not constants.HF_HUB_OFFLINE
