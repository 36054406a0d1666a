# Raises an exception whose text and whose name are very long, over many lines.
# ends: output|raised
import json
import sys

about = json.load(sys.stdin)
raise type("E" * 200_000, (Exception,), {})("two\nlines\n" * 200_000)
