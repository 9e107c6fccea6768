"""`score` with a larger request for the folder that is there: what is missing is scored, and nothing else."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from proofs import few_of
from scored_samples import PROBE
from tiny_models import save_tiny_masked_model, save_tiny_model
from tolerances import TINY_SUM

from calprobe.errors import UsageError
from calprobe.models import LoadedModel, load_model
from calprobe.probes import Instance, Probe, Relation
from calprobe.runs import Run, open_run
from calprobe.runs.merge import merge_runs
from calprobe.scoring import ScoreOptions, back_off, score
from calprobe.scoring.scored_pieces import PreparedGroup

COUNTRIES = ("France", "Italy", "Norway", "Peru", "Japan", "China")
SMALL = Probe(
    name="small",
    relations=(
        Relation(
            name="capital",
            candidates=("Paris", "Rome", "Oslo", "Lima", "Tokyo", "Beijing"),
            instances=tuple(Instance(place, country, place) for place, country in enumerate(COUNTRIES)),
            templates=("The capital of [X] is [Y].", "[Y] is the capital of [X].", "[X], of which [Y] is the capital."),
        ),
        Relation(
            name="continent",
            candidates=("Europe", "Asia", "America"),
            instances=tuple(Instance(place, c, (0, 0, 0, 2, 1, 1)[place]) for place, c in enumerate(COUNTRIES)),
            templates=("[X] lies in [Y].", "[Y] is where [X] lies.", "[X], in [Y], is a country."),
        ),
        Relation(
            name="month",
            candidates=("May", "June"),
            instances=(Instance(0, "spring", 0), Instance(1, "summer", 1)),
            templates=("[X]: [Y].", "[Y]: [X].", "[X] has [Y]."),
        ),
    ),
    fingerprint="e" * 64,
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(str(save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")))


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(str(save_tiny_masked_model(tmp_path_factory.mktemp("model") / "bert")))


def scored(model: LoadedModel, out: Path, probe: Probe = SMALL, **options: Any) -> Run:
    asked = {"limit": 3, "batch_tokens": 100, "quiet": True} | options
    return score(model, probe, out, ScoreOptions(**asked))


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The statements of each group that is run meanwhile."""
    run, found = back_off.score_group, []

    def count(group: PreparedGroup, *rest: Any) -> Any:
        found.append(sum(piece.rows.n_statements for piece in group.pieces))
        return run(group, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(back_off, "score_group", count)
        yield found


def shards(run: Run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((run.path / "shards").iterdir())}


def assert_near(run: Run, once: Run) -> None:
    """Same rows in the same order, and scores that differ by rounding alone."""
    assert run.manifest.identity_hash == once.manifest.identity_hash
    found, wanted = run.table(), once.table()
    np.testing.assert_allclose(found.scores, wanted.scores, rtol=0, atol=TINY_SUM)
    for name in ("offsets", "answer_idx", "relation", "instance"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


PATHS = [(kind, path) for kind in ("causal", "masked") for path in (None, "plain")]


@pytest.mark.parametrize(("kind", "path"), few_of(PATHS, lambda kind, path: kind == "causal" or path is None))
def test_more_templates_are_the_bytes_of_one_request(
    model: LoadedModel, masked: LoadedModel, kind: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = model if kind == "causal" else masked
    # Some groups for each template. A masked model has a row for each token, and one row in each of so small batches.
    options = {"save_tokens": True, "path": path, "limit": 2, "batch_tokens": 100 if kind == "causal" else 1000}
    once = scored(scorer, tmp_path / "once", templates="0,1,2", **options)
    first = scored(scorer, tmp_path / "run", templates="1", **options)
    before, n_before = shards(first), first.progress.statements
    with counted(monkeypatch) as groups:
        grown = scored(scorer, tmp_path / "run", templates="0,1,2", **options)
    assert sum(groups) == once.progress.statements - n_before
    assert before.items() <= shards(grown).items()
    assert shards(grown) == shards(once)
    assert (grown.progress.pieces, grown.progress.statements, grown.progress.tokens) == (
        once.progress.pieces,
        once.progress.statements,
        once.progress.tokens,
    )
    assert grown.manifest.identity_hash == once.manifest.identity_hash


GROWTHS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a larger sample": ({"limit": 2}, {"limit": 5}),
    "all": ({"limit": 2}, {"limit": None}),
    "first": ({"limit": None, "first": 2}, {"limit": None, "first": 5}),
    "first to all": ({"limit": None, "first": 2}, {"limit": None}),
    "relations": ({"relations": ("month",)}, {}),
    "a relation between": ({"relations": ("capital", "month")}, {}),
    "everything": ({"relations": ("month",), "limit": 1, "templates": "1"}, {"templates": "0,1"}),
}


QUICK = ("a larger sample", "first to all", "relations", "everything")


@pytest.mark.parametrize("how", few_of(GROWTHS, QUICK.__contains__))
def test_more_instances_or_relations_have_the_scores_of_one_request(
    model: LoadedModel, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = GROWTHS[how]
    once = scored(model, tmp_path / "once", save_tokens=True, **large)
    first = scored(model, tmp_path / "run", save_tokens=True, **small)
    pieces, n_before = first.pieces, first.progress.statements
    tokens_before = {piece.piece: first.read_tokens(piece) for piece in pieces}
    with counted(monkeypatch) as groups:
        grown = scored(model, tmp_path / "run", save_tokens=True, **large)
    assert sum(groups) == once.progress.statements - n_before
    assert_near(grown, once)
    assert grown.progress.pieces == len(grown.manifest.pieces)
    assert grown.progress.statements == once.progress.statements
    # What was there has not moved by a bit, tokens neither.
    for piece in pieces:
        after = next(p for p in grown.pieces if p.piece == piece.piece)
        kept = np.isin(after.instance, piece.instance)
        assert after.sum is not None
        assert piece.sum is not None
        assert after.sum[kept].tobytes() == piece.sum.tobytes()
        tokens, old = grown.read_tokens(after), tokens_before[piece.piece]
        lengths = np.repeat(kept, np.diff(tokens.offsets))
        assert tokens.logprobs[lengths].tobytes() == old.logprobs.tobytes()


@pytest.mark.proof
def test_step_by_step(model: LoadedModel, tmp_path: Path) -> None:
    """Templates, instances, relations, in turn."""
    once = scored(model, tmp_path / "once", templates="0,1", limit=None)
    for step in (
        {"relations": ("month",), "limit": 2, "templates": "0"},
        {"relations": ("month",), "limit": 2, "templates": "0,1"},
        {"relations": ("month",), "limit": 4, "templates": "0,1"},
        {"limit": 4, "templates": "0,1"},
        {"limit": None, "templates": "0,1"},
    ):
        grown = scored(model, tmp_path / "run", **step)
        assert not grown.partial
    assert len(grown.manifest.grew) == 4
    assert_near(grown, once)
    with pytest.raises(UsageError, match="in one run each relation is under each template"):
        scored(model, tmp_path / "run", relations=("month",), templates="0,1,2")


def test_a_smaller_request_scores_nothing(
    model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    large = shards(scored(model, tmp_path, templates="0,1"))
    manifest = (tmp_path / "manifest.json").read_bytes()
    for smaller in ({"templates": "0"}, {"limit": 1}, {"relations": ("month",), "templates": "1", "limit": 2}):
        with counted(monkeypatch) as groups, caplog.at_level(logging.INFO):
            run = scored(model, tmp_path, **smaller)
        assert groups == []
        assert shards(run) == large
        assert (tmp_path / "manifest.json").read_bytes() == manifest
        assert f"{tmp_path}: all that was asked for is there; the run has more" in caplog.messages
        caplog.clear()


def test_a_smaller_request_scores_only_what_it_asks_for(model: LoadedModel, tmp_path: Path) -> None:
    once = scored(model, tmp_path / "once", templates="0,1")
    run = scored(model, tmp_path / "run", templates="0,1")
    for shard in (run.path / "shards").iterdir():
        shard.unlink()
    part = scored(model, tmp_path / "run", templates="1", relations=("month",))
    assert shards(part) == {"month.t1.parquet": shards(once)["month.t1.parquet"]}
    assert shards(scored(model, tmp_path / "run", templates="0,1")) == shards(once)


def test_other_wordings_and_other_instances_are_refused(model: LoadedModel, tmp_path: Path) -> None:
    scored(model, tmp_path)
    before = shards(open_run(tmp_path)) | {"": (tmp_path / "manifest.json").read_bytes()}
    own = tmp_path.with_name("own.json")
    wordings = {relation.name: ["[X]: [Y]", "[Y]; [X]", "[Y] - [X]"] for relation in SMALL.relations}
    own.write_text(json.dumps({name: {"templates": texts} for name, texts in wordings.items()}))
    for options, said in (
        ({"template_set": str(own), "templates": "0,1"}, r"template set: .* \(template 0 of capital differs\)\.$"),
        (
            {"template_set": str(own), "templates": "1"},
            r"template set: the run has native \(\w+\), requested \S+ \(\w+\)\.$",
        ),
        ({"limit": None, "first": 5}, r"limit: the run has a sample of 3 .*\(one is no part of the other\)\.$"),
        (
            {"seed": 1},
            r"limit: the run has a sample of 3 \(--limit 3\), requested a sample of 3 \(--limit 3 --seed 1\)",
        ),
        (
            {"save_tokens": True, "templates": "0,1"},
            r"contains a different run\. save tokens: the run has False, requested True\.$",
        ),
        ({"probe": PROBE}, r"contains a different run\. probe: [^;]*\.$"),
    ):
        with pytest.raises(UsageError) as refused:
            scored(model, tmp_path, **options)
        assert refused.match("(?m)" + said)
    assert shards(open_run(tmp_path)) | {"": (tmp_path / "manifest.json").read_bytes()} == before


def test_runs_that_were_scored_apart_are_merged_into_the_one_of_one_request(model: LoadedModel, tmp_path: Path) -> None:
    once = scored(model, tmp_path / "once", templates="0,1", save_tokens=True)
    parts = [scored(model, tmp_path / f"t{n}", templates=n, save_tokens=True).path for n in ("0", "1")]
    merged = merge_runs(parts, tmp_path / "merged")
    assert shards(open_run(merged.path)) == shards(once)
    assert merged.manifest.identity_hash == once.manifest.identity_hash
    # The merged run is resumed, and grows, like any other.
    assert shards(scored(model, tmp_path / "merged", templates="0,1", save_tokens=True)) == shards(once)
