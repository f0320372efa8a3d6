"""The name of a browser, from what it says of itself: for people who look at their sessions."""

from django.utils.translation import gettext as _

# The first word found decides: most browsers also name those that they descend from.
BROWSERS = (
    *(("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("FxiOS", "Firefox")),
    *(
        ("CriOS", "Chrome"),
        ("Chrome", "Chrome"),
        ("Safari", "Safari"),
        ("curl", "curl"),
        ("python", "Python"),
    ),
)
SYSTEMS = (
    *(("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows")),
    *(("Macintosh", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)


def name(user_agent: str) -> str:
    """As in «Firefox en Linux»."""
    browser = next((words for sign, words in BROWSERS if sign in user_agent), "")
    system = next((words for sign, words in SYSTEMS if sign in user_agent), "")
    if browser and system:
        return _("%(browser)s en %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("Un programa que no dice cuál es")
