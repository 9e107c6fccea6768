"""`calprobe doctor`: a complete installation, and installations broken on purpose."""

from __future__ import annotations

import builtins
import importlib
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import torch
from click.testing import CliRunner

from calprobe.cli.app import cli, main
from calprobe.doctor import Check, Diagnosis, examine
from calprobe.doctor.diagnosis import WIDTH, diagnosis_text
from calprobe.doctor.kernel_trials import Trial, trials
from calprobe.doctor.machine import _compiler
from calprobe.errors import DataMissingError
from calprobe.kernels import RotaryRule, gated_unit, gather_reduce, linear_logprob, rms_norm, rotary, tree_attention
from calprobe.kernels.tree_layout import TreeLayout
from calprobe.models import memory as model_memory
from calprobe.runs import Run
from calprobe.scoring.tree import TreeExecutor


def only(found: Iterable[Check], name: str) -> Check:
    return next(check for check in found if check.name == name)


def found(group: str, name: str, model: str | None = None) -> Check:
    """The check of that name in that group on the machine as it is faked."""
    return only(examine(model, only=[group]).checks, name)


@pytest.fixture(scope="module")
def complete() -> Diagnosis:
    return examine()


def test_a_complete_installation_is_ready(complete: Diagnosis) -> None:
    assert complete.ready
    assert complete.verdict == ("ready" if torch.cuda.is_available() else "ready, no GPU")
    groups = list(dict.fromkeys(check.group for check in complete.checks))
    assert groups == ["versions", "machine", "gpu", "kernels", "places", "probes", "self-test"]
    assert only(complete.checks, "torch").value == metadata.version("torch"), "torch itself may add its CUDA"


def test_the_self_test_compares_paths_and_counts_anew(complete: Diagnosis) -> None:
    tree = only(complete.checks, "tiny-clm").facts
    assert set(tree["largest_difference"]) == {"tree", "padded"}
    assert 0 < tree["largest_difference"]["tree"] < 1e-4
    assert tree["statements"] == 3 * 12
    run = only(complete.checks, "run folder").facts
    assert run["instances"] == 3
    assert run["accuracy_reported"] == run["accuracy_counted"]


def test_the_text_is_narrow_and_each_check_has_a_line_that_begins_with_its_state(complete: Diagnosis) -> None:
    lines = diagnosis_text(complete).splitlines()
    too_wide = [line for line in lines if len(line) > WIDTH and " " in line.strip()]
    assert [line for line in too_wide if "/" not in line] == []  # a path is not broken
    assert lines[-1] == f"verdict: {complete.verdict}"
    stated = [line for line in lines if re.match(r"(ok|note|FAIL) ", line)]
    assert [line.split()[0].lower() for line in stated] == [check.state for check in complete.checks]


def test_the_page_shows_every_line_of_its_groups(complete: Diagnosis) -> None:
    if torch.cuda.is_available():
        pytest.skip("the page shows a machine without a GPU")
    page = Path(__file__).parents[2] / "docs" / "how-to" / "doctor.md"
    sample = re.search(r"\$ calprobe doctor --model tiny-mlm\n(.*?)\n\nverdict", page.read_text("utf-8"), re.DOTALL)
    assert sample is not None
    shown = {
        block.splitlines()[0]: [name.strip() for name in re.findall(r"^(?:ok|note|FAIL) +(.{14})", block, re.MULTILINE)]
        for block in sample[1].replace("..\n", "").split("\n\n")
    }
    checks = [*complete.checks, *examine("tiny-mlm", only=["model"]).checks]
    checks = [check for check in checks if check.name != "settings"]
    assert {group: [check.name for check in checks if check.group == group] for group in shown} == shown


def test_json_has_all_checks(complete: Diagnosis) -> None:
    found = json.loads(json.dumps(complete.to_json(), allow_nan=False))
    assert (found["verdict"], found["ready"]) == (complete.verdict, True)
    assert [check["name"] for check in found["checks"]] == [check.name for check in complete.checks]
    memory = only(complete.checks, "memory")
    assert {"group", "name", "state", "value", "fix", "mend", "facts", "seconds"} == set(found["checks"][0])
    assert memory.facts["free_bytes"] <= memory.facts["total_bytes"]
    assert sum(check["seconds"] for check in found["checks"] if check["group"] == "self-test") > 0.01


