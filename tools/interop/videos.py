#!/usr/bin/env python3
"""Records cases of decoders.video from live DALI: videos.py OUT FILES (testdata/dali/ops/videos, testdata/dali/inputs).

The videos v_*.webm, v_*.avi, … of FILES are made with ffmpeg 5.1 by `videos.py OUT FILES make`; they
stay as they are, because other versions encode other bytes. Frames are tiny, so that their values are
written down: DALI and Bivouac convert colours with other roundings. Two runs give the same bytes.
"""
import json
import os
import subprocess
import sys

import cases
from cases import CASES, record

VIDEOS = {
    "v_vp9.webm": "-frames:v 12 -c:v libvpx-vp9 -g 5 -pix_fmt yuv420p",
    "v_vp8.webm": "-frames:v 9 -c:v libvpx -g 4 -auto-alt-ref 1 -lag-in-frames 6 -pix_fmt yuv420p",
    "v_444.webm": "-frames:v 4 -c:v libvpx-vp9 -pix_fmt yuv444p",
    "v_440.webm": "-frames:v 4 -c:v libvpx-vp9 -pix_fmt yuv440p",
    "v_422.webm": "-frames:v 4 -c:v libvpx-vp9 -pix_fmt yuv422p",
    "v_ten.webm": "-frames:v 4 -c:v libvpx-vp9 -pix_fmt yuv420p10le",
    "v_709.webm": "-frames:v 4 -vf scale=out_color_matrix=bt709 -colorspace bt709 -c:v libvpx-vp9 -pix_fmt yuv420p",
    "v_full.webm": "-frames:v 4 -vf scale=out_range=full -color_range pc -c:v libvpx-vp9 -pix_fmt yuv420p",
    "v_odd.webm": "-frames:v 3 -vf scale=17:9 -c:v libvpx-vp9 -pix_fmt yuv420p",
    "v_vfr.webm": "-frames:v 8 -vf setpts=N*(N+1)/2/25/TB -fps_mode passthrough -c:v libvpx-vp9 -g 3 -pix_fmt yuv420p",
    "v_mjpeg.avi": "-frames:v 6 -c:v mjpeg -q:v 3 -pix_fmt yuvj420p",
    "v_mjpeg422.mp4": "-frames:v 4 -c:v mjpeg -q:v 3 -pix_fmt yuvj422p",
    "v_mjpeg.mjpeg": "-frames:v 4 -c:v mjpeg -q:v 3 -huffman default -pix_fmt yuvj444p",
    "v_vp9.mp4": "-frames:v 6 -c:v libvpx-vp9 -g 3 -pix_fmt yuv420p",
}


def make(folder):
    for name, words in VIDEOS.items():
        source = "testsrc2=size=64x32:rate=25,scale=16:8:flags=area"
        subprocess.run(["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-fflags", "+bitexact", "-threads", "1", "-f", "lavfi", "-i", source,
                        *words.split(), "-flags", "+bitexact", "-threads", "1", os.path.join(folder, name)], check=True)


def video(name, op="decoders.video", **args):
    record(op, [[{"file": n} for n in name.split()]], args, group="videos", exact=False)


def per_sample(*values):
    return {"tensor": list(values), "dtype": "int32"}


def families():
    for name in VIDEOS:
        video(name, sequence_length=3)
    for name in ("v_vp9.webm", "v_vp8.webm", "v_vfr.webm", "v_mjpeg.avi"):
        video(name, frames=[4, 1, 1])
    video("v_vfr.webm")
    video("v_vp9.webm v_vp8.webm v_mjpeg.avi", start_frame=per_sample(3, 1, 2), sequence_length=per_sample(2, 1, 3))
    video("v_vp9.webm v_vp8.webm", end_frame=per_sample(2, 3), stride=per_sample(1, 2))
    video("v_vp9.webm v_vp8.webm", frames=per_sample([11, 2], [0, 8]))
    for mode in ("none", "constant", "edge", "repeat", "reflect_101", "reflect", "reflect_1001", "symmetric"):
        video("v_vp9.webm", start_frame=10, sequence_length=4, pad_mode=mode)
        video("v_vp9.webm", start_frame=9, end_frame=16, stride=2, pad_mode=mode)
        video("v_vp9.webm", frames=[11, 13, -2], pad_mode=mode)
        video("v_mjpeg.mjpeg", start_frame=-1, sequence_length=6, pad_mode=mode, fill_value=[9, 8, 7])
    video("v_vp9.webm", frames=[12, 3], fill_value=77)
    video("v_vp9.webm", frames=[12, 3], fill_value=[1, 2, 3])
    video("v_vp9.webm", start_frame=11, sequence_length=2, fill_value=[3, 200, 1])
    video("v_vp9.webm", stride=5)
    video("v_vp9.webm", start_frame=8)
    video("v_vp9.webm", start_frame=8, stride=3)
    video("v_vp9.webm", sequence_length=0)
    video("v_vp9.webm", frames=[])
    video("v_vp9.webm", build_index=False, start_frame=6, sequence_length=2)
    video("v_vp9.webm", affine=False, frames=[7])
    video("v_vp9.webm", op="experimental.decoders.video", start_frame=7, end_frame=9)
    video("v_mjpeg.avi", op="experimental.decoders.video", frames=[5])
    # What DALI refuses.
    video("v_vp9.webm", start_frame=12, sequence_length=1)
    video("v_vp9.webm", start_frame=12, pad_mode="edge")
    video("v_vp9.webm", start_frame=3, end_frame=3)
    video("v_vp9.webm", start_frame=3, end_frame=1)
    video("v_vp9.webm", sequence_length=-1)
    video("v_vp9.webm", frames=[1], start_frame=1)
    video("v_vp9.webm", frames=[1], stride=1)
    video("v_vp9.webm", end_frame=1, sequence_length=1)
    video("v_vp9.webm", pad_mode="mirror")
    video("v_vp9.webm", frames=[12], pad_mode="none")
    video("v_vp9.webm", frames=[12], fill_value=[1, 2])
    video("v_vp9.webm", frames=[12], fill_value=[256])
    video("v_vp9.webm", frames=[12], fill_value=[-1])
    video("a0_pcm_16_1ch.wav", sequence_length=1)
    video("bad_cut.png", sequence_length=1)


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    out, cases.FILES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    if sys.argv[3:] == ["make"]:
        make(cases.FILES)
    os.chdir(cases.FILES)
    families()
    with open(os.path.join(out, "cases.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
    print(len(CASES), "cases,", sum("error" in c for c in CASES), "with errors")
