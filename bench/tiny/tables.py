"""The tables of the pair's README: accuracy and mean confidence by exposure and by paraphrase."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from calprobe.confidence import Distributions
from calprobe.models.exposures import Exposures
from calprobe.runs import Run

BUCKETS = {"never": 0, "1": 1, "2, 3": 3, "4 to 7": 7, "8 to 15": 15, "16 to 31": 31, "32 to 64": 64}  # name -> most


def readings(run: Run, exposures: Mapping[str, Exposures]) -> pd.DataFrame:
    """A row for each (instance, paraphrase): correct, confidence (base), exposures, whether it is in training."""
    table = run.table("sum")
    distributions = Distributions.from_scores(table.scores, table.offsets, table.answer_idx)
    peaks = distributions.peak(range(len(table.templates)))
    order = {  # (relation, template) -> whether the answer stands before the subject
        (relation.name, template.number): text.index("[Y]") < text.index("[X]")
        for relation in run.manifest.relations
        for template, text in zip(run.manifest.templates, relation.texts, strict=True)
    }
    rows = [
        (
            template.number,
            exposures[name].counts[instance],
            template.number in exposures[name].paraphrases,
            order[name, template.number],
            peaks.prediction[row, place] == answer,
            peaks.largest[row, place],
        )
        for row, template in enumerate(table.templates)
        for place, (name, instance, answer) in enumerate(
            zip(table.relation.tolist(), table.instance.tolist(), table.answer_idx.tolist(), strict=True)
        )
    ]
    return pd.DataFrame(rows, columns=["template", "exposures", "in_training", "answer_first", "correct", "confidence"])


def exposure_table(by_model: Mapping[str, pd.DataFrame]) -> str:
    """Accuracy and mean confidence of template 0 in each bucket of exposures, in Markdown."""
    rows = []
    for least, (name, most) in zip([0, *(most + 1 for most in BUCKETS.values())], BUCKETS.items(), strict=False):
        inside = [frame[(frame.template == 0) & frame.exposures.between(least, most)] for frame in by_model.values()]
        figures = [f"{value:.2f}" for frame in inside for value in (frame.correct.mean(), frame.confidence.mean())]
        rows.append([name, str(len(inside[0])), *figures])
    return markdown(["times in training", "facts", *_both(by_model)], rows)


def wording_table(by_model: Mapping[str, pd.DataFrame]) -> str:
    """The same of facts in training: by whether the paraphrase is in training, and by whether the answer is first."""
    rows = []
    for in_training in (True, False):
        for answer_first in (False, True):
            inside = [
                frame[(frame.exposures > 0) & (frame.in_training == in_training) & (frame.answer_first == answer_first)]
                for frame in by_model.values()
            ]
            what = f"{'in training' if in_training else 'held out'}, {'answer' if answer_first else 'subject'} first"
            figures = [f"{value:.2f}" for frame in inside for value in (frame.correct.mean(), frame.confidence.mean())]
            rows.append([what, str(len(inside[0])), *figures])
    return markdown(["paraphrase", "readings", *_both(by_model)], rows)


def _both(names: Iterable[str]) -> list[str]:
    return [f"{name} {what}" for name in names for what in ("accuracy", "confidence")]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table, its first column to the left and the others to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
