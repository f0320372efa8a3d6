from django.apps import AppConfig


class CoordinationConfig(AppConfig):
    name = "coordination"
    verbose_name = "Coordinación"

    def ready(self) -> None:
        """Tell the authority where to ask which workspaces are no more: it knows them by name alone."""
        from coordination import authority
        from intramedial.workspaces import provision

        authority.ask_which_are_gone(provision.gone)
