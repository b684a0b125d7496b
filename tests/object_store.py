"""A bucket of Amazon's S3 on loopback: moto's server, which others keep. It has multipart uploads and conditional puts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from needs import library
from werkzeug.serving import make_server

boto3 = library("boto3")
moto, s3 = library("moto.server"), library("moto.s3")

KEY, SECRET = "bucket-key-canary", "bucket-secret/canary+five="


class Bucket:
    """The stored objects, and the number of refused puts."""

    def __init__(self) -> None:
        self.refused_puts = 0
        self.options: dict[str, str] = {}
        """As `storage_options` wants them."""
        self.client: Any = None
        self._moto = moto.DomainDispatcherApplication(moto.create_backend_app)
        self._lock = threading.Lock()

    @property
    def environment(self) -> dict[str, str]:
        return {name.upper(): value for name, value in self.options.items()}

    @property
    def objects(self) -> dict[str, bytes]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket="bucket")
        names = [entry["Key"] for page in pages for entry in page.get("Contents", ())]
        return {name: self.client.get_object(Bucket="bucket", Key=name)["Body"].read() for name in names}

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        assert f"Credential={KEY}/" in environ["HTTP_AUTHORIZATION"], "nobody may ask without the credentials that were given"

        def start(status: str, *rest: Any) -> Any:
            self.refused_puts += status.startswith("412")
            return start_response(status, *rest)

        # Moto looks at a condition and then puts the object, without a lock: two writers would both be first.
        with self._lock:
            return list(self._moto(environ, start))


class _Handler(moto.MotoRequestHandler):
    def log_request(self, *_: object) -> None:
        pass


@contextmanager
def bucket() -> Iterator[Bucket]:
    """The bucket `s3://bucket`, for as long as a block lasts."""
    store = Bucket()
    server = make_server("127.0.0.1", 0, store, threaded=True, request_handler=_Handler)
    store.options = {
        "aws_endpoint_url": f"http://127.0.0.1:{server.port}",
        "aws_access_key_id": KEY,
        "aws_secret_access_key": SECRET,
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        credentials = {name: value for name, value in store.options.items() if name.startswith("aws_") and "key" in name}
        store.client = boto3.client("s3", region_name="us-east-1", endpoint_url=store.options["aws_endpoint_url"], **credentials)
        store.client.create_bucket(Bucket="bucket")
        yield store
        store.client.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        s3.s3_backends.reset()
