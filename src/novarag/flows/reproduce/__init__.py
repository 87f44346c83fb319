"""The paper's tables and figures, made again: groups, cells with intervals, and a page of them."""
