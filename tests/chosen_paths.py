"""The path that a model's check chooses, for tests of what each path computes."""

from __future__ import annotations

from calprobe.models import LoadedModel
from calprobe.planning import TokenRows
from calprobe.scoring.options import NOTHING_MASKED, Masking, Path
from calprobe.scoring.path_choice import OnPass, checked_path, paths_of


def choose_path(
    model: LoadedModel,
    batch_tokens: int,
    sample: TokenRows,
    asked: Path | None = None,
    masking: Masking = NOTHING_MASKED,
    on_pass: OnPass = lambda path, reason: None,
) -> Path:
    """As `checked_path`: the path alone, among all of the model's kind, or `asked`."""
    among = paths_of(model) if asked is None else (asked,)
    return checked_path(model, batch_tokens, sample, among, masking, on_pass).path
