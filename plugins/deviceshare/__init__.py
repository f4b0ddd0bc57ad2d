"""Deviceshare: shared cards. One file for each family of devices, one for the books, one for each thing that is rarer.

family.py          what a family of devices tells: cards of nodes, wishes of pods, who gets which
gpu_share.py       whole cards and shares of their memory
vgpu.py, mig.py    virtual cards, and cards that are cut into instances
koordinator/       Koordinator's devices: GPUs, RDMA cards and FPGAs
books.py           what is taken of which card, as the session goes on; verdicts and scores follow from it
exclusive.py       pods that share no card with their like
locks.py           nodes on which a pod with cards is on its way
counting.py        what queues hold of virtual cards, for their status
"""

from pyroclast.plugins.deviceshare.arguments import DeviceShareArgs
from pyroclast.plugins.deviceshare.plugin import DeviceShare
from pyroclast.plugins.deviceshare.settings import args_of, map_of

__all__ = ["DeviceShare", "DeviceShareArgs", "args_of", "map_of"]