def test_json_has_null_for_what_a_wrong_kernel_gives(complete: Diagnosis) -> None:
    wrong = Check("rms_norm", "fail", "NaN", facts={"largest_difference": math.nan, "by_dtype": [math.inf, 0.5]})
    found = json.dumps(replace(complete, checks=(wrong,)).to_json(), allow_nan=False)
    assert json.loads(found)["checks"][0]["facts"] == {"largest_difference": None, "by_dtype": [None, 0.5]}


def test_what_a_card_needs_is_looked_at_without_one(complete: Diagnosis) -> None:
    names = [(check.group, check.name) for check in complete.checks]
    assert {("gpu", "driver"), ("gpu", "toolkit"), ("kernels", "compiler"), ("places", "kernel cache")} <= set(names)
    assert only(complete.checks, "toolkit").facts["torch"] in only(complete.checks, "toolkit").value
    if not torch.cuda.is_available():
        assert re.search("CUDA|NVIDIA", only(complete.checks, "cuda").facts["reason"])


def test_a_report_is_the_json_without_names_and_secrets(
    complete: Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("platform.node", lambda: "gpu-box.lab")
    facts = {"path": f"{Path.home()}/models", "said": ["gpu-box.lab: out of memory", "not my-gpu-box.lab"], "n": 3}
    told = Check("hub cache", "ok", "https://me:hf_secret0001@hub on gpu-box.lab", facts=facts, group="places")
    monkeypatch.setattr("calprobe.doctor.examine", lambda model: replace(complete, checks=(*complete.checks, told)))
    out = tmp_path / "card.json"
    main(["doctor", "--report", str(out)])
    written, printed = out.read_text(), capsys.readouterr()
    assert printed.err == f"wrote {out}\n"
    assert printed.out.splitlines()[-1] == f"verdict: {complete.verdict}"
    content = json.loads(written)
    assert list(content) == ["calprobe", "verdict", "ready", "checks"]
    *_, last = content["checks"]
    assert last["value"] == "https://***@hub on HOST"
    assert last["facts"] == {"path": "~/models", "said": ["HOST: out of memory", "not my-gpu-box.lab"], "n": 3}
    assert "gpu-box.lab" not in written.replace("my-gpu-box.lab", "")


def diagnosed(*checks: Check) -> Diagnosis:
    return Diagnosis("1.2.3", checks)


FAILED = Check("torch", "fail", "not installed", "pip install torch", group="versions")


@pytest.mark.parametrize(
    ("checks", "verdict", "code"),
    [
        ((Check("cuda:0", "ok", "a card", facts={"index": 0}, group="gpu"),), "ready", 0),
        ((Check("cuda", "note", "none", group="gpu"),), "ready, no GPU", 0),
        ((FAILED,), "NOT ready: versions torch: not installed", 1),
        ((Check("model", "fail", "not here", group="model"),), "NOT ready: model: not here", 1),
        ((FAILED, FAILED), "NOT ready: versions torch: not installed (and 1 more)", 1),
    ],
)
def test_verdict_and_exit_code(
    checks: tuple[Check, ...], verdict: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calprobe.doctor.examine", lambda model: diagnosed(*checks))
    result = CliRunner().invoke(cli, ["doctor"])
    assert result.stdout.splitlines()[-1] == f"verdict: {verdict}"
    assert result.exit_code == code
    assert json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).stdout)["verdict"] == verdict


