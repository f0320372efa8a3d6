from django.apps import AppConfig


class CoordinationConfig(AppConfig):
    name = "coordination"
    verbose_name = "Coordinación"

    def ready(self) -> None:
        """Make the context of this process. The authority must not import the platform's workspaces, so it
        gets the two functions that look at them here; and programs that open the databases have their
        files checked first."""
        from coordination.authority import process
        from intramedial.databases import usable
        from intramedial.workspaces import provision

        process.use(process.Process(gone=provision.deleted, used=provision.any_made))
        usable.add_file_check(_check_files)


def _check_files() -> None:
    from coordination.authority import process
    from intramedial.databases import usable

    try:
        process.check_files()
    except process.StorageFault as fault:
        raise usable.Unusable(str(fault)) from fault
