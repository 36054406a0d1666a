"""Shops: search, filter, sort, compare, put the right things into the cart and buy them."""

from __future__ import annotations

import random
from typing import Any

from guerdon.envs.pages.form_sites import Made
from guerdon.envs.pages.page_words import COLOURS, Words, lures

SIZES = {1: 3, 2: 6, 3: 10, 4: 14, 5: 18, 6: 24, 7: 24, 8: 36}  # level: products
PER = 6


def shop_site(draw: random.Random, words: Words, level: int) -> Made:
    """1 and 2: put a named product into the cart, from one list. 3: pages of products, each with a page of its own.
    4: search, and buy. 5: the cheapest or best of a kind. 6: how many, filters, sorting. 7: two products,
    distractors. 8: the dearest one within a budget that has enough stars."""
    products = _products(draw, words, SIZES[level])
    data: dict[str, Any] = {"products": products, "cart": []}
    if level >= 4:
        data["orders"] = []
    picks, said = _picks(draw, products, level)
    counts = [str(draw.randrange(1, 5)) if level >= 6 else "1" for _ in picks]
    buys = level >= 4
    wanted: dict[str, str] = {}
    todo: list[dict[str, Any]] = []
    rows = [_row(pick, count) for pick, count in zip(picks, counts, strict=True)]
    for row in rows:
        id, place = row["id"], "orders.0.items" if buys else "cart"
        wanted |= {f"{place}.{id}.{k}": v for k, v in row.items() if k != "id"}
        sets = [[f"count:{id}", row["count"]]] if level >= 6 else []
        hints = [["search", row["name"]]] if level >= 4 else []
        inside = {f"cart.{id}.{k}": v for k, v in row.items() if k != "id"}
        todo.append({"done": inside, "set": sets, "click": f"add:{id}", "hints": hints})
    if buys:
        todo = [{"done": wanted, "first": todo, "click": "buy"}]
    things = " and ".join(
        f"{count} of {text}" if level >= 6 else text for text, count in zip(said, counts, strict=True)
    )
    prompt = f"{'buy' if buys else 'put into the cart:'} {things}, and nothing else."
    pages = {"home": _home(draw, products, level), "product": _product(draw, level), "cart": _cart(draw, buys, level)}
    site = {
        "start": "home",
        "pages": pages if level >= 3 else {k: v for k, v in pages.items() if k != "product"},
        "data": data,
    }
    return Made(prompt, site, {"wanted": wanted, "todo": todo, "undo": ["cart", "drop", rows]})


def _row(product: dict[str, Any], count: str) -> dict[str, str]:
    """A product in the cart."""
    return {"id": product["id"], "name": product["name"], "price": str(product["price"]), "count": count}


