"""Supervised fine-tuning: kept trials as examples to train on."""
