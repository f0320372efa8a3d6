"""When a beta password of the admin expires. A date means the end of that day in UTC."""

from datetime import UTC, datetime

import pytest
from django.urls import reverse

from intramedial.accounts import beta
from intramedial.accounts.models import BetaPassword
from tests.people import client_of, person

ADD = "admin:accounts_betapassword_add"


@pytest.fixture
def administrator(migrated_databases):
    return client_of(person(is_staff=True, is_superuser=True))


@pytest.mark.parametrize(
    ("date", "time", "kept"),
    [
        ("2031-12-01", "", datetime(2031, 12, 1, 23, 59, 59, 999_999, UTC)),
        ("2031-12-01", "00:00:00", datetime(2031, 12, 1, 0, 0, 0, 0, UTC)),
        ("2031-12-01", "10:30", datetime(2031, 12, 1, 10, 30, 0, 0, UTC)),
        ("", "", None),
    ],
)
def test_a_date_means_the_end_of_that_day_and_a_time_is_exact(administrator, date, time, kept):
    label = f"{date}|{time}"
    BetaPassword.objects.filter(label=label).delete()
    answer = administrator.post(reverse(ADD), {"label": label, "expires_at_0": date, "expires_at_1": time})
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    made = BetaPassword.objects.get(label=label)
    assert made.expires_at == kept
    change = reverse("admin:accounts_betapassword_change", args=[made.pk])
    administrator.post(change, {"label": label, "expires_at_0": "2032-01-01", "expires_at_1": ""})
    made.refresh_from_db()
    assert made.expires_at == datetime(2032, 1, 1, 23, 59, 59, 999_999, UTC)


@pytest.mark.parametrize(("date", "time"), [("", "10:00"), ("2031-02-30", ""), ("2031-12-01", "25:00")])
def test_a_malformed_instant_is_refused(administrator, date, time):
    answer = administrator.post(reverse(ADD), {"label": "", "expires_at_0": date, "expires_at_1": time})
    assert "expires_at" in answer.context["adminform"].form.errors


def test_the_form_explains_it(administrator):
    assert "UTC. Sin hora vale hasta el final de ese día" in administrator.get(reverse(ADD)).content.decode()


def test_the_last_instant_of_a_day():
    assert (
        beta.end_of(datetime(2031, 12, 1, tzinfo=UTC).date()).isoformat()
        == "2031-12-01T23:59:59.999999+00:00"
    )
