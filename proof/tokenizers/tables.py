"""Asks Hugging Face's tokenizers about each character, and writes the sets of characters that
reader/tokenizer has.

    python tables.py > ../../reader/tokenizer/tables.txt

A line is the name of a set and its ranges: the gap to the range before and the length, in hexadecimal.
The line lower has pairs of a character and its lower case, which is one character, as differences.
"""

import sys

from tokenizers import Regex, normalizers, pre_tokenizers

CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
PROPERTIES = ["L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "S", "Z", "Zs",
              "Han", "Hiragana", "Katakana", "Hangul", "Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Thai", "Devanagari"]


def show(name, members):
    """Prints a set."""
    out, end, start = [], 0, None
    codes = sorted(members)
    for i, c in enumerate(codes):
        if start is None:
            start = c
        if i + 1 == len(codes) or codes[i + 1] != c + 1:
            out.append(f"{start - end:x} {c + 1 - start:x}")
            end, start = c + 1, None
    print(name, *out)


def matched(expression):
    """Returns the characters that an expression matches."""
    split = pre_tokenizers.Split(Regex(expression), "removed", invert=True)
    found = set()
    for piece, _ in split.pre_tokenize_str("".join(CHARACTERS)):
        found.update(map(ord, piece))
    return found


def where(holds):
    return {ord(c) for c in CHARACTERS if holds(c)}


def main():
    for p in PROPERTIES:
        show(p, matched(r"\p{%s}" % p))
    show("word", matched(r"\w"))
    words = pre_tokenizers.Whitespace()
    show("rustword", where(lambda c: len(words.pre_tokenize_str("a" + c + "a")) == 1))
    punctuation = pre_tokenizers.Punctuation("isolated")
    show("punctuation", where(lambda c: len(punctuation.pre_tokenize_str("a" + c + "a")) == 3))
    digits = pre_tokenizers.Digits(True)
    show("numeric", where(lambda c: len(digits.pre_tokenize_str("a" + c + "a")) == 3))
    spaces = pre_tokenizers.WhitespaceSplit()
    show("space", where(lambda c: len(spaces.pre_tokenize_str("a" + c + "a")) == 2))
    clean = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    show("control", where(lambda c: clean.normalize_str("a" + c + "a") == "aa"))
    accents = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    show("nonspacing", where(lambda c: accents.normalize_str("a" + c) == "a"))
    strip = normalizers.StripAccents()
    show("mark", where(lambda c: strip.normalize_str("a" + c) == "a"))
    show("nfd", where(lambda c: normalizers.NFD().normalize_str(c) != c))
    show("nfkd", where(lambda c: normalizers.NFKD().normalize_str(c) != c))
    lower, last = [], 0
    for c in CHARACTERS:
        to = normalizers.Lowercase().normalize_str(c)
        if to != c and len(to) == 1:
            lower.append(f"{ord(c) - last:x} {ord(to) - ord(c):x}")
            last = ord(c)
        elif to != c and c != "\u0130":
            sys.exit(f"U+{ord(c):04X} has a lower case of {len(to)} characters")
    print("lower", *lower)


if __name__ == "__main__":
    main()