def _products(draw: random.Random, words: Words, count: int) -> list[dict[str, Any]]:
    kinds = draw.sample(words.things, max(2, count // 4))
    names = draw.sample([f"{colour} {thing}" for colour in COLOURS for thing in kinds], count)
    prices = draw.sample(range(5, 100), count)
    return [
        {
            "id": str(n),
            "name": name,
            "colour": name.split()[0],
            "thing": name.split()[1],
            "price": price,
            "stars": draw.randrange(1, 6),
        }
        for n, (name, price) in enumerate(zip(names, prices, strict=True), start=1)
    ]


def _picks(draw: random.Random, products: list[dict[str, Any]], level: int) -> tuple[list[dict[str, Any]], list[str]]:
    """What is to be bought, and how that is said."""
    one = draw.choice(products)
    same = [product for product in products if product["thing"] == one["thing"]]
    if level <= 4:
        return [one], [f"the {one['name']}"]
    if level == 5:
        return [min(same, key=lambda p: p["price"])], [f"the cheapest {one['thing']}"]
    if level == 6:
        return [max(same, key=lambda p: p["price"])], [f"the dearest {one['thing']}"]
    if level == 7:
        other = draw.choice([p for p in products if p["thing"] != one["thing"]])
        return [min(same, key=lambda p: p["price"]), other], [f"the cheapest {one['thing']}", f"the {other['name']}"]
    budget, stars = one["price"] + draw.randrange(0, 6), one["stars"]
    fits = [p for p in same if p["price"] <= budget and p["stars"] >= stars]
    told = f"the dearest {one['thing']} for at most {budget} each with {stars} or more stars"
    return [max(fits, key=lambda p: p["price"])], [told]


def _add(level: int) -> list[Any]:
    count = "#count:{id}" if level >= 6 else "1"
    row = {"id": "{id}", "name": "{name}", "price": "{price}", "count": count}
    return [
        "button",
        {"id": "add:{id}", "on": {"click": [["put", "cart", row], ["say", "{name} is in the cart"]]}},
        "add {name}",
    ]


def _home(draw: random.Random, products: list[dict[str, Any]], level: int) -> list[Any]:
    top = ["nav", ["a", {"id": "to-cart", "href": "cart"}, "cart ({count cart})"]]
    tools: list[Any] = []
    if level >= 4:
        submit = {"submit": [["search", "products", "search"]]}
        tools.append(["form", {"id": "seek", "on": submit}, ["input", {"id": "search", "label": "search"}], _seek()])
    if level >= 6:
        colours = [["option", {}, c] for c in ("any", *COLOURS)]
        changed = {"change": [["where", "products", "colour", "colour"]]}
        tools.append(["p", ["select", {"id": "colour", "label": "colour", "on": changed}, *colours]])
        sorts = [
            ["button", {"id": f"by-{c}", "on": {"click": [["sort", "products", c]]}}, f"sort by {c}"]
            for c in ("price", "stars")
        ]
        tools.append(["p", *sorts])
    if level < 3:
        row: list[Any] = ["p", "{name}, price {price} ", _add(level)]
        return ["body", ["h1", "shop"], top, ["div", {"each": "products"}, row]]
    shown = "{name}, price {price}" if level < 5 else "{name}, price {price}, stars {stars}"
    row = ["p", ["a", {"id": "open:{id}", "href": "product?{id}"}, shown]]
    turns = ["p", _turn("previous", -1), _turn("next", 1)]
    return [
        "body",
        ["h1", "shop"],
        top,
        *tools,
        ["div", {"each": "products", "per": PER}, row],
        turns,
        *lures(draw, level),
    ]


def _seek() -> list[Any]:
    return ["button", {"id": "seek-go", "on": {"click": [["search", "products", "search"]]}}, "go"]


def _turn(name: str, by: int) -> list[Any]:
    return ["button", {"id": name, "on": {"click": [["turn", "products", by, PER]]}}, name]


def _product(draw: random.Random, level: int) -> list[Any]:
    counts = [["option", {}, str(n)] for n in range(1, 6)]
    count = [["p", ["select", {"id": "count:{id}", "label": "count"}, *counts]]] if level >= 6 else []
    links = [
        "nav",
        ["a", {"id": "to-home", "href": "home"}, "shop"],
        ["a", {"id": "to-cart", "href": "cart"}, "cart ({count cart})"],
    ]
    return [
        "body",
        {"of": "products"},
        ["h1", "{name}"],
        links,
        ["p", "price {price}, stars {stars}"],
        *lures(draw, level),
        *count,
        ["p", _add(level)],
    ]


def _cart(draw: random.Random, buys: bool, level: int) -> list[Any]:
    drop = ["button", {"id": "drop:{id}", "on": {"click": [["drop", "cart", "{id}"]]}}, "remove {name}"]
    rows = ["div", {"each": "cart"}, ["p", "{count} of {name}, price {price} ", drop]]
    buy = (
        [["button", {"id": "buy", "on": {"click": [["move", "cart", "orders"], ["say", "bought"]]}}, "buy"]]
        if buys
        else []
    )
    return [
        "body",
        ["h1", "cart"],
        ["a", {"id": "to-home", "href": "home"}, "shop"],
        rows,
        *buy,
    ]
