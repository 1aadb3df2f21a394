"""Matching a pattern that a stranger wrote, with a bound on the work.

``re`` tries one way through a pattern after the other, and ``^(a+)+$`` has more ways than anyone can
wait for. Here all ways are followed at once, as the set of places in the text they have reached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

# The parser of `re` has had two names, neither of them public.
_parse: Callable[[str], Any] = (getattr(re, "_parser", None) or getattr(re, "sre_parse")).parse  # noqa: B009

_CATEGORIES: Mapping[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": lambda character: character.isdecimal(),
    "CATEGORY_NOT_DIGIT": lambda character: not character.isdecimal(),
    "CATEGORY_SPACE": lambda character: character.isspace(),
    "CATEGORY_NOT_SPACE": lambda character: not character.isspace(),
    "CATEGORY_WORD": lambda character: _is_word(character),
    "CATEGORY_NOT_WORD": lambda character: not _is_word(character),
}

_POSITIONS: Mapping[str, Callable[[str, int], bool]] = {
    "AT_BEGINNING": lambda text, place: place == 0,
    "AT_BEGINNING_STRING": lambda text, place: place == 0,
    "AT_END": lambda text, place: text[place:] in ("", "\n"),
    "AT_END_STRING": lambda text, place: place == len(text),
    "AT_BOUNDARY": lambda text, place: _is_boundary(text, place),
}


class TooMuchWork(Exception):
    """The budget of a check is spent."""


class Budget:
    """How much work a check may still do."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        """Note that *steps* more were taken; raise `TooMuchWork` when there are none left."""
        self._left -= steps
        if self._left < 0:
            raise TooMuchWork


def matches(pattern: str, text: str, budget: Budget) -> bool:
    """Tell whether *pattern* is found in *text*, as ``re.search`` would.

    What cannot be followed this way (back references, flags, looking behind) and what is no pattern at
    all matches everything. Raises `TooMuchWork` when the budget is spent.
    """
    try:
        parsed = _parse(pattern)
        if parsed.state.flags != re.UNICODE:
            return True
        return bool(_Search(text, budget).ends(parsed, set(range(len(text) + 1))))
    except (re.error, RecursionError, OverflowError, _NotFollowed):
        return True


class _NotFollowed(Exception):
    """The pattern uses what a set of places cannot express."""


class _Search:
    """Follows a parsed pattern through one text; every method takes and returns a set of places."""

    def __init__(self, text: str, budget: Budget) -> None:
        self._text = text
        self._budget = budget

    def ends(self, sequence: Any, places: set[int]) -> set[int]:
        """Return where *sequence* may end when it begins at any of *places*."""
        for operator, argument in sequence:
            self._budget.spend(1 + len(places))
            places = self._after(operator.name, argument, places)
            if not places:
                break
        return places

    def _after(self, operator: str, argument: Any, places: set[int]) -> set[int]:
        if operator in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            text = self._text
            return {place + 1 for place in places if place < len(text) and _accepts(operator, argument, text[place])}
        if operator == "AT" and argument.name in _POSITIONS:
            return {place for place in places if _POSITIONS[argument.name](self._text, place)}
        if operator == "SUBPATTERN" and not argument[1] and not argument[2]:
            return self.ends(argument[3], places)
        if operator == "BRANCH":
            return set().union(*(self.ends(choice, places) for choice in argument[1]))
        if operator in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, body = argument
            return self._repeated(least, most, body, places)
        if operator in ("ASSERT", "ASSERT_NOT") and argument[0] == 1:
            return {place for place in places if bool(self.ends(argument[1], {place})) == (operator == "ASSERT")}
        raise _NotFollowed

    def _repeated(self, least: int, most: int, body: Any, places: set[int]) -> set[int]:
        for _ in range(least):
            self._budget.spend()
            places = self.ends(body, places)
        reached = set(places)
        for _ in range(most - least):
            places = self.ends(body, places) - reached
            if not places:
                break
            reached |= places
        return reached


def _accepts(operator: str, argument: Any, character: str) -> bool:
    if operator == "ANY":
        return character != "\n"
    if operator == "LITERAL":
        return ord(character) == int(argument)
    if operator == "NOT_LITERAL":
        return ord(character) != int(argument)
    is_negated = bool(argument[0][0].name == "NEGATE")
    return is_negated != any(_is_member(kind, member, character) for kind, member in argument[is_negated:])


def _is_member(operator: Any, argument: Any, character: str) -> bool:
    if operator.name == "CATEGORY":
        return _CATEGORIES[argument.name](character)
    lowest, highest = argument if operator.name == "RANGE" else (argument, argument)
    return bool(lowest <= ord(character) <= highest)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_boundary(text: str, place: int) -> bool:
    before = place > 0 and _is_word(text[place - 1])
    after = place < len(text) and _is_word(text[place])
    return before != after
