"""What a run folder has beside its shards: JSON objects with a checksum, and Parquet tables that say their format."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from calprobe.errors import CalprobeError
from calprobe.messages import reason
from calprobe.runs import atomic
from calprobe.runs.decode import DecodeError

T = TypeVar("T")

FORMAT = 1


@dataclass(frozen=True, slots=True)
class SideTable:
    """A Parquet file of one schema; its metadata has a JSON object with the format and what is told of the rows."""

    what: str  # grades, for its messages and the key of its metadata
    schema: pa.Schema
    fix: str  # what to do with a damaged one

    def write(self, path: Path, table: pa.Table, told: Mapping[str, Any]) -> None:
        """Write it, atomically. Raises CalprobeError if it cannot be written."""
        content = json.dumps({"format": FORMAT, **told}, ensure_ascii=False)
        table = table.replace_schema_metadata({f"calprobe.{self.what}": content})
        with _writing(path, "fix this and run the same again"):
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic.replacing(path) as temporary:
                pq.write_table(table, temporary, compression="zstd", write_page_checksum=True, write_statistics=False)

    def read(self, path: Path, make: Callable[[pa.Table, Mapping[str, Any]], T]) -> T:
        """What is made of the table and of what it tells. Raises CalprobeError for a damaged file, or a later format.

        `make` raises DecodeError for rows that are not as they should be.
        """
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                table = file.read(use_threads=False)
            table.validate(full=True)
            told = json.loads((table.schema.metadata or {}).get(f"calprobe.{self.what}".encode(), "null"))
            _check_format(told, "format", self.what)
            if table.schema.remove_metadata() != self.schema:
                raise DecodeError(f"its columns are not those of {self.what}")
            return make(table.replace_schema_metadata(None), told)
        except (pa.ArrowException, OSError, ValueError, TypeError, IndexError, MemoryError) as error:
            raise CalprobeError(f"{path}: cannot be read: {str(error).strip()[:100]}; {self.fix}") from error


@dataclass(frozen=True, slots=True)
class SideObject:
    """A JSON file of a run folder: its format, its fields, and a checksum of these."""

    what: str  # labels: its name, without .json
    fix: str  # what to do with a damaged one
    fix_writing: str = "fix this and run the same again"
    indent: int | None = None
    is_escaped: bool = False  # whether the checksum is over JSON in ASCII

    @property
    def file_name(self) -> str:
        """Of the file."""
        return f"{self.what}.json"

    def write(self, folder: Path, fields: Mapping[str, Any]) -> None:
        """Write it, atomically, unless it is there already. Raises CalprobeError if it cannot be written."""
        path = folder / self.file_name
        complete = {f"calprobe_{self.what}": FORMAT, **fields, "checksum": self._checksum(fields)}
        text = json.dumps(complete, indent=self.indent, ensure_ascii=False) + "\n"
        with _writing(path, self.fix_writing):
            if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text:
                atomic.write_text(path, text)

    def read(self, folder: Path, make: Callable[[Any], T]) -> T | None:
        """What is made of its fields; None where it is not there. Raises CalprobeError for a damaged file.

        `make` raises DecodeError for fields that are not as they should be.
        """
        path = folder / self.file_name
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise CalprobeError(f"{path}: cannot be read: {reason(error)}; {self.fix}") from error
        except (ValueError, RecursionError) as error:
            raise CalprobeError(f"{path}: damaged, not JSON; {self.fix}") from error
        try:
            _check_format(content, f"calprobe_{self.what}", self.what)
            del content[f"calprobe_{self.what}"]
            if content.pop("checksum", None) != self._checksum(content):
                raise DecodeError("its checksum is wrong: it has changed since calprobe wrote it")
            return make(content)
        except DecodeError as error:
            raise CalprobeError(f"{path}: damaged: {error}; {self.fix}") from error

    def _checksum(self, fields: Mapping[str, Any]) -> str:
        """CRC-32 (hex) of the fields, however they are laid out."""
        text = json.dumps(fields, sort_keys=True, ensure_ascii=self.is_escaped)
        return f"{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _check_format(content: Any, key: str, noun: str) -> None:
    if not isinstance(content, dict) or content.get(key) != FORMAT:
        raise DecodeError(f"not the {noun} of a run, or of another format than {FORMAT}")


@contextmanager
def _writing(path: Path, fix: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CalprobeError(f"{path}: cannot be written: {reason(error)}; {fix}") from error
