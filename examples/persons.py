"""A made-up population for examples/persons.toml: one row a person and job, as CSV. No one in it exists."""

import csv
import random
import sys

REGIONS = [f"R{n:02}" for n in range(1, 18)]
LANGUAGES = ["Aymara", "Basque", "Catalan", "Danish", "Estonian", "Finnish", "Greek", "Hausa", "Igbo", "Japanese"]


def main(path: str, persons: int = 20_000) -> None:
    """Write the file; the same on every machine."""
    rng = random.Random(2026)
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["person_id", "region", "sex", "age", "language", "employed", "income", "hours"])
        for n in range(persons):
            region = REGIONS[int(17 * rng.random() ** 1.5)]
            sex, age = rng.choice("FM"), min(int(rng.gammavariate(4, 11)), 104)
            language = LANGUAGES[min(int(rng.expovariate(0.5)), 9)]
            jobs = rng.choices((1, 2, 3), (90, 8, 2))[0] if 17 < age < 67 and rng.random() < 0.8 else 0
            for _ in range(max(jobs, 1)):
                income = round(rng.lognormvariate(10, 0.6) / max(jobs, 1), 2) if jobs else ""
                hours = rng.choice((8, 20, 36, 40)) // max(jobs, 1) if jobs else ""
                out.writerow([f"p{n:07}", region, sex, age, language, str(bool(jobs)).lower(), income, hours])


if __name__ == "__main__":
    main(sys.argv[1], *(int(n) for n in sys.argv[2:3]))
