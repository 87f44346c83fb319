"""Probing a system without labels: what is asked, the replies, and the profile they make."""
