"""Figures as files: the same bytes from the same numbers, complete or not at all, and no trace in the process."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from curve_samples import SAMPLES, accuracy_ace, calibration
from matplotlib.figure import Figure
from proofs import few_of

from calprobe.curves import plot
from calprobe.errors import CalprobeError, UsageError
from calprobe.show.plots import FIGURE_SUFFIXES, save

TESTS = Path(__file__).resolve().parent.parent
STARTS = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A figure's file of each suffix."""
    return write(tmp_path_factory.mktemp("figures"))


def write(folder: Path) -> dict[str, bytes]:
    figure = plot(accuracy_ace(5))
    paths = {suffix: folder / f"figure{suffix}" for suffix in FIGURE_SUFFIXES}
    for path in paths.values():
        save(figure, path)
    return {suffix: path.read_bytes() for suffix, path in paths.items()}


def test_the_suffix_says_the_format_and_equal_numbers_give_equal_bytes(
    tmp_path: Path, written: dict[str, bytes]
) -> None:
    assert all(written[suffix].startswith(STARTS[suffix]) for suffix in FIGURE_SUFFIXES)
    assert write(tmp_path) == written


ANOTHER_PROCESS = """
import hashlib, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import matplotlib
matplotlib.rcParams.update({"font.size": 20, "svg.hashsalt": None, "axes.facecolor": "red"})  # as a matplotlibrc may
from curve_samples import accuracy_ace
from calprobe.curves import plot
from calprobe.show.plots import FIGURE_SUFFIXES, save
for suffix in FIGURE_SUFFIXES:
    path = Path(sys.argv[2]) / f"other{suffix}"
    save(plot(accuracy_ace(5)), path)
    print(hashlib.sha256(path.read_bytes()).hexdigest())
print(sorted({"torch", "transformers", "matplotlib.pyplot"} & set(sys.modules)))
"""


@pytest.mark.proof
def test_another_process_with_other_settings_writes_the_same_without_torch_and_pyplot(
    tmp_path: Path, written: dict[str, bytes]
) -> None:
    command = [sys.executable, "-P", "-c", ANOTHER_PROCESS, str(TESTS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *digests, heavy = done.stdout.splitlines()
    assert digests == [hashlib.sha256(written[suffix]).hexdigest() for suffix in FIGURE_SUFFIXES]
    assert heavy == "[]"


def test_the_text_of_an_svg_is_text(written: dict[str, bytes]) -> None:
    svg = written[".svg"].decode()
    assert all(name in svg for name in ("Accuracy (higher is better)", "model-3-400m", "ρ = −0.45 (−0.81 to 0.12)"))
    assert "<dc:date>" not in svg
    assert "Matplotlib v" not in svg


def test_a_png_has_200_dots_an_inch(tmp_path: Path) -> None:
    figure = plot(calibration(), width=3.0)
    save(figure, tmp_path / "figure.png")
    header = (tmp_path / "figure.png").read_bytes()[16:24]
    assert int.from_bytes(header[:4], "big") == 600
    assert int.from_bytes(header[4:], "big") == pytest.approx(200 * figure.get_figheight(), abs=1)


KINDS = ("rejection", "calibration", "options", "accuracy-ace", "markers", "exposure")


@pytest.mark.parametrize("kind", few_of(KINDS, lambda kind: kind in ("calibration", "accuracy-ace")))
def test_settings_of_the_process_stay_as_they_are(tmp_path: Path, kind: str) -> None:
    before = dict(matplotlib.rcParams)
    save(plot(SAMPLES[kind]), tmp_path / "figure.svg")
    assert dict(matplotlib.rcParams) == before


def test_another_suffix_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"figure\.bmp: figures are written as \.png, \.svg, \.pdf"):
        save(Figure(), tmp_path / "figure.bmp")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here", encoding="utf-8")
    with pytest.raises(CalprobeError, match=r"figure\.png: cannot be written: .*; name another place"):
        save(Figure(), tmp_path / "file" / "figure.png")
    (tmp_path / "taken.png").mkdir()
    with pytest.raises(CalprobeError, match="cannot be written"):
        save(Figure(), tmp_path / "taken.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken.png"]
