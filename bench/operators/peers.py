"""DALI and librosa as sides of bench/operators.

Reads one request a line (JSON: op, who, case, threads, data) and answers with one
line beginning "ANSWER ". "begin" builds what the case needs, "go" runs it once and
says how many units it made in how many seconds, by this process's clock. Batches
have their words folded into one, as bench/operators does itself.
"""
import importlib.metadata
import io
import json
import os
import sys
import time

import numpy as np

sys.modules.setdefault("torchdata", None)  # DALI takes a folder of that name for the package

BATCH, BATCHES, RATE = 64, 4, 16000
WINDOWS = dict(nfft=512, window_length=400, window_step=160)


def noise(*shape):
    return (np.random.RandomState(1).randn(*shape) * 0.3).astype(np.float32)


def fold(array):
    """The exclusive or of all words of an array: the consumer of a batch."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return int(np.bitwise_xor.reduce(raw[:raw.size // 8 * 8].view(np.uint64), initial=0))


# ---------------------------------------------------------------------- DALI
def dali(case, threads, data):
    import nvidia.dali as dali
    from nvidia.dali import fn

    def fixed(sample, layout=None):
        samples = [sample] * BATCH
        return fn.external_source(source=lambda: samples, batch=True, no_copy=True, layout=layout)

    def signal():
        return fixed(noise(RATE))

    def decoded(name, **args):
        return fn.decoders.audio(fixed(np.fromfile(os.path.join(data, name), np.uint8)), **args)[0]

    def mels(x):
        return fn.mel_filter_bank(x, sample_rate=16000.0, nfilter=80)

    graphs = {
        "log-mel": lambda: [fn.to_decibels(mels(fn.spectrogram(fn.preemphasis_filter(decoded("second.wav", downmix=True)), **WINDOWS)))],
        "spectrogram": lambda: [fn.spectrogram(signal(), **WINDOWS)],
        "power-spectrum": lambda: [fn.power_spectrum(signal())],
        "mel": lambda: [mels(fixed(noise(257, 101) ** 2, "ft"))],
        "decibels": lambda: [fn.to_decibels(fixed(noise(257, 101) ** 2, "ft"))],
        "mfcc": lambda: [fn.mfcc(fixed(noise(80, 101) ** 2, "ft"))],
        "preemphasis": lambda: [fn.preemphasis_filter(signal())],
        "nonsilent": lambda: [*fn.nonsilent_region(signal())],
        "resample": lambda: [fn.audio_resample(signal(), in_rate=16000.0, out_rate=11025.0)],
        "decode-wav": lambda: [decoded("second.wav")],
        "decode-flac": lambda: [decoded("a7_pcm_24_2ch.flac")],
        "decode-vorbis": lambda: [decoded("a9_vorbis_2ch.ogg")],
    }
    pipe = dali.Pipeline(batch_size=BATCH, num_threads=threads, device_id=None, seed=1)
    with pipe:
        pipe.set_outputs(*graphs[case]())
    pipe.build()
    pipe.run()

    def go():
        seen = 0
        for _ in range(BATCHES):
            for out in pipe.run():
                if out.is_dense_tensor():
                    seen ^= fold(out.as_array())
                else:
                    for i in range(len(out)):
                        seen ^= fold(out.at(i))
        return BATCHES * BATCH, seen
    return go


# ------------------------------------------------------------------- librosa
def librosa(case, threads, data):
    import librosa as lib
    import soundfile

    if threads > 1:
        raise RuntimeError("runs in one thread")
    stft = dict(n_fft=512, win_length=400, hop_length=160)
    wave, x = open(os.path.join(data, "second.wav"), "rb").read(), noise(RATE)

    def mel():
        y, _ = soundfile.read(io.BytesIO(wave), dtype="float32")
        return lib.power_to_db(lib.feature.melspectrogram(y=lib.effects.preemphasis(y), sr=RATE, n_mels=80, **stft), ref=np.max)

    one = {"log-mel": mel, "spectrogram": lambda: np.abs(lib.stft(x, **stft)) ** 2}[case]
    one()

    def go():
        seen = 0
        for _ in range(BATCH):
            seen ^= fold(one())
        return BATCH, seen
    return go


SIDES = {"dali": dali, "librosa": librosa}
PACKAGES = {"dali": "nvidia-dali-cuda120", "librosa": "librosa"}


def versions():
    found = {}
    for who, package in PACKAGES.items():
        try:
            found[who] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return {"versions": found}


def main():
    go = None
    for line in sys.stdin:
        r, answer = json.loads(line), {}
        try:
            if r["op"] == "versions":
                answer = versions()
            elif r["op"] == "begin":
                go = SIDES[r["who"]](r["case"], r["threads"], r["data"])
            else:
                start, cpu = time.perf_counter(), time.process_time()
                units, _ = go()
                answer = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "units": units}
        except Exception as e:  # noqa: BLE001 - the table says why
            answer = {"error": f"{type(e).__name__}: {e}".splitlines()[0][:200]}
        print("ANSWER " + json.dumps(answer), flush=True)


main()
