"""Plug-ins for tools people already use; each module is imported by the users of its tool."""
