"""Asked runs: what is read, counted and estimated of their replies; the tables and pages show it."""
