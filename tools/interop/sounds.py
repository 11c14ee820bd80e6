#!/usr/bin/env python3
"""Records cases of the audio operators from live DALI: sounds.py OUT FILES (testdata/dali/ops/sounds, testdata/dali/inputs).

Writes OUT/cases.json in the format of testdata/dali/README.md. Every argument of every operator has
at least two values, and signals are short. Two runs give the same bytes.
"""
import json
import os
import struct
import sys

import numpy as np

import cases
from cases import CASES, enum, literal, record

N = np.random.RandomState(7)
INF, NAN = float("inf"), float("nan")


def signal(n, dtype="float32", scale=1.0):
    """Numbers with few digits."""
    a = np.round(N.randn(n) * 64) / 64 * scale
    return a.astype(dtype) if dtype == "float32" else np.clip(np.round(a * 40 + (64 if dtype[0] == "u" else 0)), *limits(dtype)).astype(dtype)


def limits(dtype):
    i = np.iinfo(dtype)
    return max(i.min, -2**31), min(i.max, 2**31)


def sound(op, inputs, args=None, **more):
    record(op, inputs if isinstance(inputs[0], list) else [inputs], args, group="audio", exact=False, **more)


def one(a, layout=None):
    return [literal(a, layout)]


def batch(*arrays):
    return [literal(a) for a in arrays]


def spectrograms():
    s = one(signal(90))
    for a in ({}, {"nfft": 64}, {"nfft": 33}, {"nfft": 30, "window_length": 30}, {"nfft": 62, "window_length": 31}, {"window_length": 16},
              {"window_step": 7}, {"window_step": 40}, {"center_windows": False}, {"reflect_padding": False}, {"power": 1},
              {"layout": "tf"}, {"layout": "tf", "power": 1, "nfft": 37}, {"window_fn": [0.5] * 32}, {"window_fn": list(range(32)), "nfft": 40},
              {"center_windows": False, "window_step": 3, "layout": "tf"}, {"nfft": 82, "window_length": 32}, {"nfft": 47},
              {"power": 3}, {"layout": "ft "}, {"nfft": 8}, {"window_step": 0}, {"window_length": 0}, {"window_fn": [1.0] * 5}):
        sound("spectrogram", s, {"window_length": 32, "window_step": 16, **a})
    small = {"window_length": 16, "window_step": 8}
    for shape in ((40, 1), (1, 40), (1, 1, 40), (20, 2), (1,), (2,), (5,), (0,)):
        sound("spectrogram", one(signal(int(np.prod(shape))).reshape(shape)), small)
        if shape == (5,):
            sound("spectrogram", one(signal(5)), {**small, "center_windows": False})
            sound("spectrogram", one(signal(5)), {**small, "reflect_padding": False})
    x = signal(40)
    x[20] = NAN
    sound("spectrogram", one(x), small)
    sound("spectrogram", one(signal(40, "int16")), small)
    sound("spectrogram", [literal(signal(1 + i % 9)) for i in range(257)], {"window_length": 8, "window_step": 8})


def spectra():
    for n in (3, 4, 5, 8, 11, 16, 31, 37, 41, 64, 100, 128):
        sound("power_spectrum", one(signal(n)))
    for a in ({"nfft": 20}, {"nfft": 100}, {"nfft": 0}, {"nfft": -3}, {"power": 1}, {"power": 0}, {"axis": 0}, {"axis": 1}, {"axis": -2}):
        sound("power_spectrum", one(signal(60)), a)
    for a in ({"axis": 0}, {"axis": 1}, {"axis": -1}, {"axis": 2}, {"axis": 0, "nfft": 8, "power": 1}):
        sound("power_spectrum", one(signal(77).reshape(11, 7), "ab"), a)
        sound("power_spectrum", one(signal(120).reshape(4, 5, 6)), a)
    sound("power_spectrum", one(signal(16).reshape(2, 2, 2, 2)))
    sound("power_spectrum", one(signal(16, "int16")))
    sound("power_spectrum", batch(signal(8), signal(13), signal(16)))


