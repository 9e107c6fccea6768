"""How a process knows that it is one of several, and what several cannot share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from tiny_models import save_tiny_model
from torch.distributed import HashStore

import calprobe
from calprobe.errors import CalprobeError, UsageError
from calprobe.models import LoadOptions
from calprobe.models.placement import place
from calprobe.models.unseen_card import UnseenCard
from calprobe.scoring.launch import launched, workers_of_launch
from calprobe.scoring.workers import Stopped, Workers


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (0, 1)),
        ({"RANK": "0", "WORLD_SIZE": "1"}, (0, 1)),
        ({"RANK": "3", "WORLD_SIZE": "8"}, (3, 8)),
        ({"WORLD_SIZE": "8"}, (0, 1)),  # a batch system's, without a launcher
    ],
)
def test_what_launchers_say(
    environment: dict[str, str], expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert launched() == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [(LoadOptions(device_map="auto"), "start a single process"), (LoadOptions(device="cuda:1"), "would share it")],
)
def test_a_placement_that_all_would_share_is_refused_once(
    options: LoadOptions, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(UsageError, match=said):
        workers_of_launch(options)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(Stopped) as stopped:
        workers_of_launch(options)
    assert stopped.value.exit_code == 2


def test_a_gpu_that_was_asked_for_and_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(UsageError, match=r"torch sees 0 GPU\(s\) here"):
        workers_of_launch(LoadOptions(device="cuda"))


@dataclass
class Machines:
    """Processes that see GPUs of these identities, each process its own list; nothing is computed."""

    patch: pytest.MonkeyPatch
    store: HashStore = field(default_factory=HashStore)
    chosen: list[int] = field(default_factory=list)

    def device(self, rank: int, cards: list[str], device: str = "auto", host: str = "node0", **environment: str) -> str:
        """The device of the process of that rank."""
        said = {"WORLD_SIZE": "9", "RANK": str(rank)} | environment
        with self.patch.context() as patch:
            for name in ("LOCAL_RANK", "SLURM_LOCALID", "CUDA_VISIBLE_DEVICES"):
                patch.delenv(name, raising=False)
            for name, value in said.items():
                patch.setenv(name, value)
            patch.setattr("torch.cuda.is_available", lambda: bool(cards))
            patch.setattr("torch.cuda.device_count", lambda: len(cards))
            patch.setattr("torch.cuda.set_device", self.chosen.append)
            patch.setattr("torch.cuda.get_device_name", lambda card: "NVIDIA T")
            patch.setattr("torch.cuda.get_device_properties", lambda card: SimpleNamespace(uuid=cards[card]))
            patch.setattr("socket.gethostname", lambda: host)
            patch.setattr("calprobe.scoring.launch._next_store", lambda rank: self.store)
            return workers_of_launch(LoadOptions(device=device))[1].device

    def stopped_by(self, rank: int) -> bool:
        """Whether the others stop because of that process, with exit code 2, and do not wait for it."""
        with pytest.raises(Stopped) as stopped:
            Workers(0, 9, self.store).check()
        return (stopped.value.rank, stopped.value.exit_code) == (rank, 2) and self.store.check([f"left {rank}"])


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> Machines:
    return Machines(monkeypatch)


def test_each_process_takes_the_gpu_of_its_place_on_its_machine(machines: Machines) -> None:
    cards = ["a", "b", "c"]
    assert machines.device(0, cards, LOCAL_RANK="0") == "cuda:0"
    assert machines.device(1, cards, LOCAL_RANK="2", SLURM_LOCALID="0") == "cuda:2"
    assert machines.device(2, cards, "cuda", SLURM_LOCALID="1") == "cuda:1"
    assert machines.device(3, cards, host="node1", LOCAL_RANK="0") == "cuda:0"  # the same names on another machine
    assert machines.chosen == [0, 2, 1, 0]


def test_one_visible_gpu_is_the_process_s_own(machines: Machines) -> None:
    assert machines.device(0, ["a"], LOCAL_RANK="0") == "cuda:0"
    assert machines.device(3, ["d"], LOCAL_RANK="3") == "cuda:0"  # CUDA_VISIBLE_DEVICES=3
    assert machines.device(4, ["e"], "cuda") == "cuda:0"
    with pytest.raises(UsageError, match=r"process 5: another process has its GPU too \(NVIDIA T\)"):
        machines.device(5, ["d"], LOCAL_RANK="5")
    assert machines.stopped_by(5)


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_several_gpus_and_no_place_on_the_machine_are_refused(machines: Machines, device: str) -> None:
    with pytest.raises(UsageError, match="process 1: torch sees 2 GPUs here, and neither LOCAL_RANK nor SLURM_LOCALID"):
        machines.device(1, ["a", "b"], device)
    assert machines.stopped_by(1)
    with pytest.raises(UsageError, match=r"torch sees 2 GPU\(s\) here, but this is process 3 on this machine"):
        machines.device(1, ["a", "b"], device, SLURM_LOCALID="2")


@pytest.mark.parametrize("first_has_one", [True, False])
def test_gpus_for_only_some_processes_are_refused(machines: Machines, first_has_one: bool) -> None:
    cards = [["a"], []] if first_has_one else [[], ["a"]]
    machines.device(0, cards[0])
    has = "no GPU, but other processes have one" if first_has_one else "a GPU, but other processes have none"
    with pytest.raises(UsageError, match=f"process 1: torch sees {has}"):
        machines.device(1, cards[1])
    assert machines.stopped_by(1)


def test_processes_on_cpus_need_no_place_and_may_see_gpus(machines: Machines) -> None:
    assert [machines.device(rank, [], "auto") for rank in (0, 1)] == ["auto", "cpu"]
    assert machines.device(2, ["a", "b"], "cpu") == "cpu"
    with pytest.raises(UsageError, match=r"process 3: torch sees 0 GPU\(s\) here"):
        machines.device(3, [], "cuda", LOCAL_RANK="3")
    assert not machines.chosen


def test_a_card_that_no_process_can_use_is_said_by_the_first(
    machines: Machines, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    card = UnseenCard("the driver is too old", "update it")
    for module in ("placement", "unseen_card"):
        monkeypatch.setattr(f"calprobe.models.{module}.unseen_card", lambda: card)
    for rank in range(8):
        chosen = machines.device(rank, [], LOCAL_RANK=str(rank))
        with monkeypatch.context() as patch:
            patch.setattr("torch.cuda.is_available", lambda: False)
            assert place(LoadOptions(device=chosen)).device.type == "cpu"
    assert caplog.messages == ["computing on the CPU: the driver is too old; update it"]
    with pytest.raises(UsageError, match=r"process 8: torch sees 0 GPU\(s\) here; the driver is too old; update it"):
        machines.device(8, [], "cuda", LOCAL_RANK="0")


def test_a_rank_that_no_launcher_gave_is_said_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "2")):
        monkeypatch.setenv(name, value)
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CalprobeError, match=r"cannot connect: .*MASTER_ADDR.*\nstart them with torchrun") as refused:
        workers_of_launch(LoadOptions(device="cpu"))
    assert len(str(refused.value).splitlines()) == 2


def test_a_model_in_memory_is_scored_by_the_process_that_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process of a training scores while the others wait for it: it must not wait for them."""
    model = calprobe.load_model(str(save_tiny_model(tmp_path / "model")))
    options = calprobe.ScoreOptions(relations=("month",), first=2, quiet=True)
    alone = calprobe.score(model, "mini", tmp_path / "alone", options)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")  # there is no process group: to ask for one would be an error
    launched_with_others = calprobe.score(model, "mini", tmp_path / "launched", options)
    assert (launched_with_others.table().scores == alone.table().scores).all()
    assert launched_with_others.progress.processes == 1
