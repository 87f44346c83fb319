"""Asking a model about groups: the one place where requests are planned, run and stopped.

A `Runner` holds a model, a folder, who hears of it and a wish to stop. `Runner.ask` brings one run
to its end and returns it; `UnfinishedError` where requests are left, or where a stop was asked for.
That is the one stop rule: after a stop nothing is begun that builds on the run, also where its last
request happened to be answered. The same call finds every reply there, and pays for none again.
"""
