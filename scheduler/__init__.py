"""The daemon: options, the loop of cycles, health, metrics, the command line.

Belongs here: what joins deciding (framework, plugins, actions) with doing (cache, kube), and what an operator
touches. Does not: rules of placement, and calls to the API server other than through `kube` and `cache`.
"""
