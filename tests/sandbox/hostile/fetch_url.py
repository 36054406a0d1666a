# Asks a local web server, as a program that phones home would.
# ends: forbidden, socket
import json
import sys
import urllib.request

about = json.load(sys.stdin)
print("LOOT", urllib.request.urlopen(f"http://127.0.0.1:{about['port']}/", timeout=5).read())
