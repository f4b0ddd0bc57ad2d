"""Session: one view of the cluster for one cycle, the statements that change it, and the ledgers that follow."""
