"""Tables of answers opened: files, frames, trials and runs, each made one `Answers`."""
