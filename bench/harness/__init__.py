"""One contest for all benchmarks: contestants as data, each in a process of its own, in turns, into one record."""
