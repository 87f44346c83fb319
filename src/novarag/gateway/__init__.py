"""The gateway: an OpenAI-compatible server whose answers carry a confidence that means something.

It needs the extra `gateway`. `novarag gateway gateway.toml` starts it.
"""
