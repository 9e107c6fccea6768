"""Asked runs by a covariate of their questions: the numbers of a run of these questions alone, and SciPy's trends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import asked_replies as made
import numpy as np
import pytest
from scipy.stats import spearmanr

from calprobe.cells.asked import Asked
from calprobe.errors import UsageError
from calprobe.measures.covariates import QUESTION_GROUP, QUESTION_KIND, Covariate, read_covariate
from calprobe.measures.options import ReportOptions, SliceOptions
from calprobe.measures.slices import RunSlices
from calprobe.metrics import Resampling
from calprobe.presentation.report_pages import asked_page
from calprobe.show.tables import tidy_csv
from calprobe.studies.asked.asked_choice import choose_asked
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.figures import pictures
from calprobe.studies.asked.report_asked import report_asked

N = 48
QUICK = ReportOptions(resampling=Resampling(20))


def run(n: int = N, samples: int = 1, prefix: str = "q") -> Asked:
    """Questions prefix0, prefix1, .. under two variants; some replies are no answer, some confidences are words."""
    rng = np.random.default_rng(3)
    questions = [made.choice(f"{prefix}{at}", int(rng.integers(4))) for at in range(n)]
    replies = []
    for variant in ("plain", "other"):
        for question in questions:
            for sample in range(samples):
                letter = "ABCD"[int(rng.integers(4))] if rng.random() < 0.9 else "no idea"
                scores = made.scores(rng.dirichlet(np.ones(5))[:4].tolist())
                answer = made.reply(question.id, letter, variant=variant, label_scores=scores, token_ids=(made.FORM,))
                said = f"{rng.random():.2f}" if rng.random() < 0.8 else "sure"
                stated = made.reply(question.id, said, variant=variant, stage="stated:decimal")
                replies += [
                    replace(own, sample=sample, key=f"{own.key}{sample}{question.id}") for own in (answer, stated)
                ]
    return made.asked(questions, replies)


def test_a_mean_over_groups_that_are_all_right_is_no_more_sure_than_its_groups() -> None:
    questions = [replace(made.choice(f"q{at}"), group=("physics", "law")[at % 2]) for at in range(24)]
    replies = [made.reply(own.id, "A", label_scores=made.scores([0.7, 0.1, 0.1, 0.1])) for own in questions]
    options = replace(QUICK, slices=SliceOptions(QUESTION_GROUP))
    (report,) = report_asked([made.asked(questions, replies)], options).runs
    slices = report.sets["quiz"].cells["plain"].slices
    assert slices is not None
    macro, micro = slices.averages["macro"], slices.averages["micro"]
    for one, other in (
        (macro.accuracy, micro.accuracy),
        *(
            (macro.estimators["label"][name], micro.estimators["label"][name])
            for name in ("accuracy", "confidence_gap")
        ),
    ):
        assert one is not None
        assert other is not None
        assert (one.low, one.high) == pytest.approx((other.low, other.high))
        assert one.low < one.high


def test_groups_of_questions_are_slices_without_a_file() -> None:
    asked = run()
    grouped = tuple(
        replace(question, group=("", "physics", "law")[at % 3]) for at, question in enumerate(asked.sets[0].questions)
    )
    named = replace(asked, sets=(replace(asked.sets[0], questions=grouped),))
    (report,) = report_asked([named], replace(QUICK, slices=SliceOptions(QUESTION_GROUP))).runs
    slices = report.sets["quiz"].cells["plain"].slices
    assert slices is not None
    assert [(part.name, part.questions) for part in slices.slices] == [("law", 16), ("physics", 16), ("no group", 16)]
    law = only(asked, {question.id for question in grouped if question.group == "law"})
    (alone,) = report_asked([law], QUICK).runs
    cell = alone.sets["quiz"].cells["plain"]
    assert slices.slices[0].accuracy.value == cell.accuracy[cell.reader].value.value
    with pytest.raises(UsageError, match=r"--by group: no question of .* has a group; write one into"):
        report_asked([asked], replace(QUICK, slices=SliceOptions(QUESTION_GROUP)))


def test_the_note_on_accuracy_says_whose_answers_estimators_are_of() -> None:
    by_kind = replace(QUICK, slices=SliceOptions(QUESTION_KIND))
    for options, own in ((by_kind, True), (replace(by_kind, compat="audit2026"), False)):
        table = next(table for table in asked_tables(report_asked([run()], options)) if table.kind == "slices")
        (note,) = [note for note in table.notes if note.startswith("Accuracy: of what ")]
        # By the paper's rules they are of the letter read.
        assert ("with label probabilities the most probable label" in note) == own


def test_averages_over_groups_and_over_questions() -> None:
    asked = run(120)
    groups = ["law" if at < 90 else "physics" if at < 114 else "" for at in range(120)]
    named = tuple(
        replace(question, group=group) for question, group in zip(asked.sets[0].questions, groups, strict=True)
    )
    asked = replace(asked, sets=(replace(asked.sets[0], questions=named),))
    (report,) = report_asked(
        [asked], ReportOptions(resampling=Resampling(2000), slices=SliceOptions(QUESTION_GROUP))
    ).runs
    cell = report.sets["quiz"].cells["plain"]
    assert cell.slices is not None
    law, physics, _ = cell.slices.slices
    macro, micro = cell.slices.averages["macro"], cell.slices.averages["micro"]
    assert macro.accuracy is not None
    assert law.accuracy is not None
    assert physics.accuracy is not None
    shares = law.accuracy.value, physics.accuracy.value
    assert macro.accuracy.value == pytest.approx(sum(shares) / 2)
    # The variance of a mean of independent shares, in closed form.
    deviation = sum(share * (1 - share) / n for share, n in zip(shares, (90, 24), strict=True)) ** 0.5 / 2
    assert macro.accuracy.high - macro.accuracy.low == pytest.approx(2 * 1.96 * deviation, rel=0.1)
    for metric in ("brier", "ace", "confidence_gap", "auroc"):
        parts = [part.estimators["label"][metric].value for part in (law, physics)]
        assert macro.estimators["label"][metric].value == pytest.approx(sum(parts) / 2)
    assert macro.estimators["label"]["ace"].low <= macro.estimators["label"]["ace"].value
    assert micro.accuracy == cell.accuracy[cell.reader].value
    assert micro.estimators["label"]["ace"] == cell.estimators["label"].metrics["ace"]
    assert (macro.questions, micro.questions) == (114, 120)  # those without a group are in no group
    assert set(cell.to_json()["slice_averages"]) == {"macro", "micro"}


def test_kinds_of_questions_are_slices() -> None:
    (report,) = report_asked([run()], replace(QUICK, slices=SliceOptions(QUESTION_KIND))).runs
    slices = report.sets["quiz"].cells["plain"].slices
    assert slices is not None
    assert [(part.name, part.questions) for part in slices.slices] == [("choice", N)]
    assert slices.averages == {}  # of one group


def only(asked: Asked, names: set[str]) -> Asked:
    """The run of these questions alone."""
    kept = tuple(question for question in asked.sets[0].questions if question.id in names)
    return replace(
        asked,
        sets=(replace(asked.sets[0], questions=kept),),
        replies=tuple(reply for reply in asked.replies if reply.question in names),
    )


def covariate(folder: Path, values: dict[str, object], key: str = "question", groups: int = 3) -> Covariate:
    """A file of these values, written and read; a key of two columns has its cells in one text, with a comma."""
    path = folder / "values.csv"
    path.write_text(f"{key},count\n" + "".join(f"{name},{value}\n" for name, value in values.items()), "utf-8")
    return read_covariate(str(path), groups)


def slices_of(asked: Asked, by: Covariate, options: ReportOptions = QUICK) -> dict[str, RunSlices]:
    (report,) = report_asked([asked], replace(options, slices=SliceOptions(by))).runs
    found = {name: cell.slices for name, cell in report.sets["quiz"].cells.items()}
    assert all(own is not None for own in found.values())
    return {name: own for name, own in found.items() if own is not None}


@pytest.mark.parametrize("samples", [1, 3])
def test_a_slice_is_a_run_of_its_questions(tmp_path: Path, samples: int) -> None:
    asked = run(samples=samples)
    kinds = {f"q{at}": ("odd", "even")[at % 2 == 0] for at in range(N) if at % 5}
    by = covariate(tmp_path, kinds)
    found = slices_of(asked, by, replace(QUICK, slice_bins=20))
    for part in ("even", "odd", "no count"):
        names = {f"q{at}" for at in range(N) if kinds.get(f"q{at}", "no count") == part}
        (alone,) = report_asked([only(asked, names)], QUICK).runs
        for variant, slices in found.items():
            own = next(each for each in slices.slices if each.name == part)
            cell = alone.sets["quiz"].cells[variant]
            assert (own.instances, own.questions, own.chance_accuracy) == (cell.rows, len(names), cell.chance)
            assert own.accuracy == cell.accuracy[cell.reader].value
            for name, metrics in own.estimators.items():
                whole = cell.estimators[name]
                assert own.coverage[name] == whole.coverage
                assert metrics == {metric: whole.metrics[metric] for metric in metrics}
                calibration = {"ace", "confidence_gap", "brier", "smooth_ece"} & set(metrics)
                assert len(calibration) == (4 if whole.scale == "probability" else 0)
                assert "auroc" in metrics
    assert not found["plain"].trends
    assert found["plain"].lacking == N - len(kinds)


def test_groups_are_of_questions_and_trends_are_scipys(tmp_path: Path) -> None:
    """Three quantile groups, the same under both variants although some replies lack; rho over what has both."""
    asked = run()
    counts = {f"q{at}": (7 * at) % 31 for at in range(N)}
    some = replace(asked, replies=tuple(own for own in asked.replies if own.question != "q5" or own.variant == "plain"))
    found = slices_of(some, covariate(tmp_path, dict(counts)))
    assert [part.ends for part in found["plain"].slices] == [part.ends for part in found["other"].slices]
    assert sum(part.instances for part in found["plain"].slices) == N
    assert sum(part.instances for part in found["other"].slices) == N - 1
    (report,) = report_asked([some], QUICK).runs
    for opened in report.cells:
        values = np.array([counts[row.question.id] for row in opened.table.rows])
        for name, trend in found[opened.table.variant].trends.items():
            own = opened.confidences[name]
            kept = own.read
            assert trend.instances == int(kept.sum())
            for estimate, column in ((trend.correct, own.correct), (trend.confidence, own.confidence)):
                varies = trend.instances >= 10 and np.ptp(column[kept].astype(float)) > 0
                expected = spearmanr(values[kept], column[kept]).statistic if varies else float("nan")
                assert estimate.value == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("n", [9, 10])
def test_samples_of_a_question_are_no_further_instances_of_a_trend(tmp_path: Path, n: int) -> None:
    """Nine questions have no trend, however many samples; ten have that of all rows."""
    asked = run(n, samples=3)
    for own in slices_of(asked, covariate(tmp_path, {f"q{at}": at for at in range(n)})).values():
        trend = own.trends["label"]
        assert trend.instances == n
        assert np.isnan(trend.confidence.value) == (n == 9)


def test_files_of_facts_and_of_other_things(tmp_path: Path) -> None:
    facts = run(12, prefix="capital/")
    # A probe has facts that cannot be asked: their rows are no mistake.
    by = covariate(tmp_path, {f"capital,{at}": at for at in range(20)}, "relation,instance")
    by_id = covariate(tmp_path, {f"capital/{at}": at for at in range(12)})
    assert repr([own.slices for own in slices_of(facts, by).values()]) == repr(
        [own.slices for own in slices_of(facts, by_id).values()]
    )  # NaN is not equal to itself
    with pytest.raises(UsageError, match="values of facts, and no question of this run is one; for run give the col"):
        slices_of(run(12), by)
    with pytest.raises(UsageError, match=r"values of subjects; for run give the column question.*\n.*what confidences"):
        slices_of(run(12), covariate(tmp_path, {"France": 1}, "subject"))
    # Rows of questions that were held back or not drawn are no mistake; a file of other questions alone is one.
    with_more = covariate(tmp_path, {f"q{at}": at for at in (*range(12), 99)})
    assert sum(own.questions for own in slices_of(run(12), with_more)["plain"].slices) == 12
    with pytest.raises(UsageError, match=r"run has no question q99 \(1 unknown row of 1\)\n.*what confidences"):
        slices_of(run(12), covariate(tmp_path, {"q99": 1}))
    of_sets = covariate(tmp_path, {f"quiz,q{at}": at for at in range(12)}, "set,question")
    assert len(slices_of(run(12), of_sets)["plain"].slices) == 3


def test_tables_json_and_page(tmp_path: Path) -> None:
    by = covariate(tmp_path, {f"q{at}": at for at in range(N - 4)})
    report = report_asked([run(samples=2)], replace(QUICK, slices=SliceOptions(by)))
    table, gaps, trend = (own for own in asked_tables(report) if own.kind == "slices")
    assert "plain, label" in {row.group for row in gaps.rows}
    assert [column.title for column in table.columns[:4]] == ["n", "questions", "accuracy", "chance"]
    assert [row.label for row in table.rows] == ["0 to 14", "15 to 28", "29 to 43", "no count"] * 2
    assert "4 questions without count there: a slice of their own." in table.notes
    assert trend.stub == "rho with count"
    csv = tidy_csv([table, trend])
    assert "rho_confidence_gap" in csv
    assert "no count" in csv
    found = report.to_json()["run"]["sets"]["quiz"]["variants"]["plain"]
    assert found["covariate"]["without_value"] == 4
    assert found["slices"]["count"]["0 to 14"]["n"] == 30
    assert found["slices"]["count"]["0 to 14"]["high"] == 14
    page = asked_page(report, {"run": pictures(report.runs[0], report.options)})
    assert "rho with count" in page
    chosen = choose_asked(report, ["label"], None)
    table, gaps, trend = (own for own in asked_tables(chosen) if own.kind == "slices")
    assert {row.keys["estimator"] for row in gaps.rows} == {"label"}
    assert {column.heading for column in table.columns} == {"", "label"}
    assert [row.label for row in trend.rows] == ["label"] * 2
    assert found["slice_gaps"]["label"]["slices"]["0 to 14"]["n"] == 30
    plain = report_asked([run()], QUICK).to_json()["run"]["sets"]["quiz"]["variants"]["plain"]
    assert not {"slices", "slice_gaps", "covariate"} & set(plain)
