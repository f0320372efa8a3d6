"""`signingkey rotate`."""

from intramedial.management.base import NounCommand, Result
from intramedial.receipts import signing


class Command(NounCommand):
    """Rotates the key that signs receipts."""

    help = "The keys that sign receipts."

    def add_actions(self) -> None:
        """Declare `rotate`."""
        self.add_action(
            "rotate", self.rotate, "publish a new key, which soon signs; the old one stays published"
        )

    def rotate(self, options: dict[str, str]) -> Result:
        """{"kid": "…"}, the new key's thumbprint."""
        return {"kid": signing.rotate()}
