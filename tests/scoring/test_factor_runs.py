"""FACTOR from its file to a report, with a tiny random model: what is scored, what is cut, what is refused."""

from __future__ import annotations

import csv
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import save_tiny_masked_model, save_tiny_model
from tolerances import TINY_SCORE, TINY_SUM

import calprobe.scoring.scored_pieces as pieces_module
from calprobe.analysis import ReportOptions, report
from calprobe.errors import CalprobeError, UsageError
from calprobe.interop import exports
from calprobe.interop.lm_pub_quiz_export import export_lm_pub_quiz
from calprobe.metrics import Resampling
from calprobe.models import LoadedModel, load_model
from calprobe.probes import Probe, load_probe
from calprobe.probes.factor import COMPLETIONS, CONTEXT
from calprobe.runs import PieceScores, Run, RunFolder, open_run
from calprobe.scoring import Interrupted, ScoreOptions, score
from calprobe.statements import join, statements_of

MADE_UP = Path(__file__).resolve().parent.parent / "data" / "factor" / "made_up.csv"
VALUES = ReportOptions(resampling=Resampling(0))
POSITIONS = 256  # of the tiny model; its tokens are bytes


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(str(save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")))


@pytest.fixture(scope="module")
def run(model: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return score(model, MADE_UP, tmp_path_factory.mktemp("run") / "complete", ScoreOptions(save_tokens=True))


@torch.inference_mode()
def completion_scores(model: LoadedModel, context: str, completion: str) -> list[float]:
    """The definition, written out: start token, the last bytes that fit, log p of each byte from the joint on."""
    text, _, (joint, _) = join(context, completion)
    ids = model.tokenizer(text, add_special_tokens=False)["input_ids"][-(POSITIONS - 1) :]
    logprobs = model.network(torch.tensor([[model.start_token_id, *ids]])).logits[0].log_softmax(-1)
    n_scored = len(text[joint:].encode())
    return [float(logprobs[place, ids[place]]) for place in range(len(ids) - n_scored, len(ids))]


def column(piece: PieceScores, name: str) -> np.ndarray:
    values = piece.column(name)
    assert values is not None
    return values


def check_scores(run: Run, probe: Probe, model: LoadedModel) -> None:
    (relation,), (piece,) = probe.relations, run.pieces
    pairs = [(instance, text) for instance in relation.instances for text in relation.candidates_of(instance)]
    assert piece.n_statements == len(pairs)
    for row, (instance, text) in enumerate(pairs):
        expected = completion_scores(model, instance.subject, text)
        assert column(piece, "n_tokens")[row] == len(expected)
        assert column(piece, "sum")[row] == pytest.approx(sum(expected), abs=TINY_SUM)
        assert column(piece, "mean")[row] == pytest.approx(np.mean(expected), abs=TINY_SCORE)
        assert (piece.instance[row], piece.candidate[row]) == (instance.index, row % 4)
        assert piece.answer_idx[row] == instance.answer_idx


@pytest.mark.parametrize("path", ["tree", "padded", "plain"])
def test_scores_are_those_of_the_completions(path: Any, model: LoadedModel, tmp_path: Path) -> None:
    run = score(model, MADE_UP, tmp_path / "run", ScoreOptions(path=path, batch_tokens=300))
    check_scores(run, load_probe(MADE_UP), model)
    (piece,) = run.pieces
    for one, other in (("sum", "sum_answer"), ("mean", "mean_answer"), ("n_tokens", "n_answer")):
        assert np.array_equal(column(piece, one), column(piece, other))


def test_the_manifest_says_what_was_scored(run: Run) -> None:
    (record,) = run.manifest.relations
    assert (record.name, record.n_instances, record.n_candidates) == ("made_up", 5, 4)
    assert (record.scored, run.cut_contexts, record.texts) == ("completion", {}, ("[X] [Y]",))
    assert (run.manifest.probe.name, run.manifest.template_set.name) == ("made_up", "native")
    relation = load_probe(MADE_UP).relations[0]
    scored = sum(len(s.text[slice(*s.answer)].encode()) for s in statements_of(relation, "[X] [Y]"))
    assert (run.progress.statements, run.progress.tokens) == (20, scored)
    assert open_run(run.path).manifest == run.manifest


def test_saved_tokens_are_the_completions(run: Run, model: LoadedModel) -> None:
    table = next(iter(exports.token_tables(run))).to_pydict()
    relation = load_probe(MADE_UP).relations[0]
    for row, statement in enumerate(statements_of(relation, "[X] [Y]")):
        own = [i for i in range(len(table["token"])) if (table["instance"][i], table["candidate"][i]) == divmod(row, 4)]
        text = model.tokenizer.convert_tokens_to_string([table["token"][i] for i in own])
        assert text == statement.text[slice(*statement.answer)]
        assert [table["position"][i] for i in own] == list(range(len(own)))
        assert {table["role"][i] for i in own} == {"answer"}


def test_a_report_is_of_the_sum_or_the_mean(run: Run) -> None:
    for reduction in ("sum", "mean"):
        (found,) = report(run, replace(VALUES, reduction=reduction)).runs
        scores = column(run.pieces[0], reduction).reshape(5, 4)
        p = np.exp(scores - scores.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        right = (p.argmax(1) == run.pieces[0].answer_idx[::4]).astype(float)
        top = np.sort(p, axis=1)
        estimators = {estimator.name: estimator.metrics for estimator in found.estimators}
        # The columns of the paper's Table 6.
        assert found.accuracy is not None
        assert found.accuracy.value == pytest.approx(right.mean())
        for name, confidence in (("base", top[:, -1]), ("margin", top[:, -1] - top[:, -2])):
            assert estimators[name]["brier"].value == pytest.approx(((confidence - right) ** 2).mean())
            assert "ace" in estimators[name]
        assert found.facts.candidates == (4, 4)


def write_long(path: Path, lengths: list[int], completion: str = "ends here.") -> Path:
    """Contexts of that many letters."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([CONTEXT, *COMPLETIONS])
        for number, length in enumerate(lengths):
            context = ("abcdefgh " * 99)[: length - 1] + str(number)
            writer.writerow([context, completion, "stops here, or there.", "ends.", "is over."])
    return path


def test_long_contexts_are_cut_from_the_left_and_counted(model: LoadedModel, tmp_path: Path) -> None:
    file = write_long(tmp_path / "long.csv", [100, 240, 250, 600])
    run = score(model, file, tmp_path / "run")
    check_scores(run, load_probe(file), model)
    # 255 bytes beside the start token: of the second only the longest statement is too long (240 + 22).
    assert run.cut_contexts == {"long": 3}
    assert report(run, VALUES).runs[0].instances == 4
    assert score(model, file, tmp_path / "first", ScoreOptions(first=1)).cut_contexts == {}


def test_a_completion_that_does_not_fit_names_its_instance(model: LoadedModel, tmp_path: Path) -> None:
    file = write_long(tmp_path / "long.csv", [10, 20], completion="so " * 90)
    said = r"^long, template 0, instance \d, candidate 'so so .*: statement .* completion alone has 272 tok"
    with pytest.raises(CalprobeError, match=said):
        score(model, file, tmp_path / "run")


def test_a_stopped_run_goes_on(model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_long(tmp_path / "long.csv", [100, 600])
    complete = score(model, file, tmp_path / "complete").table()

    def stop(self: RunFolder, piece: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "write_piece", stop)
    with pytest.raises(Interrupted, match="1 of 1 pieces are left"):
        score(model, file, tmp_path / "run")
    monkeypatch.undo()
    run = score(model, file, tmp_path / "run")
    np.testing.assert_array_equal(run.table().scores, complete.scores)
    assert run.cut_contexts == {"long": 1}
    again = score(model, file, tmp_path / "run")
    assert again.manifest == run.manifest
    # A sample is a part of what is there: nothing is scored, and the run stays as it is.
    assert score(model, file, tmp_path / "run", ScoreOptions(limit=1)).manifest == run.manifest
    longer = write_long(tmp_path / "longer.csv", [100, 600, 50])
    with pytest.raises(UsageError, match="probe: the run has"):
        score(model, longer, tmp_path / "run")


def test_stretches_of_a_long_piece_are_reported_and_change_nothing(
    model: LoadedModel, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pieces_module, "_STRETCH", 100)
    monkeypatch.setattr("calprobe.progress._SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr("calprobe.progress._SECONDS_TO_THE_FIRST", 0.0)
    with caplog.at_level(logging.INFO, "calprobe"):
        parts = score(model, MADE_UP, tmp_path / "parts")
    said = [record.getMessage().partition(",")[0] for record in caplog.records if "tokens/s" in record.getMessage()]
    assert said == [f"{done} of 20 statements" for done in (4, 8, 12, 16, 20)]
    np.testing.assert_allclose(parts.table().scores, run.table().scores, atol=TINY_SUM)


def test_the_first_rows(model: LoadedModel, run: Run, tmp_path: Path) -> None:
    first = score(model, MADE_UP, tmp_path / "run", ScoreOptions(first=2))
    assert first.table().instance.tolist() == [0, 1]
    np.testing.assert_allclose(first.table().scores[0], run.table().scores[0, :8], atol=TINY_SUM)


def test_masked_models_are_refused_before_their_weights_are_read(tmp_path: Path) -> None:
    folder = save_tiny_masked_model(tmp_path / "masked")
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(UsageError, match="a masked language model, but probe made_up scores completions of contexts"):
        score(str(folder), MADE_UP, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_there_are_no_templates_to_choose(model: LoadedModel, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--template-set calprobe: probe made_up has contexts and completions"):
        score(model, MADE_UP, tmp_path / "run", ScoreOptions(template_set="calprobe"))
    with pytest.raises(UsageError, match="no template 1 for made_up"):
        score(model, MADE_UP, tmp_path / "run", ScoreOptions(templates="1"))
    run = score(model, MADE_UP, tmp_path / "run", ScoreOptions(template_set="native", templates="all", limit=1))
    assert [template.number for template in run.manifest.templates] == [0]


def test_lm_pub_quiz_has_no_form_for_it(run: Run, tmp_path: Path) -> None:
    with pytest.raises(CalprobeError, match="one answer space a relation, but each context of probe made_up"):
        export_lm_pub_quiz(run, tmp_path / "out", probe=load_probe(MADE_UP))
    assert not (tmp_path / "out").exists()


def test_other_texts_are_another_run(model: LoadedModel, tmp_path: Path) -> None:
    score(model, MADE_UP, tmp_path / "run", ScoreOptions(limit=1))
    changed = MADE_UP.read_text(encoding="utf-8").replace("wax for their shells", "wax for their wings")
    (tmp_path / "made_up.csv").write_text(changed, encoding="utf-8")
    with pytest.raises(UsageError, match="probe: the run has made_up"):
        score(model, tmp_path / "made_up.csv", tmp_path / "run", ScoreOptions(limit=1))


def test_runs_of_statements_say_so(model: LoadedModel, tmp_path: Path) -> None:
    run = score(model, "mini", tmp_path / "run", ScoreOptions(relations=("month",), limit=1))
    assert (run.manifest.relations[0].scored, run.cut_contexts) == ("statement", {})
    assert not replace(open_run(tmp_path / "run").manifest, relations=()).scores_completions
