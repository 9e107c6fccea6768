"""Errors for people: what went wrong, where, and the fix, in one or two lines. The command line turns each into its
exit code and prints no traceback unless `--debug` is given."""


class CalprobeError(Exception):
    """A run that failed for a reason the user can act on. The message says what, where and the fix; exit code 1."""

    exit_code = 1


class UsageError(CalprobeError):
    """The call itself is wrong: an unknown relation, a template number that a probe lacks; exit code 2."""

    exit_code = 2


class DataMissingError(CalprobeError):
    """Data that the call needs is not on this machine; the message names the command that gets it; exit code 3."""

    exit_code = 3


class ProbeFormatError(CalprobeError):
    """A probe, template or import file that cannot be read as what it claims to be.

    The message reads `FILE:LINE: what is wrong; the fix`, lines counted from 1.
    """


class StatementError(CalprobeError):
    """A statement that a model cannot take. The message reads `statement NUMBER (TEXT) what is wrong; the fix`."""

    def __init__(self, statement: int, what: str) -> None:
        super().__init__(f"statement {statement} {what}")
        self.statement = statement  # its place among those that were given, from 0
        self.what = what
