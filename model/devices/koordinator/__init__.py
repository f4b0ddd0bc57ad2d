"""Koordinator's devices: the Device of a node, and the device labels and annotations of pods.

Belongs here: parsing and formatting, and the request for one device. Does not: the choice of devices
(`plugins.deviceshare.koordinator`).
"""
