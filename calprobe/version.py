"""The version of calprobe."""

__version__ = "0.1.0"
