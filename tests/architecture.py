"""The tables that `test_tidy.py` holds the code to: who imports whom, and who reads a clock."""

PLATFORM = ("intramedial",)
# Values: pure, so every side of the door may use them.
VALUES = (
    *(
        "coordination.core",
        "coordination.wire.cursors",
        "coordination.wire.ids",
        "coordination.authority.tasks",
    ),
    "coordination.wire.serialize",
)
# What remembers.
STORE = (
    *(
        "coordination.storage.backlog",
        "coordination.storage.clock",
        "coordination.storage.engines.base",
        "coordination.models",
    ),
    *(
        "coordination.storage.opening",
        "coordination.storage.rows",
        "coordination.storage.store",
        "coordination.storage.transaction",
    ),
)
# The one door, and the parts of it.
AUTHORITY = (
    *(
        "coordination.authority.clock_watch",
        "coordination.authority.expiry",
        "coordination.authority.replies",
        "coordination.authority.process",
        "coordination.authority.batch",
    ),
    *(
        "coordination.authority.publisher",
        "coordination.authority.thread",
        "coordination.authority.maintenance",
    ),
    *("coordination.authority.queue", "coordination.authority.outbox"),
    *("coordination.authority.recovery", "coordination.authority.restoring"),
)
# What a shell sees of all that.
DOOR = (*VALUES, "coordination.authority.process", "coordination.read.history", "coordination.read.current")
# What pages need besides.
PAGES = (*DOOR, "coordination.pages.module", "coordination.pages.texts.module", *PLATFORM)

# The first pattern that matches a file says what of the project it may import. The standard library and other
# people's packages are everybody's, but for the core's.
MAY_IMPORT = {
    "coordination/core/*": ("coordination.core",),
    "coordination/wire/serialize.py": VALUES,
    "coordination/wire/cursors.py": (),
    "coordination/wire/ids.py": (),
    "coordination/authority/tasks.py": (),
    "coordination/pages/texts/module.py": ("coordination.pages.texts.problems",),
    "coordination/pages/texts/problems.py": (),
    "coordination/pages/texts/parts.py": (),
    "coordination/apps.py": (
        "coordination.authority.process",
        "intramedial.databases",
        "intramedial.workspaces",
    ),
    "coordination/migrations/*": ("coordination.models",),
    "coordination/storage/clock.py": (),
    "coordination/models.py": (),
    "coordination/storage/backlog.py": (),
    "coordination/storage/opening.py": (*VALUES, *STORE, "intramedial.databases.disk"),
    "coordination/storage/engines/*": (
        *VALUES,
        *STORE,
        "intramedial.postgresql",
        "intramedial.process.private_files",
    ),
    "coordination/storage/rows.py": (*VALUES, *STORE),
    "coordination/storage/store.py": (*VALUES, *STORE),
    "coordination/storage/transaction.py": (*VALUES, *STORE),
    "coordination/read/current.py": (*VALUES, *STORE),
    "coordination/read/history.py": (*VALUES, *STORE),
    **{
        f"coordination/{part.removeprefix('coordination.')}.py": (
            *VALUES,
            *STORE,
            *AUTHORITY,
            "intramedial.databases.disk",
            "intramedial.databases.migrated",
            "intramedial.process.private_files",
            "intramedial.receipts",
            "intramedial.ledger",
        )
        for part in AUTHORITY
    },
    # Shells: never models or store, never one another.
    "coordination/api/examples.py": (),
    "coordination/api/schemas.py": (*VALUES, "coordination.api.examples", *PLATFORM),
    "coordination/api/service.py": (*DOOR, *PLATFORM),
    "coordination/api/revoke.py": (*DOOR, *PLATFORM),
    "coordination/api/rest.py": (*DOOR, "coordination.api.service", "coordination.api.schemas", *PLATFORM),
    "coordination/mcp/*": (
        *DOOR,
        *("coordination.api.service", "coordination.mcp", "coordination.api.schemas"),
        *PLATFORM,
    ),
    "coordination/live/*": (*DOOR, "coordination.authority.publisher", "coordination.live", *PLATFORM),
    "coordination/live/consumers.py": (*DOOR, "coordination.live", *PLATFORM),
    "coordination/pages/module/views.py": (
        *DOOR,
        *("coordination.pages.module", "coordination.pages.texts.parts", "coordination.pages.texts.module"),
        *PLATFORM,
    ),
    # What the pages say is read from the core, the shapes and the table of what is served.
    "coordination/pages/module/*": (
        *DOOR,
        *(
            "coordination.mcp",
            "coordination.pages.module",
            "coordination.api.schemas",
            "coordination.pages.texts.module",
        ),
        *PLATFORM,
    ),
    "coordination/api/stampede.py": (*DOOR, "coordination.api.schemas", *PLATFORM),
    "coordination/management/commands/*": (*DOOR, *PLATFORM),
    # Pages of a workspace: its live board; its agents, receipts and usage.
    "coordination/pages/board/*": (*PAGES, "coordination.pages.board", "coordination.api.revoke"),
    "coordination/pages/records/*": (*PAGES, "coordination.pages.records"),
    "coordination/admin.py": (
        *("coordination.authority.process", "coordination.api.revoke", "coordination.models"),
        *PLATFORM,
    ),
    # The platform knows no module, but for the files that mount it.
    "intramedial/urls.py": (
        *(
            "coordination.pages.board",
            "coordination.pages.module",
            "coordination.pages.records",
            "coordination.pages.module.views",
        ),
        *PLATFORM,
    ),
    "intramedial/asgi.py": (*DOOR, "coordination.live.consumers", "coordination.mcp", *PLATFORM),
    "intramedial/api.py": (*DOOR, "coordination.api.rest", "coordination.api.stampede", *PLATFORM),
    "intramedial/*": PLATFORM,
    "manage.py": ("intramedial.settings_table",),
    # A program of its own, for other machines.
    "static/cli/intramedial.py": (),
    "static/cli/proof.py": (),
}

