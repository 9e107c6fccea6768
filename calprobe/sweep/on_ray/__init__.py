"""A sweep's jobs as tasks of a Ray cluster.

The package `ray`, which `pip install 'calprobe[ray]'` brings, is imported by the driver's process and on the nodes.
"""

from __future__ import annotations

from calprobe.sweep.on_ray.ray_engine import OnRay, connected

__all__ = ["OnRay", "connected"]
