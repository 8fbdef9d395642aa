"""HTTP server on the loopback interface that answers questions about tic-tac-toe with the chat-completions protocol."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "secret-key-of-the-test"


class ChatServer(ThreadingHTTPServer):
    """Server whose `reply` gets the position of a question (`XO..X....`) and the messages, and returns the text.

    A number in place of a text is sent as the status; bytes are sent as the whole body.
    asked: the positions so far.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, reply: Callable[[str, list[dict[str, str]]], Any]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply, self.asked = reply, list[str]()

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a client that did not wait."""

    @property
    def environment(self) -> dict[str, str]:
        """Variables that name this server."""
        address = f"http://127.0.0.1:{self.server_port}/v1"
        return {"CHAT_ADDRESS": address, "CHAT_MODEL": "parrot", "CHAT_KEY": KEY, "no_proxy": "127.0.0.1"}


class Handler(BaseHTTPRequestHandler):
    """One question."""

    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions" or self.headers["Authorization"] != f"Bearer {KEY}":
            return self.send(401, b"bad key: " + str(self.headers["Authorization"]).encode())
        rows = re.search(r"\n((?:[XO1-9] [XO1-9] [XO1-9]\n){3})", body["messages"][0]["content"])
        position = re.sub("[1-9]", ".", "".join(rows[1].split()))
        self.server.asked.append(position)
        told = self.server.reply(position, body["messages"])
        if isinstance(told, int):
            return self.send(told, b"no")
        if isinstance(told, str):
            usage = {"prompt_tokens": 100, "completion_tokens": 7}
            told = json.dumps({"choices": [{"message": {"content": told}}], "usage": usage}).encode()
        return self.send(200, told)

    def send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def chat_server(reply: Callable[[str, list[dict[str, str]]], Any]) -> Iterator[ChatServer]:
    """A server that answers until the end of the block."""
    server = ChatServer(reply)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
