"""Asking: requests, their identity, the journal, and the run from start to end."""
