"""The audit: what was decided is on disk before the reply is sent, and in PostgreSQL soon after."""
