"""torch's launcher with processes that are forked: what torch and transformers take to import is paid once for all.

It is the agent behind torchrun, which starts each process anew: same environment, same ways to end them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
from torch.distributed.launcher.api import LaunchConfig, elastic_launch


def launch(process: Callable[[], None], count: int, logs: Path) -> None:
    """Run it in `count` processes; raises what torchrun raises if one fails. `logs` is a folder for torch's own use."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # else they warn of the fork

    def fresh() -> None:
        # A new program has these, a fork the launcher's own.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        process()

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=count,
        run_id=str(os.getpid()),
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        start_method="fork",
        logs_specs=DefaultLogsSpecs(str(logs)),
    )
    elastic_launch(config, fresh)()