def mels():
    s = one(abs(signal(33 * 5)).reshape(33, 5), "ft")
    for a in ({}, {"nfilter": 1}, {"nfilter": 4}, {"nfilter": 40}, {"sample_rate": 8000.0}, {"sample_rate": 16000.0}, {"freq_low": 300.0},
              {"freq_high": 3000.0}, {"freq_low": 1000.0, "freq_high": 4000.0}, {"freq_low": 0.1, "freq_high": 0.2}, {"mel_formula": "htk"},
              {"mel_formula": "htk", "normalize": False}, {"normalize": False}, {"freq_high": 30000.0}, {"freq_high": -1.0},
              {"nfilter": 0}, {"sample_rate": 0.0}, {"freq_low": -1.0}, {"freq_low": 5000.0, "freq_high": 5000.0}, {"mel_formula": "mel"},
              {"sample_rate": 22050.0, "freq_low": 20.0, "freq_high": 8000.0, "nfilter": 23}):
        sound("mel_filter_bank", s, {"nfilter": 10, **a})
    x = abs(signal(3 * 17 * 4))
    for shape, layout in (((17, 12), "tf"), ((12, 17), "tf"), ((17, 12), None), ((3, 17, 4), None), ((3, 17, 4), "xft"), ((17, 3, 4), "fab"),
                          ((204,), None), ((204,), "f"), ((1, 204), None), ((204, 1), None), ((12, 17), "ab"), ((2, 6, 17, 1), None), ((17, 12), "fa")):
        sound("mel_filter_bank", one(x.reshape(shape), layout), {"nfilter": 6, "sample_rate": 16000.0})
    x = abs(signal(34)).reshape(17, 2)
    x[3, 0], x[9, 1] = NAN, INF
    sound("mel_filter_bank", one(x), {"nfilter": 6})
    sound("mel_filter_bank", one(signal(34, "int32").reshape(17, 2)))
    sound("mel_filter_bank", batch(abs(signal(34)).reshape(17, 2), abs(signal(18)).reshape(9, 2)), {"nfilter": 5, "sample_rate": 4000.0})
    sound("mel_filter_bank", one(np.zeros((0, 3), np.float32)), {"nfilter": 3})
    sound("mel_filter_bank", one(np.zeros((9, 0), np.float32)), {"nfilter": 3})


def decibels():
    s = one(abs(signal(40)).reshape(8, 5), "ft")
    for a in ({}, {"multiplier": 20.0}, {"multiplier": 3.3}, {"multiplier": 0.0}, {"multiplier": -10.0}, {"reference": 1.0}, {"reference": 0.37},
              {"reference": -1.0}, {"reference": 0.0}, {"cutoff_db": -10.0}, {"cutoff_db": 5.0}, {"cutoff_db": -80.0, "multiplier": 20.0},
              {"reference": 1e-3, "multiplier": 20.0, "cutoff_db": -3.0}):
        sound("to_decibels", s, a)
    for v in ([0, 0, 0], [NAN, 1, 2], [1, NAN, 2], [INF, 1, 2], [-1, -2, -3], [-INF, 1], [1e-45, 1e-38, 1e-30], [3e38, 1e-38], []):
        for a in ({}, {"reference": 1.0}):
            sound("to_decibels", one(np.array(v, np.float32)), a)
    sound("to_decibels", one(signal(8, "int16")))
    sound("to_decibels", one(np.exp(N.randn(300) * 20).astype(np.float32)), {"reference": 1.0})
    sound("to_decibels", batch(abs(signal(3)), abs(signal(9)).reshape(3, 3), abs(signal(1)).reshape(())))


