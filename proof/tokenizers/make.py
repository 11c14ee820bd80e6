"""Trains tokenizers with Hugging Face's tokenizers on generated text, and writes what they make of
documents.

    python make.py FOLDER [DOCUMENTS [VOCABULARY [NAME…]]]

FOLDER gets documents.bin, and for each tokenizer NAME.json and NAME.ids. Numbers are little-endian:

    documents.bin  for each document its length in bytes, 4 bytes, and its text in UTF-8
    NAME.ids       for each document the number of its ids, 4 bytes, and the ids, 4 bytes each
"""

import random
import struct
import sys
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LETTERS = {
    "latin": "abcdefghijklmnopqrstuvwxyzéèüößñçåøłŁİıÀÉÜŠžﬁæœ",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґЖЩЮ",
    "hebrew": "אבגדהוזחטיכלמנסעפצקרשתםןץףךְִַׁ",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهويىئءآأإةًٌَُِّ",
    "cjk": "的一是不了人我在有他这中大来上国日本語ひらがなカタカナ漢字学校東京한국어서울각간",
    "devanagari": "अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसहािीुूेैोौ्ंँः",
}
PUNCTUATION = ".,;:!?-–—()[]{}\"'“”‘’«»…/\\@#$%^&*+=<>|~`_。、，！？؟،।"
SPACES = [" "] * 12 + ["  ", "   ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2009", " \n ", "\u200b", "\u0085", "\u2028"]
RARE = ["😀", "👨‍👩‍👧", "🇩🇪", "e\u0301", "A\u030a", "o\u0308\u0301", "ﬃ", "①", "½", "²", "Ⅷ", "㎏", "ｱｲｳ", "ＡＢＣ", "٣٤٥", "१२३",
        "\u0000", "\u0007", "\ufeff", "\ufffd", "\u00ad", "\U0001d54f", "\U00020000", "\u1e9e", "ǅ", "ſ", "\u0345", "Ω", "가각", "각",
        "it's", "WE'LL", "don’t", "I'm", "you'RE", "'s", "x'd", "<|endoftext|>", "<|im_start|>", "[MASK]", " [MASK] ", "<pad>", "▁", "Ġ", "##x",
        "<extra>", "extra", "NEW", "new", "$1", "1234567890", "3.14", "1,000", "http://a.b/c?d=e&f", "a_b", "CamelCase", "x²+y²", "\u0130"]


def words(r, script, n):
    """Returns n different words of a script."""
    list = []
    while len(list) < n:
        word = "".join(r.choice(LETTERS[script]) for _ in range(r.choice([1, 2, 2, 3, 3, 4, 5, 6, 8, 12])))
        list.append(word)
    return list


def documents(seed, n):
    """Yields n documents. The words of a script come as often as words of a language do."""
    r = random.Random(seed)
    vocabulary = {s: words(random.Random(f"words {s}"), s, 3000) for s in LETTERS}
    for i in range(n):
        scripts = [r.choice(sorted(LETTERS))] if r.random() < 0.8 else sorted(LETTERS)
        parts = []
        for _ in range(r.choice([0, 1, 2, 5, 10, 20, 40])):
            script = r.choice(scripts)
            k = min(int(r.paretovariate(0.6)), 3000) - 1
            word = vocabulary[script][k]
            x = r.random()
            if x < 0.08:
                word = word.upper()
            elif x < 0.2:
                word = word.title()
            if r.random() < 0.07:
                word = r.choice(RARE)
            if r.random() < 0.06:
                word = str(r.randrange(10 ** r.randrange(1, 8)))
            parts.append(word)
            if r.random() < 0.2:
                parts.append("".join(r.choice(PUNCTUATION) for _ in range(r.choice([1, 1, 1, 2, 3]))))
            if script != "cjk" or r.random() < 0.1:
                parts.append(r.choice(SPACES))
            if r.random() < 0.002:
                parts.append(chr(r.choice([r.randrange(0x80, 0xD800), r.randrange(0xE000, 0x30000)])))
        yield "".join(parts)


GPT2 = None  # the pattern that ByteLevel has
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<pad>", "[MASK]"]
SIZE = 4000


def bpe(text, special, **model):
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t = Tokenizer(models.BPE(**model))
    suffix = {k: model[k] for k in ["end_of_word_suffix"] if k in model}
    return t, trainers.BpeTrainer(vocab_size=SIZE, special_tokens=special, initial_alphabet=alphabet, show_progress=False, **suffix)


def byte_level(pattern=GPT2, normalizer=None, prefix=False, ignore_merges=False, digits=False):
    def make(text):
        t, trainer = bpe(text, SPECIAL, ignore_merges=ignore_merges)
        if normalizer:
            t.normalizer = normalizer
        if pattern is GPT2:
            t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
        else:
            parts = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
            t.pre_tokenizer = pre_tokenizers.Sequence(
                parts + [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        t.train_from_iterator(text, trainer)
        return t
    return make


def roberta(text):
    t = byte_level(prefix=True)(text)
    t.add_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    t.post_processor = processors.RobertaProcessing(("<pad>", 2), ("<|im_start|>", 1), add_prefix_space=True, trim_offsets=True)
    return t


def llama3(text):
    t = byte_level(LLAMA3, ignore_merges=True)(text)
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), processors.TemplateProcessing(
        single="<|endoftext|> $A", pair="<|endoftext|> $A <|endoftext|>:1 $B:1", special_tokens=[("<|endoftext|>", 0)])])
    return t


def clip(text):
    t, trainer = bpe(text, SPECIAL, end_of_word_suffix="</w>", unk_token="<|endoftext|>")
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(CLIP), "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.train_from_iterator(text, trainer)
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", 0), ("<|im_start|>", 1), add_prefix_space=False, trim_offsets=False)
    return t


