"""Proofs that a gateway fails honestly: a real process, real sockets, hostile neighbours."""
