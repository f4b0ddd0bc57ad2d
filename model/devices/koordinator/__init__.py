"""Koordinator's devices: what a Device says of its node, and what labels and annotations of pods say of devices.

Belongs here: reading and writing, and what requests come to for one device. Does not: who gets which
(`plugins.deviceshare.koordinator`).
"""
