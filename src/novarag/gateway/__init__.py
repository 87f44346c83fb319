"""The gateway: an OpenAI-compatible server whose answers carry a confidence that means something.

It needs the extra `gateway`. `novarag gateway serve gateway.toml` starts it.
"""
