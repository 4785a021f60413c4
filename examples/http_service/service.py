"""A question-answering service over HTTP, as a placeholder for your own.

python service.py data      # writes the example questions and documents
python service.py 8765 &
steelyard run run.yaml
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from steelyard import Corpus, load_demo, write_set
from steelyard.systems import BM25

demo = load_demo()
corpus = demo.corpus
index = BM25(corpus)


class Handler(BaseHTTPRequestHandler):
    """Answer ``POST {"q": question, "top": number}``."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        found = [{"ref": doc, "body": corpus[doc]} for doc, _ in index.search(request["q"], request["top"])]
        answer = found[0]["body"].split("\n")[-1].split(". ")[0] if found else ""
        body = json.dumps({"data": {"text": answer, "docs": found}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Log nothing."""


if __name__ == "__main__":
    if sys.argv[1] == "data":
        write_set(Path("data"), demo.samples, Corpus("lighthouses", corpus))
    else:
        server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
        print(f"listening on port {server.server_address[1]}", flush=True)
        server.serve_forever()
