"""An API server in memory: everyday tests, the demo and what-if speak to it as to a cluster.

Belongs here: what a Kubernetes API server does on the wire (storage, watches, discovery, admission of the kinds
that scheduling needs) and the small part of the controller manager that tests lean on (garbage collection,
namespace termination, disruption budgets). It knows only the wire: JSON objects and bytes.
Does not belong here: anything that decides where pods go. It imports nothing of the project, so it cannot
share its mistakes; the hollow nodes alone use `kube`, because they are an API client.
What it will never have: server-side apply and field managers, the contents of OpenAPI v2, rules in CEL,
authentication and rights, webhooks, conversion. The tests on a real API server hold that ground.
"""
