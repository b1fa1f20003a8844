"""A server on this machine that sends ranges of files, counts the bytes, and fails when told to."""

import contextlib
import re
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def answer(self, with_body):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range")))
        server.credentials.add(self.headers.get("Authorization"))
        if server.failures:
            code = server.failures.pop(0)
            self.send_error(code)
            return
        path = server.folder / self.path.strip("/")
        if not path.is_file():
            self.send_error(404)
            return
        size = path.stat().st_size
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first, last = 0, size - 1
        if wanted and server.has_ranges:
            first = int(wanted[1])
            last = min(int(wanted[2] or last), last)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        else:
            self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        if not with_body:
            return
        with path.open("rb") as file, contextlib.suppress(OSError):
            file.seek(first)
            left = last - first + 1
            while left:
                data = file.read(min(left, 2**16))
                self.wfile.write(data)
                server.n_bytes += len(data)
                left -= len(data)


@contextlib.contextmanager
def serve(folder, has_ranges=True, certificate=None):
    """Serve a folder; the server has ``address``, ``n_bytes``, ``requests`` and ``failures``.

    A certificate, a file with its key, makes it HTTPS.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.folder = folder
    server.has_ranges = has_ranges
    server.n_bytes = 0
    server.requests = []
    server.credentials = set()
    server.failures = []
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.address = server.address.replace("http", "https")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
