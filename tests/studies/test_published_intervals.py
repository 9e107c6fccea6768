"""The intervals of the audit's Table 8 stand beside those of one's own runs."""

from __future__ import annotations

from commands import calprobe
from sources import ROOT

RUN = ROOT / "tests" / "golden" / "runs" / "audit"


def test_the_intervals_of_table_8_are_among_the_published_figures() -> None:
    typed = ("--compat", "audit2026", "--against", "audit2026", "--tables", "paper", "--bootstrap", "20")
    done = calprobe("report", RUN, *typed, "--format", "markdown")
    assert done.returncode == 0, done.stderr
    rows = [" ".join(line.replace("|", " ").split()) for line in done.stdout.splitlines()]
    for row in ("MMLU-Pro, percent 0.6420 0.6000 0.6840", "SST-2, decimal 0.0020 0.0000 0.0060"):
        assert any(row in line for line in rows), row
    assert any("mini, stated_decimal_01" in line and "1.0000" in line for line in rows)
