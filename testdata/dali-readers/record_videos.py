#!/usr/bin/env python3
"""Records what DALI's experimental.readers.video delivers: record_videos.py DIR (this folder).

Writes DIR/videos, a folder of labels with the videos of ../dali/inputs, lists beside it, and
DIR/videos.json in the form of cases.json. Needs what record.py needs. Two runs write the same bytes.
"""
import json
import os
import shutil
import sys

VIDEOS = {"a": ("v_vp9.webm", "v_mjpeg.avi"), "b": ("v_vp8.webm",), "c": ("v_vfr.webm", "v_full.webm")}
LISTS = {
    "whole": "videos/a/v_vp9.webm 3\nvideos/b/v_vp8.webm 5\n",
    "times": "videos/a/v_vp9.webm 3 0.05 0.33\nvideos/c/v_vfr.webm 1 0.05 0.5\n\nvideos/b/v_vp8.webm 0 0.2 0.32\n",
    "frames": "videos/a/v_vp9.webm 3 2 7\nvideos/b/v_vp8.webm 5 -6 -1\n",
    "fractions": "videos/a/v_vp9.webm 3 2.7 5.2\n",
    "before": "videos/a/v_vp9.webm 3 -0.4 0.2\n",
    "beyond": "videos/a/v_vp9.webm 3 7 50\n",
    "empty": "videos/a/v_vp9.webm 3 5 5\nvideos/b/v_vp8.webm 4\n",
    "nothing": "videos/a/v_vp9.webm 3 7 5\n",
    "no_label": "videos/a/v_vp9.webm\n",
}


