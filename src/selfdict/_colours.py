"""Colours for colour-blind readers, the same in the report, in figures and in maps of classes."""

# Okabe and Ito's palette without its yellow, which is too light for a thin line on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")


def class_colours(count: int) -> list[tuple[int, int, int]]:
    """Return ``count`` colours (red, green, blue) for the classes of a map; the first 21 differ.

    After the palette come lighter and then darker variants of its colours.

    Examples
    --------
    >>> from selfdict._colours import class_colours
    >>> class_colours(1)
    [(0, 114, 178)]
    """
    colours = []
    for k in range(count):
        text = PALETTE[k % len(PALETTE)]
        rgb = [int(text[start : start + 2], 16) for start in (1, 3, 5)]
        cycle = k // len(PALETTE) % 3
        if cycle == 1:
            rgb = [(value + 255) // 2 for value in rgb]
        elif cycle == 2:
            rgb = [value // 2 for value in rgb]
        colours.append((rgb[0], rgb[1], rgb[2]))
    return colours
