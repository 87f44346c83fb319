"""What tests and scripts share: servers that fail, made-up data, tiny models, a browser."""
