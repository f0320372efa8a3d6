from django.apps import AppConfig


class CoordinationConfig(AppConfig):
    name = "coordination"
    verbose_name = "Coordinación"

    def ready(self) -> None:
        """Connect the authority to what it must not know by itself: which workspaces there are, and when
        programs are about to open the databases."""
        from coordination.authority import process as authority
        from intramedial import databases
        from intramedial.workspaces import provision

        authority.ask_which_are_gone(provision.deleted)
        authority.ask_whether_used(provision.any_made)
        databases.look_before_opening(_check_files)


def _check_files() -> None:
    from coordination.authority import process as authority
    from intramedial import databases

    try:
        authority.check_files()
    except authority.StorageFault as fault:
        raise databases.Unusable(str(fault)) from fault
