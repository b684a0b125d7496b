"""The part of Amazon's S3 that Delta Lake needs, on loopback: objects in memory, multipart uploads, conditional puts."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

KEY, SECRET = "bucket-key-canary", "bucket-secret/canary+five="


class Bucket:
    """What is stored, and who asked."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.refused = 0
        self.lock = threading.Lock()
        self.options: dict[str, str] = {}
        """As `storage_options` wants them."""

    @property
    def environment(self) -> dict[str, str]:
        return {name.upper(): value for name, value in self.options.items()}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def do_GET(self) -> None:
        key, query = self._asked()
        if "list-type" in query:
            prefix = query.get("prefix", [""])[0]
            after = query.get("start-after", [""])[0]
            with self.bucket.lock:
                found = {name: len(data) for name, data in sorted(self.bucket.objects.items()) if name.startswith(prefix) and name > after}
            groups: set[str] = set()
            if delimiter := query.get("delimiter", [""])[0]:
                groups = {prefix + name[len(prefix) :].split(delimiter)[0] + delimiter for name in found if delimiter in name[len(prefix) :]}
                found = {name: size for name, size in found.items() if delimiter not in name[len(prefix) :]}
            one = "<Contents><Key>{}</Key><LastModified>2027-03-01T12:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>{}</Size></Contents>"
            listed = "".join(one.format(escape(name), size) for name, size in found.items())
            listed += "".join(f"<CommonPrefixes><Prefix>{escape(group)}</Prefix></CommonPrefixes>" for group in sorted(groups))
            self._answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>".encode())
            return
        with self.bucket.lock:
            data = self.bucket.objects.get(key)
        if data is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        about = {"ETag": etag(data), "Last-Modified": "Mon, 01 Mar 2027 12:00:00 GMT"}
        if wanted := re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")):
            size = len(data)
            first = int(wanted[1]) if wanted[1] else size - int(wanted[2])
            last = min(int(wanted[2]), size - 1) if wanted[1] and wanted[2] else size - 1
            self._answer(206, data[first : last + 1], {**about, "Content-Range": f"bytes {first}-{last}/{size}"})
        else:
            self._answer(200, data, about)

    do_HEAD = do_GET  # noqa: N815

    def do_PUT(self) -> None:
        key, query = self._asked()
        data = self.rfile.read(int(self.headers["Content-Length"]))
        with self.bucket.lock:
            if "partNumber" in query:
                self.bucket.uploads[query["uploadId"][0]][int(query["partNumber"][0])] = data
            elif self._is_refused(key):
                self.bucket.refused += 1
                self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
                return
            else:
                self.bucket.objects[key] = data
        self._answer(200, b"", {"ETag": etag(data)})

    def do_POST(self) -> None:
        key, query = self._asked()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.bucket.lock:
            if "uploads" in query:
                upload = str(len(self.bucket.uploads))
                self.bucket.uploads[upload] = {}
                answer = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            elif "uploadId" in query:
                parts = self.bucket.uploads[query["uploadId"][0]]
                self.bucket.objects[key] = b"".join(parts[number] for number in sorted(parts))
                answer = f"<CompleteMultipartUploadResult><ETag>{etag(self.bucket.objects[key])}</ETag></CompleteMultipartUploadResult>"
            else:
                for name in re.findall(r"<Key>(.*?)</Key>", body.decode()):
                    self.bucket.objects.pop(name, None)
                answer = "<DeleteResult></DeleteResult>"
        self._answer(200, answer.encode())

    def do_DELETE(self) -> None:
        key, _ = self._asked()
        with self.bucket.lock:
            self.bucket.objects.pop(key, None)
        self._answer(204, b"")

    def _is_refused(self, key: str) -> bool:
        known = self.bucket.objects.get(key)
        if self.headers.get("If-None-Match") == "*":
            return known is not None
        wanted = self.headers.get("If-Match")
        return wanted is not None and (known is None or wanted != etag(known))

    def _asked(self) -> tuple[str, dict[str, list[str]]]:
        assert f"Credential={KEY}/" in self.headers["Authorization"], "nobody may ask without the credentials that were given"
        parts = urlsplit(self.path)
        return unquote(parts.path).removeprefix("/bucket").lstrip("/"), parse_qs(parts.query, keep_blank_values=True)

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def etag(data: bytes) -> str:
    return f'"{hashlib.md5(data).hexdigest()}"'


@contextmanager
def bucket() -> Iterator[Bucket]:
    """The bucket `s3://bucket`, for as long as a block lasts."""
    made = Bucket()
    handler = type("Handler", (_Handler,), {"bucket": made})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        made.options = {
            "aws_endpoint_url": f"http://127.0.0.1:{server.server_address[1]}",
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "aws_region": "us-east-1",
            "aws_allow_http": "true",
        }
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
