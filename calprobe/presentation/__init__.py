"""What commands show of runs of each kind: a result with its tables, its figures and its page."""
