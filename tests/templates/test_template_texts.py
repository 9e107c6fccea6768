"""The project's own templates: form, slots, articles and full stops, over the real labels of the probes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calprobe.probes import Probe, Relation, load_probe
from calprobe.statements.fill import fill

FOLDER = Path(__file__).resolve().parents[2] / "templates"
FILES = sorted(FOLDER.glob("*.json"))
KINDS = ("paraphrases", "verbal", "numeric")
# Spelt with a vowel, spoken with a consonant ("a unit", "a US state"), and the other way round ("an hour").
SPOKEN_CONSONANT = re.compile(r"uni(?!n)|us[aeiu]|ut[ei]l|uku|eu|ewe|one\b|once\b|ubi|(?-i:U[A-Z.])", re.IGNORECASE)
SPOKEN_VOWEL = re.compile(r"(?:[aeiouáàâäåæéèêëíìîïóòôöøúùûüāēīōū]|hour|heir|honou?r|honest)", re.IGNORECASE)
INITIALS_WITH_VOWEL = re.compile(r"[AEFHILMNORSX](?:[A-Z0-9.]|\b)")  # "an FM station"


def test_both_probes_have_a_file() -> None:
    assert {path.stem for path in FILES} >= {"bear", "mini"}


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    file: Path = request.param
    return file


@pytest.fixture
def entries(path: Path) -> dict[str, dict[str, list[str]]]:
    content: dict[str, dict[str, list[str]]] = json.loads(path.read_text(encoding="utf-8"))
    return content


@pytest.fixture
def probe(path: Path, request: pytest.FixtureRequest) -> Probe:
    """The probe that the file is for; BEAR's labels lie outside the project."""
    if path.stem == "bear":
        return load_probe(request.getfixturevalue("shared") / "bear" / "BEAR")
    return load_probe(path.stem)


def texts_of(entry: dict[str, list[str]]) -> list[str]:
    return [text for kind in KINDS for text in entry[kind]]


def takes_an(label: str) -> bool:
    if INITIALS_WITH_VOWEL.match(label):
        return True
    return SPOKEN_VOWEL.match(label) is not None and SPOKEN_CONSONANT.match(label) is None


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        *((label, True) for label in ("opera", "hour", "uninhabited island", "FBI", "Église", "F.C. member")),
        *((label, False) for label in ("symphony", "university", "ukulele", "US state", "Heldentenor", "euro")),
    ],
)
def test_rule_for_articles(label: str, expected: bool) -> None:
    assert takes_an(label) == expected


def test_file_is_written_in_the_stable_form(path: Path, entries: dict[str, Any]) -> None:
    assert path.read_text(encoding="utf-8") == json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def test_counts_and_order_of_the_forms(entries: dict[str, dict[str, list[str]]]) -> None:
    for name, entry in entries.items():
        assert [len(entry[kind]) for kind in KINDS] == [5, 2, 5], name
        assert len({text.casefold() for text in entry["paraphrases"]}) == 5, name
        for marker, text in zip(("possibly", "certainly"), entry["verbal"], strict=True):
            assert text.lower().split().count(marker) == 1, text
        percents = [re.findall(r"(\d+)% confident", text) for text in entry["numeric"]]
        assert percents == [["0"], ["25"], ["50"], ["75"], ["100"]], name


def test_slots_full_stop_spaces_and_capital(entries: dict[str, dict[str, list[str]]]) -> None:
    for text in (text for entry in entries.values() for text in texts_of(entry)):
        assert text.count("[X]") == text.count("[Y]") == 1, text
        assert text.index(".") == len(text) - 1, text
        assert text.split() == text.split(" "), text  # neither double spaces nor spaces at the ends
        assert not re.search(r"\w\[[XY]\]|\[[XY]\]\w|\s[.,]", text), text
        assert text.startswith(("[X]", "[Y]")) or text[0].isupper(), text
        assert "the the " not in text.lower(), text


def test_some_paraphrase_has_the_answer_first(entries: dict[str, dict[str, list[str]]]) -> None:
    for name, entry in entries.items():
        assert any(text.index("[Y]") < text.index("[X]") for text in entry["paraphrases"]), name


def test_first_paraphrase_has_the_subject_first(entries: dict[str, dict[str, list[str]]]) -> None:
    for name, entry in entries.items():
        assert entry["paraphrases"][0].index("[X]") < entry["paraphrases"][0].index("[Y]"), name


def test_relations_are_those_of_the_probe(entries: dict[str, Any], probe: Probe) -> None:
    assert set(entries) == {relation.name for relation in probe.relations}


def faults(relation: Relation, text: str) -> Iterator[str]:
    """Articles of the rendered sentences that do not fit the label behind them."""
    for slot, labels in (("[X]", [each.subject for each in relation.instances]), ("[Y]", relation.candidates)):
        found = re.search(rf"\b(a|an|the) {re.escape(slot)}", text, re.IGNORECASE)
        if not found:
            continue
        article = found[1].lower()
        for label in labels:
            doubled = article == "the" and label.lower().startswith("the ")
            if doubled or (article != "the" and takes_an(label) != (article == "an")):
                yield text.replace(slot, label)


def test_articles_fit_every_label(entries: dict[str, dict[str, list[str]]], probe: Probe) -> None:
    found = [
        fault
        for relation in probe.relations
        for text in texts_of(entries[relation.name])
        for fault in faults(relation, text)
    ]
    assert found == []


def test_the_test_of_articles_finds_wrong_ones(entries: dict[str, dict[str, list[str]]], probe: Probe) -> None:
    relation = next(each for each in probe.relations if len({takes_an(label) for label in each.candidates}) == 2)
    assert list(faults(relation, "[X] is a [Y]."))
    assert list(faults(relation, "[X] is an [Y]."))


def test_review_lists_every_rendered_sentence(
    path: Path, entries: dict[str, dict[str, list[str]]], probe: Probe, tmp_path: Path
) -> None:
    """Writes one rendered sentence a template, with the first instance and its answer, for a person to read."""
    lines = []
    for relation in probe.relations:
        instance = relation.instances[0]
        answer = relation.candidates[instance.answer_idx]
        rendered = [fill(text, instance.subject, answer).text for text in texts_of(entries[relation.name])]
        assert all(answer.lower() in text.lower() and instance.subject.lower() in text.lower() for text in rendered)
        lines += [f"{relation.name}\t{text}" for text in rendered]
    listing = tmp_path / f"{path.stem}.txt"
    listing.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"\nrendered sentences of {path.name}: {listing}\n" + "\n".join(lines))
    assert len(set(lines)) == 12 * len(entries)
    assert "[X]" not in listing.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("folder", "file"), [("bear/BEAR", "metadata_relations.json"), ("paper", "metadata_relations_12_templates.json")]
)
def test_own_paraphrases_are_mostly_not_those_of_others(shared: Path, folder: str, file: str) -> None:
    own = json.loads((FOLDER / "bear.json").read_text(encoding="utf-8"))
    others = json.loads((shared / folder / file).read_text(encoding="utf-8"))
    coinciding = [text in others[name]["templates"][:5] for name, entry in own.items() for text in entry["paraphrases"]]
    assert len(coinciding) == 300
    assert sum(coinciding) < len(coinciding) / 3
