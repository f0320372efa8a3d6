"""The tables that `test_tidy.py` holds the code to: who imports whom, and who reads a clock."""

PLATFORM = ("intramedial",)
# Values: pure, so every side of the door may use them.
VALUES = (
    *("coordination.core", "coordination.cursors", "coordination.ids", "coordination.tasks"),
    "coordination.wire",
)
# What remembers.
STORE = (
    *("coordination.backlog", "coordination.clock", "coordination.engines", "coordination.models"),
    *("coordination.opening", "coordination.rows", "coordination.store", "coordination.transaction"),
)
# The one door, and the parts of it.
AUTHORITY = (
    *(
        "coordination.ahead",
        "coordination.alarm",
        "coordination.asks",
        "coordination.authority",
        "coordination.batch",
    ),
    *("coordination.broadcast", "coordination.door", "coordination.housekeeping"),
    *("coordination.inbox", "coordination.outbox"),
    *("coordination.recovery", "coordination.restoring"),
)
# What a shell sees of all that.
DOOR = (*VALUES, "coordination.authority", "coordination.history", "coordination.queries")
# What pages need besides.
PAGES = (*DOOR, "coordination.page", "coordination.texts", *PLATFORM)

# The first pattern that matches a file says what of the project it may import. The standard library and other
# people's packages are everybody's, but for the core's.
MAY_IMPORT = {
    "coordination/core/*": ("coordination.core",),
    "coordination/wire.py": VALUES,
    "coordination/cursors.py": (),
    "coordination/ids.py": (),
    "coordination/tasks.py": (),
    "coordination/texts.py": ("coordination.problem_texts",),
    "coordination/problem_texts.py": (),
    "coordination/part_texts.py": (),
    "coordination/apps.py": ("coordination.authority", "intramedial.databases", "intramedial.workspaces"),
    "coordination/migrations/*": ("coordination.models",),
    "coordination/clock.py": (),
    "coordination/models.py": (),
    "coordination/backlog.py": (),
    "coordination/opening.py": (*VALUES, *STORE, "intramedial.disk"),
    "coordination/engines/*": (*VALUES, *STORE, "intramedial.postgresql", "intramedial.private_files"),
    "coordination/rows.py": (*VALUES, *STORE),
    "coordination/store.py": (*VALUES, *STORE),
    "coordination/transaction.py": (*VALUES, *STORE),
    "coordination/queries.py": (*VALUES, *STORE),
    "coordination/history.py": (*VALUES, *STORE),
    **{
        f"coordination/{part.removeprefix('coordination.')}.py": (
            *VALUES,
            *STORE,
            *AUTHORITY,
            "intramedial.disk",
            "intramedial.migrated",
            "intramedial.private_files",
            "intramedial.receipts",
            "intramedial.ledger",
        )
        for part in AUTHORITY
    },
    # Shells: never models or store, never one another.
    "coordination/examples.py": (),
    "coordination/schemas.py": (*VALUES, "coordination.examples", *PLATFORM),
    "coordination/deciding.py": (*DOOR, *PLATFORM),
    "coordination/force.py": (*DOOR, *PLATFORM),
    "coordination/api.py": (*DOOR, "coordination.deciding", "coordination.schemas", *PLATFORM),
    "coordination/mcp/*": (
        *DOOR,
        *("coordination.deciding", "coordination.mcp", "coordination.schemas"),
        *PLATFORM,
    ),
    "coordination/live/*": (*DOOR, "coordination.broadcast", "coordination.live", *PLATFORM),
    "coordination/consumers.py": (*DOOR, "coordination.live", *PLATFORM),
    "coordination/views.py": (
        *DOOR,
        *("coordination.page", "coordination.part_texts", "coordination.texts"),
        *PLATFORM,
    ),
    # What the pages say is read from the core, the shapes and the table of what is served.
    "coordination/page/*": (
        *DOOR,
        *("coordination.mcp", "coordination.page", "coordination.schemas", "coordination.texts"),
        *PLATFORM,
    ),
    "coordination/scenarios.py": (*DOOR, "coordination.schemas", *PLATFORM),
    "coordination/management/commands/*": (*DOOR, *PLATFORM),
    # Pages of a workspace: its live board; its agents, receipts and usage.
    "coordination/boards/*": (*PAGES, "coordination.boards", "coordination.force"),
    "coordination/records/*": (*PAGES, "coordination.records"),
    "coordination/admin.py": (
        *("coordination.authority", "coordination.force", "coordination.models"),
        *PLATFORM,
    ),
    # The platform knows no module, but for the files that mount it.
    "intramedial/urls.py": (
        *("coordination.boards", "coordination.page", "coordination.records", "coordination.views"),
        *PLATFORM,
    ),
    "intramedial/asgi.py": (*DOOR, "coordination.consumers", "coordination.mcp", *PLATFORM),
    "intramedial/api.py": (*DOOR, "coordination.api", "coordination.scenarios", *PLATFORM),
    "intramedial/*": PLATFORM,
    "manage.py": ("intramedial.settings_table",),
    # A program of its own, for other machines.
    "static/cli/intramedial.py": (),
    "static/cli/proof.py": (),
}

