"""Benchmarks: the budgets of the design, measured. Numbers come with machine, commit and input; nothing here is a test.

`python -m benchmarks` prints a table and draws a picture; `python -m benchmarks b1 b5` measures some; each input can be
written out as a `simulate` case with `--write-case FILE`.
"""
