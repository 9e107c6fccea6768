"""`calprobe doctor --model`: one model loaded as `calprobe score` would, and the path that it will take."""

from __future__ import annotations

import time
from collections.abc import Iterator

from calprobe.doctor.diagnosis import Check


def look_at_model(name: str) -> Iterator[Check]:
    """How the model loads, then the load-time check on a few statements of mini: its path, and why not a faster one."""
    from calprobe.models import LoadOptions, load_model

    started = time.perf_counter()
    model = load_model(name, LoadOptions(quiet=True))
    seconds = time.perf_counter() - started
    what = f"{model.architecture}, {model.kind}, {model.dtype} on {model.device}, {model.attention} attention"
    facts = {"model": model.source, "architecture": model.architecture, "kind": model.kind, "dtype": model.dtype}
    yield Check("loaded", "ok", f"{what}, in {seconds:.1f} s", facts=facts | {"seconds": seconds})
    if model.note:
        yield Check("remark", "ok", model.note)

    from calprobe.planning.token_rows import TokenRows
    from calprobe.probes import load_probe
    from calprobe.scoring.budget import auto_batch_tokens
    from calprobe.scoring.options import ScoreOptions
    from calprobe.scoring.paths import choose_path
    from calprobe.scoring.pieces import tokenise_pieces
    from calprobe.scoring.selection import select

    selection = select(load_probe("mini"), ScoreOptions(templates="paraphrases"))
    masking = ScoreOptions().masking(model.kind, name)
    sample = TokenRows.joined([piece.rows for piece in tokenise_pieces(selection.sample(), model, masking)])
    passed: list[tuple[str, str]] = []
    path = choose_path(
        model, auto_batch_tokens(model), sample, masking=masking, on_pass=lambda *found: passed.append(found)
    )
    for path_name, reason in passed:
        yield Check(f"not {path_name}", "note", reason)
    agrees = "the model's own forward" if path == "plain" else "agrees with the model's own forward"
    text = f"{path}: {agrees} ({sample.n_statements} statements)"
    yield Check("path", "ok", text, facts={"path": path, "passed_over": dict(passed)})