def cepstra():
    s = one(signal(26 * 3, scale=10).reshape(26, 3), "ft")
    for a in ({}, {"n_mfcc": 1}, {"n_mfcc": 26}, {"n_mfcc": 40}, {"dct_type": 1}, {"dct_type": 3}, {"dct_type": 4}, {"normalize": True},
              {"dct_type": 3, "normalize": True}, {"dct_type": 4, "normalize": True}, {"dct_type": 1, "normalize": True}, {"lifter": 22.0},
              {"lifter": 7.5, "n_mfcc": 13}, {"lifter": -1.0}, {"axis": 1}, {"axis": 1, "n_mfcc": 2, "dct_type": 3}, {"axis": 2}, {"axis": -1},
              {"n_mfcc": 0}, {"dct_type": 0}, {"dct_type": 5}):
        sound("mfcc", s, {"n_mfcc": 8, **a})
    for shape, axis in (((4, 6, 5), 0), ((4, 6, 5), 1), ((4, 6, 5), 2), ((2, 2, 6, 5), 2), ((120, 1), 0), ((1, 120), 0), ((120,), 0)):
        sound("mfcc", one(signal(120).reshape(shape)), {"axis": axis, "n_mfcc": 4})
    sound("mfcc", one(signal(3).reshape(1, 3)), {"dct_type": 1})
    sound("mfcc", one(signal(6, "int8").reshape(2, 3)))
    x = signal(12).reshape(4, 3)
    x[1, 1], x[2, 2] = NAN, INF
    sound("mfcc", one(x), {"n_mfcc": 3})
    sound("mfcc", batch(signal(12).reshape(4, 3), signal(15).reshape(5, 3), signal(12).reshape(6, 2)), {"n_mfcc": 4})


def preemphases():
    for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "int64", "float32"):
        sound("preemphasis_filter", one(signal(20, dtype)))
        if dtype != "float32":
            sound("preemphasis_filter", one(signal(30, scale=50)), {"dtype": enum(dtype.upper())})
    sound("preemphasis_filter", one(signal(20).astype(np.float64) / 3))
    sound("preemphasis_filter", one(signal(20)), {"dtype": enum("FLOAT64")})
    sound("preemphasis_filter", one(signal(20).astype(np.float16)))
    sound("preemphasis_filter", one(signal(20)), {"dtype": enum("FLOAT16")})
    for a in ({"preemph_coeff": 0.0}, {"preemph_coeff": 0.5}, {"preemph_coeff": -2.0}, {"border": "zero"}, {"border": "reflect"},
              {"border": "wrap"}, {"border": "reflect", "preemph_coeff": 0.3, "dtype": enum("INT8")}):
        sound("preemphasis_filter", one(signal(25, scale=9)), a)
        sound("preemphasis_filter", one(signal(10, scale=9).reshape(5, 2), "ab"), a)
    sound("preemphasis_filter", batch(signal(9), signal(1), signal(4)), {"preemph_coeff": {"tensor": [0.1, 0.9, 0.5], "dtype": "float32"}})
    x = signal(9)
    x[3], x[6] = NAN, INF
    sound("preemphasis_filter", one(x))
    sound("preemphasis_filter", one(x), {"dtype": enum("INT16")})


def silences():
    def burst(n, lo, hi, dtype="float32"):
        x = N.randn(n) * 1e-3
        x[lo:hi] = N.randn(hi - lo)
        return (np.round(x * 4096) / 4096).astype(np.float32) if dtype == "float32" else np.clip(np.round(x * 60 + (100 if dtype[0] == "u" else 0)), *limits(dtype)).astype(dtype)
    w = {"window_length": 8, "reset_interval": 32}
    for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "int64", "float32"):
        sound("nonsilent_region", one(burst(120, 40, 70, dtype)), w)
    for a in ({"cutoff_db": -20.0}, {"cutoff_db": -40.0}, {"cutoff_db": 0.0}, {"cutoff_db": 3.0}, {"reference_power": 1.0},
              {"reference_power": 1e-4}, {"reference_power": 1e9}, {"reference_power": 0.0}, {"reference_power": -1.0}, {"reset_interval": -1},
              {"reset_interval": 8}, {"reset_interval": 12}, {"window_length": 1}, {"window_length": 32}, {"window_length": 5}):
        sound("nonsilent_region", one(burst(120, 50, 55)), {"cutoff_db": -30.0, **w, **a})
    sound("nonsilent_region", one(burst(120, 50, 55)))
    sound("nonsilent_region", one(np.zeros(50, np.float32)), w)
    sound("nonsilent_region", one(np.zeros((5, 2), np.float32)), w)
    x = burst(120, 50, 60)
    x[70] = NAN
    sound("nonsilent_region", one(x), w)
    sound("nonsilent_region", one(burst(40, 3, 5).astype(np.float64)), w)
    sound("nonsilent_region", [literal(burst(20 + i % 40, 3, 5 + i % 13)) for i in range(257)], {"cutoff_db": -20.0, **w})


