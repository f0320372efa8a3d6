#!/usr/bin/env python3
"""Leases from a terminal: one file, nothing to install. Set INTRAMEDIAL_KEY to the API key of a workspace.

    python3 intramedial.py lease lock:deploy/production --actor did:web:agents.example:ana
    python3 intramedial.py release lock:deploy/production --actor did:web:agents.example:ana
    python3 intramedial.py wait
    python3 intramedial.py withdraw lock:deploy/production --actor did:web:agents.example:ana

Prints the answer as JSON. The exit code is 0 for success, 1 for a refusal, 2 for a request that failed.
"""

import argparse
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

HOSTED = "https://api.intramedial.com"
METHODS = {"lease": "POST", "release": "POST", "wait": "GET", "withdraw": "DELETE"}
REFUSED = 409


def arguments() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description="Leases from a terminal.")
    parser.add_argument("--url", default=os.environ.get("INTRAMEDIAL_URL", HOSTED), help="the service")
    commands = parser.add_subparsers(dest="operation", required=True)
    for operation in METHODS:
        command = commands.add_parser(operation)
        command.add_argument("resource", nargs="?" if operation == "wait" else None)
        if operation != "wait":
            command.add_argument("--actor", required=True, help="the agent's DID")
        if operation == "release":
            command.add_argument("--lease", help="only this very lease, by its leaseId")
    return parser.parse_args()


def ask(options: argparse.Namespace, key: str) -> urllib.request.Request:
    """The HTTP request for these arguments."""
    members = {
        "resource": options.resource,
        "actorDid": getattr(options, "actor", None),
        "leaseId": getattr(options, "lease", None),
    }
    given = {name: value for name, value in members.items() if value is not None}
    method = METHODS[options.operation]
    address = options.url + "/api/v1/acp/coordination/"
    address += options.operation if method == "POST" else "wait?" + urllib.parse.urlencode(given)
    return urllib.request.Request(  # noqa: S310 (the caller chooses the service)
        address,
        method=method,
        data=json.dumps(given).encode() if method == "POST" else None,
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )


def main() -> int:
    """Send the request and print the answer. Returns the exit code."""
    key = os.environ.get("INTRAMEDIAL_KEY")
    if not key:
        sys.stderr.write("INTRAMEDIAL_KEY must hold the API key of a workspace.\n")
        return 2
    try:
        with urllib.request.urlopen(ask(arguments(), key), timeout=30) as answer:  # noqa: S310 (as above)
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        status, text = refusal.code, refusal.read().decode()
    except urllib.error.URLError as error:
        sys.stderr.write(f"No answer: {error.reason}\n")
        return 2
    sys.stdout.write(json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n")
    if status == REFUSED:
        return 1
    return 0 if status < REFUSED else 2


if __name__ == "__main__":
    sys.exit(main())
