"""A few statements scored with the bundled models: every path held to the plain forward, a run written and read."""

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
    from calprobe.planning.token_rows import TokenRows

_RELATION, _INSTANCES = "month", 3  # of mini
_BATCH_TOKENS = 512


def _paths_agree(name: str) -> Iterator[Check]:
    """Each path of a bundled model held to the model's own forward, and the time that its fastest takes."""
    from calprobe.models import LoadOptions, load_model
    from calprobe.scoring.options import PATHS_OF, ScoreOptions
    from calprobe.scoring.paths import disagreement, tolerance_for

    model = load_model(name, LoadOptions(dtype="float32", quiet=True))
    masking = ScoreOptions().masking(model.kind, name)
    rows = _statements(model, masking)
    paths = PATHS_OF[model.kind]
    timed = {path: _scored(path, model, rows, masking) for path in paths}
    own, _ = timed["plain"]
    differences = {path: _largest(own, scores) for path, (scores, _) in timed.items() if path != "plain"}
    wrong = [
        f"{path}: {why}"
        for path, (scores, _) in timed.items()
        if (why := disagreement(own, scores, tolerance_for(model.dtype, own[:0].astype(float))))
    ]
    each_ms = 1000 * timed[paths[0]][1] / rows.n_statements
    facts = {"statements": rows.n_statements, "largest_difference": differences, "ms_per_statement": each_ms}
    if wrong:
        yield Check(name, "fail", f"scores differ from the model's own forward: {'; '.join(wrong)}", _REPORT, facts)
        return
    said = ", ".join(f"{path} within {difference:.0e} nats" for path, difference in differences.items())
    timing = f"{each_ms:.1f} ms a statement on {model.device}"
    yield Check(name, "ok", f"{said} of the plain forward; {timing}", facts=facts)


_REPORT = "please report it with the whole of this text"


def _statements(model: LoadedModel, masking: Any) -> TokenRows:
    from calprobe.probes import load_probe
    from calprobe.scoring.options import ScoreOptions
    from calprobe.scoring.pieces import tokenise_pieces
    from calprobe.scoring.selection import select

    selection = select(load_probe("mini"), ScoreOptions(relations=(_RELATION,), limit=_INSTANCES))
    relation = selection.relations[0]
    piece = (relation, selection.template_set.template(relation.name, selection.numbers[0]))
    return tokenise_pieces([piece], model, masking)[0].rows


def _scored(path: Any, model: LoadedModel, rows: TokenRows, masking: Any) -> tuple[npt.NDArray[np.float32], float]:
    """Token scores on that path, and the seconds of a second time, when everything is warm."""
    from calprobe.scoring.executor import score_rows
    from calprobe.scoring.paths import executor_of

    executor = executor_of(path, model, _BATCH_TOKENS, masking=masking)
    scores = score_rows(executor, rows)
    started = time.perf_counter()
    score_rows(executor, rows)
    return scores, time.perf_counter() - started


def _largest(own: npt.NDArray[np.float32], scores: npt.NDArray[np.float32]) -> float:
    return float(abs(scores.astype(float) - own).max())


def _run_folder() -> Check:
    """A run scored into a temporary folder, read again, and its accuracy computed by the report and from the scores."""
    from calprobe import open_run, report, score
    from calprobe.analysis import ReportOptions
    from calprobe.metrics import Resampling
    from calprobe.scoring.options import ScoreOptions

    options = ScoreOptions(relations=(_RELATION,), limit=_INSTANCES, quiet=True)
    with tempfile.TemporaryDirectory(prefix="calprobe-doctor-") as folder:
        out = Path(folder) / "run"
        score("tiny-clm", "mini", out, options)
        run = open_run(out)
        found = report(run, ReportOptions(resampling=Resampling(0))).runs[0]
    table = run.table()
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


SELF_TESTS: tuple[tuple[str, Look], ...] = (
    ("tiny-clm", partial(_paths_agree, "tiny-clm")),
    ("tiny-mlm", partial(_paths_agree, "tiny-mlm")),
    ("run folder", _run_folder),
)
