"""Cells, words and shapes of tables as people have them, read without guessing.

Pure, and of the standard library alone. `dialect` turns bytes into rows of text, `shapes` and
`exports` turn JSON and log lines into flat rows, `confidences` and `grades` decide what
the cells of a column mean. What could mean two things is an `UnsettledColumn`: all of a table's
are told at once, each with the setting that settles it.
"""
