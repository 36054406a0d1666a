# Raises an exception whose text and whose name are megabytes long, over many lines.
# ends: output|raised
import json
import sys

about = json.load(sys.stdin)
raise type("E" * 1_000_000, (Exception,), {})("two\nlines\n" * 1_000_000)
