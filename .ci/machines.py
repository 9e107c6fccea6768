"""The tests of what computes, as other machines would run them: python .ci/machines.py [--times N] [FOLDER OR FILE ..].

Other instruction sets, threads, hash seeds, languages and time zones are set by environment variables. Prints a line
for each setting and a table at the end; exits with 1 if one of them is red, once of N times.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

import torch

# What computes: models and kernels, estimators and metrics, and the files that hold numbers.
TESTS = [
    *("tests/kernels", "tests/models", "tests/scoring", "tests/planning", "tests/backends", "tests/training"),
    *("tests/confidence", "tests/metrics", "tests/answers", "tests/grading", "tests/golden"),
    *("tests/measures/test_covariates.py", "tests/measures/test_slices_by_covariate.py"),
]
# A processor without an instruction set limits torch, oneDNN and MKL alike; MKL and oneDNN also choose by the maker.
# Each setting has several of these at once, so that all are tried in few runs; which of them a red run is due to, a
# second run of the tests that failed tells.
SETTINGS: dict[str, dict[str, str]] = {
    "a processor with SSE4, hash seed 0, far from Greenwich": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "PYTHONHASHSEED": "0",
        "TZ": "Pacific/Chatham",
    },
    "a processor with AVX2, hash seed 1, numbers with commas": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "PYTHONHASHSEED": "1",
        "LC_ALL": "de_DE.UTF-8",
    },
    "a processor with AVX-512, hash seed 2, Turkish": {
        "ATEN_CPU_CAPABILITY": "avx512",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE",
        "MKL_ENABLE_INSTRUCTIONS": "AVX512",
        "PYTHONHASHSEED": "2",
        "LC_ALL": "tr_TR.UTF-8",
    },
    # Not torch alone: its attention in bfloat16 with two threads asks oneDNN whether to pack for AVX-512, and cannot.
    "torch and oneDNN alone without vector units, two threads": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OMP_NUM_THREADS": "2",
    },
    "oneDNN and MKL alone with SSE4": {"ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"},
}


_CORES = 2  # that are used


def with_languages(folder: str) -> dict[str, str]:
    """The variables with which programs find these languages, which need not be installed."""
    if not shutil.which("localedef"):
        return {}
    for language in {setting["LC_ALL"] for setting in SETTINGS.values() if "LC_ALL" in setting}:
        name, _, coding = language.partition(".")
        command = ["localedef", "--inputfile", name, "--charmap", coding, os.path.join(folder, language)]  # noqa: PTH118
        if subprocess.run(command, capture_output=True, check=False).returncode > 1:  # 1: warnings
            return {}
    return {"LOCPATH": folder}


def run(name: str, tests: list[str], languages: dict[str, str]) -> tuple[str, str, float]:
    """The setting's name, how it went, and seconds."""
    setting = SETTINGS[name]
    if setting.get("ATEN_CPU_CAPABILITY") == "avx512" and torch.backends.cpu.get_cpu_capability() != "AVX512":
        return name, "not on this processor", 0.0  # which would end at the first such instruction
    if "LC_ALL" in setting and not languages:
        return name, "no localedef for it here", 0.0
    at_once = str(_CORES // int(setting.get("OMP_NUM_THREADS", 1)))  # more threads than cores take twice as long
    command = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses", at_once, "--dist", "worksteal", *tests]
    started = time.perf_counter()
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | (languages if "LC_ALL" in setting else {}) | setting
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:], sep="\n", flush=True)
    print(f"{name}: {(done.stdout.strip().splitlines() or ['nothing printed'])[-1]}", flush=True)
    return name, "red" if done.returncode else "green", seconds


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=1, metavar="N", help="all settings, N times one after the other")
    parser.add_argument("tests", nargs="*", default=TESTS, metavar="FOLDER OR FILE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        languages = with_languages(folder)
        results = [run(name, given.tests, languages) for _ in range(given.times) for name in SETTINGS]
    print()
    for name, outcome, seconds in results:
        print(f"{outcome:<6} {seconds:6.0f} s  {name}")
    return int(any(outcome == "red" for _, outcome, _ in results))


if __name__ == "__main__":
    sys.exit(main())
