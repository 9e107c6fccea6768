"""`load_questions`: names, files, probes, what is taken of them and where it came from."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path

import pytest
from public_rows import ROWS, file_content, write_repository
from question_files import CHOICE, EVERY_KIND, write_questions

from calprobe.errors import DataMissingError, UsageError
from calprobe.probes import load_probe
from calprobe.questions import NAMED_SETS, QuestionOptions, QuestionSet, load_questions
from calprobe.questions.drawing import fingerprint_of_places
from calprobe.questions.stored_sets import FETCHED, FetchedSet, folder_of, record_text, split_of_name


@pytest.fixture(autouse=True)
def data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "data"
    monkeypatch.setenv("CALPROBE_DATA", str(root))
    return root


def store(name: str, rows: int = 6) -> Path:
    """A set as `calprobe fetch` leaves it."""
    entry = NAMED_SETS[name]
    folder = write_repository(folder_of(entry), name, rows)
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    hashes = {file: hashlib.sha256(path.read_bytes()).hexdigest() for file, path in files.items()}
    (folder / FETCHED).write_text(record_text(FetchedSet(entry.repository, "c" * 40, hashes)), encoding="utf-8")
    return folder


def ids(questions: QuestionSet) -> list[str]:
    return [question.id for question in questions.questions]


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = write_questions(tmp_path / "mine.jsonl", EVERY_KIND)
    (mine,) = load_questions([path])
    assert mine.name == "mine"
    assert ids(mine) == ["c1", "n1", "o1"]
    source = mine.source
    assert source.path is not None
    assert source.path.endswith("/mine.jsonl")
    assert source.files == {"mine.jsonl": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert (source.available, source.rule, source.places, source.quotable) == (3, "all", None, True)
    (renamed,) = load_questions([f"physics={path}"])
    assert (renamed.name, renamed.questions, renamed.source) == ("physics", mine.questions, mine.source)


@pytest.mark.parametrize("name", NAMED_SETS)
def test_a_fetched_set_by_its_name(name: str) -> None:
    store(name)
    (loaded,) = load_questions([name])
    entry = NAMED_SETS[name]
    assert (loaded.name, len(loaded.questions), loaded.notes) == (name, 6, ())
    source = loaded.source
    assert (source.repository, source.revision, source.split) == (entry.repository, "c" * 40, entry.split)
    assert (source.licence, source.quotable, source.path) == (entry.licence, entry.quotable, None)
    assert len(source.files) == 1
    for split in entry.splits:
        (other,) = load_questions([name], QuestionOptions(split=split))
        assert all(split in f"{question.context}{question.text}" for question in other.questions)


@pytest.mark.parametrize("name", [name for name, entry in NAMED_SETS.items() if entry.shots_split])
def test_examples_come_from_another_split(name: str) -> None:
    store(name)
    (loaded,) = load_questions([name], QuestionOptions(shots=3, limit=2))
    assert len(loaded.shots) == 3
    assert loaded.source.shots_split == NAMED_SETS[name].shots_split
    assert len(loaded.source.files) == 2
    texts = {f"{shot.context}{shot.text}" for shot in loaded.shots}
    assert len(texts) == 3
    assert all(str(loaded.source.shots_split) in text for text in texts)
    assert not texts & {f"{question.context}{question.text}" for question in loaded.questions}


@pytest.mark.parametrize("name", NAMED_SETS)
def test_a_folder_or_a_file_instead_of_the_hub(name: str, tmp_path: Path) -> None:
    store(name)
    (stored,) = load_questions([name])
    folder = write_repository(tmp_path / "clone", name, 6)
    (cloned,) = load_questions([f"{name}={folder}"])
    assert cloned.questions == stored.questions
    assert cloned.source.path is not None
    flat = tmp_path / "flat"
    flat.mkdir()
    for path in folder.rglob("*.*"):
        if path.is_file():
            shutil.copy(path, flat)
    (beside,) = load_questions([f"{name}={flat}"])
    assert beside.questions == stored.questions
    (file,) = sorted(folder.rglob("*.*"))[:1] if len(NAMED_SETS[name].splits) == 1 else [None]
    if file is not None and file.is_file():
        (single,) = load_questions([f"{name}={file}"])
        assert [question.text for question in single.questions] == [question.text for question in stored.questions]


@pytest.mark.parametrize("name", NAMED_SETS)
def test_a_file_is_recognised_by_its_columns(name: str, tmp_path: Path) -> None:
    path = tmp_path / "some_test.jsonl"
    path.write_bytes(file_content(path.name, [ROWS[name]]))
    (found,) = load_questions([path])
    assert (found.name, len(found.questions), found.source.split) == ("some_test", 1, "test")
    assert found.source.quotable == (name != "gpqa")


def test_a_draw_is_written_down() -> None:
    store("gsm8k", rows=40)
    (audit,) = load_questions(["gsm8k"], QuestionOptions(draw=10, seed=42, draw_rule="sample"))
    places = random.Random(42).sample(range(40), 10)
    assert ids(audit) == [f"test/{place}" for place in places]
    source = audit.source
    assert (source.available, source.rule, source.seed) == (40, "sample", 42)
    assert source.places == fingerprint_of_places(places)
    small, large = (load_questions(["gsm8k"], QuestionOptions(draw=n, seed=5))[0] for n in (7, 20))
    assert ids(large)[:7] == ids(small)
    (first,) = load_questions(["gsm8k"], QuestionOptions(limit=2))
    assert (ids(first), first.source.rule, first.source.places) == (["test/0", "test/1"], "first", None)


def numbered(path: Path, count: int) -> Path:
    """A file of so many questions, and one more with the text of the first."""
    records = [CHOICE | {"id": f"q{number}", "question": f"Question {number}?"} for number in range(count)]
    return write_questions(path, [*records, records[0] | {"id": "again"}])


def test_examples_of_a_file_are_among_what_is_not_asked(tmp_path: Path) -> None:
    path = numbered(tmp_path / "mine.jsonl", 9)
    for seed in range(20):
        (mine,) = load_questions([path], QuestionOptions(draw=5, seed=seed, shots=3))
        assert len({shot.text for shot in mine.shots}) == 3
        assert len(mine.questions) == 5
        assert not {shot.text for shot in mine.shots} & {question.text for question in mine.questions}
    with pytest.raises(UsageError, match=r"--shots 3: only 0 questions can be examples; .* ask fewer with --draw"):
        load_questions([path], QuestionOptions(draw=10, shots=3))


def test_a_larger_draw_keeps_the_examples(tmp_path: Path) -> None:
    path = numbered(tmp_path / "mine.jsonl", 50)
    shots = [load_questions([path], QuestionOptions(draw=count, seed=1, shots=4))[0].shots for count in (5, 20, 40)]
    assert shots[0] == shots[1] == shots[2]
    fewer = load_questions([path], QuestionOptions(draw=5, seed=1, shots=2))[0].shots
    assert fewer == shots[0][:2]


def test_where_all_are_asked_examples_are_held_back(tmp_path: Path) -> None:
    path = numbered(tmp_path / "mine.jsonl", 9)
    for options in (QuestionOptions(shots=3), QuestionOptions(shots=3, limit=9)):
        (mine,) = load_questions([path], options)
        assert not {shot.text for shot in mine.shots} & {question.text for question in mine.questions}
        assert len(mine.questions) + len(mine.shots) in (9, 10)  # the repeated question may be an example
        (note,) = mine.notes
        names = ", ".join(shot.id for shot in mine.shots)
        assert note == (
            f"Held back as examples for prompts, so not asked: {names}; "
            "to ask them too, give --shots-from, or --variants without examples."
        )
    small = write_questions(tmp_path / "small.jsonl", [CHOICE, CHOICE | {"id": "c2", "question": "Other?"}])
    with pytest.raises(UsageError, match=r"--shots 2: no question is left to be asked; give more questions"):
        load_questions([small], QuestionOptions(shots=2))
    with pytest.raises(UsageError, match=r"--shots 3: only 2 questions can be examples"):
        load_questions([small], QuestionOptions(shots=3))


def test_examples_of_another_file(tmp_path: Path) -> None:
    path = numbered(tmp_path / "mine.jsonl", 9)
    others = write_questions(
        tmp_path / "others.jsonl", [CHOICE | {"id": "o1"}, CHOICE | {"id": "o2", "question": "Question 0?"}]
    )
    (mine,) = load_questions([path], QuestionOptions(shots=1, shots_from=str(others)))
    assert [shot.id for shot in mine.shots] == ["o1"]
    assert len(mine.questions) == 10
    assert set(mine.source.files) == {"mine.jsonl", "others.jsonl"}
    with pytest.raises(UsageError, match=r"--shots-from absent: .*no file, no known set"):
        load_questions([path], QuestionOptions(shots=1, shots_from="absent"))


def test_groups_are_taken_before_a_draw() -> None:
    (mini,) = load_questions(["mini"], QuestionOptions(groups=("capital", "month"), draw=20, seed=1))
    assert {question.group for question in mini.questions} == {"capital", "month"}
    assert mini.source.available == 54
    with pytest.raises(UsageError, match=r"--groups capitol: mini has no such group; did you mean capital?"):
        load_questions(["mini"], QuestionOptions(groups=("capitol",)))
    with pytest.raises(UsageError, match=r"--groups zzz: mini has no such group; it has capital, continent, .*, .."):
        load_questions(["mini"], QuestionOptions(groups=("zzz",)))


def test_questions_without_groups_have_none_to_choose(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--groups x: the questions of mine have no groups"):
        load_questions([numbered(tmp_path / "mine.jsonl", 9)], QuestionOptions(groups=("x",)))


@pytest.mark.parametrize("name", ["mmlu", "arc-challenge", "gpqa"])
def test_a_file_in_the_columns_of_a_set_has_not_its_licence(name: str, tmp_path: Path) -> None:
    entry = NAMED_SETS[name]
    file = sorted(each for each in write_repository(tmp_path, name, 6).rglob("*.*") if each.is_file())[0]
    mine = shutil.copy(file, tmp_path / f"mine{''.join(file.suffixes)}")
    (own,) = load_questions([mine])
    assert (own.source.licence, own.source.quotable) == (None, entry.quotable)
    (named,) = load_questions([f"{name}={mine}"])
    assert named.source.licence == entry.licence


def test_a_probes_set_names_the_probe() -> None:
    (mini,) = load_questions(["mini"])
    assert mini.source.probe == load_probe("mini").fingerprint
    assert (mini.source.licence, mini.source.path) == ("cc0-1.0", None)
    assert mini.source.fingerprint != load_questions(["mini"], QuestionOptions(as_="open"))[0].source.fingerprint


def test_several_sets_in_the_order_of_their_names(tmp_path: Path) -> None:
    path = write_questions(tmp_path / "mine.jsonl", EVERY_KIND)
    assert [each.name for each in load_questions([path, "mini"])] == ["mine", "mini"]
    with pytest.raises(UsageError, match=r"two question sets are called 'mini'; give one of them another name"):
        load_questions(["mini", write_questions(tmp_path / "mini.jsonl", EVERY_KIND)])
    with pytest.raises(UsageError, match=r"no question set; give a name or a file"):
        load_questions([])


def test_a_set_that_is_not_here(data_root: Path) -> None:
    with pytest.raises(DataMissingError) as caught:
        load_questions(["mmlu"])
    assert str(caught.value) == (
        f"question set 'mmlu' is not in {data_root / 'questions' / 'mmlu'}; run `calprobe fetch mmlu`, "
        "or give a file of it: mmlu=FILE"
    )
    with pytest.raises(DataMissingError, match=r"probe 'bear': .*run `calprobe fetch bear`"):
        load_questions(["bear"])


def test_a_fetched_file_that_has_changed_is_refused() -> None:
    folder = store("gsm8k")
    file = next((folder / "main").glob("test-*"))
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(DataMissingError, match=r"'gsm8k': main/test.* is missing or has changed; run `calprobe fetch"):
        load_questions(["gsm8k"])


def test_wrong_names_and_options(tmp_path: Path) -> None:
    own = write_questions(tmp_path / "mine.jsonl", EVERY_KIND)
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    store("gsm8k")
    cases: list[tuple[object, QuestionOptions, str]] = [
        ("mmul", QuestionOptions(), "no question set 'mmul': no file, no known set; did you mean mmlu"),
        ("xyz", QuestionOptions(), "no question set 'xyz': .*known are mmlu, mmlu-pro, .* bear-big, factor"),
        (tmp_path, QuestionOptions(), "a folder without a probe; give its files, or NAME=FOLDER"),
        ("mmlu=absent.jsonl", QuestionOptions(), "mmlu=absent.jsonl: there is no such file or folder"),
        (f"mmul={own}", QuestionOptions(), "no question set 'mmul'; did you mean mmlu"),
        (f"mini={own}", QuestionOptions(), "a known set's name belongs there; known are mmlu"),
        (f"physics={tmp_path}", QuestionOptions(), "a known set's name belongs there; known are mmlu"),
        (f"mmlu={tmp_path}", QuestionOptions(), r"no file of mmlu's split test .all/test-\*.parquet. in"),
        (own, QuestionOptions(split="test"), "--split test: .*mine.jsonl has no splits; leave --split out"),
        ("mini", QuestionOptions(split="test"), "--split test: mini has no splits"),
        ("gsm8k", QuestionOptions(split="dev"), "--split dev: gsm8k has test, train; choose one of them"),
        ("gsm8k", QuestionOptions(as_="choice"), "--as choice: gsm8k has questions of kind number"),
        (
            "gsm8k",
            QuestionOptions(draw=7),
            "--draw 7: gsm8k has 6 questions; draw at most 6, or choose another --split",
        ),
        (own, QuestionOptions(as_="open"), "mine.jsonl says itself of which kind its questions are"),
        (table, QuestionOptions(), r"table.csv: no column 'question'; say which"),
        (tmp_path / "notes.txt", QuestionOptions(), "notes.txt: not a question file; give one of .parquet, .jsonl"),
    ]
    for name, options, says in cases:
        with pytest.raises(UsageError, match=says):
            load_questions([name], options)  # type: ignore[list-item]


def test_the_split_that_a_files_name_tells_of() -> None:
    names = ["mmlu_test.jsonl.gz", "train-00000-of-00001.parquet", "gpqa_main.csv", "contest.jsonl", "latest.csv"]
    assert [split_of_name(Path(name)) for name in names] == ["test", "train", "main", "", ""]


def test_real_files(shared: Path) -> None:
    folder = shared / "questions"
    (mmlu,) = load_questions([f"mmlu={folder / 'mmlu_test.jsonl.gz'}"])
    assert (len(mmlu.questions), mmlu.notes, mmlu.source.split) == (14_042, (), "test")
    assert len({question.group for question in mmlu.questions}) == 57
    assert {len(question.options) for question in mmlu.questions} == {4}
    (dev,) = load_questions([folder / "mmlu_dev.jsonl.gz"], QuestionOptions(groups=("abstract_algebra",)))
    assert (dev.name, len(dev.questions), dev.source.split) == ("mmlu_dev", 5, "dev")
    (gsm8k,) = load_questions([folder / "gsm8k_test.jsonl"])
    raw = [json.loads(line) for line in (folder / "gsm8k_test.jsonl").read_text("utf-8").splitlines()]
    gold = [float(row["answer"].split("#### ")[1].replace(",", "")) for row in raw]
    assert [question.number for question in gsm8k.questions] == gold
    (svamp,) = load_questions([f"svamp={folder / 'svamp.json'}"])
    assert (len(svamp.questions), svamp.questions[0].number) == (1000, 51.0)
    (scibench,) = load_questions([f"scibench={folder / 'scibench'}"])
    assert (len(scibench.questions), scibench.notes) == (692, ())
    assert scibench.questions[0].number == 50.7
    assert scibench.questions[0].unit == "$\\mathrm{atm}$"
    (truthful,) = load_questions([folder / "truthfulqa.csv"])
    assert (len(truthful.questions), truthful.notes) == (817, ())
    assert {question.kind for question in truthful.questions} == {"open"}
    (choice,) = load_questions([folder / "truthfulqa.csv"], QuestionOptions(as_="choice"))
    assert {question.kind for question in choice.questions} == {"choice"}
    (openbook,) = load_questions([f"openbookqa={folder / 'openbookqa_test500.jsonl'}"])
    assert (len(openbook.questions), {question.labels for question in openbook.questions}) == (500, {tuple("ABCD")})
