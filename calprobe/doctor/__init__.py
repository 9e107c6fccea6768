"""What is installed on this machine, what scoring on it will use, and whether that works: `calprobe doctor`.

Each look catches its own failure and says it, so that a broken installation is described rather than raised.
"""

from __future__ import annotations

from calprobe.doctor.diagnosis import Check, Diagnosis
from calprobe.doctor.looks import examine

__all__ = ["Check", "Diagnosis", "examine"]
