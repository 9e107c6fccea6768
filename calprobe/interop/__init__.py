"""Runs from and to what other tools read and write: importers, exports, tables of scores."""
