"""Numbers of things in words, the same in every message: `1 game`, `10,000 games`."""


def counted(number: int, one: str, many: str = "") -> str:
    """So many of something, thousands set apart.  one: what one of them is called.  many: several, if not `one`s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
