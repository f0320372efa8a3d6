"""The pages of workspaces. They call the modules of `intramedial.workspaces`, and write to the audit log."""
