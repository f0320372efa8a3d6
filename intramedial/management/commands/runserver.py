"""`runserver`: daphne, as is usual with Channels, for development.

Found here, so that daphne need not be an installed application, which would load Twisted into every process.
"""

from daphne.management.commands.runserver import Command

__all__ = ["Command"]
