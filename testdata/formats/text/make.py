"""Write CSV and JSON Lines with Python's csv and json and with pandas; rows.json has the values.

    pip install pandas
    python make.py
"""

import csv
import json
import pathlib
import sys

import pandas

HERE = pathlib.Path(__file__).parent
TEXTS = ["plain", "", "a,b;c\td", 'say "hi"', "two\nlines", "dos\r\nlines", " spaces ", "grün 😀 \u2028", "'single'", "back\\slash", '"', "tab\there"]
ROWS = [{"id": n, "text": text, "score": n / 8 - 0.5, "flag": n % 3 == 0} for n, text in enumerate(TEXTS)]


def table(name: str, **dialect: object) -> None:
    with open(HERE / name, "w", newline="", encoding="utf-8") as f:
        writer = csv.writer(f, **dialect)
        writer.writerow(ROWS[0])
        writer.writerows([r.values() for r in ROWS])


def main() -> None:
    table("excel.csv")
    table("unix.csv", dialect="unix")
    table("tabs.tsv", dialect="excel-tab")
    table("numbers.csv", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    table("semicolons.csv", delimiter=";", quotechar="'")
    frame = pandas.DataFrame(ROWS)
    frame.to_csv(HERE / "pandas.csv", index=False)
    frame.to_csv(HERE / "pandas.csv.gz", index=False, compression={"method": "gzip", "mtime": 0})
    frame.to_json(HERE / "pandas.jsonl", orient="records", lines=True)
    for name, options in {"ascii": {}, "utf8": {"ensure_ascii": False}, "dense": {"separators": (",", ":")}}.items():
        lines = [json.dumps(r | {"nested": {"list": [r["id"], float("nan")], "more": [[], {}]}}, **options) for r in ROWS]
        (HERE / f"{name}.jsonl").write_text("\n".join(lines) + "\n" * (name != "dense"), encoding="utf-8")
    (HERE / "rows.json").write_text(json.dumps({"made_by": f"Python {sys.version.split()[0]}, pandas {pandas.__version__}", "rows": ROWS}) + "\n")


if __name__ == "__main__":
    main()
