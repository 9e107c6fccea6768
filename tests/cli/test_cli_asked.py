"""Commands on asked runs, made by `import replies`: what is printed, what is written, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import calprobe
from run_samples import write_run

from calprobe.runs import AskManifest
from calprobe.runs.manifest_file import read_any_manifest, write_manifest
from calprobe.runs.manifest_records import ModelSize
from calprobe.studies.asked import lengths, results
from calprobe.studies.wording import results as wording_results

QUICK = ("--bootstrap", "20")
# Keys of a report, and how many levels below them are names.
NAMES = {
    **dict.fromkeys(("sets", "variants", "accuracy", "readings", "coverage", "confidences", "overconfidence"), 1),
    **dict.fromkeys(("spread", "spread_of", "means", "shifts", "wording", "reasons", "flags", "rules"), 1),
    **dict.fromkeys(("failed_by_stage", "failed_by_reason", "read_by"), 1),
    "estimators": 2,
    **dict.fromkeys(("graded_by", "parse_rate", "unread_answers", "failed_requests", "missing"), 9),
}


def questions(path: Path, n: int = 12) -> Path:
    file = path / "quiz.jsonl"
    rows = (
        {"id": f"q{at}", "question": f"What is {at}?", "options": ["one", "two", "three", "four"], "answer": at % 4}
        for at in range(n)
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


def replies(path: Path, n: int = 12) -> Path:
    rng = np.random.default_rng(1)
    rows = []
    for variant in ("plain", "other"):
        for at in range(n):
            masses = rng.dirichlet(np.ones(5))
            letter = "ABCD"[int(masses[:4].argmax())]
            rows.append(
                {
                    "set": "quiz",
                    "question": f"q{at}",
                    "variant": variant,
                    "text": f"The answer is {letter}." if at else "I do not know",
                    "labels": {own: float(np.log(mass)) for own, mass in zip("ABCD", masses, strict=False)},
                    "stated": round(float(rng.random()), 1) if at % 5 else "quite sure",
                }
            )
    file = path / "replies.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("asked")
    out = path / "run"
    done = calprobe(
        "import", "replies", replies(path), "--questions", questions(path), "--out", out, "--model", "their"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f"{out}: their, 12 questions, 2 variants\n")
    return str(out)


def test_the_report_names_what_it_left_out(run: str) -> None:
    done = calprobe("report", run, "--tables", "all", *QUICK)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert f"{run}: their, quiz (12 questions), 2 variants, complete" in said
    assert "answers: read by last_marker" in said
    assert "ECE: 10 bins" not in said  # in files alone
    in_a_file = calprobe("report", run, "--format", "markdown", *QUICK).stdout.replace("\\", "")
    assert "ECE: 10 bins of equal width" in in_a_file
    assert "parse rate: quiz, plain: stated_import 0.750" in in_a_file
    assert "threshold: parse rate 0.8; below it" in in_a_file


def test_the_json_is_that_of_the_contract(run: str) -> None:
    done = calprobe("report", run, "--json", *QUICK)
    found = json.loads(done.stdout)[run]
    assert found["kind"] == "asked"
    assert found["questions"] == 12
    cell = found["sets"]["quiz"]["variants"]["plain"]
    assert cell["coverage"]["stated_import"]["value"] == 0.75
    assert cell["readings"]["last_marker"]["unread"] == 1
    assert set(found["sets"]["quiz"]["spread"]) == {"last_marker", "first_char"}


def keys_of(found: object, names: int = 0) -> Iterator[str]:
    """The keys that are no names of sets, variants, readers, ..: of so many levels all are."""
    if isinstance(found, list):
        for each in found:
            yield from keys_of(each)
    if isinstance(found, dict):
        for key, value in found.items():
            if not names:
                yield key
            yield from keys_of(value, names - 1 if names else NAMES.get(key, 0))


def test_every_key_of_the_json_is_in_the_docs(run: str) -> None:
    found = json.loads(calprobe("report", run, "--json", *QUICK).stdout)[run]
    records = [own for module in (lengths, results, wording_results) for own in vars(module).values()]
    named = " ".join(getattr(record, "JSON", "") for record in records)
    keys = set(keys_of(found)) | {key.partition("=")[0] for key in named.split()}
    docs = (Path(__file__).parents[2] / "docs" / "reference" / "files.md").read_text("utf-8")
    section = docs.partition("### JSON of asked runs")[2].partition("\n## ")[0]
    assert len(keys) > 90
    assert not {key for key in keys if f"`{key}`" not in section} - {"value", "ci95"}  # of any estimate


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_every_format_has_the_numbers(run: str, form: str) -> None:
    done = calprobe("report", run, "--format", form, *QUICK, "--against", "audit2026")
    assert done.returncode == 0, done.stderr
    assert "label" in done.stdout
    assert "plain" in done.stdout
    assert "0.842" in done.stdout  # a published accuracy


def test_another_reader_first_changes_what_confidences_go_by(run: str) -> None:
    done = calprobe("report", run, "--json", *QUICK, "--reader", "first_char,last_marker")
    found = json.loads(done.stdout)[run]["disclosure"]
    assert found["readers"] == ["first_char", "last_marker"]


def test_the_papers_rules_are_named(run: str) -> None:
    found = json.loads(calprobe("report", run, "--json", *QUICK, "--compat", "audit2026").stdout)[run]
    assert found["disclosure"]["readers"][0] == "first_char"
    assert "audit2026" in found["disclosure"]["pairing"]


def test_page_and_figures_are_written(run: str, tmp_path: Path) -> None:
    page, plots = tmp_path / "report.html", tmp_path / "figures"
    done = calprobe("report", run, *QUICK, "--html", page, "--plots", plots)
    assert done.returncode == 0, done.stderr
    html = page.read_text("utf-8")
    assert html.startswith("<!DOCTYPE html>")
    assert "Disclosure" in html
    assert "Reliability on quiz" in html
    kinds = {path.name.split(".")[-2] for path in plots.iterdir()}
    assert kinds == {"reliability", "accuracy-rejection", "readers", "values"}
    again = tmp_path / "again.html"
    calprobe("report", run, *QUICK, "--html", again)
    assert again.read_bytes() == page.read_bytes()


def test_a_page_leads_to_the_replies_beside_it(run: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = calprobe("report", run, *QUICK, "--html", page, "--replies")
    assert done.returncode == 0, done.stderr
    assert 'href="report-replies.html#show=wrong"' in page.read_text("utf-8")
    assert (tmp_path / "report-replies.html").read_text("utf-8").startswith("<!doctype html>")
    assert "report-replies" not in calprobe("report", run, *QUICK).stdout
    refused = calprobe("report", run, *QUICK, "--replies")
    assert (refused.returncode, "--replies are a page beside --html FILE" in refused.stderr) == (2, True)


def test_slices_by_a_column_of_a_file(run: str, tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    counts.write_text("question,count\n" + "".join(f"q{at},{at}\n" for at in range(12)), "utf-8")
    given = ("--by", f"{counts}:count", "--by-groups", 2, "--estimator", "label")
    done = calprobe("report", run, *QUICK, *given, "--tables", "slices", "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert "0 to 5" in done.stdout
    assert "rho with count" in done.stdout
    assert "rho with count" in (tmp_path / "page.html").read_text("utf-8")
    found = json.loads(calprobe("report", run, *QUICK, *given, "--json").stdout)[run]["sets"]["quiz"]["variants"]
    assert found["plain"]["slices"]["count"]["6 to 11"]["estimators"]["label"]["ace"]["value"] >= 0
    assert found["plain"]["covariate"]["trend"]["label"]["instances"] == 12
    csv = calprobe("report", run, *QUICK, *given, "--format", "csv").stdout
    assert "rho_confidence_gap" in csv
    facts = tmp_path / "facts.csv"
    facts.write_text("relation,instance,count\nmonth,1,2\n", "utf-8")
    refused = calprobe("report", run, "--by", facts)
    assert refused.returncode == 2
    assert "facts.csv has values of facts, and no question of this run is one" in refused.stderr


@pytest.mark.parametrize("what", ["replies", "labels", "readings", "confidences"])
def test_every_table_is_exported(run: str, tmp_path: Path, what: str) -> None:
    out = tmp_path / "table.csv"
    done = calprobe("export", run, "--what", what, "--out", out)
    assert done.returncode == 0, done.stderr
    rows = out.read_text("utf-8").splitlines()
    assert rows[0].startswith('"set","question","variant"')
    assert len(rows) == {"replies": 49, "labels": 97, "readings": 73, "confidences": 73}[what]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--reduction", "mean"), "--reduction applies to runs of scores, and "),
        (
            ("--by", "domain"),
            "--by domain is of runs of scores; for runs of replies there are --by group, --by kind, --by tree",
        ),
        (("--graders", "judge"), "--graders judge: no answers of these runs have such grades; there are last_marker"),
        (("--by-groups", "2"), "--by-groups cuts numbers of a file; give --by FILE:COLUMN"),
        (("--tables", "slices"), "--tables slices: the report has no such table"),
        (("--compat", "kissling2026"), "--compat kissling2026 is of scores"),
        (("--against", "paper"), "--against paper is of scores"),
        (("--reader", "frist_char"), "no 'frist_char'; did you mean first_char"),
        (("--tables", "runs"), "--tables: runs of replies have no table 'runs'; --help lists them"),
        (("--tables", "matrix"), "--tables matrix: the report has no such table; it has answers, "),
        (("--estimator", "base"), "the report has no estimator base"),
        (("--width", "3"), "--look width applies to figures; give --plots DIR"),
        (("--parse-threshold", "2"), "Invalid value for '--parse-threshold'"),
        (("--window", "3"), "has no ranks of labels to apply a window to"),
    ],
)
def test_options_that_do_not_apply_are_refused(run: str, arguments: tuple[str, ...], said: str) -> None:
    done = calprobe("report", run, *QUICK, *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_scores_and_replies_are_reported_apart(run: str, tmp_path: Path) -> None:
    scored = str(write_run(tmp_path / "scored"))
    both = calprobe("report", run, scored, *QUICK, "--html", tmp_path / "both.html")
    assert both.returncode == 0
    assert both.stdout.startswith("2 runs of 2 tasks\n")
    assert "Models by tasks" in (tmp_path / "both.html").read_text()
    one_kind = calprobe("report", run, scored, "--estimator", "base")
    assert one_kind.returncode == 2
    assert "--estimator applies to runs of scores or runs of replies, and " in one_kind.stderr
    for arguments in (("--reader", "first_char"), ("--window", "5"), ("--parse-threshold", "0.5")):
        done = calprobe("report", scored, *QUICK, *arguments)
        assert done.returncode == 2
        assert (
            f"{arguments[0]} applies to runs of replies, and {scored} is a run of scores; leave it out" in done.stderr
        )
    for arguments in (("--compat", "audit2026"), ("--against", "audit2026")):
        done = calprobe("report", scored, *QUICK, *arguments)
        assert done.returncode == 2
        assert "audit2026 is of runs of replies" in done.stderr


def test_tables_of_the_other_kind_of_run_are_refused(run: str, tmp_path: Path) -> None:
    scored, out = write_run(tmp_path / "scored"), tmp_path / "x.csv"
    done = calprobe("export", run, "--what", "candidates", "--out", out)
    assert done.returncode == 2
    assert "--what candidates is of runs of scores" in done.stderr
    done = calprobe("export", scored, "--what", "replies", "--out", out)
    assert done.returncode == 2
    assert "--what replies is of runs of replies" in done.stderr


def test_curves_of_scores_say_what_to_use_instead(run: str, tmp_path: Path) -> None:
    done = calprobe("curve", run, "--kind", "options", "--out", tmp_path / "x.png")
    assert done.returncode == 2
    assert "--kind calibration" in done.stderr


def test_runs_of_replies_are_compared(run: str, tmp_path: Path) -> None:
    quick = ("--bootstrap", "20", "--json")
    other = tmp_path / "other"
    calprobe("import", "replies", replies(tmp_path, 10), "--questions", questions(tmp_path), "--out", other)
    page, figure = tmp_path / "page.html", tmp_path / "figure.svg"
    done = calprobe("compare", run, other, *quick, "--html", page, "--plot", figure, "--margin", ".1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (pair,) = found["pairs"]
    plain = pair["sets"]["quiz"][0]
    assert (plain["first"], plain["second"], plain["n"], plain["alone"]) == ("plain", "plain", 10, [2, 0])
    assert set(plain["accuracy"]) == {"last_marker"}
    assert set(plain["estimators"]["label"]) == {"brier", "ece", "auroc"}
    assert found["correction"] == "max-t"
    stated = pair["sets"]["quiz"][1]["estimators"]["stated_import"]["auroc"]
    assert plain["rows"]["stated_import"] == 8
    assert (stated["difference"]["ci95"], stated["difference"]["p"]) == (None, None), "fewer than ten"
    assert found["tests"] == 2 * (1 + 2), "accuracy, and Brier and ECE of an estimator; AUROC rests on too few"
    assert figure.is_file()
    assert "last_marker accuracy" in page.read_text("utf-8")
    done = calprobe("compare", run, "--variants", "plain:other", *quick)
    assert json.loads(done.stdout)["within"]["variants"]["quiz"][0]["n"] == 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--intersect",), "--intersect compares two runs"),
        (("--templates", "0:1"), "--templates applies to runs of scores, and "),
        (("--variants", "plain"), "--variants plain: give pairs of two variants"),
        (("--pairs", "plain:other"), "of one run of replies, give --variants A:B"),
        (("--baseline", "plian"), "--baseline: no 'plian'; did you mean plain"),
    ],
)
def test_options_of_compare_that_say_nothing_of_replies_are_refused(
    run: str, arguments: tuple[str, ...], said: str
) -> None:
    done = calprobe("compare", run, *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_run_of_replies_to_no_facts_is_not_compared_with_one_of_scores(run: str, tmp_path: Path) -> None:
    scored = write_run(tmp_path / "scored")
    done = calprobe("compare", run, scored)
    assert done.returncode == 2
    assert "no facts of a probe" in done.stderr
    assert calprobe("compare", scored, "--variants", "a:b").returncode == 2


def test_reliability_diagrams_are_a_curve(run: str, tmp_path: Path) -> None:
    out = tmp_path / "bins.csv"
    done = calprobe("curve", run, "--kind", "calibration", "--estimator", "label", "--out", out)
    assert done.returncode == 0, done.stderr
    rows = out.read_text("utf-8").splitlines()
    assert rows[0].startswith("run,model,estimator,metric") or "estimator" in rows[0]
    assert "quiz" in rows[1]
    assert calprobe("curve", run, "--kind", "calibration", "--out", tmp_path / "x.png").returncode == 0
    done = calprobe("curve", run, "--kind", "calibration", "--variants", "plane", "--out", tmp_path / "x.png")
    assert "--variants: no 'plane' in" in done.stderr


def test_accuracy_rejection_is_a_curve_with_bands_by_question(run: str, tmp_path: Path) -> None:
    out = tmp_path / "rejection.csv"
    done = calprobe("curve", run, "--kind", "accuracy-rejection", "--bootstrap", "20", "--out", out)
    assert done.returncode == 0, done.stderr
    assert {line.split(",")[3].strip('"') for line in out.read_text("utf-8").splitlines()[1:]} == {
        "threshold",
        "rank",
        "grid",
    }
    figure = tmp_path / "rejection.svg"
    assert calprobe("curve", run, run, "--kind", "accuracy-rejection", "--out", figure).returncode == 2  # one run twice
    assert calprobe("curve", run, "--kind", "accuracy-rejection", "--out", figure).returncode == 0


def test_two_runs_have_what_only_several_show(run: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    calprobe("import", "replies", replies(tmp_path), "--questions", questions(tmp_path), "--out", other)
    done = calprobe("report", run, other, "--json", *QUICK, "--label", f"{run}=first")
    found = json.loads(done.stdout)
    assert set(found) == {"first", str(other), "across"}
    assert found["across"]["shifts"]["all"]["cells"] == 4
    assert found["across"]["size_and_spread"] == {}
    assert found["first"]["parameters"] is None
    assert "not known" in found["first"]["disclosure"]["size"]


def with_size(path: Path, parameters: int) -> str:
    """The run in that folder with a model of a size."""
    manifest = read_any_manifest(path)
    assert isinstance(manifest, AskManifest)
    size = ModelSize(parameters, "weights", parameters // 5)
    write_manifest(replace(manifest, model=replace(manifest.model, size=size)), path)
    return str(path)


@pytest.mark.proof
def test_runs_of_known_size_have_a_figure_and_tables_of_size_and_spread(tmp_path: Path) -> None:
    imported = tmp_path / "imported"
    calprobe("import", "replies", replies(tmp_path), "--questions", questions(tmp_path), "--out", imported)
    sizes = (135_000_000, 360_000_000, 1_700_000_000, 3_000_000_000)
    runs = [with_size(shutil.copytree(imported, tmp_path / f"run{size}"), size) for size in sizes]
    figures, page = tmp_path / "figures", tmp_path / "page.html"
    done = calprobe("report", *runs, *QUICK, "--tables", "across", "--plots", figures, "--html", page)
    assert done.returncode == 0, done.stderr
    assert "1,700,000,000" in done.stdout
    assert (figures / "runs.sizes.png").is_file()
    assert "Size and spread on quiz" in page.read_text("utf-8")
    assert "3,000,000,000 parameters, " in page.read_text("utf-8")
