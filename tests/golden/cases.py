"""Commands whose output is kept: what they print, or what they write, as it was when their outputs were last written.

They run in a copy of this folder, one after the other where a case needs what an earlier line of it made.
"""

from __future__ import annotations

FEW = "--bootstrap 60"  # enough that every column with an interval has one
BINS = "--kind calibration"
PAIR = "runs/clm runs/mlm --intersect"
CHATS = "runs/audit runs/audit-overconfident"
IMPORT = "import replies replies.jsonl --questions questions.jsonl --out runs/imported"

# By the output's name in expected/, the lines of a case; what the last one prints is kept, or what it writes to {out}.
CASES: dict[str, tuple[str, ...]] = {
    "clm.txt": (f"report runs/clm --tables all {FEW}",),
    "clm-glance.txt": (f"report runs/clm {FEW}",),
    "clm.json": (f"report runs/clm --json {FEW}",),
    "clm-relations.csv": (f"report runs/clm --by relation --tables slices --format csv {FEW}",),
    "clm-calibration.csv": (f"curve runs/clm {BINS} --estimator base,margin --out {{out}} {FEW}",),
    "clm-sets.txt": ("sets runs/clm --coverage 0.8 --by relation --rule lac,aps_random,naive",),
    "clm-sets.csv": ("sets runs/clm --coverage 0.8 --rule lac --format csv",),
    "audit-sets.json": ("sets runs/audit --coverage 0.5 --rule lac --json",),
    "clm-stakes.txt": (f"stakes runs/clm {FEW}",),
    "pair.txt": (f"compare {PAIR} --tables all {FEW}",),
    "pair-glance.txt": (f"compare {PAIR} {FEW}",),
    "pair.json": (f"compare {PAIR} --json {FEW}",),
    "audit.txt": (f"report runs/audit --tables all {FEW}",),
    "audit-glance.txt": (f"report runs/audit {FEW}",),
    "audit.json": (f"report runs/audit --json {FEW}",),
    "audit.csv": (f"report runs/audit --format csv {FEW}",),
    "audit-compat.txt": (f"report runs/audit --compat audit2026 --against audit2026 --tables all {FEW}",),
    "audit-label.csv": (
        f"curve runs/audit --kind calibration --estimator label,stated_decimal_01 --out {{out}} {FEW}",
    ),
    "audit-confidences.csv": ("export runs/audit --what confidences --out {out}",),
    "audit-readings.csv": ("export runs/audit --what readings --out {out}",),
    "chats.txt": (f"compare {CHATS} --tables all {FEW}",),
    "chats-glance.txt": (f"compare {CHATS} {FEW}",),
    "within-glance.txt": (f"compare runs/audit {FEW}",),
    "markers-glance.txt": (f"compare runs/clm {FEW}",),
    "several-glance.txt": (f"report {CHATS} runs/stated {FEW}",),
    "chats.json": (f"compare {CHATS} --json {FEW}",),
    "stated.txt": (f"report runs/stated --tables all {FEW}",),
    "stated-glance.txt": (f"report runs/stated {FEW}",),
    "stated.json": (f"report runs/stated --json {FEW}",),
    "labels.txt": (f"report runs/labels --tables all {FEW}",),
    "labels-glance.txt": (f"report runs/labels {FEW}",),
    "labels.json": (f"report runs/labels --json {FEW}",),
    "answers.txt": (f"report runs/answers --tables all {FEW}",),
    "answers-glance.txt": (f"report runs/answers {FEW}",),
    "answers.json": (f"report runs/answers --json {FEW}",),
    "answers-frequency.csv": (f"curve runs/answers {BINS} --estimator frequency --out {{out}} {FEW}",),
    "answers-confidences.csv": ("export runs/answers --what confidences --out {out}",),
    "wording.txt": (f"report runs/wording --budget 6 --tables all {FEW}",),
    "wording-glance.txt": (f"report runs/wording {FEW}",),
    "wording.json": (f"report runs/wording --budget 6 --json {FEW}",),
    "ways.txt": (f"compare runs/chat runs/audit --variants surface_paraphrase --tables all {FEW}",),
    "ways-glance.txt": (f"compare runs/chat runs/audit --variants surface_paraphrase {FEW}",),
    "ways.json": (f"compare runs/chat runs/audit --variants surface_paraphrase --json {FEW}",),
    "overview-glance.txt": (f"report runs {FEW}",),
    "overview.json": (f"report runs --json {FEW}",),
    "imported.txt": (IMPORT, f"report runs/imported --tables all {FEW}"),
    "imported.json": (IMPORT, f"report runs/imported --json {FEW}"),
    "imported-readings.csv": (IMPORT, "export runs/imported --what readings --out {out}"),
    "imported-confidences.csv": (IMPORT, "export runs/imported --what confidences --out {out}"),
}
