"""The description and the served API are the same, for every operation and status."""

import json
import re

import jsonschema
from django.conf import settings

from coordination.api import schemas
from coordination.api.examples import EXAMPLES
from intramedial import api
from intramedial.http import routing
from intramedial.http.problems import REASONS
from intramedial.http.shapes import ProblemShape
from tests.api import served
from tests.api.client import COORDINATION

METHODS = {"get", "post", "delete", "put", "patch", "head", "options", "trace"}


def described():
    return {
        (path, method.upper(), int(status))
        for path, operations in served.document()["paths"].items()
        for method, operation in operations.items()
        if method in METHODS
        for status in operation["responses"]
    }


def registered():
    return {
        (path, method, status)
        for path, operation in routing.operations(api.api)
        for method in operation.methods
        for status in operation.response_models
    }


def test_exactly_the_served_operations_and_statuses_are_described():
    assert described() == registered()
    assert {(path, method) for path, method, _ in described()} == {
        (path, method) for path, methods in api.routes_by_path().items() for method in methods
    }


def test_the_contracts_operations_are_there():
    paths = {(path, method) for path, method, _ in described()}
    assert paths >= {
        (f"{COORDINATION}/lease", "POST"),
        (f"{COORDINATION}/release", "POST"),
        (f"{COORDINATION}/wait", "GET"),
        (f"{COORDINATION}/wait", "DELETE"),
        ("/api/v1/acp/agents", "GET"),
        ("/api/v1/trial", "GET"),
        ("/api/v1/trial/keys", "POST"),
        ("/api/v1/trial/agents", "POST"),
        ("/api/v1/trial/ticket", "POST"),
        ("/health/live", "GET"),
        ("/health/ready", "GET"),
        ("/openapi.json", "GET"),
        ("/.well-known/jwks.json", "GET"),
        ("/.well-known/did.json", "GET"),
    }


async def test_the_description_is_served_unchanged(anonymous):
    answer = await anonymous.call("GET", "/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["access-control-allow-origin"] == "*"
    document = answer.json()
    assert document == served.document()
    assert document["openapi"].startswith("3.1.")
    assert document["servers"] == [{"url": settings.BASE_URL}]


def test_every_schema_is_valid_and_every_reference_resolves():
    document = served.document()
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document)):
        found = document
        for step in reference.split("/"):
            found = found[step]


def test_everything_has_a_description():
    document = served.document()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"] and operation["description"], (path, method)
            for parameter in operation["parameters"]:
                assert parameter.get("description") or parameter["schema"].get("description"), (
                    path,
                    parameter,
                )
    for name, schema in document["components"]["schemas"].items():
        assert schema.get("description"), name


def test_security_is_described_where_credentials_are_required():
    for path, operations in served.document()["paths"].items():
        for operation in operations.values():
            asked = [name for scheme in operation["security"] for name in scheme]
            if path.startswith("/api/v1/acp") or path in ("/api/v1/trial", "/api/v1/trial/ticket"):
                assert asked == ["apiKey", "signature"]
            elif path == "/api/v1/trial/keys":
                assert asked == ["signature"]
            assert bool(asked) == path.startswith("/api/")
    assert set(served.document()["components"]["securitySchemes"]) == {"apiKey", "signature"}


def test_problems_have_their_media_type_and_refusals_do_not():
    for path, operations in served.document()["paths"].items():
        for method, operation in operations.items():
            for status, response in operation["responses"].items():
                if status == "304":
                    assert "content" not in response
                    continue
                (media_type,) = response["content"]
                problem = int(status) >= 400 and status != "409"
                assert (media_type == "application/problem+json") is problem, (path, method, status)
    reasons = served.document()["components"]["schemas"]["Problem"]["properties"]["reason"]["enum"]
    assert reasons == list(REASONS)


def test_optional_members_are_not_null():
    schemas = served.document()["components"]["schemas"]
    assert "default" not in json.dumps(schemas["LeaseHeld"])
    assert set(schemas["LeaseHeld"]["properties"]) - set(schemas["LeaseHeld"]["required"]) == {
        "expiresAt",
        "position",
        "keptUntil",
    }
    assert schemas["ReleaseRequest"]["required"] == ["resource", "actorDid"]


def test_the_examples_match_their_schemas():
    shapes = served.document()["components"]["schemas"]
    shown = {name: shape["examples"] for name, shape in shapes.items() if "examples" in shape}
    assert set(shown) == {"Problem", "NotReady", *EXAMPLES}
    for name, examples in shown.items():
        reference = {"$ref": f"#/components/schemas/{name}", "components": served.closed_components()}
        for example in examples:
            jsonschema.Draft202012Validator(reference).validate(example)
            served.check_instants(example)
            getattr(schemas, name, ProblemShape).model_validate_json(json.dumps(example))
