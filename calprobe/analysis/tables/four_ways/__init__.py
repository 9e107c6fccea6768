"""The tables of the same facts in several ways."""

from calprobe.analysis.tables.four_ways.every import four_ways_tables

__all__ = ["four_ways_tables"]
