"""Install the wheel and the source archive where the repository is not, and use them there: `make test-dist`.

Both get one new environment, the source archive in the wheel's place, and each an empty folder, which is also its home:
no cache, no setting and no file of the repository can stand in for what an archive lacks. Of the package index it takes
what pip needs, of the hub nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Exact versions on the Python of constraints.txt; elsewhere those of torch and transformers.
CONSTRAINTS = {"3.11": "constraints.txt"}
OTHER_CONSTRAINTS = "tests/constraints/newer-python.txt"
TORCH = "torch==2.13.0"
# What extras and other tools bring: modules that import one of these need not be importable.
OF_EXTRAS = (
    "triton",  # torch's builds for cards bring it
    *("inspect_ai", "lm_eval", "mlflow", "openai", "peft", "ray", "submitit", "tensorboard", "trackio", "vllm"),
    "wandb",
)

QUESTIONS = """\
{"id": "planet", "question": "Which planet is the largest?", "options": ["Mars", "Jupiter"], "answer": "Jupiter"}
{"id": "moon", "question": "What orbits the Earth?", "options": ["The Moon", "The Sun", "Mars"], "answer": "The Moon"}
"""
SWEEP = """\
out = "runs/sweep"
models = ["tiny-clm"]
[probes.mini]
limit = 2
relations = "capital"
"""
IMPORTS = f"""\
import importlib, pathlib, calprobe
place = pathlib.Path(calprobe.__file__).parent
failed, absent, names = [], [], []
for file in sorted(place.rglob("*.py")):
    name = ".".join(file.relative_to(place.parent).with_suffix("").parts).removesuffix(".__init__")
    if file.stem == "__main__":
        continue
    names.append(name)
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        kind = absent if (error.name or "").partition(".")[0] in {OF_EXTRAS!r} else failed
        kind.append(f"{{name}}: {{error}}")
