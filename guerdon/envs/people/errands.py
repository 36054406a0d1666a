"""What users want: five kinds of errand, each a form whose fields have values to choose from and words they are asked about
by."""

from __future__ import annotations

from dataclasses import dataclass

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
HOURS = ("9", "10", "11", "12", "15", "18", "19", "20")


@dataclass(frozen=True)
class Blank:
    """A field of a form: its name, the values it may take, and the other words by which a question means it."""

    name: str
    values: tuple[str, ...]
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Errand:
    """A kind of errand: what the user says first, the word that commits to it, and its form."""

    name: str
    wish: str
    verb: str
    form: tuple[Blank, ...]

    def blank(self, name: str) -> Blank:
        return next(blank for blank in self.form if blank.name == name)

    def named(self, word: str) -> str | None:
        """The field that a word means."""
        return next((blank.name for blank in self.form if word == blank.name or word in blank.words), None)


ERRANDS = {
    errand.name: errand
    for errand in (
        Errand(
            "table",
            "i want to book a table.",
            "book",
            (
                Blank("day", DAYS, ("date", "when", "days")),
                Blank("time", HOURS, ("hour", "clock", "oclock")),
                Blank("people", ("2", "3", "4", "5", "6", "8"), ("guests", "persons", "party", "many", "person")),
                Blank("place", ("inside", "outside", "window", "bar"), ("where", "seat", "seats", "seating", "area")),
                Blank("food", ("fish", "meat", "vegan", "pasta"), ("dish", "menu", "diet", "cuisine", "eat")),
                Blank("name", ("ada", "ben", "cleo", "dan", "eva", "finn"), ("called", "who", "names")),
            ),
        ),
        Errand(
            "form",
            "i must move to a new flat and need the form for it.",
            "send",
            (
                Blank("street", ("elm", "oak", "mill", "park", "lake"), ("address", "road", "where")),
                Blank("number", ("1", "3", "7", "12", "25", "40"), ("house", "door")),
                Blank("city", ("bonn", "lyon", "oslo", "porto", "turin"), ("town", "place")),
                Blank("month", ("march", "april", "june", "august", "october"), ("when", "date", "start")),
                Blank("rooms", ("1", "2", "3", "4"), ("room", "size", "large", "big")),
                Blank("pet", ("cat", "dog", "bird", "fish"), ("pets", "animal", "animals")),
            ),
        ),
        Errand(
            "pizza",
            "i want to order a pizza.",
            "order",
            (
                Blank("size", ("small", "medium", "large", "family"), ("big", "sizes", "diameter")),
                Blank("base", ("thin", "thick", "crispy", "wholemeal"), ("crust", "dough")),
                Blank("topping", ("ham", "olives", "onions", "mushrooms", "peppers"), ("toppings",)),
                Blank("cheese", ("mozzarella", "feta", "gouda", "vegan"), ("cheeses",)),
                Blank("drink", ("water", "cola", "beer", "juice"), ("drinks", "beverage")),
                Blank("time", HOURS, ("hour", "when", "clock")),
            ),
        ),
        Errand(
            "film",
            "tell me what film to watch.",
            "suggest",
            (
                Blank("genre", ("comedy", "drama", "horror", "western", "crime"), ("kind", "sort", "type", "genres")),
                Blank("decade", ("1950", "1960", "1970", "1980", "1990", "2000"), ("year", "years", "old", "when")),
                Blank("language", ("english", "french", "german", "hindi", "korean"), ("spoken", "tongue")),
                Blank("length", ("short", "normal", "long"), ("long", "minutes", "duration")),
                Blank("company", ("alone", "friends", "kids", "parents"), ("who", "whom", "watching")),
                Blank("mood", ("happy", "sad", "tense", "calm"), ("moods", "feel", "feeling")),
            ),
        ),
        Errand(
            "repair",
            "something is broken and i want it repaired.",
            "repair",
            (
                Blank("thing", ("phone", "laptop", "bike", "oven", "lamp"), ("device", "item", "object", "machine")),
                Blank(
                    "fault", ("screen", "battery", "noise", "smell", "leak"), ("problem", "wrong", "broken", "issue")
                ),
                Blank("day", DAYS, ("date", "when")),
                Blank("time", HOURS, ("hour", "clock")),
                Blank("price", ("50", "80", "100", "150", "200"), ("cost", "budget", "pay", "much")),
                Blank("place", ("home", "shop", "office"), ("where", "address")),
            ),
        ),
    )
}
