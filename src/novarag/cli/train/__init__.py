"""Verbs of training: from questions to a training set, a model, and its server."""
