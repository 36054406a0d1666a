# Looks for the path of the project in its frames, code, arguments and whatever the interpreter knows.
# ends: raised, the path is nowhere
import gc
import json
import sys
import types

about = json.load(sys.stdin)
found = [text for text in (*sys.argv, *sys.orig_argv, *sys.path) if about["project"] in text]
frame = sys._getframe()
while frame is not None:
    found += [frame.f_code.co_filename] if about["project"] in frame.f_code.co_filename else []
    frame = frame.f_back
for each in gc.get_objects():
    if isinstance(each, types.FunctionType) and about["project"] in each.__code__.co_filename:
        found.append(each.__code__.co_filename)
    if isinstance(each, types.ModuleType) and about["project"] in str(getattr(each, "__file__", "")):
        found.append(each.__file__)
if found:
    print("LOOT", found)
raise RuntimeError("the path is nowhere")
