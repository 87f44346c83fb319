"""Raw tables written by real tools, each with its known truth, and whether they are read."""
