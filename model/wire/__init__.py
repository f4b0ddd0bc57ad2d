"""Objects as the Kubernetes API sends them, trimmed to the fields that are read, one file per API group.

Belongs here: the kinds of Kubernetes itself and of its neighbours, and how all kinds are decoded. Does not: kinds that
we define (`model.api`), which are read from here, too; their translation for the scheduler.
"""

from pyroclast.model.api.claims import *
from pyroclast.model.api.devices import *
from pyroclast.model.api.meta import *
from pyroclast.model.api.nodeinfo import *
from pyroclast.model.api.quota import *
from pyroclast.model.api.reservation import *
from pyroclast.model.api.scheduling import *
from pyroclast.model.api.shard import *
from pyroclast.model.api.topology import *
from pyroclast.model.wire.core import *
from pyroclast.model.wire.decoding import *
from pyroclast.model.wire.devices import *
from pyroclast.model.wire.koordinator import *
from pyroclast.model.wire.native import *
from pyroclast.model.wire.resource_topology import *
from pyroclast.model.wire.selectors import *
from pyroclast.model.wire.storage import *
from pyroclast.model.wire.times import *
from pyroclast.model.wire.workloads import *
