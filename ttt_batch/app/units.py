"""Numbers and times to wait as people say them: `2.5 M`, `3 min`."""


def short_number(number: float) -> str:
    """A number of games or positions with a unit: 500, 10 k, 2.5 M, 1 G, 1 T, 1 P; from a thousand P on 1e+18."""
    if number >= 1e18:
        return f"{number:.3g}"
    for limit, unit in ((1e15, " P"), (1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def duration_text(seconds: float) -> str:
    """A time: `8 s`, `3 min`, `2 h 10 min`, `11 days`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 100 else f"{hours // 24:,} days"
