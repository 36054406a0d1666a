# Leaves a sitecustomize.py and a .pth, which the next interpreter would run as it starts.
# ends: raised, nowhere to leave it
import json
import os
import sys
import sysconfig

about = json.load(sys.stdin)
places = {*sysconfig.get_paths().values(), *(path for path in sys.path if path), about["site"], about["home"]}
for folder in sorted(places):
    for name in ("sitecustomize.py", "usercustomize.py", "forged.pth"):
        if folder == os.getcwd():
            continue
        try:
            path = os.path.join(folder, f"guerdon-test-{name}")
            open(path, "x").close()
            os.unlink(path)
            print("LOOT", path)
        except OSError:
            pass
raise RuntimeError("nowhere to leave it")
