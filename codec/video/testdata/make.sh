#!/bin/sh
# Makes the videos of this folder, with ffmpeg 5.1. They are kept in the repository, because other
# versions encode other bytes.
set -eu
cd "$(dirname "$0")"
f() { ffmpeg -hide_banner -loglevel error -y -fflags +bitexact -threads 1 "$@"; }
source() { echo "-f lavfi -i testsrc2=size=64x48:rate=25"; }
bit="-flags +bitexact -threads 1"
f $(source) -frames:v 40 -c:v libx264 -preset veryslow -x264opts keyint=12:bframes=3:b-pyramid=normal -pix_fmt yuv420p $bit h264.mp4
f $(source) -frames:v 40 -c:v libx264 -x264opts keyint=10:open-gop=1:bframes=3 -pix_fmt yuv420p $bit open_gop.mkv
f $(source) -frames:v 40 -c:v libx265 -x265-params keyint=12:open-gop=1:bframes=3:log-level=none:pools=none -pix_fmt yuv420p $bit h265.mp4
f $(source) -frames:v 30 -c:v libx264 -x264opts keyint=infinite:intra-refresh=1:bframes=0 -pix_fmt yuv420p $bit no_keys.mp4
f $(source) -frames:v 30 -c:v mpeg4 -g 12 -bf 2 -pix_fmt yuv420p $bit mpeg4.avi
f $(source) -frames:v 30 -c:v libvpx -g 10 -auto-alt-ref 1 -lag-in-frames 16 -arnr-maxframes 5 -pix_fmt yuv420p $bit vp8.webm
f $(source) -frames:v 30 -c:v libvpx-vp9 -g 10 -pix_fmt yuv420p $bit vp9.webm
f -f lavfi -i testsrc=size=33x35:rate=25 -frames:v 6 -c:v libvpx-vp9 -pix_fmt yuv420p $bit odd.webm
f $(source) -frames:v 6 -c:v libvpx-vp9 -pix_fmt yuv420p10le $bit ten_bits.webm
# A rate that changes: frames 0, 1, 3, 6, 10, … of the source.
f $(source) -frames:v 12 -vf "setpts='(N*(N+1)/2)/25/TB'" -fps_mode passthrough -c:v libx264 -x264opts keyint=5:bframes=2 -pix_fmt yuv420p $bit variable.mp4
# An edit list that leaves out the first half second: the packets before it are decoded, not shown.
f -ss 0.5 -i h264.mp4 -c copy $bit edited.mp4
f $(source) -frames:v 30 -c:v libx264 -x264opts keyint=12:bframes=2 -pix_fmt yuv420p $bit stream.ts
# Another size from frame 5 on.
f $(source) -frames:v 5 -c:v libx264 -pix_fmt yuv420p $bit a.ts
f -f lavfi -i testsrc2=size=32x32:rate=25 -frames:v 5 -output_ts_offset 0.2 -c:v libx264 -pix_fmt yuv420p $bit b.ts
cat a.ts b.ts > resized.ts
f $(source) -frames:v 12 -c:v mjpeg -q:v 4 -pix_fmt yuvj420p $bit motion.avi
f $(source) -frames:v 8 -c:v mjpeg -q:v 4 -huffman default -pix_fmt yuvj422p $bit motion.mjpeg
f $(source) -frames:v 8 $bit animated.gif
f $(source) -frames:v 8 -c:v libwebp_anim -loop 0 $bit animated.webp
rm -f a.ts b.ts