def families(case):
    op = "experimental.readers.video"
    one, two = ["videos/a/v_vp9.webm"], ["videos/a/v_vp9.webm", "videos/b/v_vp8.webm"]

    def video(name, n=None, batch=2, checkpoints=(), **args):
        case("videos/" + name, op, args, batch, n, checkpoints)

    video("plain", filenames=two, sequence_length=4)
    video("frames", filenames=["videos/a/v_mjpeg.avi", "videos/c/v_vfr.webm", "videos/c/v_full.webm"], sequence_length=3, enable_frame_num="sequence", enable_timestamps=True)
    video("labels", filenames=two, labels=[7, 9], sequence_length=4, enable_frame_num="scalar")
    video("step", filenames=one, sequence_length=2, step=3, enable_frame_num="sequence")
    video("no_step", filenames=one, sequence_length=3, step=0, enable_frame_num="sequence")
    video("overlap", filenames=one, sequence_length=4, step=1, enable_frame_num="sequence")
    video("stride", filenames=one, sequence_length=3, stride=3, enable_frame_num="sequence", enable_timestamps=True)
    video("stride_2", filenames=one, sequence_length=2, stride=2, enable_frame_num="sequence")
    video("overlap_pad", filenames=one, sequence_length=4, step=1, stride=2, pad_mode="edge", enable_frame_num="sequence")
    video("stride_and_step", filenames=two, sequence_length=2, stride=4, step=5, enable_frame_num="sequence")
    for mode in ("none", "constant", "edge", "repeat", "reflect_101", "reflect", "reflect_1001", "symmetric"):
        video("pad_" + mode, filenames=two, sequence_length=5, stride=2, step=6, pad_mode=mode, fill_value=[9, 8, 7], enable_frame_num="sequence", enable_timestamps=mode != "constant")
    video("pad_times", filenames=one, sequence_length=7, pad_mode="constant", enable_frame_num="sequence", enable_timestamps=True)
    video("fill", filenames=one, sequence_length=8, pad_mode="constant", fill_value=77)
    video("longer", filenames=one, sequence_length=14, pad_mode="reflect_101", enable_frame_num="sequence")
    video("uniform", filenames=two, sequence_length=4, uniform_sample=True, enable_frame_num="sequence", enable_timestamps=True)
    video("uniform_one", filenames=two, sequence_length=1, uniform_sample=True, enable_frame_num="sequence")
    video("uniform_more", filenames=one, sequence_length=20, uniform_sample=True, step=2, stride=3, pad_mode="edge", enable_frame_num="sequence")
    video("root", file_root="videos", sequence_length=4, enable_frame_num="scalar", enable_timestamps=True)
    video("list", file_list="whole.list", sequence_length=4, enable_frame_num="scalar")
    for rounding in ("start_down_end_up", "start_up_end_down", "all_up", "all_down"):
        video("times_" + rounding, file_list="times.list", sequence_length=2, step=1, file_list_rounding=rounding, enable_frame_num="sequence")
        video("frames_" + rounding, file_list="fractions.list", file_list_format="frames", sequence_length=1, file_list_rounding=rounding, enable_frame_num="sequence")
    for end in (False, True):
        video("include_end_%s" % end, file_list="frames.list", file_list_format="frames", sequence_length=2, file_list_include_end=end, enable_frame_num="sequence")
    video("list_pad", file_list="frames.list", file_list_format="frames", sequence_length=4, pad_mode="reflect_101", enable_frame_num="sequence")
    video("list_uniform", file_list="frames.list", file_list_format="frames", sequence_length=4, uniform_sample=True, enable_frame_num="sequence")
    video("before", file_list="before.list", sequence_length=2, enable_frame_num="sequence")
    video("beyond", file_list="beyond.list", file_list_format="frames", sequence_length=2, enable_frame_num="sequence")
    video("empty", file_list="empty.list", file_list_format="frames", sequence_length=2, enable_frame_num="sequence")
    video("shuffled", 6, 2, (0, 2, 3), filenames=two, sequence_length=3, random_shuffle=True, initial_fill=3, seed=5, enable_frame_num="scalar")
    video("shards", 5, 2, filenames=two, sequence_length=3, num_shards=2, shard_id=1, enable_frame_num="scalar")
    video("stick", 5, 2, filenames=two, sequence_length=3, num_shards=2, shard_id=1, stick_to_shard=True, enable_frame_num="scalar")
    video("padded", 4, 3, (1,), filenames=two, sequence_length=3, pad_last_batch=True, enable_frame_num="scalar")
    video("tuning", filenames=one, sequence_length=4, dont_use_mmap=True, lazy_init=True, prefetch_queue_depth=2, read_ahead=True, skip_cached_images=True, tensor_init_bytes=99)
    # What DALI refuses.
    video("too_long", filenames=one, sequence_length=13)
    video("nothing", file_list="nothing.list", file_list_format="frames", sequence_length=2)
    video("no_label", file_list="no_label.list", sequence_length=2)
    video("no_files", filenames=[], sequence_length=2)
    video("no_source", sequence_length=2)
    video("two_sources", filenames=one, file_root="videos", sequence_length=2)
    video("few_labels", filenames=two, labels=[1], sequence_length=2)
    video("no_labels", filenames=two, labels=[], sequence_length=2)
    video("bad_pad", filenames=one, sequence_length=2, pad_mode="mirror")
    video("bad_fill", filenames=one, sequence_length=9, pad_mode="constant", fill_value=[1, 2])
    video("bad_number", filenames=one, sequence_length=2, enable_frame_num="all")
    video("bad_format", file_list="whole.list", sequence_length=2, file_list_format="seconds")
    video("gray", filenames=one, sequence_length=2, image_type={"type": "GRAY"})
    video("ycbcr", filenames=one, sequence_length=2, image_type={"type": "YCbCr"})
    video("missing", filenames=["videos/none.webm"], sequence_length=2)
    video("no_video", filenames=["whole.list"], sequence_length=2)


def main(space, out):
    os.chdir(out)
    shutil.rmtree("videos", ignore_errors=True)
    for label, names in VIDEOS.items():
        os.makedirs("videos/" + label)
        for name in names:
            shutil.copy("../dali/inputs/" + name, "videos/" + label)
    for name, text in LISTS.items():
        with open(name + ".list", "w") as f:
            f.write(text)
    families(space["case"])
    with open("videos.json", "w") as f:
        json.dump({"dali": space["dali"].__version__, "cases": space["CASES"]}, f, indent=0, separators=(",", ":"))
        f.write("\n")
    print(len(space["CASES"]), "cases")


if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "record.py")) as f:
        space = {"__name__": "record", "__file__": "record.py"}
        exec(compile(f.read(), "record.py", "exec"), space)
    main(space, os.path.abspath(sys.argv[1]))
