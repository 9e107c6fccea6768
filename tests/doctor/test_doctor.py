"""`calprobe doctor`: a whole installation, and installations broken on purpose."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from calprobe.cli.app import cli, main
from calprobe.doctor import Check, Diagnosis, devices, examine, kernels, places, selftest, versions
from calprobe.doctor.looks import attempt, described
from calprobe.doctor.model import look_at_model
from calprobe.doctor.text import WIDTH, diagnosis_text
from calprobe.errors import DataMissingError


def only(found: Any, name: str) -> Check:
    return next(check for check in found if check.name == name)


def seen(look: Callable[[], Any], name: str) -> Check:
    """The check of that name that a look gives, as `examine` takes it."""
    return only(attempt(name, look), name)


@pytest.fixture(scope="module")
def whole() -> Diagnosis:
    return examine()


def test_a_whole_installation_is_ready(whole: Diagnosis) -> None:
    assert whole.ready
    assert whole.verdict == ("ready" if torch.cuda.is_available() else "ready, no GPU")
    groups = list(dict.fromkeys(check.group for check in whole.checks))
    assert groups == ["versions", "machine", "gpu", "kernels", "places", "probes", "self-test"]
    assert only(whole.checks, "torch").value == torch.__version__


def test_the_self_test_compares_paths_and_counts_anew(whole: Diagnosis) -> None:
    tree = only(whole.checks, "tiny-clm").facts
    assert set(tree["largest_difference"]) == {"tree", "padded"}
    assert 0 < tree["largest_difference"]["tree"] < 1e-4
    assert tree["statements"] == 3 * 12
    run = only(whole.checks, "run folder").facts
    assert run["instances"] == 3
    assert run["accuracy_reported"] == run["accuracy_counted"]


def test_the_text_is_narrow_and_each_check_has_a_line_that_begins_with_its_state(whole: Diagnosis) -> None:
    lines = diagnosis_text(whole).splitlines()
    too_wide = [line for line in lines if len(line) > WIDTH and " " in line.strip()]
    assert [line for line in too_wide if "/" not in line] == []  # a path is not broken
    assert lines[-1] == f"verdict: {whole.verdict}"
    stated = [line for line in lines if re.match(r"(ok|note|FAIL) ", line)]
    assert [line.split()[0].lower() for line in stated] == [check.state for check in whole.checks]


def test_json_has_all_checks(whole: Diagnosis) -> None:
    found = json.loads(json.dumps(whole.to_json(), allow_nan=False))
    assert (found["verdict"], found["ready"]) == (whole.verdict, True)
    assert [check["name"] for check in found["checks"]] == [check.name for check in whole.checks]
    memory = only(whole.checks, "memory")
    assert {"group", "name", "state", "value", "mend", "facts"} == set(found["checks"][0])
    assert memory.facts["free_bytes"] <= memory.facts["total_bytes"]


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


def test_a_look_that_breaks_off_is_a_failed_check_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Check:
        raise RuntimeError("the disk\nhas more to say")

    monkeypatch.setattr(
        "calprobe.doctor.looks.GROUPS",
        (("one", (("broken", broken),)), ("two", (("fine", lambda: Check("fine", "ok", "yes")),))),
    )
    found = examine()
    assert [(check.group, check.name, check.state) for check in found.checks] == [
        ("one", "broken", "fail"),
        ("two", "fine", "ok"),
    ]
    assert found.checks[0].value == "RuntimeError: the disk"
    assert found.checks[0].mend == ""


def test_an_error_of_calprobe_keeps_its_words_and_its_mend() -> None:
    assert described(DataMissingError("gpt2 is not here\ndownload it")) == ("gpt2 is not here", "download it")
    assert described(DataMissingError("")) == ("DataMissingError", "")


@pytest.fixture
def cannot_import(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """From now on, importing that module raises ImportError, whether it was loaded or not."""
    real_import, real_import_module = builtins.__import__, versions.import_module
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
    monkeypatch.setattr(versions, "import_module", fake_import_module)
    return broken.add


def test_half_installed_transformers(cannot_import: Callable[[str], None]) -> None:
    cannot_import("transformers")
    check = seen(versions._packages, "transformers")
    assert check.state == "fail"
    assert "cannot be imported (ImportError: transformers: libbroken.so" in check.value
    assert check.mend.startswith("pip install --force-reinstall --no-deps 'transformers==")
    assert seen(versions._packages, "torch").state == "ok"


def test_triton_that_cannot_be_imported_keeps_nobody_from_scoring(cannot_import: Callable[[str], None]) -> None:
    cannot_import("triton")
    assert seen(versions._packages, "triton").state == "note"


def test_a_package_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    real = versions._version
    monkeypatch.setattr(versions, "_version", lambda name: "4.40.0" if name == "transformers" else real(name))
    check = seen(versions._packages, "transformers")
    assert (check.state, check.value) == ("fail", "4.40.0, calprobe wants >=4.57")
    assert check.mend == "pip install 'transformers>=4.57'"


def test_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    real = versions._version
    monkeypatch.setattr(versions, "_version", lambda name: None if name == "pyarrow" else real(name))
    check = seen(versions._packages, "pyarrow")
    assert (check.state, check.value, check.mend) == ("fail", "not installed", "pip install 'pyarrow>=15'")


def test_an_unwritable_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"  # nothing can be made below a file, not even by root
    file.write_text("x")
    monkeypatch.setattr(places, "_nearest", lambda folder: file)
    check = places.place("cache", tmp_path / "cache", "GGUF files cannot be unpacked", "CALPROBE_CACHE")
    assert check.state == "note"
    assert "cannot be written to: GGUF files cannot be unpacked" in check.value
    assert check.mend == "set CALPROBE_CACHE to a folder that can be written to"
    assert check.facts["writable"] is False


def test_a_temporary_folder_that_cannot_be_written_to_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "is_writable", lambda folder: False)
    assert places._temporary().state == "fail"


def test_a_place_that_is_not_there_yet_and_one_that_is(tmp_path: Path) -> None:
    absent = places.place("cache", tmp_path / "a" / "b", "nothing", "CALPROBE_CACHE")
    assert absent.state == "ok"
    assert absent.facts["exists"] is False
    assert list(tmp_path.iterdir()) == []  # and looking did not make it
    (tmp_path / "weights").write_bytes(b"x" * 3000)
    there = places.place("cache", tmp_path, "nothing", "CALPROBE_CACHE")
    assert there.facts["bytes"] == 3000
    assert [file.name for file in tmp_path.iterdir()] == ["weights"]


def test_little_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places.shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**6))
    check = places.place("cache", tmp_path, "nothing", "CALPROBE_CACHE")
    assert check.state == "note"
    assert "1.0 MiB free on its disk; little room" in check.value
    assert check.mend == "make room, or set CALPROBE_CACHE to a folder on another disk"


def test_bear_is_looked_for_below_the_data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    check = seen(places._probes, "bear")
    assert (check.state, check.value, check.mend) == ("note", "not there", "calprobe fetch bear")


def test_scores_that_differ_from_the_models_own_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    real = selftest._scored

    def off_by_a_little(path: str, *rest: Any) -> Any:
        scores, seconds = real(path, *rest)
        return (scores - 0.01 if path == "tree" else scores), seconds

    monkeypatch.setattr(selftest, "_scored", off_by_a_little)
    check = only(selftest._paths_agree("tiny-clm"), "tiny-clm")
    assert check.state == "fail"
    assert "tree: its token scores differ from the model's own by up to 0.01 nats" in check.value


def test_a_report_that_says_another_accuracy_than_the_scores_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    real = selftest._by_instance
    monkeypatch.setattr(selftest, "_by_instance", lambda table: [-scores for scores in real(table)])
    check = selftest._run_folder()
    assert check.state == "fail"
    assert check.facts["accuracy_counted"] < check.facts["accuracy_reported"]


def test_without_nvidia_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices.shutil, "which", lambda name: None)
    assert devices._driver() is None


def test_a_card_that_a_cpu_build_of_torch_cannot_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_driver", lambda: "550.54.14")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(devices, "_built_for", lambda: "CPU")
    check = only(devices._gpus(), "cuda")
    assert check.value == f"a GPU with driver 550.54.14, but this torch ({torch.__version__}) is CPU-only"
    assert "install torch" in check.mend
    monkeypatch.setattr(devices, "_built_for", lambda: "CUDA 12.4")
    assert "does not see it" in only(devices._gpus(), "cuda").value


@pytest.mark.parametrize(("capability", "state"), [((9, 0), "ok"), ((8, 0), "ok"), ((7, 5), "note")])
def test_cards_are_described(capability: tuple[int, int], state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: "Card")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: capability)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda index: (2**30, 2**31))
    check = devices._card(1)
    assert (check.name, check.state) == ("cuda:1", state)
    assert check.facts["index"] == 1
    assert "compute capability {}.{}, 1.0 GiB free of 2.0".format(*capability) in check.value


def on_a_card(raised: Exception, monkeypatch: pytest.MonkeyPatch) -> Check:
    def broken(device: torch.device) -> float:
        raise raised

    monkeypatch.setattr(kernels, "largest_difference", broken)
    return kernels._on_card(torch.device("cuda", 0))


def test_kernels_that_do_not_run_say_why_and_what_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = on_a_card(ImportError("No module named 'triton'"), monkeypatch)
    assert (absent.state, absent.mend) == ("note", "pip install triton")
    assert "the model's own forward scores instead" in absent.value
    no_compiler = on_a_card(RuntimeError("Failed to find C compiler. Please specify via CC"), monkeypatch)
    assert "install a C compiler" in no_compiler.mend
    wrong = Check("cuda:0", "note", "")
    for difference in (0.1, float("nan")):
        monkeypatch.setattr(kernels, "largest_difference", lambda device, found=difference: found)
        wrong = kernels._on_card(torch.device("cuda", 0))
        assert (wrong.state, wrong.mend) == ("note", "please report it")
    monkeypatch.setattr(kernels, "largest_difference", lambda device: 1e-6)
    assert kernels._on_card(torch.device("cuda", 0)).state == "ok"


def test_the_kernels_own_check_finds_no_difference_where_there_is_none() -> None:
    assert kernels.largest_difference(torch.device("cpu")) == 0.0


def test_more_threads_than_the_container_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    monkeypatch.setattr(devices, "_processor_quota", lambda: 4.0)
    check = devices._threads()
    assert (check.state, check.mend) == ("note", "set OMP_NUM_THREADS=4")


@pytest.mark.parametrize(
    ("name", "text", "limit"),
    [
        ("memory.max", "max\n", None),
        ("memory.max", "2147483648\n", 2**31),
        ("memory/memory.limit_in_bytes", "9223372036854771712\n", None),
        ("memory/memory.limit_in_bytes", "1073741824\n", 2**30),
    ],
)
def test_the_containers_limit(
    name: str, text: str, limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    monkeypatch.setattr(devices, "_CGROUP", tmp_path)
    assert devices._memory_limit() == limit


def test_a_model_says_its_path_and_why_not_a_faster_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(look_at_model("tiny-clm"))
    assert only(found, "loaded").value.startswith("LlamaForCausalLM, causal, float32 on ")
    assert only(found, "path").facts == {"path": "tree", "passed_over": {}}
    monkeypatch.setattr(
        "calprobe.scoring.tree.TreeExecutor.run", lambda self, plan: (_ for _ in ()).throw(RuntimeError("no mask"))
    )
    found = list(look_at_model("tiny-clm"))
    assert (only(found, "not tree").state, only(found, "not tree").value) == ("note", "RuntimeError: no mask")
    assert only(found, "path").facts["path"] == "padded"


def test_a_model_that_is_not_there_is_a_failure_with_the_mend() -> None:
    check = seen(lambda: look_at_model("./nothing.gguf"), "model")
    assert check.state == "fail"
    assert "no such file or folder" in check.value


def test_neither_the_home_folder_nor_secrets_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://me:secret@hub.example")
    monkeypatch.setenv("HF_HOME", str(Path.home() / "models"))
    value = only(versions._settings(), "settings").value
    assert "HF_ENDPOINT=https://***@hub.example" in value
    assert "HF_HOME=~/models" in value
    assert "secret" not in value
