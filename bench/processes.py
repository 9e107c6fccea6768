"""What several processes gain over one with as many threads, on the cores of one machine.

    python bench/processes.py --model smollm2-135m --probe mini [--cores 2] [--repeats 3] [--out FILE.json]

Three layouts take turns: one process with one thread, one process with all cores as threads, and one process a core
with a thread each (torchrun). Before any ratio is printed the scores are compared: several processes must give the
bytes of one process with one thread; with more threads the last bits may differ, and by how much is said. Seconds are
of scoring alone (`wall_s` of the manifest). Other work on the machine spoils them: run it on a quiet one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt

from calprobe.runs import PieceScores, Run, open_scores

sys.path.append(str(Path(__file__).resolve().parent))  # PYTHONSAFEPATH leaves the script's folder out
from harness.machine import Company, machine
from harness.record import write_record

_TOLERANCE = 1e-3  # nats on a statement's sum, between numbers of threads


@dataclass(frozen=True, slots=True)
class Layout:
    """How the cores are used."""

    processes: int
    threads: int  # of each

    @property
    def shown(self) -> str:
        """`2 x 1`: processes x threads."""
        return f"{self.processes} x {self.threads}"


def score(layout: Layout, arguments: list[str], out: Path) -> Run:
    """Score into `out`, in processes of their own; the run."""
    command = ["-m", "calprobe", "score", *arguments, "--quiet", "--out", str(out)]
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={layout.processes}"]
    environment = os.environ | {"OMP_NUM_THREADS": str(layout.threads), "PYTHONSAFEPATH": "1"}
    subprocess.run([sys.executable, *(launcher if layout.processes > 1 else []), *command], env=environment, check=True)
    return open_scores(out)


def largest_difference(run: Run, other: Run) -> float:
    """Of the statements' sums, in nats; 0 only if all columns have the same bytes."""
    pairs = list(zip(run.pieces, other.pieces, strict=True))
    if all(one.checksum() == two.checksum() for one, two in pairs):
        return 0.0
    # Columns that differ though no sum does are a difference too.
    return max(max(float(np.abs(_sums(one) - _sums(two)).max()) for one, two in pairs), 1e-300)


def _sums(piece: PieceScores) -> npt.NDArray[np.float64]:
    return np.zeros(0) if piece.sum is None else piece.sum


def main() -> int:
    """Measure; the exit code is 1 if scores differ between numbers of processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m", help="what `calprobe score --model` takes")
    parser.add_argument("--probe", default="mini", help="likewise")
    parser.add_argument("--templates", default="0", help="likewise")
    parser.add_argument("--first", help="likewise")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    given = parser.parse_args()
    arguments = ["--model", given.model, "--probe", given.probe, "--templates", given.templates]
    arguments += ["--first", given.first] if given.first else []
    single, threaded, divided = layouts = [Layout(1, 1), Layout(1, given.cores), Layout(given.cores, 1)]
    company = Company()
    seconds: dict[str, list[float]] = {layout.shown: [] for layout in layouts}
    with tempfile.TemporaryDirectory() as scratch:
        differences = {layout.shown: 0.0 for layout in layouts}
        reference = None
        for repeat in range(given.repeats):
            for layout in layouts:
                run = score(layout, arguments, Path(scratch) / f"{layout.processes}x{layout.threads}-{repeat}")
                seconds[layout.shown].append(run.progress.wall_s)
                reference = reference or run
                apart = largest_difference(reference, run)
                differences[layout.shown] = max(differences[layout.shown], apart)
    if differences[divided.shown] > 0 or differences[threaded.shown] > _TOLERANCE:
        print(f"no ratio: scores differ from one process with one thread by {differences}", file=sys.stderr)
        return 1
    medians = {layout.shown: median(seconds[layout.shown]) for layout in layouts}
    gains = {layout.shown: round(medians[single.shown] / medians[layout.shown], 3) for layout in layouts}
    for layout in layouts:
        values = " ".join(f"{value:.1f}" for value in seconds[layout.shown])
        print(f"{layout.shown} (processes x threads): {values} s, apart {differences[layout.shown]:.2g} nats at most")
    print(f"meanwhile other work kept {company.cores():.2f} cores busy")
    for layout in (threaded, divided):
        print(f"{layout.shown} is {gains[layout.shown]:.2f} times as fast as {single.shown} (medians)")
    if given.out:
        figures = {
            "model": given.model,
            "probe": given.probe,
            "templates": given.templates,
            "first": given.first,
            "layouts": [asdict(layout) for layout in layouts],
            "wall_s": seconds,
            "largest_difference_nats": differences,
            "times_as_fast_as_1x1": gains,
            "machine": machine("cpu"),
            "cores_of_others": company.cores(),
        }
        write_record(figures, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