print(len(names), "modules;", len(absent), "need an extra")
print(place)
raise SystemExit("\\n".join(failed))
"""


@dataclass(frozen=True)
class Step:
    """A command of calprobe, what its output must have in it, and the file that it must have written."""

    command: str
    said: str = ""
    wrote: str = ""


# Between them they read every kind of file in the package: probe, templates, models, pages, prompts, papers.
STEPS = (
    Step("--version", "calprobe, version {version}"),
    Step("doctor", "verdict: ready"),
    Step("models", "tiny-clm"),
    Step("probes mini", "583"),
    Step("score --model tiny-clm --limit 2 --templates paraphrases --out runs/clm", "complete"),
    Step("score --model tiny-mlm --limit 2 --out runs/mlm", "complete"),
    Step("report runs/clm --bootstrap 100", "accuracy"),
    Step("report runs/clm --bootstrap 100 --json", '"estimators"'),
    Step("report runs/clm runs/mlm --bootstrap 100 --html report.html --plots figures", wrote="report.html"),
    Step("compare runs/clm runs/mlm --intersect --bootstrap 100 --html compare.html", wrote="compare.html"),
    Step("curve runs/clm --kind calibration --out curve.csv", wrote="curve.csv"),
    Step("curve runs/clm --kind accuracy-rejection --out curve.pdf", wrote="curve.pdf"),
    Step("export runs/clm --what candidates --out scores.parquet", wrote="scores.parquet"),
    Step("show runs/clm --top 1", "right is"),
    Step("questions mine.jsonl", "choice 2"),
    Step("ask --model tiny-chat --questions mine.jsonl --variants surface_paraphrase --out runs/asked", "complete"),
    Step("ask --model tiny-chat-overconfident --questions mini --as choice --draw 9 --out runs/sure", "complete"),
    Step("report runs/asked runs/sure --bootstrap 100 --html asked.html", wrote="asked.html"),
    Step("sweep sweep.toml --dry-run", "calprobe score"),
    Step("sweep sweep.toml", wrote="runs/sweep/report.html"),
)
# The source archive installs the same files, so what is used of it is what tells that they arrived.
SHORT = tuple(step for step in STEPS if step.command.startswith(("--version", "doctor", "score --model tiny-mlm")))


@dataclass(frozen=True)
class Environment:
    """A new environment in a folder of its own, with an empty folder beside it to work in."""

    place: Path
    python: str

    @property
    def bin(self) -> Path:
        return self.place / "env" / ("Scripts" if os.name == "nt" else "bin")

    @property
    def work(self) -> Path:
        return self.place / "work"

    @property
    def home(self) -> Path:
        return self.place / "home"

    def variables(self) -> dict[str, str]:
        """Those of the caller that find Python, packages and devices, with this place as home and no hub."""
        kept = ("PATH", "LANG", "TMPDIR", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SYSTEMROOT")
        variables = {name: os.environ[name] for name in kept if name in os.environ}
        variables |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        return variables | {"HOME": str(self.home), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}

    def run(self, *command: str, offline: bool = True) -> subprocess.CompletedProcess[str]:
        variables = self.variables() if offline else None
        return subprocess.run(command, cwd=self.work, env=variables, capture_output=True, text=True, check=False)

    def empty(self) -> None:
        """Make work and home anew, with nothing but the files that the steps read."""
        for folder in (self.work, self.home):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        (self.work / "mine.jsonl").write_text(QUESTIONS, encoding="utf-8")
        (self.work / "sweep.toml").write_text(SWEEP, encoding="utf-8")

    def pip(self, *words: str) -> None:
        command = (str(self.bin / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", *words)
        done = self.run(*command, offline=False)
        if done.returncode:
            sys.exit(f"pip {' '.join(words)} failed:\n{done.stderr[-2000:]}")


def prepared(place: Path, python: str, wheel: Path) -> Environment:
    """A new environment with the wheel and all that it depends on."""
    environment = Environment(place, python)
    environment.empty()
    subprocess.run([python, "-m", "venv", str(place / "env")], check=True)
    said = environment.run(str(environment.bin / "python"), "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    constraints = ("--constraint", str(ROOT / CONSTRAINTS.get(said.stdout.strip(), OTHER_CONSTRAINTS)))
    environment.pip("install", *constraints, TORCH)
    environment.pip("install", *constraints, str(wheel))
    return environment


def try_step(environment: Environment, step: Step, version: str) -> str:
    """What is wrong, or nothing."""
    done = environment.run(str(environment.bin / "calprobe"), *step.command.split())
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr.strip()[-1000:]}"
    said = step.said.format(version=version)
    if said not in done.stdout + done.stderr:
        return f"does not say {said!r}, but:\n{(done.stdout + done.stderr)[-1000:]}"
    written = environment.work / step.wrote
    if step.wrote and not (written.is_file() and written.stat().st_size):
        return f"wrote no {step.wrote}"
    return ""


def import_all(environment: Environment) -> str:
    done = environment.run(str(environment.bin / "python"), "-W", "error::SyntaxWarning", "-c", IMPORTS)
    print(f"  {done.stdout.strip().splitlines()[0] if done.stdout else ''}")
    if str(environment.place) not in done.stdout:
        return f"calprobe was imported from elsewhere: {done.stdout}{done.stderr}"
    return done.stderr.strip()[-2000:] if done.returncode else ""


def timed(name: str, tried: Callable[[], str]) -> bool:
    began = time.monotonic()
    wrong = tried()
    print(f"  {time.monotonic() - began:6.1f} s  {name}{'  FAILED: ' + wrong if wrong else ''}", flush=True)
    return not wrong


def test(environment: Environment, archive: Path, steps: Iterable[Step], version: str) -> bool:
    """Whether every step went well with the archive, which is installed."""
    print(f"{archive.name}, {environment.python}", flush=True)
    well = [timed("import of every module", lambda: import_all(environment))]
    for step in steps:
        well.append(timed(step.command, lambda step=step: try_step(environment, step, version)))  # type: ignore[misc]
    return all(well)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="the Python to install with")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="the folder with both archives")
    given = parser.parse_args()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    wheel = (given.dist / f"calprobe-{version}-py3-none-any.whl").resolve()
    source = (given.dist / f"calprobe-{version}.tar.gz").resolve()
    with tempfile.TemporaryDirectory() as temporary:
        environment = prepared(Path(temporary), given.python, wheel)
        well = test(environment, wheel, STEPS, version)
        environment.empty()
        environment.pip("uninstall", "--yes", "calprobe")
        environment.pip("install", "--no-deps", str(source))
        well &= test(environment, source, SHORT, version)
    sys.exit(0 if well else "an archive does not work where the repository is not")


if __name__ == "__main__":
    main()
