"""Backends: engines that answer, behind one protocol."""

from calprobe.backends.options import BackendOptions
from calprobe.backends.protocol import Backend, Capabilities, Decoding, Dialogue, FollowUp, Message, Pending
from calprobe.backends.registry import open_backend

__all__ = [
    "Backend",
    "BackendOptions",
    "Capabilities",
    "Decoding",
    "Dialogue",
    "FollowUp",
    "Message",
    "Pending",
    "open_backend",
]
