"""`python -m bench.scale`: print the tables; `--write`: put them into docs/scale.md.

Exits with 1 if the spike is later than its target with the settings made for it.
"""

import sys

from bench.scale.page import PAGE, with_tables
from bench.scale.tables import TABLES, summary, written

TARGET_SECONDS = 30


def main(arguments: list[str]) -> int:
    """Print or write."""
    if arguments == ["--write"]:
        PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
    else:
        print("\n".join(f"{name}\n\n{written(make())}" for name, make in TABLES.items()))
    figures = summary()
    print(" ".join(f"{name}={value:.1f}" for name, value in figures.items()))
    return int(figures["spike_p99_s"] > TARGET_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
