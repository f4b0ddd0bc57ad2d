"""KubeSchedulerConfiguration, the component configuration of kube-scheduler and Koordinator, translated into ours.

Belongs here: its format, and the counterparts of its plugins and arguments. Does not: what the arguments mean.
"""
