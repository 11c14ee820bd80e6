"""DALI's and librosa's sides of the cases on sound: the graphs of sound.go."""
import io
import os

import numpy as np

BATCH, RATE = 64, 16000
WINDOWS = dict(nfft=512, window_length=400, window_step=160)


def noise(*shape):
    return (np.random.RandomState(1).randn(*shape) * 0.3).astype(np.float32)


def graphs(fixed, data):
    from nvidia.dali import fn

    def signal():
        return fixed(noise(RATE))

    def decoded(name, **args):
        return fn.decoders.audio(fixed(np.fromfile(os.path.join(data, name), np.uint8)), **args)[0]

    def mels(x):
        return fn.mel_filter_bank(x, sample_rate=16000.0, nfilter=80)

    return {
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


def librosa(case, threads, data):
    """Returns a function that makes the samples of a batch one by one."""
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

    return lambda: (one() for _ in range(BATCH))
