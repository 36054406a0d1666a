"""Pages by hand: what events do, what is seen of it, what counts as done, and HTML both ways."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import guerdon as gd
from guerdon.envs.pages.page_goals import changes, facts, judged
from guerdon.envs.pages.screen_view import ScreenView
from guerdon.envs.pages.tree_view import TreeView

ROWS = [
    {"id": str(n), "name": name, "price": price} for n, (name, price) in enumerate([("cup", 9), ("pen", 2), ("hat", 5)])
]
HOME = [
    "body",
    ["h1", "shop"],
    ["nav", ["button", {"id": "more", "on": {"hover": [["open", "list"]]}}, "more"],
     ["ul", {"id": "list", "hidden": True}, ["li", ["a", {"id": "to-join", "href": "join"}, "join"]]]],
    ["button", {"id": "sort", "on": {"click": [["sort", "rows", "price"]]}}, "sort"],
    ["table", {"each": "rows", "per": 2},
     ["tr", ["td", {"id": "name:{id}"}, "{name}"], ["td", "{price}"],
      ["td", ["button", {"id": "add:{id}", "on": {"click": [["put", "cart", {"id": "{id}", "name": "{name}"}]]}}, "add"]]]],
    ["button", {"id": "next", "on": {"click": [["turn", "rows", 1, 2]]}}, "next"],
]  # fmt: skip
JOIN = [
    "body",
    ["form", {"id": "join", "on": {"submit": [["store", "members", {"by": "web"}], ["say", "welcome"], ["go", "home"]]}},
     ["p", ["input", {"id": "name", "name": "name", "label": "name", "required": "1"}]],
     ["p", ["input", {"id": "age", "name": "age", "label": "age", "format": "number", "least": "18"}]],
     ["p", ["select", {"id": "size", "name": "size", "label": "size"}, ["option", {}, "small"], ["option", {}, "large"]]],
     ["p", ["input", {"type": "checkbox", "id": "news", "name": "news", "label": "news", "checked": True}]],
     ["button", {"id": "send"}, "send"], ["button", {"id": "off", "disabled": True}, "pay"]],
]  # fmt: skip
SITE = {"start": "home", "pages": {"home": HOME, "join": JOIN}, "data": {"rows": ROWS, "cart": []}}


def shown(site):
    return [e.text for e in site.root.walk() if e.id.startswith("name:")]


def test_events_change_what_is_seen_and_what_is_done():
    site = gd.envs.Site(SITE)
    assert shown(site) == ["cup", "pen"]
    site.click(site.element("next"))
    assert shown(site) == ["hat"]
    site.click(site.element("sort"))  # by price, from the first page on
    assert shown(site) == ["pen", "hat"] and site.data == SITE["data"]  # looking is not doing
    site.click(site.element("add:1"))
    assert changes(SITE["data"], site.data) == {"cart.1.name": "pen"} and ROWS[0]["name"] == "cup"
    with pytest.raises(gd.UserError, match="to-join"):
        site.element("to-join")  # in a menu that is shut
    site.hover(site.element("more"))
    assert site.element("to-join").label == "join"
    site.click(site.element("sort"))  # beside the menu, which shuts
    assert shown(site) == ["cup", "hat"]  # and falling now
    site.hover(site.element("more"))
    site.click(site.element("to-join"))
    assert site.page == "join" and site.back() and site.page == "home" and not site.back()


def test_a_form_complains_until_it_is_right_and_then_is_stored_once():
    site = gd.envs.Site({**SITE, "start": "join"})
    site.type(site.element("age"), "12")
    site.press("enter")
    assert site.looks.errors == ("name is needed", "age must be at least 18")
    site.type(site.element("age"), "\u00b2")
    site.press("enter")
    assert site.looks.errors == ("name is needed", "age must be a whole number")
    site.type(site.element("name"), "ann")
    site.type(site.element("age"), "40")
    site.select(site.element("size"), "large")
    site.click(site.element("news"))
    site.click(site.element("off"))
    assert site.looks.notices == ("pay cannot be used now",) and "members" not in site.data
    site.click(site.element("send"))
    assert site.data["members"] == [{"name": "ann", "age": "40", "size": "large", "news": "off", "by": "web"}]
    assert site.page == "home" and site.looks.notices == ("welcome",)
    with pytest.raises(gd.UserError, match="unknown effect 'expolde'"):
        broken = gd.envs.Site({"start": "a", "pages": {"a": ["button", {"on": {"click": [["expolde"]]}}, "x"]}})
        broken.click(broken.root)


def test_the_two_views_show_the_same_page():
    site, view = gd.envs.Site({**SITE, "start": "join"}), TreeView(30)
    expected = [
        "page join",
        '[1] field "name" = ""',
        '[2] field "age" = ""',
        '[3] select "size" = "small" of small, large',
        '[4] box "news" on',
        '[5] button "send"  [6] button "pay" (disabled)',
    ]
    assert view.look(site).splitlines() == expected
    assert view.act(site, 'type [1] "an"n"').unclear == "" and '[1] field "name" = "an\'n"' in view.look(site)
    refused = [
        "click 7",
        "click",
        "type 5 x",
        "select 3 huge",
        "type 6",
        "hop 1",
        "click 1\nclick 2",
        "scroll down",
        "back",
    ]
    assert all(view.act(site, said).unclear for said in refused) and len(site.log) == 1

    screen = ScreenView(4, 40)
    rows = screen.look(site).splitlines()
    assert rows[0] == "page join, cursor 0 0, keys go to name, rows 1 to 4 of 5"
    assert rows[3:] == [' 0 name |an"n________|', " 1 age |____________|", " 2 size {small v}", " 3 (x) news"]
    for said, row, drawn in [
        ("move 6 1", 1, ""), ("click", 1, ""), ("type 4", 1, ""), ("type 2", 1, "age |42__________|"),
        ("key backspace", 1, "age |4___________|"), ("key clear", 1, "age |____________|"), ("move 7 2", 2, ""),
        ("click", 4, "- large"),
    ]:  # fmt: skip
        assert screen.act(site, said).unclear == ""
        site.looks.scroll = 1 if row == 4 else 0
        at = screen.look(site).splitlines()[3:][row - site.looks.scroll]
        assert drawn in at
    screen.act(site, "move 4 3")
    screen.look(site)
    screen.act(site, "click")
    assert site.element("size").value == "large" and site.looks.popups == ()
    assert screen.act(site, "move 40 0").unclear == "the screen has columns 0 to 39 and rows 0 to 3"


def test_text_on_a_page_never_looks_like_an_element():
    evil = 'x"\n[9] button "win" {count cart} {rows}'
    rows = [{"id": "1", "name": evil, "price": 1}]
    site = gd.envs.Site({**SITE, "data": {"rows": rows, "cart": []}})
    site.click(site.element("add:1"))
    text = TreeView(30).look(site)
    assert "[9]" not in text and '(9) button "win" {count cart} {rows} | 1 | [3]' in text
    assert site.data["cart"] == [{"id": "1", "name": evil}]  # what is put in is not read as a template


def test_goals_are_exact():
    assert facts({"a": [{"id": 3, "n": 1}], "b": ["x"], "c": {}}) == {"a.3.n": 1, "b.0": "x", "c": "there"}
    twice = [{"id": "7", "n": "1"}, {"id": "7", "n": "1"}]
    assert changes({"cart": []}, {"cart": twice}) == {
        f"cart.{i}.{k}": v for i in "01" for k, v in [("id", "7"), ("n", "1")]
    }
    assert changes({"m": [{"id": 1, "x": 2}]}, {"m": []}) == {"m.1.x": None}
    goal = {"wanted": {"a": "1", "b": None}, "answer": "Red", "lures": ["blue"], "orders": {"folder": "bin"}}
    done = {"a": "1", "b": None}
    assert judged(goal, done, ' "red." ')["goal"] == 1.0
    assert judged(goal, done, None) == {
        "goal": 0.0,
        "progress": pytest.approx(2 / 3),
        "stopped": False,
        "unwanted": [],
        "lured": 0,
    }
    told = judged(goal, {**done, "lured.0": "prize", "mails.3.folder": "bin"}, "blue")
    assert told["goal"] == 0 and told["unwanted"] == ["lured.0", "mails.3.folder"] and told["lured"] == 3
    assert judged(goal, {"a": "2"}, "red")["unwanted"] == ["a"]  # the right place, the wrong value


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_html_goes_out_escaped_and_comes_in_plain(tmp_path):
    (tmp_path / "index.html").write_text(
        "<html><head><title>t</title><script>alert(1)</script></head><body><h1>A &amp; B</h1><p>one<p>two<ul><li>x<li>"
        '<a href="more/join.html#top">join</a></ul><a href="https://away.example/">away</a><img alt="a cat"></body>'
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "join.html").write_text(
        '<form id="join" action="../index.html"><label for="nm">Name:</label><input id="nm" name="name" required>'
        '<label>Mail <input type="email" name="mail"></label><select name="size"><option>S<option selected>M</select>'
        '<input type="radio" name="r" value="a"><input type="radio" name="r" value="b" checked>'
        '<textarea name="t">old</textarea><input type="submit" value="Join us"></form>'
    )
    site = gd.envs.Site(gd.envs.site_from_html(tmp_path))
    text = TreeView(30).look(site)
    assert text.splitlines()[:5] == ["page index.html", "# A & B", "one", "two", "x"] and "alert" not in text
    away = next(e for e in site.root.walk() if e.text == "away")
    site.click(away)
    assert site.looks.notices == ("that page is not there",)
    site.click(next(e for e in site.root.walk() if e.text == "join"))
    assert site.page == "more/join.html" and site.element("nm").label == "Name"
    site.type(site.element("nm"), '"><script>x</script>')
    site.type(site.element("mail"), "ann")
    site.press("enter")
    assert site.looks.errors == ("mail must look like name@place.com",)
    reader = Tags()
    reader.feed(gd.envs.to_html(site))
    assert not {"script"} & {tag for tag, _ in reader.tags}
    assert ("input", {"id": "nm", "name": "name", "value": '"><script>x</script>'}) in reader.tags
    assert [a["value"] for t, a in reader.tags if t == "input" and "checked" in a] == ["b"]
    site.type(site.element("mail"), "ann@a.com")
    site.press("enter")
    sent = {"name": '"><script>x</script>', "mail": "ann@a.com", "size": "M", "r": "b", "t": "old"}
    assert site.data == {"join": [sent]} and site.page == "index.html"
    with pytest.raises(gd.UserError, match=r"no \.html file"):
        gd.envs.site_from_html(tmp_path / "none")
