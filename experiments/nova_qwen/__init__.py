"""The method on a model that reads: Qwen2.5-Coder-1.5B-Instruct, in stages that survive a machine."""
