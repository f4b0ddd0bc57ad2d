"""Deviceshare: shared devices. One file for each family of devices, and one for each separate concern.

family.py          interface of a family: cards of nodes, demand of pods, choice of cards
gpu_share.py       whole cards and shares of their memory
vgpu.py, mig.py    virtual cards, and cards that are divided into instances
ascend.py          Ascend chips of HAMi: whole ones, templates and soft slices
koordinator/       Koordinator's devices: GPUs, RDMA cards and FPGAs
device_allocator.py  allocated parts of cards during the session; verdicts and scores
exclusive.py       pods that do not share a card with similar pods
locks.py           locks of nodes while a pod with cards is being started
"""

from pyroclast.plugins.deviceshare.arguments import DeviceShareArgs
from pyroclast.plugins.deviceshare.plugin import DeviceShare
from pyroclast.plugins.deviceshare.settings import args_of, map_of

__all__ = ["DeviceShare", "DeviceShareArgs", "args_of", "map_of"]