def resamplings(op="audio_resample", few=False):
    s = one(signal(60, scale=0.3))
    for a in ({"scale": 0.5}, {"scale": 1.0}, {"scale": 1.73}, {"scale": 0.01}, {"scale": 3.0, "quality": 0.0}, {"scale": 0.7, "quality": 33.3},
              {"scale": 0.9, "quality": 100.0}, {"in_rate": 16000.0, "out_rate": 11025.0}, {"in_rate": 3.0, "out_rate": 4.0}, {"out_length": 7},
              {"out_length": 100}, {"out_length": 0}, {"scale": 0.0}, {"scale": -1.0}, {"scale": NAN}, {}, {"in_rate": 1.0}, {"out_rate": 1.0},
              {"scale": 1.0, "out_length": 4}, {"in_rate": 0.0, "out_rate": 1.0}, {"in_rate": 1.0, "out_rate": 0.0}, {"out_length": -1}):
        sound(op, s, a)
    if few:
        return
    for a in ({"quality": -1.0}, {"quality": 101.0}, {"dtype": enum("FLOAT16")}, {"dtype": enum("INT64")}):
        sound(op, s, {"scale": 1.0, **a})
    types = ("uint8", "int8", "uint16", "int16", "uint32", "int32")
    for i, dtype in enumerate(types):
        sound(op, one(signal(30, dtype)), {"scale": 0.8})
        sound(op, s, {"scale": 0.8, "dtype": enum(dtype.upper())})
        sound(op, one(signal(30, dtype)), {"scale": 1.3, "dtype": enum("FLOAT")})
        sound(op, one(signal(30, dtype)), {"scale": 1.3, "dtype": enum(types[i - 1].upper())})
    sound(op, one(signal(30) * 3), {"scale": 0.8, "dtype": enum("INT16")})
    for channels in (1, 2, 5):
        sound(op, one(signal(20 * channels, scale=0.3).reshape(20, channels), "tc"), {"scale": 0.6})
    sound(op, one(signal(20).reshape(2, 2, 5)), {"scale": 0.6})
    sound(op, one(signal(0)), {"scale": 2.0})
    sound(op, one(signal(0)), {"out_length": 2})
    sound(op, one(signal(1)), {"scale": 5.0})
    sound(op, one(signal(700)), {"scale": 0.91})
    x = signal(40)
    x[20] = NAN
    sound(op, one(x), {"scale": 0.5, "quality": 0.0})
    sound(op, batch(signal(9), signal(20)), {"out_length": {"tensor": [5, 30], "dtype": "int64"}})
    sound(op, batch(signal(9), signal(20)), {"scale": {"tensor": [0.5, 2.0], "dtype": "float32"}})
    sound(op, batch(signal(9), signal(20)), {"in_rate": {"tensor": [4.0, 2.0], "dtype": "float32"}, "out_rate": 3.0})


def wave(encoding, channels, bits, data, rate=8000, block=None, extra=b"", head=b"RIFF"):
    frame = block or channels * bits // 8
    fmt = struct.pack("<HHIIHH", encoding, channels, rate, rate * frame, frame, bits) + extra
    body = b"WAVEfmt " + struct.pack("<I", len(fmt)) + fmt + b"data" + struct.pack("<I", len(data)) + data
    return head + struct.pack("<I", len(body)) + body


def aiff(channels, bits, data, frames, encoding=None):
    common = struct.pack(">hIh", channels, frames, bits) + bytes.fromhex("400bfa00000000000000")
    if encoding:
        common += encoding + b"\x00\x00"
    body = (b"AIFC" + b"FVER" + struct.pack(">II", 4, 0xA2805140) if encoding else b"AIFF") + b"COMM" + struct.pack(">I", len(common)) + common
    body += b"SSND" + struct.pack(">III", len(data) + 8, 0, 0) + data
    return b"FORM" + struct.pack(">I", len(body)) + body


def file(b):
    return [literal(np.frombuffer(b, np.uint8))]


