"""No configuration file is no error: the built-in one is in force, and nothing is complained about."""

from structlog.testing import capture_logs

from pyroclast.scheduler.metrics import Metrics
from pyroclast.scheduler.plugin_files import PluginFiles
from pyroclast.scheduler.settings import Settings


def test_nothing_is_warned_of() -> None:
    """Neither at the start nor when it is looked at again."""
    with capture_logs() as logs:
        settings = Settings("", PluginFiles(), Metrics(), scheduler_names=("volcano",))
        assert settings.current().profiles[0].actions == ("enqueue", "allocate", "backfill")

    assert [line for line in logs if line["log_level"] not in {"debug", "info"}] == []
