"""The tests of what computes, as other machines would run them: python .ci/machines.py [FOLDER OR FILE ..].

Other instruction sets, threads, hash seeds, languages and time zones are set by environment variables. Prints a line
for each setting and a table at the end; exits with 1 if one of them is red.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

# What computes: models and kernels, estimators and metrics, and the files that hold numbers.
TESTS = [
    *("tests/kernels", "tests/models", "tests/scoring", "tests/planning", "tests/backends", "tests/training"),
    *("tests/confidence", "tests/metrics", "tests/answers", "tests/grading", "tests/golden"),
]
SETTINGS: dict[str, dict[str, str]] = {
    "torch without vector units": {"ATEN_CPU_CAPABILITY": "default"},
    "torch with avx2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "torch with avx512": {"ATEN_CPU_CAPABILITY": "avx512"},
    "oneDNN with sse4.1": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
    "oneDNN with avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    "MKL with sse4.2": {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"},
    "MKL with avx2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "two threads": {"OMP_NUM_THREADS": "2"},
    "hash seed 0": {"PYTHONHASHSEED": "0"},
    "hash seed 1, numbers with commas": {"PYTHONHASHSEED": "1", "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
    "hash seed 2, far from Greenwich": {"PYTHONHASHSEED": "2", "LC_ALL": "C", "TZ": "Pacific/Chatham"},
}


def run(name: str, tests: list[str]) -> tuple[str, str, float]:
    """The setting's name, the last line that pytest prints, and seconds."""
    command = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses", "2", "--dist", "worksteal", *tests]
    started = time.perf_counter()
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | SETTINGS[name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    last = (done.stdout.strip().splitlines() or ["nothing printed"])[-1]
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:], sep="\n", flush=True)
    print(f"{name}: {last}", flush=True)
    return name, "green" if done.returncode == 0 else "red", seconds


def main() -> int:
    tests = sys.argv[1:] or TESTS
    results = [run(name, tests) for name in SETTINGS]
    print()
    for name, colour, seconds in results:
        print(f"{colour:<6} {seconds:6.0f} s  {name}")
    return int(any(colour == "red" for _, colour, _ in results))


if __name__ == "__main__":
    sys.exit(main())
