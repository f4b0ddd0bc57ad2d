"""Topology: domains of HyperNodes, their capacity, and placing jobs inside them."""
