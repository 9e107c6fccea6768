"""The errors that are made in engines on purpose are those of the backends' tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "backends"))
