"""The manifest: to JSON and back, what it refuses, and what makes two runs differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from run_samples import make_manifest, worded

from calprobe.errors import CalprobeError
from calprobe.runs import ModelRecord, RelationRecord, SourceRecord, StartToken
from calprobe.runs.manifest_file import read_manifest, write_manifest


def _edit(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    data = json.loads(path.read_text()) | changes
    if data["calprobe_run"] == 1:
        del data["task"]
    path.write_text(json.dumps(data))


def test_what_is_written_reads_back_equal(tmp_path: Path) -> None:
    manifest = make_manifest(start_token=StartToken("<s>", 1), save_tokens=True, threads=2, attention="sdpa")
    manifest = replace(manifest, limit=10)
    manifest = replace(manifest, model=replace(manifest.model, adapter="a", adapter_merged=False))
    write_manifest(manifest, tmp_path)
    assert read_manifest(tmp_path) == manifest
    assert json.loads((tmp_path / "manifest.json").read_text())["calprobe_run"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"calprobe_run": 4}, "run format 4, this calprobe reads 1 to 3; upgrade"),
        ({"calprobe_run": 2, "grew": []}, "unknown key 'earlier_format', 'grew'"),
        ({"calprobe_run": 1, "timings": {"load_s": "1"}}, "timings.load_s: expected a number"),
        ({"timings": {}}, "unknown key 'timings'"),
        ({"first_format": None}, "unknown key 'first_format'"),
        ({"calprobe_run": None}, "not the manifest of a calprobe run"),
        ({"colour": "red", "taste": 1}, "unknown key 'colour', 'taste'"),
        ({"settings": {}}, "settings: missing key 'path'"),
        ({"settings": {"path": "padded", "threads": "two"}}, "settings.threads: expected int, got 'two'"),
        ({"settings": {"path": "padded", "save_tokens": 1}}, "settings.save_tokens: expected bool, got 1"),
        ({"limit": True}, "limit: expected int, got True"),
        ({"templates": [{"number": 0, "kind": "poem"}]}, r"templates\[0\].kind: expected one of paraphrase"),
        ({"versions": ["a"]}, "versions: expected an object"),
        ({"relations": 3}, "relations: expected a list, got 3"),
    ],
)
def test_a_wrong_manifest_is_refused_by_name_and_place(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    write_manifest(make_manifest(), tmp_path)
    _edit(tmp_path, **changes)
    with pytest.raises(CalprobeError, match=message) as raised:
        read_manifest(tmp_path)
    assert str(tmp_path / "manifest.json") in str(raised.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", "\ufffd"])
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(CalprobeError, match=r"manifest\.json"):
        read_manifest(tmp_path)


def test_a_missing_key_takes_its_default_only_where_one_is_declared(tmp_path: Path) -> None:
    write_manifest(make_manifest(), tmp_path)
    path = tmp_path / "manifest.json"
    data = json.loads(path.read_text())
    del data["limit"], data["checksums"]
    path.write_text(json.dumps(data))
    assert read_manifest(tmp_path).limit is None
    del data["model"]
    path.write_text(json.dumps(data))
    with pytest.raises(CalprobeError, match="missing key 'model'"):
        read_manifest(tmp_path)


def test_what_was_edited_is_named(tmp_path: Path) -> None:
    write_manifest(make_manifest(), tmp_path)
    path = tmp_path / "manifest.json"
    written = path.read_text()
    path.write_text(json.dumps(json.loads(written)))  # laid out otherwise, it says the same
    assert read_manifest(tmp_path) == make_manifest()
    path.write_text(written.replace('"name": "tiny"', '"name": "large"').replace('"limit": null', '"limit": 5'))
    with pytest.raises(CalprobeError, match=r"manifest\.json: limit, model changed since calprobe wrote the file"):
        read_manifest(tmp_path)
    data = json.loads(written)
    del data["relations"][1]
    path.write_text(json.dumps(data))
    with pytest.raises(CalprobeError, match=r"manifest\.json: relations changed since"):
        read_manifest(tmp_path)
    for checksums in ({}, [], "none"):
        path.write_text(json.dumps(json.loads(written) | {"checksums": checksums}))
        with pytest.raises(CalprobeError, match="changed since calprobe wrote the file"):
            read_manifest(tmp_path)


def test_the_first_instances_have_the_identity_that_a_limit_had_before_samples() -> None:
    first = replace(make_manifest(), limit=2)
    assert first.identity()["limit"] == 2
    assert first.identity_hash == replace(first, n_probe_relations=60).identity_hash
    sample = replace(first, sample_seed=0)
    assert len({first.identity_hash, sample.identity_hash, replace(sample, sample_seed=1).identity_hash}) == 3


def test_instances_that_are_no_part_of_one_another_are_named_with_their_options() -> None:
    first = replace(make_manifest(), limit=2)
    sample = replace(first, limit=3, sample_seed=0)
    assert first.differences(sample) == [
        "limit: the run has the first 2 (--first 2), requested a sample of 3 (--limit 3) (one is no part of the other)"
    ]
    assert sample.differences(replace(sample, sample_seed=1)) == [
        "limit: the run has a sample of 3 (--limit 3), requested a sample of 3 (--limit 3 --seed 1)"
        " (one is no part of the other)"
    ]
    for larger in (replace(first, limit=9), replace(first, limit=None)):
        assert first.differences(larger) == larger.differences(first) == []


@pytest.mark.parametrize(
    ("change", "limits"),
    [
        ({}, ""),
        ({"limit": 3, "sample_seed": 0}, "3 of each relation (sampled)"),
        ({"limit": 3}, "3 of each relation (the first)"),
        ({"limit": 4, "sample_seed": 0, "n_probe_relations": 3}, ""),  # no relation has more
        ({"n_probe_relations": 60}, "3 of 60 relations"),
        ({"limit": 2, "sample_seed": 1, "n_probe_relations": 60}, "2 of each relation (sampled), 3 of 60 relations"),
    ],
)
def test_what_part_of_the_probe_a_run_is_of(change: dict[str, int], limits: str) -> None:
    made = make_manifest()
    count = change.get("limit", 4)
    relations = tuple(
        replace(r, n_instances=min(count, r.n_instances), n_in_probe=r.n_instances) for r in made.relations
    )
    assert replace(made, relations=relations, **change).limits() == limits


@pytest.mark.parametrize(("limit", "limits"), [(3, "3 of each relation (the first)"), (5, "")])
def test_what_part_a_run_is_of_that_does_not_know_the_probes_size(limit: int, limits: str) -> None:
    assert replace(make_manifest(), limit=limit).limits() == limits


def test_each_cause_is_named_with_both_values() -> None:
    stored = make_manifest(attention="sdpa")
    asked = make_manifest(dtype="bfloat16", attention="eager", start_token=StartToken("<bos>", 2))
    assert stored.differences(asked) == [
        "dtype: the run has float32, requested bfloat16",
        "attention: the run has sdpa, requested eager",
        "start token: the run has none, requested <bos>",
    ]


def test_another_dtype_is_named_first_and_not_what_follows_from_it() -> None:
    """The fingerprint is of the weights as they are loaded."""
    stored = make_manifest(dtype="float32", precision="tf32x3")
    asked = make_manifest(dtype="bfloat16", save_tokens=True)
    asked = replace(asked, model=replace(asked.model, weights_fingerprint="dd" * 32))
    assert stored.differences(asked) == [
        "dtype: the run has float32, requested bfloat16",
        "save tokens: the run has False, requested True",
    ]


def test_a_run_that_does_not_name_its_precision_has_ieee() -> None:
    stored, ieee, fast = (make_manifest(precision=precision) for precision in (None, "ieee", "tf32x3"))
    assert stored.differences(ieee) == ieee.differences(stored) == []
    assert stored.identity_hash == ieee.identity_hash != fast.identity_hash
    assert stored.differences(fast) == ["precision: the run has ieee, requested tf32x3 (--precision)"]
    assert fast.differences(ieee) == ["precision: the run has tf32x3, requested ieee (--precision)"]


def test_a_run_that_does_not_name_its_layers_has_the_models_own() -> None:
    stored, fused = make_manifest(), make_manifest(layers="fused")
    assert stored.identity_hash != fused.identity_hash
    about = "(norms, gated units, positions; CALPROBE_KERNELS)"
    assert stored.differences(fused) == [f"layers: the run has the model's own, requested fused {about}"]
    assert fused.differences(stored) == [f"layers: the run has fused, requested the model's own {about}"]


def test_what_follows_from_another_cause_is_not_named() -> None:
    """Another model has another tokenizer, another probe other relations and wordings."""
    stored = make_manifest(attention="sdpa")
    other = replace(
        make_manifest(dtype="bfloat16", attention="eager", path="masked", pll_metric="original"),
        model=ModelRecord("other", kind="masked", weights_fingerprint="dd" * 32, tokenizer_fingerprint="ee" * 32),
    )
    assert stored.differences(other) == [
        "model weights: the run has tiny (aaaaaaaaaaaa), requested other (dddddddddddd)",
        "dtype: the run has float32, requested bfloat16",
    ]
    probe = replace(
        make_manifest([("P9", 1, 2)], (3,), attention="sdpa"),
        probe=SourceRecord("theirs", "ff" * 32),
        template_set=SourceRecord("theirs", "ee" * 32),
        limit=1,
        sample_seed=4,
    )
    assert stored.differences(probe) == ["probe: the run has made-up (bbbbbbbbbbbb), requested theirs (ffffffffffff)"]


def test_fields_that_are_only_recorded_make_no_other_run() -> None:
    one = make_manifest()
    other = replace(
        make_manifest(batch_tokens=4096, threads=8, device_name="another"),
        created="2027",
        versions={"torch": "9"},
        model=replace(one.model, name="./tiny", id="/elsewhere/tiny", adapter_merged=True),
        probe=replace(one.probe, name="renamed"),
        relations=one.relations[::-1],
    )
    assert one.differences(other) == []
    assert one.identity_hash == other.identity_hash


def test_another_wording_is_named_with_its_template() -> None:
    stored, asked = worded((0, 1)), worded((0, 1, 2))
    assert stored.differences(asked) == asked.differences(stored) == []
    other = worded((0, 2), own={("P36", 0): "[Y]: [X]"})
    assert [clause.partition("(")[0] for clause in stored.differences(other)] == ["template set: the run has native "]
    assert stored.differences(other)[0].endswith(" (template 0 of P36 differs)")


def test_sets_that_share_no_wording_must_have_one_name() -> None:
    stored, asked = worded((0,)), worded((1,))
    assert stored.differences(asked) == []
    renamed = replace(asked, template_set=replace(asked.template_set, name="mine"))
    assert [text.partition(":")[0] for text in stored.differences(renamed)] == ["template set"]
    # A file that has the wordings of the run, too, is as good.
    assert stored.differences(replace(worded((0, 1)), template_set=SourceRecord("mine"))) == []


@pytest.mark.parametrize(("one", "other", "differ"), [("cuda:0", "cuda:1", False), ("cpu", "cuda:0", True)])
def test_a_device_of_the_same_sort_goes_on(one: str, other: str, differ: bool) -> None:
    assert bool(make_manifest(device=one).differences(make_manifest(device=other))) is differ


def test_pieces_go_relation_by_relation_and_relations_are_found_by_name() -> None:
    manifest = make_manifest((("B", 1, 2), ("A", 1, 2)), (0, 5))
    assert manifest.pieces == (("B", 0), ("B", 5), ("A", 0), ("A", 5))
    assert manifest.relation("A") == RelationRecord("A", 1, 2, "N:1", ("Made-up",))
    with pytest.raises(KeyError):
        manifest.relation("C")
