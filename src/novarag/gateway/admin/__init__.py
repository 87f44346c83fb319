"""What an operator does with a gateway: start it, give out keys, keep and drop rows, propose."""
