"""The order of the gallery: real scenes, what the methods do, other fields."""

ORDER = (
    "plot_indian_pines.py",
    "plot_indian_pines_averages.py",
    "plot_indian_pines_rank.py",
    "plot_matrix.py",
    "plot_certificate.py",
    "plot_dictionary.py",
    "plot_losses.py",
    "plot_smooth.py",
    "plot_midpoints.py",
    "plot_anchor_words.py",
    "plot_sources.py",
)


class GalleryOrder:
    """Sort the examples of a folder as listed; an example that is not listed is an error."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> int:
        """Return the place of an example."""
        return ORDER.index(filename)

    def __repr__(self) -> str:
        # Part of the settings that sphinx compares with those of the last build.
        return f"GalleryOrder{ORDER}"
