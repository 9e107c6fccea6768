"""The structure that the design promises: one direction of data flow, light imports, a quick command line."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from sources import ROOT, imports, sources

# Stage -> the stages that it may know. The package's own names are the user's entrance.
KNOWS: dict[str, set[str]] = {
    "errors": set(),
    "kernels": set(),
    "probes": set(),
    "heap": set(),
    "statements": {"probes"},
    "planning": set(),
    "models": {"probes", "statements", "planning", "kernels"},
    "questions": {"probes", "statements"},
    "prompts": {"probes", "questions"},
    "runs": {"probes", "prompts", "questions"},
    "answers": {"questions", "runs"},
    "interop": {"runs", "statements", "probes", "prompts", "questions"},
    "scoring": {"probes", "statements", "planning", "models", "kernels", "runs", "heap"},
    "backends": {"prompts", "models", "planning", "kernels", "runs", "scoring", "heap"},
    "asking": {"answers", "backends", "models", "prompts", "questions", "runs", "scoring", "heap"},
    "grading": {"answers", "asking", "backends", "interop", "models", "prompts", "questions", "runs"},
    "metrics": set(),
    "confidence": {"answers", "questions", "runs"},
    "cells": {"answers", "confidence", "interop", "metrics", "prompts", "questions", "runs"},
    "measures": {"cells", "confidence", "interop", "metrics", "questions", "runs"},
    "show": {"cells", "confidence", "measures", "metrics", "runs"},
    "curves": {"cells", "confidence", "measures", "metrics", "runs", "show"},
    "studies": {
        *("answers", "cells", "confidence", "curves", "interop", "measures", "metrics", "models", "prompts"),
        *("questions", "runs", "show"),
    },
    "presentation": {"cells", "confidence", "curves", "interop", "measures", "metrics", "runs", "show", "studies"},
    # The user's entrance to all of these.
    "analysis": {"cells", "curves", "measures", "presentation", "studies"},
    "trackers": set(),
    "sweep": {
        *("analysis", "asking", "heap", "measures", "models", "presentation", "runs", "scoring", "show", "studies"),
        "trackers",
    },
    # Inside other tools, each module of which only its tool's users import.
    "integrations": {"answers", "metrics", "runs"},
    # These two stand at the other end, where nothing knows them.
    "doctor": {"kernels", "metrics", "models", "planning", "probes", "analysis", "runs", "scoring", "statements"},
    "training": {"metrics", "models", "probes", "analysis", "presentation", "runs", "scoring", "studies", "trackers"},
}
# What any stage may use and what uses none: checks of arrays, errors, the cache's folders, signals, messages, progress,
# the words of the domain.
EVERYBODYS = {"arrays", "errors", "folders", "interrupts", "messages", "progress", "version", "words"}
NO_TORCH = (
    *("probes", "statements", "planning", "questions", "prompts", "runs", "answers", "interop"),
    *("confidence", "metrics", "cells", "measures", "show", "curves", "studies", "presentation", "analysis"),
)


def imported_stages(file: Path) -> set[str]:
    """The stages of calprobe that a module imports anywhere, inside functions too."""
    modules = set()
    for node in imports(file):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    parts = [module.split(".") for module in modules if module.startswith("calprobe.")]
    return {part[1] for part in parts}


@pytest.mark.parametrize("stage", KNOWS)
def test_each_stage_knows_only_the_stages_before_it(stage: str) -> None:
    folder = ROOT / "kernels" / "fused" if stage == "kernels" else ROOT / "calprobe" / stage
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    assert files
    for file in files:
        unknown = imported_stages(file) - KNOWS[stage] - EVERYBODYS - {stage}
        assert not unknown, f"{file.relative_to(ROOT)} imports {', '.join(sorted(unknown))}"


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    if parts[0] == "kernels":  # kernels/fused is calprobe.kernels
        parts = ("calprobe", "kernels", *parts[2:])
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(file): file for file in sources("calprobe", "kernels/fused")}


def imported_modules(name: str) -> set[str]:
    """The package's own modules that a module imports anywhere: inside functions and under TYPE_CHECKING too."""
    found = set()
    for node in imports(MODULES[name]):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & MODULES.keys() or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & MODULES.keys() - {name}


