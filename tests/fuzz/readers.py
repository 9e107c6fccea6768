"""Every reader of a file that a user brings, with a file that it takes: what hypothesis and atheris damage."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from labelled_runs import named_probe
from lm_eval_rows import choice_row, generated_row
from probe_folders import ENTRY, OTHER, ROW, without, write
from run_samples import make_manifest, make_piece, write_run

from calprobe.errors import UsageError
from calprobe.interop.lm_eval_import import Evaluation, evaluation_of, import_lm_eval
from calprobe.interop.lm_eval_replies import import_generated
from calprobe.interop.lm_pub_quiz_import import import_lm_pub_quiz
from calprobe.interop.score_tables import read_scored_answers
from calprobe.probes import Probe, load_probe
from calprobe.probes.factor import COMPLETIONS, CONTEXT, read_factor
from calprobe.probes.probe_folder import read_probe_folder
from calprobe.runs import open_asked, open_run
from calprobe.runs.manifest_file import manifest_json
from calprobe.runs.stored_texts import read_labels, write_labels
from calprobe.statements import load_template_set, select_templates

SHAPES = (("P30", 4, 3),)
RELATIONS = tuple(relation.name for relation in load_probe("mini").relations)


@dataclass(frozen=True)
class Reader:
    """`read` writes the bytes to a file in the folder, reads it, and looks whether the answer is right."""

    read: Callable[[Path, bytes], None]
    taken: bytes  # a file that the reader takes
    rows: list[Any] | None = None  # what JSON lines it holds


def _json(read: Callable[[Path, bytes], None], *rows: Any) -> Reader:
    return Reader(read, "".join(json.dumps(row) + "\n" for row in rows).encode(), list(rows))


def read_back(folder: Path, probe: Probe) -> None:
    """A probe that was read is the same when it is written and read again."""
    entries: dict[str, Any] = {}
    rows: dict[str, list[dict[str, Any]]] = {}
    for relation in probe.relations:
        entries[relation.name] = {"templates": relation.templates, "answer_space_labels": relation.candidates}
        rows[relation.name] = [
            {"sub_label": i.subject, "obj_label": relation.candidates[i.answer_idx], "answer_idx": i.answer_idx}
            for i in relation.instances
        ]
    again = read_probe_folder(write(folder / "again", entries, rows), probe.name)
    assert again.fingerprint == probe.fingerprint
    assert [relation.templates for relation in again.relations] == [relation.templates for relation in probe.relations]


def _rows(entry: Mapping[str, Any]) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        write(folder, {"P1": entry}, {})
        (folder / "P1.jsonl").write_bytes(content)
        probe = read_probe_folder(folder, "p")
        answers = [json.loads(line)["obj_label"] for line in content.decode("utf-8-sig").split("\n") if line]
        (relation,) = probe.relations
        assert [relation.candidates[instance.answer_idx] for instance in relation.instances] == answers
        read_back(folder, probe)

    return read


def _metadata(folder: Path, content: bytes) -> None:
    write(folder, {}, {"P1": [ROW, OTHER]})
    (folder / "metadata_relations.json").write_bytes(content)
    read_back(folder, read_probe_folder(folder, "p"))


def _domains(folder: Path, content: bytes) -> None:
    write(folder, {"P1": ENTRY}, {"P1": [ROW, OTHER]})
    (folder / "relation_info.json").write_bytes(content)
    (relation,) = read_probe_folder(folder, "p").relations
    assert list(relation.domains) == json.loads(content.decode("utf-8-sig")).get("P1", {"domains": []})["domains"]


def _factor(folder: Path, content: bytes) -> None:
    (folder / "f.csv").write_bytes(content)
    for instance in read_factor(folder / "f.csv", "f").relations[0].instances:
        assert instance.subject.strip()
        assert len(instance.candidates or ()) == 4


def _templates(folder: Path, content: bytes) -> None:
    (folder / "t.json").write_bytes(content)
    probe = load_probe("mini")
    found = load_template_set(str(folder / "t.json"), probe)
    try:
        numbers = select_templates(found, "all", RELATIONS[:1])
    except UsageError:  # it says which relations lack what, of a file that was read
        return
    assert all(found.template(RELATIONS[0], n).text.count("[X]") == 1 for n in numbers)


def _manifest(folder: Path, content: bytes) -> None:
    path = write_run(folder / "a-run", SHAPES)
    (path / "manifest.json").write_bytes(content)
    run = open_run(path)
    assert len(run.pieces) + len(run.missing) == len(run.manifest.pieces)
    run.table()


def _shard(folder: Path, content: bytes) -> None:
    path = write_run(folder / "a-run", SHAPES, numbers=(0,))
    (path / "shards" / "P30.t0.parquet").write_bytes(content)
    run = open_run(path)
    complete = make_piece(SHAPES[0])
    assert all(piece.sum.tolist() == complete.sum.tolist() for piece in run.pieces)  # type: ignore[union-attr]


def _labels(folder: Path, content: bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "labels.json").write_bytes(content)
    found = read_labels(folder)
    assert found is not None
    assert [(one.name, one.instances) for one in found.relations] == [
        (one.name, one.instances) for one in named_probe().relations
    ]


def _samples(folder: Path, content: bytes) -> None:
    (folder / "a.jsonl").write_bytes(content)
    import_lm_eval([folder / "a.jsonl"], folder / "run", Evaluation("m"))
    run = open_run(folder / "run")
    assert not run.partial
    assert run.table().n_instances == sum(relation.n_instances for relation in run.manifest.relations) > 0


def _generated(folder: Path, content: bytes) -> None:
    (folder / "a.jsonl").write_bytes(content)
    run = open_asked(import_generated([folder / "a.jsonl"], folder / "run", Evaluation("m")).run.path)
    assert run.manifest.n_questions > 0


def _results(folder: Path, content: bytes) -> None:
    samples = folder / "samples_a_2026-01-02T03-04-05.6.jsonl"
    samples.write_text(json.dumps(choice_row(0, [-1.0, -2.0], 0)) + "\n")
    (folder / "results_2026-01-02T03-04-05.6.json").write_bytes(content)
    import_lm_eval([samples], folder / "run", evaluation_of([samples]))


PUBLISHED = {
    "templates": ["[X] in [Y].", "[X] is possibly in [Y]."],
    "template_index": [0, 1],
    "model_name_or_path": "gpt2",
    "reduction": "sum",
    "answer_space_labels": ["a", "b"],
}
PUBLISHED_ROWS = [
    {"template_index": template, "sub_id": f"Q{row}", "answer_idx": row, "pll_scores": [-1.5, -2.0]}
    for row in (0, 1)
    for template in (0, 1)
]


def _lm_pub_quiz(metadata: bytes | None) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        rows = "".join(json.dumps(row) + "\n" for row in PUBLISHED_ROWS).encode()
        (folder / "metadata_results.json").write_bytes(content if metadata is None else metadata)
        (folder / "P1_results.jsonl").write_bytes(rows if metadata is None else content)
        import_lm_pub_quiz(folder, folder / "run")
        assert not open_run(folder / "run").partial

    return read


def _table(suffix: str) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        (folder / f"t{suffix}").write_bytes(content)
        answers = read_scored_answers(folder / f"t{suffix}", ["s"], "right")
        assert set(answers.correct.tolist()) <= {0, 1}
        assert len(answers.scores["s"]) == len(answers.correct) > 0

    return read


def _parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _shard_bytes() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return (write_run(Path(folder) / "r", SHAPES, numbers=(0,)) / "shards" / "P30.t0.parquet").read_bytes()


_MANIFEST = json.loads(manifest_json(make_manifest(SHAPES)))
_FACTOR = f'{CONTEXT},{",".join(COMPLETIONS)}\nRome is,in Italy,in Peru,in Chad,on Mars\n"a\nb",c,d,e,"f,g"\n'
_ANSWERS = [{"s": 1.5, "right": True}, {"s": -2, "right": 0}, {"s": "0.5", "right": "false"}]


def _labels_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_labels(Path(folder), named_probe())
        return (Path(folder) / "labels.json").read_bytes()


READERS: dict[str, Reader] = {
    "probe_rows": _json(_rows(ENTRY), ROW, OTHER),
    "probe_rows_alone": _json(_rows(without(ENTRY, "answer_space_labels", "answer_space_ids")), ROW, OTHER),
    "probe_metadata": _json(_metadata, {"P1": ENTRY}),
    "probe_domains": _json(_domains, {"P1": {"domains": ["Places", "Made-up"]}}),
    "factor": Reader(_factor, _FACTOR.encode()),
    "templates": _json(
        _templates,
        {RELATIONS[0]: {"paraphrases": ["[X] [Y]."], "verbal": ["[X] possibly [Y].", "[X] certainly [Y]."]}},
    ),
    "templates_flat": _json(_templates, {RELATIONS[0]: {"templates": ["[X] is [Y].", "I am 25% confident: [X] [Y]"]}}),
    "manifest": _json(_manifest, {key: value for key, value in _MANIFEST.items() if key != "checksums"}),
    "manifest_with_checksums": _json(_manifest, _MANIFEST),
    "shard": Reader(_shard, _shard_bytes()),
    "labels": Reader(_labels, _labels_bytes()),
    "lm_eval_samples": _json(_samples, choice_row(0, [-1.0, -2.0, -3.5], 0), choice_row(1, [-1.0, -2.0], 0)),
    "lm_eval_places": _json(_samples, choice_row(0, [-1.0, -2.0], 0), choice_row(2, [-1.0, -2.0], 0) | {"target": 0}),
    "lm_eval_generated": _json(_generated, generated_row(0, "yes"), generated_row(1, "no", exact_match=0.0)),
    "lm_eval_results": _json(_results, {"model_name": "m", "config": {"model_dtype": "torch.float32"}}),
    "lm_pub_quiz_metadata": _json(_lm_pub_quiz(None), {"P1": PUBLISHED}),
    "lm_pub_quiz_rows": _json(_lm_pub_quiz(json.dumps({"P1": PUBLISHED}).encode()), *PUBLISHED_ROWS),
    "table_jsonl": _json(_table(".jsonl"), *_ANSWERS),
    "table_csv": Reader(_table(".csv"), b's,right\n1.5,true\n-2,0\n"0.5",false\n'),
    "table_parquet": Reader(_table(".parquet"), _parquet(pa.table({"s": [1.5, -2.0], "right": [True, False]}))),
}
