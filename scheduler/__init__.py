"""The scheduler process: the cycle loop, options, health, metrics and the command line.

Belongs here: the code that connects decisions (framework, plugins, actions) with their execution (cache, kube), and the
operator's interface. Does not belong here: placement rules, and API calls that bypass `kube` and `cache`.
"""
