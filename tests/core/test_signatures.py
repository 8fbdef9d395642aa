"""Options that are declared once: they show in a signature by name, and names that are none are refused."""

import inspect
from typing import TypedDict, Unpack

import pytest

from ttt_batch.core.text import given_options, with_options


class Paint(TypedDict, total=False):
    colour: str | None
    width: float | None


@with_options(Paint)
def draw(shape: str, *, fill: bool = False, **options: Unpack[Paint]) -> dict[str, object]:
    return given_options(draw, options)


def test_options_show_by_name():
    signature = inspect.signature(draw)
    assert list(signature.parameters) == ["shape", "colour", "width", "fill"]
    assert signature.parameters["width"].default is None
    assert signature.parameters["width"].annotation == float | None


def test_what_was_not_given_is_left_out():
    assert draw("line", colour="red", width=None) == {"colour": "red"}


@pytest.mark.parametrize(
    ("name", "ending"), [("color", "'color'; did you mean 'colour'?"), ("fil", "; did you mean 'fill'?"), ("x", "'x'")]
)
def test_other_names_are_refused_with_the_one_that_was_meant(name: str, ending: str):
    with pytest.raises(TypeError) as refused:
        draw("line", **{name: 1})  # type: ignore[arg-type]
    assert str(refused.value).startswith(f"draw() got an unexpected keyword argument {name!r}")
    assert str(refused.value).endswith(ending)
