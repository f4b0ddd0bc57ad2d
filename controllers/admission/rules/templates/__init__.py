"""Templates of pods: faults for which the API server would refuse a pod, found before a pod is created.

The rules are the Kubernetes rules that users often break. The API server reports other faults (rare volume types,
security profiles) when a pod is created. The Job controller reports those in an event.
"""

from pyroclast.controllers.admission.rules.templates.template import template_faults, unreadable

__all__ = ["template_faults", "unreadable"]
