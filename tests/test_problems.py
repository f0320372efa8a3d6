"""The closed table of problems, as in the contract."""

import pytest

from intramedial.http.problems import REASONS, Problem, problem_body

STATUS = {
    "malformed_json": 400,
    "unauthenticated": 401,
    "trial_expired": 401,
    "bad_signature": 401,
    "replayed": 401,
    "actor_mismatch": 403,
    "forbidden": 403,
    "not_found": 404,
    "too_large": 413,
    "unsupported_media_type": 415,
    "invalid_request": 422,
    "trial_exhausted": 429,
    "rate_limited": 429,
    "authority_unavailable": 503,
}


def test_the_table_is_that_of_the_contract():
    assert {reason: status for reason, (status, _) in REASONS.items()} == STATUS


def test_the_body_is_an_rfc_9457_problem_with_ok_and_reason(settings):
    settings.BASE_URL = "https://api.intramedial.com"
    problem = Problem("actor_mismatch", "Only itself.")
    assert problem_body(problem, "req_1") == {
        "type": "https://api.intramedial.com/errores/actor_mismatch",
        "title": "These credentials cannot act for this agent",
        "status": 403,
        "detail": "Only itself.",
        "ok": False,
        "reason": "actor_mismatch",
        "requestId": "req_1",
    }


def test_an_invalid_request_points_at_the_fault():
    errors = [{"pointer": "/resource", "detail": "is missing"}]
    body = problem_body(Problem("invalid_request", "See errors.", errors=errors), "r")
    assert body["errors"] == errors


@pytest.mark.parametrize("reason", [reason for reason, status in STATUS.items() if status == 401])
def test_every_401_says_how_to_authenticate(reason):
    assert Problem(reason, "x").headers["www-authenticate"].startswith("Bearer ")
    assert Problem(reason, "x", headers={"www-authenticate": "Own"}).headers == {"www-authenticate": "Own"}


def test_other_problems_send_no_challenge():
    assert Problem("forbidden", "x", headers={"retry-after": "1"}).headers == {"retry-after": "1"}


def test_a_reason_outside_the_table_is_a_bug():
    with pytest.raises(KeyError):
        Problem("teapot", "x")