def sentencepiece_bpe(split):
    def make(text):
        t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
        if split:
            t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=split, split=True)
        else:
            t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
        special = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
        t.train_from_iterator(text, trainers.BpeTrainer(vocab_size=SIZE, special_tokens=special, limit_alphabet=200, show_progress=False))
        if not split:  # as Llama 2 has it: no pre-tokenizer, and bytes that are no special tokens
            t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        import json
        d = json.loads(t.to_str())
        d["added_tokens"] = d["added_tokens"][:3]
        if not split:
            d["pre_tokenizer"] = None
        t = Tokenizer.from_str(json.dumps(d))
        t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
        return t
    return make


def wordpiece(lowercase, strip_accents=None):
    def make(text):
        t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
        t.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
        t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        t.train_from_iterator(text, trainers.WordPieceTrainer(vocab_size=SIZE, special_tokens=special, show_progress=False))
        if lowercase:
            t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                             special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
        else:
            t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        return t
    return make


def unigram(byte_fallback):
    def make(text):
        t = Tokenizer(models.Unigram())
        t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
        t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always" if byte_fallback else "first", split=True)
        special = ["<pad>", "</s>", "<unk>"] + ([f"<0x{i:02X}>" for i in range(256)] if byte_fallback else [])
        t.train_from_iterator(text, trainers.UnigramTrainer(vocab_size=SIZE, special_tokens=special, unk_token="<unk>", show_progress=False))
        import json
        d = json.loads(t.to_str())
        d["added_tokens"] = d["added_tokens"][:3]
        d["model"]["byte_fallback"] = byte_fallback
        t = Tokenizer.from_str(json.dumps(d))
        t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
        return t
    return make


def t5(text):
    """Makes a tokenizer as T5 has it, with the character map of sentencepiece."""
    import os
    import tempfile
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t")
        with open(path, "w") as f:
            f.writelines("words of a small text\n" for _ in range(10))
        sentencepiece.SentencePieceTrainer.train(input=path, model_prefix=path, vocab_size=100, hard_vocab_limit=False, minloglevel=2)
        model = sentencepiece_model_pb2.ModelProto()
        model.ParseFromString(open(path + ".model", "rb").read())
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap),
                                         normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=True)
    t.train_from_iterator(text, trainers.UnigramTrainer(vocab_size=SIZE, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return t


def pieces(text):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Punctuation("isolated")])
    t.train_from_iterator(text, trainers.BpeTrainer(vocab_size=SIZE, special_tokens=["<unk>"], limit_alphabet=300, show_progress=False,
                                                    continuing_subword_prefix="##"))
    t.add_tokens([AddedToken("NEW", single_word=True, normalized=False), AddedToken("extra", single_word=True, rstrip=True),
                  AddedToken("<extra>", lstrip=True, rstrip=True, special=True), AddedToken("[MASK]", lstrip=True, special=True)])
    return t


def behaviours(text):
    t, trainer = bpe(text, SPECIAL)
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split("e", "merged_with_next"), pre_tokenizers.Split(Regex(r"[.,;]+"), "merged_with_previous"),
        pre_tokenizers.Split(Regex(r"\s"), "contiguous"), pre_tokenizers.Split("-", "removed"), pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.CharDelimiterSplit("_"), pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True)])
    t.train_from_iterator(text, trainer)
    return t


def word_level(text):
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer = normalizers.NFKD()
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.train_from_iterator(text, trainers.WordLevelTrainer(vocab_size=SIZE, special_tokens=["[UNK]"], show_progress=False))
    return t


MAKERS = {
    "gpt2": byte_level(),
    "gpt2-prefix-nfc": byte_level(prefix=True, normalizer=normalizers.NFC()),
    "roberta": roberta,
    "llama3": llama3,
    "qwen2": byte_level(QWEN2, normalizer=normalizers.NFC()),
    "o200k": byte_level(O200K),
    "digits": byte_level(LLAMA3, digits=True),
    "clip": clip,
    "llama2": sentencepiece_bpe(None),
    "metaspace-bpe": sentencepiece_bpe("first"),
    "metaspace-never": sentencepiece_bpe("never"),
    "bert-uncased": wordpiece(True),
    "bert-cased": wordpiece(False),
    "bert-accents": wordpiece(False, True),
    "unigram": unigram(False),
    "unigram-bytes": unigram(True),
    "t5": t5,
    "pieces": pieces,
    "behaviours": behaviours,
    "word-level": word_level,
}


def write_lists(path, lists):
    with open(path, "wb") as f:
        for ids in lists:
            f.write(struct.pack(f"<I{len(ids)}I", len(ids), *ids))


def main():
    global SIZE
    folder, n = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    SIZE = int(sys.argv[3]) if len(sys.argv) > 3 else SIZE
    only = sys.argv[4:]
    folder.mkdir(parents=True, exist_ok=True)
    text = list(documents("training", 20_000))
    docs = list(documents("test", n))
    with open(folder / "documents.bin", "wb") as f:
        for d in docs:
            b = d.encode()
            f.write(struct.pack("<I", len(b)) + b)
    for name, make in MAKERS.items():
        if only and name not in only:
            continue
        t = make(text)
        t.save(str(folder / f"{name}.json"), pretty=False)
        t = Tokenizer.from_file(str(folder / f"{name}.json"))
        write_lists(folder / f"{name}.ids", [e.ids for e in t.encode_batch_fast(docs)])
        print(name, t.get_vocab_size(), flush=True)
    print("tokenizers", tokenizers.__version__, "documents", n)


if __name__ == "__main__":
    main()
