"""Pages of your own: two HTML files, what is asked for, and a check in Python of what came of it."""

import tempfile
from pathlib import Path

import guerdon as gd

INDEX = '<h1>Library</h1><p>Cards are free.</p><a id="to-form" href="card.html">Get a card</a>'
CARD = """<h1>A card</h1><form id="cards" action="index.html">
<p><label>Name <input name="name" required></label></p>
<p><label>Mail <input name="mail" type="email"></label></p>
<p><label><input name="letters" type="checkbox" checked> Send me letters</label></p>
<button id="send">Send</button></form>"""


def asked_for(visit):
    """One card, for the right person, and no letters: whatever else stands in the form is the player's business."""
    cards = visit["data"]["cards"]
    return len(cards) == 1 and cards[0]["name"] == visit["asked"]["who"] and cards[0]["letters"] == "off"


def task():
    folder = Path(tempfile.mkdtemp())
    (folder / "index.html").write_text(INDEX)
    (folder / "card.html").write_text(CARD)
    rows = []
    for who in ("Ann", "Ben", "Cleo", "Dora"):
        plan = [["click", "to-form"], ["type", "name", who], ["click", "letters"], ["click", "send"]]
        rows.append({"prompt": f"Get a library card for {who}, without letters.", "who": who, "plan": plan})
    return gd.envs.own_pages(str(folder), rows, check_visit=asked_for)


if __name__ == "__main__":
    print(gd.check_env(task()))
    script = ["click 1", "type 1 Dora", "type 2 dora", "click 4", "type 2 d@dora.net", "click 3", "click 4", "stop"]
    player = gd.models.scripted(lambda view, past, seed: script[len(past)])
    print(gd.evaluate(player, task=task())["pass@1"])
