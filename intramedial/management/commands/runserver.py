"""`runserver`: daphne, as is usual with Channels, for development.

It is imported here because daphne as an installed application would load Twisted into every process.
"""

from daphne.management.commands.runserver import Command

__all__ = ["Command"]
