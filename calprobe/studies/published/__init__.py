"""What papers print of asked runs, and the rows of one's own runs below it."""