@pytest.mark.parametrize("model", ["", " "])
def test_an_empty_model_is_wrong_usage(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--model", model])
    found = capsys.readouterr()
    assert (ended.value.code, found.out) == (2, "")
    assert found.err.startswith("calprobe: --model is empty; give an alias")


def test_colours_are_the_callers() -> None:
    text = diagnosis_text(diagnosed(FAILED), lambda text, colour: f"<{colour}>{text}")
    assert text.splitlines() == [
        "versions",
        "<red>FAIL  torch         not installed",
        "                    -> pip install torch",
        "",
        "<red>verdict: NOT ready: versions torch: not installed",
    ]


# Broken on purpose.


def test_a_check_that_breaks_off_has_failed_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise RuntimeError("the disk\nhas more to say")

    monkeypatch.setattr("psutil.virtual_memory", broken)
    checks = examine(only=["machine"]).checks
    assert [check.state for check in checks if check.name == "system"] == ["ok"]
    memory = only(checks, "memory")
    assert (memory.group, memory.state, memory.value, memory.fix) == ("machine", "fail", "RuntimeError: the disk", "")


def test_an_error_of_calprobe_keeps_its_words_and_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    for error, expected in (
        (DataMissingError("gpt2 is not here\ndownload it"), ("gpt2 is not here", "download it")),
        (DataMissingError(""), ("DataMissingError", "")),
    ):

        def missing(*given: Any, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr("calprobe.models.load_model", missing)
        check = found("model", "model", "gpt2")
        assert (check.value, check.fix) == expected


@pytest.fixture
def cannot_import(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """From now on, importing that module raises ImportError, whether it was loaded or not."""
    real_import, real_import_module = builtins.__import__, importlib.import_module
    broken: set[str] = set()

    def refuse(name: str) -> None:
        if name.split(".")[0] in broken:
            raise ImportError(f"{name}: libbroken.so: cannot open")

    def fake_import(name: str, *arguments: Any, **rest: Any) -> Any:
        refuse(name)
        return real_import(name, *arguments, **rest)

    def fake_import_module(name: str) -> Any:
        refuse(name)
        return real_import_module(name)

    monkeypatch.setattr(builtins, "__import__", fake_import)
    monkeypatch.setattr("calprobe.doctor.installation.import_module", fake_import_module)
    return broken.add


def test_half_installed_transformers(cannot_import: Callable[[str], None]) -> None:
    cannot_import("transformers")
    check = found("versions", "transformers")
    assert check.state == "fail"
    assert "cannot be imported (ImportError: transformers: libbroken.so" in check.value
    assert check.fix.startswith("pip install --force-reinstall --no-deps 'transformers==")
    assert found("versions", "torch").state == "ok"


def test_triton_that_cannot_be_imported_keeps_nobody_from_scoring(cannot_import: Callable[[str], None]) -> None:
    cannot_import("triton")
    assert found("versions", "triton").state == "note"


@pytest.fixture
def version(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str | None], None]:
    """Set the version that is installed of a package; None: it is not installed."""
    real, faked = metadata.version, dict[str, str | None]()

    def fake(name: str) -> str:
        if name in faked and faked[name] is None:
            raise metadata.PackageNotFoundError(name)
        return faked.get(name) or real(name)

    monkeypatch.setattr(metadata, "version", fake)
    return faked.__setitem__


def test_a_package_that_is_too_old(version: Callable[[str, str | None], None]) -> None:
    version("transformers", "4.40.0")
    check = found("versions", "transformers")
    assert (check.state, check.value) == ("fail", "4.40.0, calprobe wants >=4.57")
    assert check.fix == "pip install 'transformers>=4.57'"


def test_a_package_that_is_not_there(version: Callable[[str, str | None], None]) -> None:
    version("pyarrow", None)
    check = found("versions", "pyarrow")
    assert (check.state, check.value, check.fix) == ("fail", "not installed", "pip install 'pyarrow>=15'")


def test_an_unwritable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**given: Any) -> Any:
        raise OSError("read-only")

    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    check = found("places", "cache")
    assert check.state == "note"
    assert "cannot be written to: GGUF files cannot be unpacked" in check.value
    assert check.fix == "set CALPROBE_CACHE to a folder that can be written to"
    assert check.facts["writable"] is False
    assert found("places", "temporary").state == "fail"


def test_a_folder_that_is_not_there_yet_and_one_that_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "a" / "b"))
    absent = found("places", "cache")
    assert (absent.state, absent.facts["exists"]) == ("ok", False)
    assert list(tmp_path.iterdir()) == []  # and looking did not make it
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path))
    (tmp_path / "weights").write_bytes(b"x" * 3000)
    assert found("places", "cache").facts["bytes"] == 3000
    assert [file.name for file in tmp_path.iterdir()] == ["weights"]


def test_little_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**6))
    check = found("places", "cache")
    assert check.state == "note"
    assert "1.0 MiB free on its disk; little free space" in check.value
    assert check.fix == "free disk space, or set CALPROBE_CACHE to a folder on another disk"


def test_bear_is_looked_for_below_the_data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    check = found("probes", "bear")
    assert (check.state, check.value, check.fix) == ("note", "not there", "calprobe fetch bear")


def test_scores_that_differ_from_the_models_own_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    real = TreeExecutor.run

    def off_by_a_little(self: TreeExecutor, plan: Any, *after_batch: Any) -> Any:
        scores = real(self, plan, *after_batch)
        return scores._replace(logprobs=scores.logprobs - 0.01)

    monkeypatch.setattr(TreeExecutor, "run", off_by_a_little)
    check = found("self-test", "tiny-clm")
    assert check.state == "fail"
    assert "tree: its token scores differ from the model's own by up to 0.01 nats" in check.value


