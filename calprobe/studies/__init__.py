"""What a paper or a task asks of runs, a folder each: numbers, results, layouts of tables, figures."""
