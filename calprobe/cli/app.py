"""The `calprobe` group: imports a command from the module of its name, turns errors into a line and an exit code."""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from contextlib import suppress

import click

from calprobe.cli.common import NearestGroup
from calprobe.cli.terminal_text import say
from calprobe.errors import CalprobeError
from calprobe.interrupts import INTERRUPTED
from calprobe.messages import did_you_mean, printable, without_secrets
from calprobe.version import __version__

# Name on the command line -> module in calprobe.cli, in the order of use. The module's attribute `command` is the
# click command; nothing heavier than click is imported at its top.
COMMANDS = {
    "score": "score",
    "ask": "ask",
    "paraphrase": "paraphrase",
    "grade": "grade",
    "report": "report",
    "show": "show",
    "compare": "compare",
    "curve": "curve",
    "threshold": "threshold",
    "sets": "sets",
    "stakes": "stakes",
    "export": "export",
    "import": "import_",
    "merge": "merge",
    "sweep": "sweep",
    "runs": "runs",
    "rank": "rank",
    "fetch": "fetch",
    "models": "models",
    "probes": "probes",
    "questions": "questions",
    "doctor": "doctor",
}


class _Commands(NearestGroup):
    """Lists and loads the commands of COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"calprobe.cli.{COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="calprobe")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Measure what a language model knows, and whether it knows that it knows it.

    Score a knowledge probe with a model, then report accuracy and calibration:

    \b
        calprobe score --model smollm2-135m --probe mini
        calprobe report runs/smollm2-135m-mini
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 data missing, 130 interrupted."""
    words = sys.argv[1:] if args is None else args
    debug = "--debug" in words  # before the command or after it
    arguments = [argument for argument in words if argument != "--debug"]
    try:
        if sys.getfilesystemencoding() != "utf-8":  # refuse what no file could hold before anything is loaded or made
            for argument in arguments:
                argument.encode()
        cli.main(args=arguments, prog_name="calprobe", standalone_mode=False)
    except CalprobeError as error:
        _fail(str(error), error.exit_code, debug)
    except click.BadParameter as error:
        _fail_usage(error, _near_choice(error), arguments, debug)
    except click.UsageError as error:
        _fail_usage(error, "", arguments, debug)
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code, debug)
    except (KeyboardInterrupt, click.Abort) as error:
        # click turns KeyboardInterrupt into Abort and keeps its message in the context (early 8.1 sets no cause).
        cause = error.__context__ if isinstance(error, click.Abort) else None
        _fail(str(error) or str(cause or "") or "interrupted", INTERRUPTED, debug)
    except OSError as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # click ends the line on a terminal that was closed
            _fail(str(error.__context__) or "interrupted", INTERRUPTED, debug)
        # A name that the file system refuses, a folder without read permission, or a disk that a help does not fit on.
        if isinstance(error.filename, str | bytes):
            _fail(f"{os.fsdecode(error.filename)}: {error.strerror or error}; check the path", 1, debug)
        _fail(f"{error.strerror or error}; check the path, and where the output goes", 1, debug)
    except UnicodeEncodeError as error:
        _fail(_not_utf8(error), 1, debug)
    except ModuleNotFoundError as error:
        _fail(_not_installed(error), 1, debug)
    except Exception as error:  # noqa: BLE001 - any other error: one line, no traceback
        _fail(_defect(error), 1, debug)


def _defect(error: Exception) -> str:
    return f"{type(error).__name__}: {error} (a defect of calprobe: please report it with --debug)"


def _not_installed(error: ModuleNotFoundError) -> str:
    """Which package is missing, and how to get it; a module of calprobe's own is a defect."""
    module = (error.name or "calprobe").partition(".")[0]
    package = {"PIL": "pillow", "dateutil": "python-dateutil"}.get(module, module)  # what matplotlib itself imports
    return _defect(error) if module == "calprobe" else f"the Python package {package} is missing\npip install {package}"


def _not_utf8(error: UnicodeEncodeError) -> str:
    """What is wrong with a name that cannot be written as UTF-8: the locale that it was read in, or itself."""
    before, after = error.object[: error.start], error.object[error.start :]
    piece = before[-30:].rpartition('"')[2] + after[:30].partition('"')[0]  # of a JSON, no more than the name
    if (encoding := sys.getfilesystemencoding()) != "utf-8":
        return f"the locale is not UTF-8 but {encoding}, and cannot read {piece!r}; set PYTHONUTF8=1 or LC_ALL=C.UTF-8"
    return f"a given name is not valid UTF-8 ({piece!r}); rename the file or folder"


def _near_choice(error: click.BadParameter) -> str:
    """A suggestion for a value that resembles one of an option's choices; empty for other errors."""
    kind = None if error.param is None else error.param.type
    match = re.match(r"'(?P<value>[^']*)' is not one of", error.message)
    if not isinstance(kind, click.Choice) or match is None:
        return ""
    return did_you_mean(match["value"], [str(choice) for choice in kind.choices])


def _fail_usage(error: click.UsageError, more: str, arguments: list[str], debug: bool) -> None:
    command = " ".join(["calprobe", *(word for word in arguments[:1] if word in COMMANDS)])
    if error.ctx is not None:  # click's parser leaves it out: of an option without its value
        command = error.ctx.command_path
    message = error.format_message()
    if message.startswith("Usage: "):  # a command of several without one of them: its help, from click 8.2 on
        say(message)
        sys.exit(error.exit_code)
    _fail(f"{message.removesuffix('.') if more else message}{more}\nsee `{command} --help`", error.exit_code, debug)


def _fail(message: str, code: int, debug: bool) -> None:
    with suppress(OSError):  # the terminal was closed: the exit code is all that can be said
        if debug:
            click.echo(printable(without_secrets(traceback.format_exc())), err=True, nl=False)
        say(f"calprobe: {message}")
    sys.exit(code)
