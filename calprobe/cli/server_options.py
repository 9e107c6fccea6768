"""How a server is reached and asked: the same options for what it answers, judges or puts in other words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from calprobe.cli.arguments import fields_option
from calprobe.cli.option_kinds import Group, option

# Parameters, which are fields of `BackendOptions`.
OF_SERVER = (
    *("api_key_env", "headers", "extra_body", "reasoning_effort"),
    *("concurrency", "max_requests", "requests_per_minute", "timeout_s", "attempts"),
)


def server_options(what: str, setting_of: str | None = None) -> Callable[[Any], Any]:
    """The options of a server, for a command that has others of its own.

    Args:
        what: is in progress at a server, in the plural.
        setting_of: the option that sets the rarer ones, see `KindOption`; None: they stand in the help.
    """
    of_server = partial(option, kinds=("openai",), group=Group.SERVER)
    rarer = of_server if setting_of is None else partial(of_server, setting_of=setting_of)
    fields = partial(fields_option, kinds=("openai",), group=Group.SERVER)
    options = (
        of_server(
            "--api-key-env", metavar="NAME", help="Environment variable that has the key.  [default: OPENAI_API_KEY]"
        ),
        of_server("--concurrency", type=int, metavar="N", help=f"{what} in progress at a server.  [default: 8]"),
        of_server("--max-requests", type=int, metavar="N", help="Stop after N requests to a server."),
        of_server(
            "--reasoning-effort",
            metavar="low|medium|high|..",
            help="How long a model of a server thinks, in the server's words.  [default: the model's own]",
        ),
        fields(
            "--header",
            "headers",
            sign=":",
            metavar="NAME: VALUE",
            help="Send a header with each request; $VARIABLE in its value is read from the environment. Values are kept"
            " in no file. May be repeated.",
        ),
        fields(
            "--extra-body",
            sign="=",
            metavar="KEY=VALUE|JSON",
            help="Send a further field in each request; no place for secrets, since runs record it. May be repeated.",
        ),
        rarer("--requests-per-minute", type=int, metavar="N", help="At most N requests to a server each minute."),
        rarer("--timeout", "timeout_s", type=float, metavar="S", help="Seconds for one request.  [default: 120]"),
        rarer("--attempts", type=int, metavar="N", help="Attempts for one request.  [default: 6]"),
    )

    def decorated(command: Any) -> Any:
        for add in reversed(options):
            command = add(command)
        return command

    return decorated
