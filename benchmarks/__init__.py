"""Benchmarks: the budgets of the design, measured. Numbers come with machine, commit and input; nothing here is a test.

`python -m benchmarks` prints a table and draws a picture; `python -m benchmarks b1 b5` measures some. `--seed N` draws
another order, other ages and other names of the same clusters; `--write-case FILE` writes them as cases that `pyroclast
simulate --batch` decides.
"""
