"""The verbs as functions: what the command line, a notebook and a service call alike.

One module a verb. Arguments in, records out; `on_event` hears what happens on the way.
Nothing here prints, installs a signal handler or looks at the command line.
"""
