"""What the libraries raise, and what the user reads."""

from __future__ import annotations

import pytest
from huggingface_hub import errors as hub

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.models import LoadOptions
from calprobe.models.libraries import explained, first_line
from calprobe.models.source import Source


def hub_error(kind: type[Exception]) -> Exception:
    """An error of the hub client, without the web answer that its constructor asks for."""
    error = kind.__new__(kind)
    error.args = ("GET https://user:secret@example.org/x with Bearer hf_abcdefghijklmnop",)
    return error


SOURCE = Source("alias", "org/m", "hub")


def raise_wrapped(inner: Exception) -> None:
    """As transformers does with what the hub client raises."""
    raise OSError("wrapped") from inner


@pytest.mark.parametrize(
    ("raised", "error_class", "words"),
    [
        (hub.GatedRepoError, DataMissingError, ["org/m is gated", "https://huggingface.co/org/m,", "`hf auth login`"]),
        (hub.RepositoryNotFoundError, DataMissingError, ["no model org/m on the hub", "`hf auth login`"]),
        (hub.RevisionNotFoundError, UsageError, ["org/m has no revision 'v9'"]),
        (hub.LocalEntryNotFoundError, DataMissingError, ["not on this machine", "hf download org/m", "--model DIR"]),
        (hub.OfflineModeIsEnabled, DataMissingError, ["HF_HUB_OFFLINE"]),
        (ConnectionError, DataMissingError, ["the hub cannot be reached"]),
        (MemoryError, CalprobeError, ["does not fit into memory", "--dtype bfloat16"]),
    ],
)
def test_each_failure_has_its_fix(raised: type[Exception], error_class: type[Exception], words: list[str]) -> None:
    with pytest.raises(error_class) as caught, explained(SOURCE, LoadOptions(revision="v9")):
        raise_wrapped(hub_error(raised))
    message = str(caught.value)
    assert all(word in message for word in words)
    assert len(message.splitlines()) <= 2
    assert "secret" not in message
    assert "hf_abc" not in message


def test_an_unknown_failure_is_named_in_one_line_without_secrets() -> None:
    with pytest.raises(CalprobeError) as caught, explained(SOURCE, LoadOptions()):
        raise hub_error(ArithmeticError)
    said = "GET https://***@example.org/x with Bearer hf_***"
    assert str(caught.value) == f"org/m cannot be loaded: ArithmeticError: {said}"


def test_our_own_errors_pass_unchanged() -> None:
    with pytest.raises(UsageError, match="as it is"), explained(SOURCE, LoadOptions()):
        raise UsageError("as it is")


def test_first_line_of_an_empty_or_long_message() -> None:
    assert first_line(ValueError()) == "no message"
    assert len(first_line(ValueError("x" * 999))) == 200
