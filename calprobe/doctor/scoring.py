"""Whether scoring works: the paths of the bundled models, a run written and read, and one model of the user's."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calprobe.doctor.diagnosis import Check, Look

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from calprobe.models import LoadedModel
    from calprobe.scoring import ScoreOptions, Way
    from calprobe.scoring.path_choice import OnPass
    from calprobe.scoring.probe_selection import Selection
    from calprobe.words import ScoringPath

_RELATION, _INSTANCES = "month", 3  # of mini
_BATCH_TOKENS = 512
_REPORT = "please report it with this complete text"
_SEE_KERNELS = "see the group of kernels"


def _paths_agree(name: str) -> Iterator[Check]:
    """Compare each path of a bundled model with the model's own forward; the time is that of its fastest path.

    As in a run, torch takes over where a kernel of a card fails, and a path that is refused gives way to the next: on a
    card that is a note, since scoring works; on a CPU, where there are no kernels, something is broken.
    """
    from calprobe.models import LoadOptions, load_model
    from calprobe.scoring.path_choice import disagreement, paths_of, tolerance_for

    model = load_model(name, LoadOptions(dtype="float32", quiet=True))
    refused = dict[str, str]()
    ways = [way for path in paths_of(model) if (way := _way(model, path, refused.__setitem__)) is not None]
    timed = {way.path: _scored(model, way) for way in ways}
    own, n_statements, _ = timed["plain"]
    differences = {
        path: float(abs(scores.astype(float) - own).max()) for path, (scores, *_) in timed.items() if path != "plain"
    }
    tolerance = tolerance_for(model.dtype, own[:0].astype(float))
    wrong = [f"{path}: {why}" for path, (scores, *_) in timed.items() if (why := disagreement(own, scores, tolerance))]
    wrong += [f"{path}: {why}" for path, why in refused.items() if model.device.type == "cpu"]
    each_ms = 1000 * timed[ways[0].path][2] / n_statements
    facts = {"statements": n_statements, "largest_difference": differences, "ms_per_statement": each_ms}
    if wrong:
        yield Check(name, "fail", f"scores differ from the model's own forward: {'; '.join(wrong)}", _REPORT, facts)
        return
    compared = ", ".join(f"{path} within {difference:.0e} nats" for path, difference in differences.items())
    timing = f"{each_ms:.1f} ms a statement on {model.device}"
    yield Check(name, "ok", f"{f'{compared} of ' if compared else ''}the plain forward; {timing}", facts=facts)
    by_torch = sorted({part for way in ways for part in way.by_torch})
    if refused or by_torch:
        slower = [f"not {path}: {why}" for path, why in refused.items()]
        slower += [f"by torch, not by kernels: {', '.join(by_torch)}"] if by_torch else []
        yield Check(name, "note", f"scoring works, but slower; {'; '.join(slower)}", _SEE_KERNELS, facts)


def _way(model: LoadedModel, path: ScoringPath, refuse: OnPass) -> Way | None:
    """How that path scores; None where it is refused, of which `refuse` gets the reason."""
    from calprobe.scoring import Way
    from calprobe.scoring.fit import check_paths

    among: tuple[ScoringPath, ...] = (path,) if path == "plain" else (path, "plain")
    options, selection = _asked()
    checked = check_paths(model, selection, options, refuse, among)
    return Way(path, _BATCH_TOKENS, "typed", by_torch=checked.by_torch) if checked.path == path else None


def _asked() -> tuple[ScoreOptions, Selection]:
    from calprobe.probes import load_probe
    from calprobe.scoring import ScoreOptions, select

    options = ScoreOptions(relations=(_RELATION,), first=_INSTANCES, save_tokens=True)
    return options, select(load_probe("mini"), options)


def _scored(model: LoadedModel, way: Way) -> tuple[npt.NDArray[np.float32], int, float]:
    """Token scores that way, the number of statements, and the seconds of a second time, when all is warm."""
    import numpy as np

    from calprobe.scoring import score_pieces

    options, selection = _asked()
    pieces = list(score_pieces(model, selection, options, way))
    started = time.perf_counter()
    list(score_pieces(model, selection, options, way))
    seconds = time.perf_counter() - started
    scores = [piece.tokens.logprobs for piece in pieces if piece.tokens is not None]
    return np.concatenate(scores), sum(piece.n_statements for piece in pieces), seconds


def _run_folder() -> Check:
    """A run scored into a temporary folder, read again, and its accuracy computed by the report and from the scores."""
    from calprobe import report, score
    from calprobe.analysis import ReportOptions
    from calprobe.metrics import Resampling
    from calprobe.runs import open_scores
    from calprobe.scoring.options import ScoreOptions

    options = ScoreOptions(relations=(_RELATION,), first=_INSTANCES, quiet=True)
    with tempfile.TemporaryDirectory(prefix="calprobe-doctor-") as folder:
        out = Path(folder) / "run"
        score("tiny-clm", "mini", out, options)
        run = open_scores(out)
        table = run.table()
        found = report(run, ReportOptions(resampling=Resampling(0))).runs[0]
    answers = [int(scores.argmax()) for scores in _by_instance(table)]
    counted = sum(answer == right for answer, right in zip(answers, table.answer_idx, strict=True)) / table.n_instances
    reported = found.accuracy.value if found.accuracy is not None else float("nan")
    facts = {"instances": table.n_instances, "accuracy_reported": reported, "accuracy_counted": counted}
    if run.partial or reported != counted:
        what = f"partial: {run.partial}, accuracy {reported} in the report and {counted} counted from the scores"
        return Check("run folder", "fail", what, _REPORT, facts)
    text = f"written and read; accuracy {reported:.3f} in the report and counted from the scores"
    return Check("run folder", "ok", text, facts=facts)


def _by_instance(table: Any) -> Any:
    import numpy as np

    return np.split(table.scores[0], table.offsets[1:-1])


def look_at_model(name: str) -> Iterator[Check]:
    """How the model loads, and which path scores it; for each faster path why it does not."""
    from calprobe.models import LoadOptions, load_model

    started = time.perf_counter()
    model = load_model(name, LoadOptions(quiet=True))
    seconds = time.perf_counter() - started
    what = f"{model.architecture}, {model.kind}, {model.dtype} on {model.device}, {model.attention} attention"
    facts = {"model": model.source, "architecture": model.architecture, "kind": model.kind, "dtype": model.dtype}
    yield Check("loaded", "ok", f"{what}, in {seconds:.1f} s", facts=facts | {"seconds": seconds})
    if model.note:
        yield Check("remark", "ok", model.note)
    yield from _path(model)


def _path(model: LoadedModel) -> Iterator[Check]:
    from calprobe.probes import load_probe
    from calprobe.scoring import ScoreOptions, select
    from calprobe.scoring.fit import check_paths

    options, passed = ScoreOptions(templates="paraphrases"), dict[str, str]()
    checked = check_paths(model, select(load_probe("mini"), options), options, passed.__setitem__)
    for path, reason in passed.items():
        yield Check(f"not {path}", "note", reason)
    agrees = "the model's own forward" if checked.path == "plain" else "agrees with the model's own forward"
    text = f"{checked.path}: {agrees} ({checked.n_statements} statements)"
    yield Check("path", "ok", text, facts={"path": checked.path, "passed_over": passed})
    if checked.by_torch:
        facts = {"by_torch": list(checked.by_torch)}
        yield Check("by torch", "note", f"{', '.join(checked.by_torch)}: slower than by kernels", _SEE_KERNELS, facts)


SELF_TESTS: tuple[tuple[str, Look], ...] = (
    ("tiny-clm", partial(_paths_agree, "tiny-clm")),
    ("tiny-mlm", partial(_paths_agree, "tiny-mlm")),
    ("run folder", _run_folder),
)
