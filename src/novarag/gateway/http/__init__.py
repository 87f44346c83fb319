"""The wire to clients: routes, what they take and send, and who may ask."""
