"""Slices by a column of a file: a plain group-by of the exported confidences, and SciPy's correlations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import calprobe
from compared_runs import run_of
from printed_tables import printed
from scipy.stats import spearmanr

from calprobe.analysis import ReportOptions, RunSlices, SliceOptions, report
from calprobe.confidence import confidences
from calprobe.errors import UsageError
from calprobe.measures.covariates import read_covariate
from calprobe.measures.number_text import number
from calprobe.metrics import Resampling
from calprobe.runs import open_run
from calprobe.show.tables import tidy_csv
from calprobe.show.tables.cell_text import cell_text
from calprobe.studies.scored.report_tables import report_sections

QUICK = Resampling(8)


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_of(tmp_path_factory.mktemp("runs") / "complete")


@pytest.fixture(scope="module")
def rows(run_path: str) -> pd.DataFrame:
    """Confidences with a made-up count of each fact, which some lack, and its parity."""
    found = confidences(open_run(run_path)).astype({"correct": float})
    count = (found["instance"] * 7 + found["relation"].map({"P30": 1, "P36": 5, "P1376": 2})) % 11
    return found.assign(count=count.where(count != 3), parity=np.where(count % 2 == 0, "even", "odd"))


@pytest.fixture(scope="module")
def path(rows: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("covariates") / "counts.csv"
    base = rows[rows["estimator"] == "base"]
    base[["relation", "instance", "count", "parity"]].sample(frac=1, random_state=0).to_csv(file, index=False)
    return str(file)


def sliced(run: str, named: str, groups: int = 3, **options: object) -> RunSlices:
    asked = SliceOptions(read_covariate(named, groups), ("base", "average_min"))
    (found,) = report(run, ReportOptions(slices=asked, resampling=QUICK, **options)).runs  # type: ignore[arg-type]
    assert found.slices is not None
    return found.slices


def test_groups_of_numbers_are_a_group_by(run_path: str, path: str, rows: pd.DataFrame) -> None:
    found = sliced(run_path, f"{path}:count")
    base = rows[rows["estimator"] == "base"]
    codes = pd.qcut(base["count"], 3, labels=False, duplicates="drop")
    expected = [base[codes == code] for code in sorted(codes.dropna().unique())] + [base[base["count"].isna()]]
    assert [part.instances for part in found.slices] == [len(own) for own in expected]
    assert found.slices[-1].name == "no count"
    assert found.lacking == len(expected[-1]) > 0
    for part, own in zip(found.slices, expected, strict=True):
        assert part.relations == tuple(sorted(own["relation"].unique(), key=lambda name: int(name[1:])))
        assert part.ends == (None if part.name == "no count" else (own["count"].min(), own["count"].max()))
        gap = (own["confidence"] - own["correct"]).mean()
        brier = ((own["confidence"] - own["correct"]) ** 2).mean()
        assert part.accuracy is not None
        assert part.accuracy.value == pytest.approx(own["correct"].mean(), abs=1e-12)
        assert part.estimators["base"]["confidence_gap"].value == pytest.approx(gap, abs=1e-12)
        assert part.estimators["base"]["brier"].value == pytest.approx(brier, abs=1e-12)


def test_trends_are_scipys(run_path: str, path: str, rows: pd.DataFrame) -> None:
    found = sliced(run_path, f"{path}:count")
    for name, trend in found.trends.items():
        own = rows[(rows["estimator"] == name) & rows["count"].notna()]
        gap = own["confidence"] - own["correct"]
        for estimate, values in (
            (trend.correct, own["correct"]),
            (trend.confidence, own["confidence"]),
            (trend.gap, gap),
        ):
            assert estimate.value == pytest.approx(spearmanr(own["count"], values).statistic, abs=1e-12)
            assert estimate.low <= estimate.high
        assert trend.instances == len(own)
    scaled = sliced(run_path, _scaled(path))
    # Ranks alone count: 1e-15 of everything changes no number.
    assert scaled.trends == found.trends


def test_a_trend_of_fewer_than_ten_instances_is_a_dash(run_path: str, path: str) -> None:
    """With nine instances there is their number, with ten a trend."""
    frame = pd.read_csv(path).dropna(subset="count").head(10)
    few = Path(path).with_name("few.csv")
    for rows in (9, 10):
        frame.head(rows).to_csv(few, index=False)
        asked = SliceOptions(read_covariate(f"{few}:count"), ("base",))
        found = report(run_path, ReportOptions(slices=asked, resampling=QUICK))
        (run,) = found.runs
        assert run.slices is not None
        trend = run.slices.trends["base"]
        assert trend.instances == rows
        assert np.isnan(trend.correct.value) == (rows == 9)
        (table,) = [table for table in report_sections(found) if table.stub == "rho with count"]
        assert [cell_text(cell) for cell in table.rows[0].cells][:2] == (
            ["9", "-"] if rows == 9 else ["10", number(trend.correct.value)]
        )


def _scaled(path: str) -> str:
    frame = pd.read_csv(path)
    small = Path(path).with_name("small.csv")
    frame.assign(count=frame["count"] * 1e-15)[["relation", "instance", "count"]].to_csv(small, index=False)
    return str(small)


def test_categories_have_the_numbers_of_the_slices_that_they_are(
    run_path: str, path: str, rows: pd.DataFrame, tmp_path: Path
) -> None:
    base = rows[rows["estimator"] == "base"]
    base.assign(name=base["relation"])[["relation", "instance", "name"]].to_csv(tmp_path / "same.csv", index=False)
    found = sliced(run_path, str(tmp_path / "same.csv"))
    options = ReportOptions(slices=SliceOptions("relation", ("base", "average_min")), resampling=QUICK)
    (alone,) = report(run_path, options).runs
    assert alone.slices is not None
    assert found.slices == alone.slices.slices
    assert not found.trends
    parity = sliced(run_path, f"{path}:parity")
    assert [part.name for part in parity.slices] == ["even", "odd"]


def test_rows_of_a_limited_run_may_be_others(run_path: str, path: str, tmp_path: Path) -> None:
    more = tmp_path / "more.csv"
    more.write_text(Path(path).read_text("utf-8") + "P999,0,5,odd\nP30,77,5,odd\n", "utf-8")
    with pytest.raises(UsageError, match=r"no relation/instance P999/0, P30/77 \(2 unknown rows"):
        sliced(run_path, f"{more}:parity")
    part = run_of(tmp_path / "part", change=lambda manifest: replace(manifest, n_probe_relations=9))
    assert sliced(part, f"{more}:parity").slices == sliced(run_path, f"{path}:parity").slices
    of_questions = tmp_path / "questions.csv"
    of_questions.write_text("question,x\n1,2\n", "utf-8")
    with pytest.raises(UsageError, match="values of questions"):
        sliced(run_path, str(of_questions))
    subjects = tmp_path / "subjects.csv"
    subjects.write_text("subject,x\nFrance,2\n", "utf-8")
    with pytest.raises(UsageError, match=r"subjects of .* are not known here"):
        sliced(run_path, str(subjects))


def test_tables_and_json(run_path: str, path: str) -> None:
    options = ReportOptions(slices=SliceOptions(read_covariate(f"{path}:count", 2)), resampling=QUICK)
    found = report(run_path, options)
    text = " ".join(printed(report_sections(found)).split())
    assert "numbers, cut at quantiles of these instances into 2 groups, equal ones together." in text
    assert "without count there: a slice of their own." in text
    assert "rho with count" in text
    asked = found.to_json()[run_path]
    assert list(asked["slices"]) == ["count"]
    assert asked["covariate"]["column"] == "count"
    assert asked["covariate"]["kind"] == "numbers"
    assert set(asked["covariate"]["trend"]["base"]) == {"instances", "correct", "confidence", "confidence_gap"}
    low = asked["slices"]["count"]
    assert [("low" in part) for part in low.values()] == [True, True, False]
    csv = tidy_csv(report_sections(found))
    assert "rho_confidence_gap" in csv
    assert "no count" in csv


def test_the_option(run_path: str, path: str, tmp_path: Path) -> None:
    kinds = tmp_path / "kinds.csv"
    kinds.write_text("subject,kind\nA,old\n", "utf-8")
    done = calprobe(
        "report", run_path, "--by", f"{path}:count", "--by-groups", 2, "--bootstrap", 0, "--estimator", "base"
    )
    assert done.returncode == 0, done.stderr
    assert "counts.csv" in done.stdout
    for arguments, said in (
        (("--by", "domian"), "did you mean domain?"),
        (("--by", "domain", "--by-groups", 2), "--by-groups cuts numbers of a file"),
        (("--by-groups", 2), "--by-groups"),
        (("--by", kinds, "--by-groups", 2), "--by-groups cuts numbers; kind of kinds.csv has categories"),
        (("--by", "nothing.csv"), "no such file"),
    ):
        refused = calprobe("report", run_path, *arguments)
        assert refused.returncode != 0
        assert said in refused.stderr