def decodings(op="decoders.audio", few=False):
    noise = N.bytes
    floats = (np.round(N.randn(24) * 256) / 256).astype("<f4")
    ms = struct.pack("<HHH", 32, 52, 7) + struct.pack("<14h", 256, 0, 512, -256, 0, 0, 192, 64, 240, 0, 460, -208, 392, -232)
    guid = bytes.fromhex("000000001000800000aa00389b71")
    extended = struct.pack("<HHI", 22, 24, 3) + struct.pack("<H", 1) + guid
    block = b"".join(struct.pack("<hBB", v, i, 0) + noise(32) for v, i in ((-300, 10), (4000, 40)))
    ima = [struct.pack("<hBB", 100, 5, 0) + noise(32), struct.pack("<hBB", -9, 88, 0) + noise(32)]
    stereo = struct.pack("<hBBhBB", 100, 5, 0, -3000, 50, 0) + noise(64)
    files = [wave(1, 1, 8, noise(40)), wave(1, 2, 16, noise(80)), wave(1, 1, 16, noise(50), rate=44100), wave(1, 5, 24, noise(90)), wave(1, 2, 32, noise(80)),
             wave(3, 1, 32, floats.tobytes()), wave(3, 2, 64, floats.astype("<f8").tobytes()), wave(6, 1, 8, bytes(range(256))), wave(7, 1, 8, bytes(range(256))),
             wave(7, 2, 8, noise(40)), wave(17, 1, 4, b"".join(ima), block=36, extra=struct.pack("<HH", 2, 65)),
             wave(17, 2, 4, stereo, block=72, extra=struct.pack("<HH", 2, 65)),
             wave(2, 1, 4, struct.pack("<Bhhh", 2, 200, 50, -70) + noise(25), block=32, extra=ms),
             wave(0xfffe, 2, 24, noise(60), extra=extended), aiff(1, 16, noise(40), 20), aiff(2, 24, noise(60), 10), aiff(1, 8, noise(20), 20),
             aiff(1, 32, noise(80), 20), aiff(1, 16, noise(40), 20, b"sowt"), aiff(1, 32, floats.astype(">f4").tobytes(), 24, b"fl32"),
             aiff(1, 8, noise(20), 20, b"ulaw")]
    if few:
        files = files[:5]
    for b in files:
        for a in ({}, {"dtype": enum("INT16")}, {"dtype": enum("INT32")}, {"downmix": True}):
            sound(op, file(b), a)
    if few:
        return
    for a in ({"sample_rate": 4000.0}, {"sample_rate": 12000.0, "quality": 0.0}, {"sample_rate": 12000.0, "quality": 100.0}, {"sample_rate": 8000.0},
              {"downmix": True, "dtype": enum("INT16")}, {"downmix": True, "dtype": enum("INT32")}, {"dtype": enum("INT16"), "sample_rate": 5000.0},
              {"dtype": enum("INT32"), "sample_rate": 5000.0, "downmix": True}, {"dtype": enum("FLOAT64")}, {"dtype": enum("UINT8")}):
        sound(op, file(files[1]), a)
        sound(op, file(files[3]), a)
    sound(op, [literal(np.frombuffer(b, np.uint8)) for b in files[:3]], {"sample_rate": {"tensor": [4000.0, 8000.0, 30000.0], "dtype": "float32"}})
    for b in (b"", b"RIFF", b"RIFF\x00\x00\x00\x00WAVE", b"not a sound at all", wave(1, 0, 16, b""), b"ID3\x03\x00\x00\x00\x00\x00\x00" + noise(30), b"fLaC" + noise(40)):
        if b:
            sound(op, file(b))
    for name in ("a6_pcm_16_1ch.flac", "a7_pcm_24_2ch.flac"):
        for a in ({"dtype": enum("INT16")}, {"dtype": enum("INT32")}):
            record(op, [[{"file": name}]], a, group="audio")


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    OUT, cases.FILES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.chdir(cases.FILES)
    for family in (spectrograms, spectra, mels, decibels, cepstra, preemphases, silences, resamplings, decodings):
        family()
    resamplings("experimental.audio_resample", few=True)
    decodings("audio_decoder", few=True)
    with open(os.path.join(OUT, "cases.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
    print(len(CASES), "cases,", sum("error" in c for c in CASES), "with errors")
