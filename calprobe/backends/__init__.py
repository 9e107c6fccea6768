"""Backends: engines that answer, behind one protocol."""

from calprobe.backends.protocol import Backend, Capabilities, Decoding, Dialogue, FollowUp, Message, Pending

__all__ = ["Backend", "Capabilities", "Decoding", "Dialogue", "FollowUp", "Message", "Pending"]
