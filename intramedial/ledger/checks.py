"""What can be checked of an entry by whoever runs the service, each check with its result, in Spanish."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from intramedial.ledger.models import Entry
from intramedial.receipts import signing
from intramedial.receipts.checking import read_receipt
from intramedial.receipts.contents import claims_of, header_of


@dataclass(frozen=True)
class Check:
    """What is checked, whether it holds, and what was found."""

    what: str
    holds: bool
    found: str


@dataclass(frozen=True)
class Checked:
    """An entry with its checks."""

    entry: Entry
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether all of them do."""
        return all(check.holds for check in self.checks)


def check(entries: Iterable[Entry]) -> list[Checked]:
    """Check these entries, of which there are few."""
    listed = list(entries)
    last = Entry.objects.values_list("index", flat=True).first() or 0
    beside = {entry.index + step for entry in listed for step in (-1, 1)}
    there = set(Entry.objects.filter(index__in=beside).values_list("index", flat=True))
    return [Checked(entry, (*_contents(entry), _place(entry, there, last))) for entry in listed]


def _contents(entry: Entry) -> tuple[Check, ...]:
    if not entry.leaf and entry.leaf_hash:
        return (Check("Contenido", True, "borrado con la prueba de la que era; queda su huella"),)
    return _signature(entry), _key(entry), _same(entry)


def _signature(entry: Entry) -> Check:
    try:
        read_receipt(entry.leaf)
    except ValueError:
        return Check("Firma", False, "no corresponde a lo firmado")
    return Check("Firma", True, "Ed25519, corresponde a lo firmado")


def _key(entry: Entry) -> Check:
    kid = str(header_of(entry.leaf).get("kid", ""))
    try:
        signer = signing.by_kid(kid)
    except KeyError:
        return Check("Clave publicada", False, f"{kid[:64] or 'ninguna'}: no es de este servicio")
    since = datetime.fromtimestamp(signer.signs_from, UTC)
    return Check(
        "Clave publicada", True, f"{kid}, firma desde {since:%Y-%m-%d %H:%M}" if signer.signs_from else kid
    )


def _same(entry: Entry) -> Check:
    claims = claims_of(entry.leaf)
    same = (claims.get("jti"), claims.get("workspace")) == (entry.receipt_id, entry.workspace)
    found = "dice lo mismo que la anotación" if same else "es de otro número o de otro espacio"
    return Check("Recibo", same, found)


def _place(entry: Entry, there: set[int], last: int) -> Check:
    missing = [
        str(index)
        for index, needed in ((entry.index - 1, entry.index > 0), (entry.index + 1, entry.index < last))
        if needed and index not in there
    ]
    found = f"anotación {entry.index} de {last + 1}"
    return Check("Libro", not missing, f"{found}; falta la {' y la '.join(missing)}" if missing else found)
