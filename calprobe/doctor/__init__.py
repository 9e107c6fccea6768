"""What is installed on this machine, what scoring on it will use, and whether that works: `calprobe doctor`.

A check that fails is reported, so that a broken installation is described instead of raised.
"""

from __future__ import annotations

from calprobe.doctor.diagnosis import Check, Diagnosis
from calprobe.doctor.examination import examine

__all__ = ["Check", "Diagnosis", "examine"]