def on_a_circle(imports: dict[str, set[str]]) -> set[str]:
    """The modules that are left when those that import none of the others are taken away, again and again."""
    left = {name: set(known) for name, known in imports.items()}
    for towards in (left, {name: {other for other in left if name in left[other]} for name in left}):
        free = {name for name in left if not towards[name] & left.keys()}
        while free:
            for name in free:
                del left[name]
            free = {name for name in left if not towards[name] & left.keys()}
    return set(left)


def test_no_import_goes_in_a_circle() -> None:
    assert on_a_circle({name: imported_modules(name) for name in MODULES}) == set()
    assert on_a_circle({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == {"b", "c"}


OPENERS = {"open_run", "open_scores", "open_asked", "open_any_run", "read_table"}
REPORTING = ("measures", "show", "curves", "studies", "presentation")  # above cells, each knowing those before it


def test_nothing_above_cells_opens_a_run() -> None:
    opening = {
        str(file.relative_to(ROOT))
        for package in REPORTING
        for file in sorted((ROOT / "calprobe" / package).rglob("*.py"))
        for node in imports(file)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("calprobe.runs")
        if OPENERS & {alias.name for alias in node.names}
    }
    assert not opening


# A study is complete in its folder: what its numbers, tables and figures need of another is in `measures` or `show`.
# These join studies: asked runs have a part for each of four, and the others set such reports beside one another.
JOINS: dict[str, set[str]] = {
    "asked": {"answers", "graders", "labels", "stated", "wording"},
    "four_ways": {"asked"},
    "overview": {"asked", "scored"},
    "published": {"asked", "labels", "stated", "wording"},
    "rank": {"scored"},
}


def test_a_study_imports_no_other_study() -> None:
    for name in MODULES:
        _, package, study, *_ = [*name.split("."), "", "", ""]
        if package == "studies":
            others = {other.split(".")[2] for other in imported_modules(name) if other.startswith("calprobe.studies.")}
            assert others <= {study} | JOINS.get(study, set()), name


# Tables, figures and pages get numbers. NumPy is there for coordinates: where marks and names are put.
PLACING = {"kinds.size_figure", "plots.heat_map", "plots.label_places", "plots.paper"}


def test_what_shows_opens_no_run_and_computes_nothing() -> None:
    allowed = {"calprobe.cells.run_facts", "calprobe.cells.asked_extent"}  # what a run is, as data
    for name in (name for name in MODULES if name.startswith("calprobe.show.")):
        known = imported_modules(name)
        assert {other for other in known if other.startswith("calprobe.cells")} <= allowed, name
        text = MODULES[name].read_text("utf-8")
        assert "import numpy" not in text or name.removeprefix("calprobe.show.") in PLACING, name


LONGEST_CHAIN, MOST_IMPORTS = 15, 28  # as measured; both may only fall


def test_no_report_is_far_from_its_cells_or_knows_many() -> None:
    knows = {name: imported_modules(name) for name in MODULES if f"{name}.".split(".")[1] in REPORTING}
    lengths: dict[str, int] = {}

    def chain(name: str) -> int:
        if name not in lengths:
            lengths[name] = 1 + max((chain(other) for other in knows[name] & knows.keys()), default=0)
        return lengths[name]

    assert max(chain(name) for name in knows) <= LONGEST_CHAIN
    assert max(len(known) for known in knows.values()) <= MOST_IMPORTS


def fresh_python(code: str, *arguments: str, safe_path: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    if safe_path:
        environment["PYTHONSAFEPATH"] = "1"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_reading_and_analysing_never_import_torch() -> None:
    code = (
        "import importlib, sys\n"
        "for stage in sys.argv[1:]:\n"
        "    importlib.import_module(f'calprobe.{stage}')\n"
        "    found = sorted({'torch', 'transformers', 'triton'} & set(sys.modules))\n"
        "    assert not found, f'{stage} imports {found}'\n"
    )
    result = fresh_python(code, *NO_TORCH)
    assert result.returncode == 0, result.stderr


def test_planning_needs_numpy_alone() -> None:
    others = ("calprobe.probes", "calprobe.statements", "platformdirs", "pyarrow", "click", "scipy", "torch")
    result = fresh_python(f"import sys, calprobe.planning; print(sorted(set({others}) & set(sys.modules)))")
    assert result.stdout.strip() == "[]", result.stderr


def test_only_figures_import_matplotlib_and_only_when_they_are_drawn() -> None:
    importing = {
        file.relative_to(ROOT / "calprobe").parent.as_posix()
        for file in (ROOT / "calprobe").rglob("*.py")
        if re.search(r"^\s*(import|from) matplotlib", file.read_text("utf-8"), re.MULTILINE)
    }
    assert importing == {"show/plots", "curves"}
    code = "import sys, calprobe.analysis, calprobe.cli.report; print({'matplotlib'} & set(sys.modules))"
    result = fresh_python(code)
    assert result.stdout.strip() == "set()", result.stderr


def test_the_package_itself_imports_nothing_heavy() -> None:
    code = "import sys, calprobe, calprobe.cli; print(sorted({'torch', 'numpy', 'pandas', 'rich'} & set(sys.modules)))"
    result = fresh_python(code)
    assert result.stdout.strip() == "[]", result.stderr


# All that scoring on a CPU runs of calprobe's own beside the model: transformers may import what it likes.
ON_A_CPU = """
import sys
import tomllib
from pathlib import Path
import torch
import calprobe.scoring
from calprobe.kernels import gather_reduce, linear_logprob
sys.path.insert(0, "tests")
from run_samples import SHAPES, make_manifest, write_run
from calprobe.runs import RunFolder
linear_logprob(torch.ones(2, 8), torch.ones(3, 8), torch.tensor([0, 2]), torch.tensor([0, 1, 2]))
gather_reduce(torch.tensor([-1.0]), torch.tensor([0, 0]), torch.zeros(2, dtype=torch.int8), torch.tensor([0, 2]))
folder = write_run(Path(sys.argv[1]), tokens=True)
assert RunFolder.open(folder, make_manifest(save_tokens=True)).missing() == []
print(sorted({"triton", "pandas", "scipy", "sklearn", "matplotlib", "transformers"} & set(sys.modules)))
"""


def test_scoring_on_a_cpu_imports_neither_triton_nor_pandas(tmp_path: Path) -> None:
    result = fresh_python(ON_A_CPU, str(tmp_path / "run"))
    assert result.stdout.strip() == "[]", result.stderr


def test_transformers_takes_no_folder_of_the_repository_for_a_package() -> None:
    code = "from transformers.utils.import_utils import is_kernels_available; print(is_kernels_available())"
    result = fresh_python(code, safe_path=False)
    assert result.stdout.strip() == "False", result.stderr


@pytest.mark.proof
def test_transformers_works_from_the_repositorys_root() -> None:
    # transformers looks for a Hub package named `kernels`, which the folder of that name must not be taken for.
    result = fresh_python("import transformers; transformers.LlamaForCausalLM", safe_path=False)
    assert result.returncode == 0, result.stderr


# What the command imports before it knows what is asked: 183 modules with click; a library more is some hundred more.
MODULES_OF_HELP = 250
HEAVY = {"matplotlib", "numpy", "pandas", "pyarrow", "rich", "scipy", "torch", "transformers"}


def test_help_imports_little() -> None:
    at_exit = "import atexit, sys; atexit.register(lambda: print(*sys.modules))"
    result = fresh_python(f"{at_exit}; from calprobe.cli import main; main(['--help'])")
    modules = set(result.stdout.splitlines()[-1].split())
    assert HEAVY.isdisjoint(modules), result.stderr
    assert "click" in modules
    assert len(modules) < MODULES_OF_HELP


# The design's command line, as far as it is built: what scripts depend on. A new command or option goes in here too.
CONTRACT = {
    "score": (
        "--model --probe --out --templates --template-set --relations --limit --seed --first --dtype "
        "--device --device-map --pll-metric --word-split --batch-tokens --save-tokens --save-labels --no-save-labels "
        "--resume --no-resume --shard --dry-run --json --revision --quiet"
    ),
    "ask": (
        "--model --backend --base-url --questions --study --prompts --variants --collect --samples --temperature "
        "--top-p --paraphrases --wordings --raw-prompt --max-new-tokens --shots --limit --draw --split --seed "
        "--concurrency --max-requests --out --dtype --device --device-map --revision --resume --no-resume --shard "
        "--dry-run --json --price-in --price-out --max-cost --cache --quiet"
    ),
    "paraphrase": (
        "NAME FILE --model --out --n --samples --nli --temperature --prompts --max-new-tokens --split --limit --draw"
        " --groups --as --seed --backend --base-url --concurrency --max-requests --dtype --device --device-map"
        " --revision --quiet"
    ),
    "grade": (
        "RUN --grader exact contains rouge judge number --judge --judge-base-url --judge-backend --judge-prompts"
        " --target --rouge-threshold --grades --nli --embed --concurrency --max-requests --dtype --device --device-map"
        " --revision"
        " --allow-pickle --trust-remote-code --quiet"
    ),
    "sweep": (
        "FILE --on local ray slurm --jobs --dry-run --report --no-report --log --project --quiet"
        " --slurm-partition --slurm-account --slurm-time --slurm-gpus --slurm-cpus --slurm-mem --slurm-option"
        " --ray-address --ray-cpus"
    ),
    "report": (
        "RUN --reduction --compat --format --json --bins --bootstrap --by --by-groups --recalibrate --save-maps"
        " --estimator --against --plots --html --reader --variants --parse-threshold --window --calibrate --budget"
        " --budget-draws"
    ),
    "show": (
        "RUN --wrong --right --unread --cut --abstained --failed --surest --unsurest --relations --variants --sets"
        " --groups --where --disagree --prompt --html --estimator --template --top --format --json --probe --label"
    ),
    "compare": (
        "RUN --pairs --by-domain --intersect --estimator --reduction --compat --format --json --bins --bootstrap"
        " --cluster --seed --html --variants --facts"
    ),
    "curve": (
        "RUN --kind accuracy-rejection calibration options accuracy-ace markers exposure --estimator --reduction"
        " --compat --bins --bootstrap --cluster --seed --out --accuracy --variants --overlay --look width title style"
        " --label"
    ),
    "threshold": (
        "RUN FILE --risk --level --on --estimator --score --uncertainty --correct --cluster --by --seed --out --apply"
        " --json"
    ),
    "sets": (
        "RUN FILE --coverage --on --rule --estimator --score --uncertainty --correct --cluster --by --seed --format"
        " --json"
    ),
    "stakes": "RUN FILE --at --estimator --score --uncertainty --correct --cluster --bootstrap --seed --format --json",
    "export": (
        "RUN --what candidates tokens confidences lm-pub-quiz replies labels readings hub-card hub-dataset --out"
        " --source"
    ),
    "import": "lm-pub-quiz lm-eval inspect replies",
    "merge": "RUN --out --partial",
    "runs": (
        "DIR --model --probe --questions --state --kind --since --sort --numbers --no-numbers --paths --null --format"
        " --json"
    ),
    "import lm-pub-quiz": "DIR --probe --out",
    "import lm-eval": "FILE --out --model --metric --filter --correct-at --regrade",
    "import inspect": "FILE --out --model --scorer --correct-at --regrade",
    "import replies": "FILE --questions --out --model",
    "rank": "FILE --score --correct --correct-at --uncertainty --group --baseline --format --json --bins --bootstrap",
    "fetch": "bear factor mmlu gsm8k",
    "models": "",
    "probes": "",
    "questions": "NAME FILE --split --limit --draw --draw-rule --groups --as --options --forms --seed --json",
    "doctor": "--model --json --report",
}


def test_the_contract_holds_every_command() -> None:
    from calprobe.cli.app import COMMANDS

    assert {command.split()[0] for command in CONTRACT} == set(COMMANDS)


@pytest.mark.parametrize("command", CONTRACT)
def test_help_has_all_that_the_contract_promises(command: str) -> None:
    from calprobe.cli.app import cli

    result = CliRunner().invoke(cli, [*command.split(), "--help"])
    assert result.exit_code == 0
    words = set(re.findall(r"[\w-]+", result.output))
    assert [promised for promised in CONTRACT[command].split() if promised not in words] == []


@pytest.mark.parametrize("command", CONTRACT)
def test_every_option_is_explained(command: str) -> None:
    from calprobe.cli.app import cli

    context = click.Context(cli)
    for name in command.split():
        assert isinstance(context.command, click.Group)
        found = context.command.get_command(context, name)
        assert found is not None
        context = click.Context(found, parent=context)
    assert context.command.help
    options = [parameter for parameter in context.command.params if isinstance(parameter, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_no_test_module_imports_another() -> None:
    importing = [
        file.relative_to(ROOT).as_posix()
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if re.search(r"^(from|import) test_", file.read_text("utf-8"), re.MULTILINE)
    ]
    assert importing == []


def test_no_two_test_modules_share_a_name() -> None:
    # pytest puts each folder on the path, so the second of two modules with one name cannot be imported.
    names = [file.name for file in (ROOT / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
