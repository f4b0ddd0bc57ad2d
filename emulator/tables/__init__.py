"""Tables: the rows that `kubectl get` shows."""
