"""Size against spread: the published numbers of the audit, families left out, runs of unknown size."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from calprobe.measures.run_names import state
from calprobe.metrics import Estimate
from calprobe.runs.manifest_records import ModelSize
from calprobe.show.html.panels import drawn
from calprobe.show.kinds.size_figure import short_count, size_ticks, spelled_rho
from calprobe.show.plots.paper import draw
from calprobe.studies.asked.across import size_and_spread
from calprobe.studies.asked.figures import size_panels
from calprobe.studies.asked.results import AcrossRuns, SizeAndSpread, SizePoint
from calprobe.studies.asked.several_layouts import across_tables
from calprobe.studies.published.beside import published
from calprobe.studies.published.beside_audit import AUDIT2026, BILLIONS

SETS = list(published(AUDIT2026)["spread"].columns)
P_VALUES = published(AUDIT2026)["size_and_spread"].values()


def audit(name: str, **billions: float) -> SizeAndSpread:
    """Table 3 of the audit on one set, some sizes changed."""
    sizes = {**BILLIONS, **billions}
    points = [
        SizePoint(
            f"runs/{model}", model, ModelSize(round(1e9 * sizes[model]), "given"), Estimate(row[SETS.index(name)])
        )
        for model, row in published(AUDIT2026)["spread"].values().items()
    ]
    return size_and_spread(name, "first_char", points, ())


@pytest.mark.parametrize("name", SETS)
def test_the_audits_own_p_values(name: str) -> None:
    assert audit(name).p_value == pytest.approx(P_VALUES[name][0], abs=6e-4)


def test_one_size_decides() -> None:
    # The model is a distillation into a shape of 7.6 billion, and is entered as 7.
    assert audit("MNLI").rho.value == pytest.approx(0.474, abs=6e-4)
    assert audit("MNLI", **{"DeepSeek-R1-7B": 7.6}).rho.value == pytest.approx(0.531, abs=6e-4)


def test_families_are_left_out_in_turn() -> None:
    found = audit("MNLI")
    low, high = found.without_a_family
    assert low < found.rho.value < high
    without_deepseek = [point for point in found.points if "DeepSeek" not in point.model]
    assert size_and_spread("MNLI", "first_char", without_deepseek, ()).rho.value in (low, high)


def point(run: str, parameters: int, spread: float, embeddings: int | None = None) -> SizePoint:
    return SizePoint(
        run, run, ModelSize(parameters, "weights", embeddings), Estimate(spread, spread - 0.1, spread + 0.1)
    )


def test_fewer_than_four_runs_have_points_and_no_correlation() -> None:
    found = size_and_spread("quiz", "first_char", [point("b", 20, 0.4), point("a", 10, 0.2)], ("c",))
    assert [own.run for own in found.points] == ["a", "b"]
    assert all(map(math.isnan, (found.rho.value, found.p_value, found.rho_others.value, *found.without_a_family)))
    table, _ = across_tables(AcrossRuns((), (), (found,)))
    assert [row.cells for row in table.rows] == [(10, None, found.points[0].spread), (20, None, found.points[1].spread)]
    assert table.notes == ("Number of parameters not known: c.",)


def test_embeddings_change_the_order() -> None:
    points = [point(f"{n}", 100 + n, 0.1 * n, embeddings=20 * n) for n in range(1, 5)]
    found = size_and_spread("quiz", "first_char", points, ())
    assert (found.rho.value, found.rho_others.value) == (1.0, -1.0)


def test_a_figure_of_the_audit_names_all_models() -> None:
    across = AcrossRuns((), (), tuple(audit(name) for name in SETS))
    panels = size_panels(across)
    assert [panel.title for panel in panels] == SETS
    assert {tuple(panels[0].models[place] for place in path) for path in panels[0].family_paths} == {
        ("Llama-3.2-1B", "Llama-3.2-3B"),
        ("Gemma-3-1B", "Gemma-3-4B"),
        ("Qwen-2.5-3B", "Qwen-2.5-7B"),
    }
    figure = draw(panels)
    names = {text.get_text().split("  ")[-1] for text in figure.legends[0].get_texts()}
    assert names >= set(panels[0].names)
    assert all(name in drawn(panels[0].panel) for name in panels[0].names)


def test_readers_stand_beside_each_other_and_not_one_over_the_other() -> None:
    (panel,) = size_panels(AcrossRuns((), (), (audit(SETS[0]),)))
    (first,) = panel.series
    both = replace(panel, series=(first, replace(first, reader="other", place=1)))
    sizes = np.log10(panel.parameters)
    assert panel.places(0) == pytest.approx(sizes)
    assert (both.places(0) < sizes).all()
    assert (both.places(0) + both.places(1)) / 2 == pytest.approx(sizes)
    (partial,) = size_panels(AcrossRuns((), (), (audit(SETS[0]),)), {audit(SETS[0]).points[0].run: state(partial=True)})
    assert [name.endswith(" (PARTIAL)") for name in partial.names] == [True] + [False] * (len(sizes) - 1)


def test_axes_of_parameters() -> None:
    assert [short_count(number) for number in (999, 134_515_008, 999_600_000, 7e9)] == ["999", "135M", "1B", "7B"]
    assert [short_count(10**tick) for tick in size_ticks((8.0, 10.0))] == ["100M", "1B", "10B"]
    assert spelled_rho(Estimate(math.nan), "first_char", 3) == "3 runs: no correlation of fewer than 4"
    assert spelled_rho(Estimate(-0.25, -0.5, 0.1), "label", 9) == "label: ρ = −0.25 (−0.50 to 0.10), n = 9"
