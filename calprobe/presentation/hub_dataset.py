"""A run as a data set of the hub: its card, which names the tables that the hub's viewer and library read."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from calprobe.cells.opening import open_run
from calprobe.cells.run_facts import model_name
from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import counted, reason
from calprobe.runs import AskedRun, Run
from calprobe.runs.atomic import check_empty, replacing_folder, write_text
from calprobe.runs.manifest_text import templates_text

CONFIDENCES = "confidences.parquet"
# The tables of a run's own folder, by the kind of run: what the hub calls them, and what a row is.
_TABLES = {Run: ("scores", "a statement, with its log-probabilities"), AskedRun: ("replies", "a reply")}
_SHARDS = "shards/*.parquet"


def check_shareable(run: Run | AskedRun) -> None:
    """Raise UsageError for a partial run, and for one of questions whose texts must not be shown."""
    if run.partial:
        raise UsageError(
            f"{run.path}: a data set of a partial run would be another one tomorrow; complete the run first"
        )
    if isinstance(run, AskedRun) and (
        names := [record.name for record in run.manifest.sets if not record.source.quotable]
    ):
        raise UsageError(
            f"{run.path}: texts of {', '.join(names)} must not be published, and replies contain them\n"
            "export --what labels has no texts"
        )


def write_dataset(run: Run | AskedRun, out: Path, write_confidences: Callable[[Path], int]) -> None:
    """Write the run, its confidences and a card into a folder that is there complete or not at all.

    Args:
        run: a complete run.
        out: an empty or new folder outside the run.
        write_confidences: writes the table of confidences to a file; how many rows.
    Raises:
        UsageError: such a folder, or the run, cannot be taken. CalprobeError: the folder cannot be written.
    """
    check_shareable(run)
    check_empty(out)
    if run.path.resolve() in (out.resolve(), *out.resolve().parents):
        raise UsageError(f"--out {out} is in the run itself; name a folder outside it")
    try:
        with replacing_folder(out, "export") as beside:
            # Locks and the journal of what was asked last are of this machine; shards have all of it.
            shutil.copytree(run.path, beside, ignore=shutil.ignore_patterns(".*", "journal", "*.bad"))
            if open_run(beside).partial:
                raise UsageError(
                    f"{run.path}: its last replies are in no shard yet; run its `calprobe ask` again first"
                )
            rows = write_confidences(beside / CONFIDENCES)
            write_text(beside / "README.md", dataset_card(run, rows))
    except OSError as error:
        raise CalprobeError(f"{out}: cannot be written: {reason(error)}; name another --out") from error


def dataset_card(run: Run | AskedRun, rows: int) -> str:
    """README.md: a head in YAML as huggingface_hub writes it, what was scored or asked, and how the tables are read.

    Args:
        run: a complete run.
        rows: of its table of confidences.
    """
    from huggingface_hub import DatasetCardData

    manifest = run.manifest
    model, of = model_name(manifest.model), ", ".join(_tasks(run))
    table, row = _TABLES[type(run)]
    head = DatasetCardData(
        pretty_name=f"{model} on {of}",
        task_categories=["text-generation" if isinstance(run, Run) else "question-answering"],
        tags=["calprobe", "calibration"],
        configs=[
            {"config_name": "confidences", "data_files": CONFIDENCES, "default": True},
            {"config_name": table, "data_files": _SHARDS},
        ],
    )
    version = manifest.versions.get("calprobe", "")
    facts = "".join(f"- {name}: {text}\n" for name, text in _facts(run).items() if text)
    return f"""---
{head.to_yaml()}
---

# {model} on {of}

A run of {f"calprobe {version}".rstrip()}.

{facts}
| table | a row is |
|---|---|
| `confidences` ({rows:,} rows) | an answer and an estimator: prediction, confidence, whether it is right |
| `{table}` | {row} |

```python
from datasets import load_dataset

load_dataset("OWNER/NAME", "confidences", split="train")
```

The folder is also the run itself: get it by `hf download OWNER/NAME --repo-type dataset --local-dir RUN`, then
`calprobe report RUN`.
"""


def _tasks(run: Run | AskedRun) -> list[str]:
    return [run.manifest.probe.name] if isinstance(run, Run) else [record.name for record in run.manifest.sets]


def _facts(run: Run | AskedRun) -> Mapping[str, str]:
    """What a reader has to know of the numbers."""
    if isinstance(run, Run):
        manifest = run.manifest
        instances = sum(relation.n_instances for relation in manifest.relations)
        templates = templates_text([template.number for template in manifest.templates])
        return {
            "probe": f"{manifest.probe.name}, {counted(instances, 'instance')}",
            "LIMITED": manifest.limits(),
            "templates": f"{manifest.template_set.name} ({templates})",
            "model": f"{model_name(manifest.model)}, {manifest.model.kind or 'kind not known'}",
            "dtype": manifest.settings.dtype or "",
        }
    sets = (f"{record.name} ({counted(record.n_asked, 'question')})" for record in run.set_records)
    limited = (record.limits() for record in run.set_records if record.is_limited)
    return {
        "questions": ", ".join(sets),
        "LIMITED": ", ".join(limited),
        "variants": ", ".join(dict.fromkeys(piece.variant for piece in run.manifest.asked)),
        "model": model_name(run.manifest.model),
    }
