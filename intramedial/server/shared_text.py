"""A text for many sockets, each of which adds a beginning of its own, compressed once for all of them.

With permessage-deflate and no context takeover (RFC 7692, 7.2.3.3) every message is a DEFLATE stream of its
own. Such a stream may begin with a block that is stored as it is (RFC 1951, 3.2.4), and blocks after it may
refer back to one another only. So a beginning can be stored in front of an end compressed without it.
"""

import struct
import zlib

SHARED = "intramedial.shared"
"""The ASGI extension by which a `websocket.send` may hold `beginning` and `shared` instead of a text, and in
`within` how many seconds a client may take until it reads again: then the send raises TimeoutError."""

WINDOW_BITS = 12
"""A window of 4 KiB: what small clients ask for, and enough for lists whose items resemble one another."""

LEVEL = 3


class SharedText:
    """What a text is after its beginning."""

    def __init__(self, end: str) -> None:
        self.end = end
        self._compressed: bytes | None = None

    def compress(self) -> bytes:
        """The end as DEFLATE blocks, without the empty one that ends every message (RFC 7692, 7.2.1)."""
        if self._compressed is None:
            compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, -WINDOW_BITS)
            blocks = compressor.compress(self.end.encode()) + compressor.flush(zlib.Z_SYNC_FLUSH)
            self._compressed = blocks[:-4]
        return self._compressed

    def after(self, beginning: str) -> str:
        """The whole text."""
        return beginning + self.end

    def compressed_after(self, beginning: str) -> tuple[bytes, bytes]:
        """The payload of a compressed message in two parts, of which the second is everybody's.

        `beginning` has at most 65 535 bytes.
        """
        stored = beginning.encode()
        return struct.pack("<BHH", 0, len(stored), len(stored) ^ 0xFFFF) + stored, self.compress()
