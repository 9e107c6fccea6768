"""Random score tables with answer spaces as BEAR has them."""

from __future__ import annotations

import numpy as np

from calprobe.runs import ScoreTable, TemplateRecord
from calprobe.statements.template_sets import MARKERS

# BEAR's 60 relations: how many of them have K candidates and so many instances, (relations, K, instances of each).
BEAR = ((1, 5, 150), (2, 6, 150), (1, 16, 144), (2, 17, 153), (1, 21, 147), (1, 24, 144), (38, 25, 150), (14, 60, 60))
SPREAD = [(k, instances) for relations, k, instances in BEAR for _ in range(relations)]
PARAPHRASES = tuple(TemplateRecord(number, "paraphrase") for number in range(5))
MARKED = [(kind, marker) for kind, markers in MARKERS.items() for marker in markers]
TEMPLATES = (*PARAPHRASES, *(TemplateRecord(number, *marked) for number, marked in enumerate(MARKED, len(PARAPHRASES))))


def random_table(n_instances: int, n_templates: int, seed: int = 0) -> ScoreTable:
    """Scores that agree over templates about as a model's do; the right answer has a head start.

    Each relation has its share of the instances, at most one more or less. Templates are the first of BEAR's twelve.
    """
    rng = np.random.default_rng([seed, n_instances])
    shares = np.cumsum([instances for _, instances in SPREAD])
    sizes = np.diff(np.rint(n_instances * shares / shares[-1]).astype(np.int64), prepend=0)
    names = np.array([f"R{place:02d}" for place in range(len(SPREAD))])
    widths = np.repeat([k for k, _ in SPREAD], sizes)
    offsets = np.concatenate([[0], np.cumsum(widths)])
    answer_idx = (rng.random(n_instances) * widths).astype(np.int64)
    common = rng.normal(-40, 2, offsets[-1])
    common[offsets[:-1] + answer_idx] += 3
    scores = rng.standard_normal((n_templates, offsets[-1]))
    scores += common
    instance = np.concatenate([np.arange(size) for size in sizes])
    return ScoreTable(scores, offsets, answer_idx, np.repeat(names, sizes), instance, TEMPLATES[:n_templates])
