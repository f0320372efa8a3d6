"""The signing keys: their files, thumbprints and rotation, and their signatures."""

import base64
import concurrent.futures
import copy
import json
import logging
import pickle
import stat
import subprocess
import sys
import threading

import pytest
from nacl.bindings import crypto_sign_open

from intramedial.receipts import keyfiles, signing

# RFC 8037, appendix A: the key (A.1, A.2), its thumbprint (A.3), a JWS (A.4).
RFC8037_D = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
RFC8037_X = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
RFC8037_THUMBPRINT = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
RFC8037_JWS = (
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
)


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ring(tmp_path, clock):
    return signing.KeyRing(tmp_path / "keys", clock)


def test_rfc_8037_appendix_a():
    signer = signing.Signer(decode(RFC8037_D))
    assert signer.public_jwk["x"] == RFC8037_X
    assert signer.kid == signing.thumbprint(RFC8037_X) == RFC8037_THUMBPRINT
    signer._header = b"eyJhbGciOiJFZERTQSJ9."  # the example's header, which has no typ and no kid
    assert signer.sign(b"Example of Ed25519 signing") == RFC8037_JWS


def test_the_header_names_algorithm_type_and_key():
    signer = signing.Signer(bytes(32))
    header, payload, signature = signer.sign(b'{"a": 1}').split(".")
    assert json.loads(decode(header)) == {"alg": "EdDSA", "typ": "intramedial-receipt+jwt", "kid": signer.kid}
    assert decode(payload) == b'{"a": 1}'
    assert len(decode(signature)) == 64


def test_the_same_claims_give_the_same_jws():
    assert signing.Signer(bytes(32)).sign(b"{}") == signing.Signer(bytes(32)).sign(b"{}")


def test_the_first_key_is_made_at_first_use(ring, tmp_path):
    signer = ring.current()
    [file] = (tmp_path / "keys").iterdir()
    assert file.name == "000001.jwk"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    again = signing.KeyRing(tmp_path / "keys")
    assert again.current().kid == signer.kid
    assert again.current().sign(b"{}") == signer.sign(b"{}")


def test_a_loose_directory_is_made_private(tmp_path):
    (tmp_path / "keys").mkdir(mode=0o755)
    signing.KeyRing(tmp_path / "keys").current()
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_several_first_threads_make_one_key(tmp_path):
    barrier = threading.Barrier(8)

    def first(_):
        ring = signing.KeyRing(tmp_path / "keys")
        barrier.wait()
        return ring.current().kid

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(first, range(8)))) == 1
    assert [file.name for file in (tmp_path / "keys").iterdir()] == ["000001.jwk"]


def test_several_first_processes_make_one_key(tmp_path):
    program = (
        "import sys, pathlib; from intramedial.receipts import signing; sys.stdin.read(1);"
        "print(signing.KeyRing(pathlib.Path(sys.argv[1])).current().kid)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "keys")]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    kids = {process.communicate("x")[0] for process in processes}
    assert len(kids) == 1
    assert kids != {""}


def test_a_new_key_is_published_before_it_signs(ring, clock):
    old = ring.current()
    new = ring.rotate()
    assert {signer.kid for signer in ring.signers()} == {old.kid, new.kid}
    clock.now += signing.PUBLISH_AHEAD_S - 1
    assert ring.current().kid == old.kid
    clock.now += 1
    assert ring.current().kid == new.kid
    assert {signer.kid for signer in ring.signers()} == {old.kid, new.kid}


def test_another_process_sees_a_rotation_within_a_second(ring, clock, tmp_path):
    other = signing.KeyRing(tmp_path / "keys", clock)
    old = ring.current().kid
    assert other.current().kid == old
    new = ring.rotate(publish_ahead_s=0).kid
    assert other.current().kid == old
    clock.now += 1
    assert other.current().kid == new
    assert other.by_kid(old).kid == old


def test_rotating_before_the_first_use_keeps_a_key_that_signs_now(ring, clock):
    new = ring.rotate()
    assert ring.current().kid != new.kid
    clock.now += signing.PUBLISH_AHEAD_S
    assert ring.current().kid == new.kid


def test_a_clock_set_back_stops_neither_signing_nor_reading(ring, clock, tmp_path):
    first = ring.current().kid
    new = ring.rotate(publish_ahead_s=0).kid
    assert ring.current().kid == new
    clock.now = 5.0
    assert ring.current().kid == first
    other = signing.KeyRing(tmp_path / "keys", clock)
    assert other.current().kid == first
    newest = other.rotate(publish_ahead_s=0).kid
    clock.now += 1
    assert ring.current().kid == newest


def test_concurrent_rotations_all_count(ring):
    ring.current()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        new = {signer.kid for signer in pool.map(lambda _: ring.rotate(), range(8))}
    assert new < {signer.kid for signer in ring.signers()}
    assert len(ring.signers()) == 9


def test_a_running_process_keeps_keys_whose_files_are_gone(ring, clock, tmp_path):
    kid = ring.current().kid
    (tmp_path / "keys" / "000001.jwk").unlink()
    clock.now += 10
    assert ring.current().kid == kid


def jwk(**changes):
    document = signing._to_jwk(bytes(32), 0.0) | changes
    return json.dumps({name: value for name, value in document.items() if value is not None})


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "\x00",
        "{}",
        jwk(d=None),
        jwk(d="AAAA"),
        jwk(d="*"),
        jwk(x=RFC8037_X),
        jwk(signs_from=None),
    ],
)
def test_a_bad_file_is_ignored_and_named_once_without_its_content(content, ring, clock, tmp_path, caplog):
    kid = ring.current().kid
    (tmp_path / "keys" / "000002.jwk").write_text(content)
    clock.now += 1
    with caplog.at_level(logging.ERROR):
        assert [signer.kid for signer in ring.signers()] == [kid]
        clock.now += 1
        assert ring.current().kid == kid
    [record] = caplog.records
    assert "000002.jwk" in record.getMessage()
    assert signing.base64url(bytes(32)).decode() not in caplog.text


def test_without_any_good_file_there_is_an_error_and_no_new_key(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "000001.jwk").write_text("{}")
    ring = signing.KeyRing(tmp_path / "keys")
    for _ in range(2):
        with pytest.raises(keyfiles.KeyFileError, match="no file"):
            ring.current()
    assert len(list((tmp_path / "keys").iterdir())) == 1


def test_the_private_key_is_in_no_text(ring):
    signer = ring.current()
    assert repr(signer) == str(signer) == f"<Signer {signer.kid}>"
    assert "d" not in signer.public_jwk
    assert not hasattr(signer, "__dict__")
    for leak in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            leak(signer)


def test_published_keys_verify_and_are_public(ring):
    signer = ring.current()
    signing_input, _, signature = signer.sign(b"{}").rpartition(".")
    crypto_sign_open(decode(signature) + signing_input.encode(), decode(signer.public_jwk["x"]))
    assert set(signer.public_jwk) == {"kty", "crv", "x", "kid", "use", "alg"}
