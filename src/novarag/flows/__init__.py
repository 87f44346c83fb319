"""The verbs as functions: what the command line, a notebook and a service call alike.

One module a verb. Arguments in, records out; what happens on the way is told to a `tell` callback.
Nothing here prints, installs a signal handler or looks at the command line.
"""