def test_paths_that_fail_on_a_card_are_a_note_where_scoring_works(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_compiler(*_: Any) -> Any:
        raise RuntimeError("Failed to find C compiler. Please specify via CC")

    monkeypatch.setattr("calprobe.scoring.path_choice.triton_takes", lambda array: True)
    monkeypatch.setattr("calprobe.models.head.linear_logprob", no_compiler)
    clm, *rest = [check for check in examine(only=["self-test"]).checks if check.name == "tiny-clm"]
    assert clm.state == "ok"
    assert set(clm.facts["largest_difference"]) == {"tree", "padded"}
    (note,) = rest
    assert (note.state, note.value) == ("note", "scoring works, but slower; by torch, not by kernels: head")


def test_a_report_that_says_another_accuracy_than_the_scores_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "partial", True)
    check = found("self-test", "run folder")
    assert check.state == "fail"
    assert check.value.startswith("partial: True, accuracy ")


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give the machine one card, or a driver alone."""

    def give(capability: tuple[int, int] | None, driver: str | None = "550.54.14", cuda: str | None = "12.4") -> None:
        monkeypatch.setattr(shutil, "which", lambda name: driver and "/usr/bin/nvidia-smi")
        monkeypatch.setattr(subprocess, "run", lambda *args, **given: SimpleNamespace(stdout=f"{driver}\n"))
        monkeypatch.setattr(torch.version, "cuda", cuda)
        monkeypatch.setattr(torch.version, "hip", None, raising=False)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: capability is not None)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: "Card")
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: capability)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda index: (2**30, 2**31))

    return give


def test_cards_that_torch_does_not_see(card: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    card(None, driver=None, cuda=None)
    assert found("gpu", "cuda").value == "none: torch sees no GPU (built for CPU)"
    card(None, cuda=None)
    check = found("gpu", "cuda")
    assert found("gpu", "driver").facts == {"nvidia": "550.54.14"}
    assert check.value == f"a GPU with driver 550.54.14 is there, but this torch ({torch.__version__}) is CPU-only"
    assert "install torch" in check.fix
    card(None)
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    assert "does not see it" in found("gpu", "cuda").value


@pytest.mark.parametrize(("capability", "state"), [((9, 0), "ok"), ((8, 0), "ok"), ((7, 5), "note")])
def test_cards_are_described(capability: tuple[int, int], state: str, card: Callable[..., None]) -> None:
    card(capability)
    assert found("gpu", "driver").value == "550.54.14"
    assert found("gpu", "toolkit").value.startswith("torch is built for CUDA 12.4")
    check = found("gpu", "cuda:0")
    assert (check.state, check.facts["index"]) == (state, 0)
    assert "compute capability {}.{}, 1.0 GiB free of 2.0".format(*capability) in check.value


def test_a_card_that_torch_has_no_code_for(card: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    card((12, 0))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_80", "sm_90"])
    first, second = found("gpu", "cuda:0"), found("gpu", "cuda:1")
    assert [first.state, second.state] == ["fail", "note"]  # --device auto takes the first
    assert first.value.endswith("of 2.0; this torch (CUDA 12.4) has code for 8.0, 9.0 only")
    assert first.fix.startswith("install torch's build for a newer CUDA (pip install --force-reinstall torch")


def test_kernels_that_do_not_run_say_why_and_what_it_costs(
    card: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    card((9, 0))
    difference: list[Any] = []

    def tried(trial: Trial, device: torch.device) -> float:
        if trial.case != "rms_norm in bfloat16, 200 rows":
            return 1e-9
        if isinstance(difference[-1], Exception):
            raise difference[-1]
        return float(difference[-1])

    monkeypatch.setattr(Trial, "difference", tried)
    for outcome, state, fix in (
        (ImportError("No module named 'triton'"), "note", "pip install triton"),
        (RuntimeError("Failed to find C compiler. Please specify via CC"), "note", "install a C compiler"),
        (0.1, "note", "please report it"),
        (float("nan"), "note", "please report it"),
        (1e-6, "ok", ""),
    ):
        difference.append(outcome)
        check = found("kernels", "cuda:0")
        assert (check.state, check.fix.startswith(fix)) == (state, True)
        assert ("torch computes in their place: correct, but slower" in check.value) == (state == "note")
        assert ("(rms_norm in bfloat16, 200 rows" in check.value) == (state == "note" and fix != "pip install triton")
    assert check.facts["differences"]["rms_norm in bfloat16, 200 rows"] == 1e-6
    assert len(check.facts["differences"]) == 6 * 2 * 3  # kernels, dtypes, rows


@pytest.mark.parametrize(
    ("platform", "hip", "fix"),
    [
        ("linux", None, "pip install triton"),
        ("win32", None, "Triton has no wheel for Windows; torch's build for Linux, in WSL2, brings it"),
        (
            "linux",
            "6.4.43484-123eb5128",
            "reinstall torch's build for ROCm, which brings Triton (pip install --force-reinstall torch"
            " --index-url https://download.pytorch.org/whl/rocm6.4)",
        ),
    ],
)
def test_where_triton_comes_from(
    platform: str, hip: str | None, fix: str, card: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_triton(*_: Any) -> NoReturn:
        raise ImportError("No module named 'triton'")

    card((9, 0))
    monkeypatch.setattr("calprobe.kernels.arguments.compiles_for", lambda device: True)
    monkeypatch.setattr(Trial, "difference", no_triton)
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr("calprobe.doctor.kernel_trials.sys", SimpleNamespace(platform=platform))
    check = found("kernels", "cuda:0")
    assert (check.state, check.fix) == ("note", fix)
    assert check.value.startswith("triton cannot be imported (No module named 'triton'); torch computes in their place")


@pytest.mark.parametrize(
    ("compiler", "headers", "value", "fix"),
    [
        (None, True, "none", "install a C compiler (gcc), or name it in CC"),
        ("CC=/no/such/cc", True, "/no/such/cc does not run", "unset CC, or set it to one program (gcc)"),
        ("CC=gcc -pthread", True, "gcc -pthread does not run", "unset CC, or set it to one program (gcc)"),
        ("gcc", False, "gcc 1.2; no Python.h", "install Python's headers (apt: python3."),
        ("gcc", True, "gcc 1.2; Python.h is there", ""),
    ],
)
def test_what_compiles_the_launchers(
    compiler: str | None, headers: bool, value: str, fix: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CC", raising=False)
    if compiler and compiler.startswith("CC="):
        monkeypatch.setenv("CC", compiler.removeprefix("CC="))
    monkeypatch.setattr(shutil, "which", lambda name: compiler if name == "gcc" else None)
    if compiler == "gcc":
        monkeypatch.setattr("torch.utils.collect_env.run", lambda command: (0, "gcc 1.2\nFree software", ""))
    monkeypatch.setattr("sysconfig.get_paths", lambda: {"include": str(tmp_path)})
    if headers:
        (tmp_path / "Python.h").touch()
    for there in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        check = _compiler()
        assert (check.value, check.state) == (value, "note" if there and fix else "ok")
        assert check.fix.startswith(fix if there else "")
        assert bool(check.fix) == (there and bool(fix))


def test_a_disk_from_which_nothing_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    assert found("places", "kernel cache").state == "ok"
    disk = os.statvfs(tmp_path)
    sizes = {name: getattr(disk, name) for name in ("f_bavail", "f_bfree", "f_blocks", "f_frsize")}
    monkeypatch.setattr(os, "ST_NOEXEC", 8, raising=False)
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=8, **sizes))
    check = found("places", "kernel cache")
    assert (check.state, "mounted noexec" in check.value) == ("note", True)
    assert check.fix == "set TRITON_CACHE_DIR to a folder on a disk that allows execution"
    monkeypatch.delattr(os, "ST_NOEXEC")
    assert found("places", "kernel cache").state == "ok", "macOS does not say it"


def test_an_old_card_is_said_to_go_without_the_kernels(card: Callable[..., None]) -> None:
    card((7, 5))
    check = found("kernels", "cuda:0")
    assert (check.state, check.value) == (
        "note",
        "not used on cards older than 8.0: plain torch computes in their place",
    )


def differences(dtype: str, rows: int) -> dict[str, float]:
    """Largest difference of each kernel on the CPU, where the reference computes."""
    apart: dict[str, float] = {}
    for trial in trials(dtype, rows):
        apart[trial.kernel] = max(trial.difference(torch.device("cpu")), apart.get(trial.kernel, 0.0))
    return apart


KERNELS = ("gather_reduce", "gated_unit", "linear_logprob", "rms_norm", "rotary", "tree_attention")


@pytest.mark.parametrize(("dtype", "rows"), [("float32", 70), ("bfloat16", 5)])
def test_no_difference_where_there_is_none(dtype: str, rows: int) -> None:
    assert differences(dtype, rows) == dict.fromkeys(KERNELS, 0.0)


def test_the_kernels_are_tried_in_the_products_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def note(*arguments: Any, precision: Any = "ieee") -> Any:
        asked.append(precision)
        return linear_logprob(*arguments)

    monkeypatch.setattr("calprobe.models.placement.float32_products", lambda *_: "tf32x3")
    monkeypatch.setattr("calprobe.kernels.linear_logprob", note)
    differences("float32", 5)
    assert asked == ["tf32x3"]


def of_a_path(query: Any, key: Any, value: Any, layout: TreeLayout, rule: Any) -> torch.Tensor:
    """Attention of a place to all before it, those of other branches too."""
    all_see = TreeLayout(torch.full_like(layout.end, layout.end.shape[1]), layout.depth, layout.ancestors)
    return tree_attention(query, key, value, all_see, rule)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("kernel", "wrong"),
    [
        ("tree_attention", of_a_path),
        ("rms_norm", lambda x, weight, eps, *_: rms_norm(x, weight, eps)),
        ("gated_unit", lambda gate, up, _: gated_unit(gate, up, "silu")),
        ("rotary", lambda x, cos, sin, _: rotary(x, cos, sin, RotaryRule())),
        ("linear_logprob", lambda *given, **_: (linear_logprob(*given[:4])[0] + 1e-3, linear_logprob(*given[:4])[1])),
        ("gather_reduce", lambda *given: gather_reduce(*given)._replace(sum_answer=given[0].new_full((), math.nan))),
    ],
)
def test_a_kernel_of_another_formula_is_found(
    kernel: str, wrong: Callable[..., Any], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"calprobe.kernels.{kernel}", wrong)
    for rows in (40, 200):
        tried = [trial for trial in trials(dtype, rows) if trial.kernel == kernel]
        assert any(not trial.difference(torch.device("cpu")) <= trial.near_enough for trial in tried)


@pytest.fixture
def cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(model_memory, "CGROUP", tmp_path)
    return tmp_path


def test_more_threads_than_the_container_may_use(cgroup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cgroup / "cpu.max").write_text("400000 100000\n")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    check = found("machine", "threads")
    assert (check.state, check.fix) == ("note", "set OMP_NUM_THREADS=4")


@pytest.mark.parametrize(("text", "limit"), [("max\n", None), ("1048576\n", 2**20), ("9223372036854771712\n", None)])
def test_the_containers_limit(text: str, limit: int | None, cgroup: Path) -> None:
    (cgroup / "memory.max").write_text(text)
    (cgroup / "memory.current").write_text("4096\n")
    assert found("machine", "memory").facts["limit_bytes"] == limit


def test_a_model_says_its_path_and_why_not_a_faster_one(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = examine("tiny-clm", only=["model"]).checks
    assert only(checks, "loaded").value.startswith("LlamaForCausalLM, causal, float32 on ")
    assert only(checks, "path").facts == {"path": "tree", "passed_over": {}}
    monkeypatch.setattr(TreeExecutor, "run", lambda self, plan, *_: (_ for _ in ()).throw(RuntimeError("no mask")))
    checks = examine("tiny-clm", only=["model"]).checks
    assert (only(checks, "not tree").state, only(checks, "not tree").value) == ("note", "RuntimeError: no mask")
    assert only(checks, "path").facts["path"] == "padded"


def test_a_model_that_is_not_there_is_a_failure_with_the_fix() -> None:
    check = found("model", "model", "./nothing.gguf")
    assert check.state == "fail"
    assert "no such file or folder" in check.value


def test_neither_the_home_folder_nor_secrets_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://me:secret@hub.example")
    monkeypatch.setenv("HF_HOME", str(Path.home() / "models"))
    monkeypatch.setenv("CC", str(Path.home() / "bin" / "cc"))
    value = found("versions", "settings").value
    assert "CC=~/bin/cc" in value
    assert "HF_ENDPOINT=https://***@hub.example" in value
    assert "HF_HOME=~/models" in value
    assert "secret" not in value


@pytest.mark.parametrize(
    "name",
    [
        *("CALPROBE_KERNELS", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "NVIDIA_TF32_OVERRIDE", "CC"),
        *("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    ],
)
def test_variables_that_change_what_is_computed_are_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    monkeypatch.setenv("ACCESS_TOKEN", "not-to-be-told")
    value = found("versions", "settings").value
    assert f"{name}=1" in value
    assert "not-to-be-told" not in value


def test_an_empty_variable_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "CUDA_VISIBLE_DEVICES=(empty)" in found("versions", "settings").value
