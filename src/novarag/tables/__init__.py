"""Tables as people have them: bytes, dialects, shapes and cells, read without guessing.

Pure, and of the standard library alone. `decoding` and `dialect` turn bytes into rows of text,
`shapes`, `exports` and `logs` turn JSON and log lines into flat rows, `confidences` and `grades`
decide what the cells of a column mean. What could mean two things is an `Unsettled`: all of a
table's are told at once, each with the setting that settles it.
"""