# Where a clock is read, and why. The core takes `now` as an argument.
MAY_READ_CLOCKS = {
    "coordination/storage/clock.py": "the authority's one clock",
    "coordination/storage/engines/mark.py": "when the mark was written, against its file's change time",
    "coordination/wire/ids.py": "ids rise with time",
    "intramedial/http/access_log.py": "how long a request took",
    "intramedial/accounts/admin.py": "when a password was revoked",
    "intramedial/accounts/access_requests.py": "when somebody asked",
    "intramedial/accounts/beta.py": "beta passwords that expire",
    "intramedial/accounts/gate.py": "when a session was used last",
    "intramedial/accounts/models.py": "when a row was made",
    "intramedial/accounts/purging.py": "what has expired",
    "intramedial/accounts/throttle.py": "tries of the last hour",
    "intramedial/management/commands/betapassword.py": "an end that is over already",
    "intramedial/audit/entries.py": "which entries are kept no longer",
    "intramedial/audit/models.py": "when an entry was made",
    "intramedial/server/client_faults.py": "how often a line is written",
    "intramedial/workspaces/authentication/callers.py": "signatures and keys that expire",
    "intramedial/workspaces/authentication/bearer.py": "keys that expire, and how long a look-up is believed",
    "intramedial/databases/disk.py": "when the disk is looked at next",
    "intramedial/process/health.py": "how long a check is believed, and when a row was written",
    "intramedial/accounts/watching.py": "sessions, keys and trials that expire",
    "intramedial/http/short_path.py": "what is left of a trial",
    "intramedial/ledger/log.py": "when an entry was appended",
    "intramedial/ledger/models.py": "when an entry was appended",
    "intramedial/http/logs.py": "how long a request took",
    "intramedial/http/serving.py": "how long a request took",
    "intramedial/legal/purging.py": "what has expired",
    "intramedial/receipts/signing.py": "from when a key signs, and how long the key files are believed",
    "intramedial/process/supervisor.py": "workers that are silent, and pauses between starts",
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
