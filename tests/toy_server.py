"""A real HTTP server on loopback that speaks enough of OpenAI's chat completions, and breaks when told to."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DROP, GARBAGE, EMPTY, HANG = "drop", "garbage", "empty", "hang"


class Toy:
    """`reply` makes an answer of the messages: a text, or (text, [{token: logprob}, ...]). `faults` come first, one a request:
    a status, (status, headers, body), or a word above."""

    def __init__(self, reply, faults=(), delay=0.0):
        self.reply, self.faults, self.delay = reply, list(faults), delay
        self.requests, self.keys = [], []
        self.now = self.most_at_once = self.connections = 0
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"


@contextlib.contextmanager
def toy(reply, faults=(), delay=0.0):
    made = Toy(reply, faults, delay)
    made.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    made.server.daemon_threads = True
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()


def _handler(toy):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: in two, the second waits 40 ms for the first to be acknowledged

        def log_message(self, *args):
            pass

        def setup(self):
            super().setup()
            toy.connections += 1

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with toy.lock:
                toy.requests.append(body)
                toy.keys.append(self.headers.get("authorization"))
                toy.now += 1
                toy.most_at_once = max(toy.most_at_once, toy.now)
                fault = toy.faults.pop(0) if toy.faults else None
            try:
                time.sleep(toy.delay)
                self.say(body, fault)
            finally:
                with toy.lock:
                    toy.now -= 1

        def say(self, body, fault):
            if fault == DROP:
                self.close_connection = True
                self.connection.close()
                return
            if fault == HANG:
                time.sleep(0.5)
            if fault in (GARBAGE, EMPTY):
                self.send(200, "<html>no</html>" if fault == GARBAGE else json.dumps({"choices": []}))
            elif isinstance(fault, int):
                self.send(fault, json.dumps({"error": f"status {fault}"}))
            elif isinstance(fault, tuple):
                self.send(fault[0], fault[2], fault[1])
            else:
                self.send(200, json.dumps(completion(toy.reply(body["messages"]))))

        def send(self, status, text, headers=()):
            data = text.encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            for name, value in dict(headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    return Handler


def completion(said):
    text, told = said if isinstance(said, tuple) else (said, None)
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    if told is not None:
        choice["logprobs"] = {"content": [_token(each) for each in told]}
    return {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


def _token(alternatives):
    said = max(alternatives, key=alternatives.get)
    others = [{"token": token, "logprob": p} for token, p in alternatives.items()]
    return {"token": said, "logprob": alternatives[said], "top_logprobs": others}
