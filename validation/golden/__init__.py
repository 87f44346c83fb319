"""The golden net: the same commands with two installs, every byte compared."""
