"""What was scored, asked, imported or read from a table, opened for analysis: units, and what each estimator says."""
