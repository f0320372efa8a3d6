"""The pages of workspaces: they ask for what the modules of `intramedial.workspaces` do, and note it."""