# Where a clock is read, and why. The core takes `now` as an argument.
MAY_READ_CLOCKS = {
    "coordination/clock.py": "the authority's one clock",
    "coordination/engines/mark.py": "when the mark was written, against its file's change time",
    "coordination/ids.py": "ids rise with time",
    "intramedial/access_log.py": "how long a request took",
    "intramedial/accounts/admin.py": "when a password was revoked",
    "intramedial/accounts/access.py": "when somebody asked",
    "intramedial/accounts/beta.py": "beta passwords that expire",
    "intramedial/accounts/gate.py": "when a session was used last",
    "intramedial/accounts/models.py": "when a row was made",
    "intramedial/accounts/purging.py": "what has expired",
    "intramedial/accounts/tries.py": "tries of the last hour",
    "intramedial/management/commands/betapassword.py": "an end that is over already",
    "intramedial/audit/log.py": "which entries are kept no longer",
    "intramedial/audit/models.py": "when an entry was made",
    "intramedial/client_faults.py": "how often a line is written",
    "intramedial/identity/auth.py": "signatures and keys that expire",
    "intramedial/identity/bearer.py": "keys that expire, and how long a look-up is believed",
    "intramedial/disk.py": "when the disk is looked at next",
    "intramedial/health.py": "how long a check is believed, and when a row was written",
    "intramedial/identity/watching.py": "sessions, keys and trials that expire",
    "intramedial/lean.py": "what is left of a trial",
    "intramedial/ledger/log.py": "when an entry was appended",
    "intramedial/ledger/models.py": "when an entry was appended",
    "intramedial/logs.py": "how long a request took",
    "intramedial/serving.py": "how long a request took",
    "intramedial/purging.py": "what has expired",
    "intramedial/receipts/signing.py": "from when a key signs, and how long the key files are believed",
    "intramedial/supervisor.py": "workers that are silent, and pauses between starts",
    "intramedial/templatetags/times.py": "how long ago something was",
    "intramedial/workspaces/admin.py": "keys that expire and are revoked",
    "intramedial/workspaces/models.py": "when a row was made",
    "intramedial/workspaces/adoption.py": "trials that expire",
    "intramedial/workspaces/pages/adopt.py": "proofs that age",
    "intramedial/workspaces/pages/api_keys.py": "keys that expire and are revoked",
    "intramedial/workspaces/pages/signers.py": "proofs that age",
    "intramedial/workspaces/people.py": "invitations that expire",
    "intramedial/workspaces/provision.py": "keys and trials that expire",
    "intramedial/workspaces/registration.py": "when an agent was registered and revoked",
    "intramedial/workspaces/tickets.py": "tickets that expire",
    "intramedial/workspaces/trials.py": "trials that expire",
    "intramedial/workspaces/trials_api.py": "what is left of a trial, and proofs that age",
    "static/cli/proof.py": "when a proof is made",
}
