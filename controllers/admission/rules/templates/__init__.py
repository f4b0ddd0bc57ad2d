"""Templates of pods: faults for which the API server would refuse a pod, found before a pod is created.

The rules are those of Kubernetes that people break. What is left to the API server (rare volume types, security
profiles) it says when the pod is made; the Job controller passes it on as an event.
"""

from pyroclast.controllers.admission.rules.templates.template import template_faults, unreadable

__all__ = ["template_faults", "unreadable"]
