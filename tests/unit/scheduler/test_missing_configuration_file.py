"""No configuration file is no error: the built-in one is in force, and nothing is complained about."""

from structlog.testing import capture_logs

from pyroclast.scheduler.daemon.plugin_files import PluginFiles
from pyroclast.scheduler.daemon.settings import Settings
from pyroclast.scheduler.monitoring.metrics import Metrics


def test_nothing_is_warned_of() -> None:
    """Neither at the start nor when it is looked at again."""
    with capture_logs() as logs:
        settings = Settings("", PluginFiles(), Metrics(), scheduler_names=("volcano",))
        assert settings.current().profiles[0].actions == ("enqueue", "allocate", "backfill")

    assert [line for line in logs if line["log_level"] not in {"debug", "info"}] == []
