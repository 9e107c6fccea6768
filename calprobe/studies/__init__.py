"""What a paper or a task asks of runs, a folder each: numbers, results, layouts of tables, figures.

What a study adds to the report of runs of replies is an entry of `asked/run_studies.py`.
"""
