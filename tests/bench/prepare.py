"""Migrates the databases and makes workspaces, each with a key, in a process of its own.

python -m tests.bench.prepare COUNT    prints [["ws_…", "imk_…"], …]
"""

import json
import os
import sys

import django
from django.core.management import call_command


def main(count: int) -> None:
    """Prepare the databases that the environment names."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "intramedial.settings")
    django.setup()
    from intramedial import databases
    from intramedial.receipts import signing
    from intramedial.workspaces import provision

    for alias in databases.distinct_aliases():
        call_command("migrate", database=alias, interactive=False, verbosity=0)
    signing.current()
    made = []
    for number in range(count):
        workspace = provision.create_workspace(f"bench {number}")
        made.append((workspace.public_id, provision.create_api_key(workspace).secret))
    print(json.dumps(made))


if __name__ == "__main__":
    main(int(sys.argv[1]))
