package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A round of videos is a batch of videoBatch videos of videoFrames frames. No side decodes ahead of
// its round: a round has only one batch.
const (
	videoCase   = "decode-video"
	videoBatch  = 2
	videoFrames = 120
	videoWidth  = 640
	videoHeight = 480
	videoFile   = "video.webm"
)

// onVideo is the comparison of decoders.video. The program alone writes raw frames into a pipe.
var onVideo = []turns.Comparison{
	compare(videoCase, "VP9 of 640x480, 120 frames, to RGB", "frame", dali(1),
		turns.Side{Name: "ffmpeg alone", Who: "ffmpeg", Target: 0.9}),
}

// prepareVideo makes the video, if ffmpeg is installed.
func prepareVideo(dir string) error {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		return nil // the sides say so
	}
	out, err := exec.Command("ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi",
		"-i", fmt.Sprintf("testsrc2=size=%dx%d:rate=25", videoWidth, videoHeight), "-frames:v", strconv.Itoa(videoFrames),
		"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "2M", "-g", "50",
		filepath.Join(dir, videoFile)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ffmpeg: %w: %s", err, out)
	}
	return nil
}

// decodeVideos is Bivouac's side.
func decodeVideos(p *pipeline.Builder, dir string) ([]pipeline.Node, error) {
	b, err := os.ReadFile(filepath.Join(dir, videoFile))
	if err != nil {
		return nil, err
	}
	videos := make([]tensor.Tensor, videoBatch)
	for i := range videos {
		videos[i] = tensor.FromSlice(b, len(b))
	}
	in := pipeline.ExternalSource(p, pipeline.BatchFunc(func(context.Context,
		pipeline.BatchInfo) ([]pipeline.Data, error) {
		return []pipeline.Data{videos}, nil
	}), pipeline.SourceOptions{NoCopy: true})[0]
	return []pipeline.Node{fn.DecodersVideo(p, in, fn.DecodersVideoArgs{})}, nil
}

// program runs ffmpeg alone, as many processes at once as there are threads.
func program(r turns.Request) turns.Runner {
	return func(ctx context.Context) (units int, digest uint64, err error) {
		var all sync.WaitGroup
		room := make(chan struct{}, max(1, r.Threads))
		errs := make([]error, videoBatch)
		sums := make([]uint64, videoBatch)
		for i := range videoBatch {
			room <- struct{}{}
			all.Go(func() {
				sums[i], errs[i] = frames(ctx, filepath.Join(r.Data, videoFile))
				<-room
			})
		}
		all.Wait()
		for i := range errs {
			if digest ^= sums[i]; errs[i] != nil {
				return 0, 0, errs[i]
			}
		}
		return videoBatch * videoFrames, digest, nil
	}
}

// frames reads the frames that ffmpeg writes.
func frames(ctx context.Context, path string) (sum uint64, err error) {
	cmd := exec.CommandContext(ctx, "ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-i", path,
		"-f", "rawvideo", "-pix_fmt", "rgb24", "-blocksize", strconv.Itoa(1<<20), "pipe:1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, err
	}
	var frame tensor.Batch
	frame.Reset(tensor.Uint8, 3, "HWC")
	if _, err := frame.Grow(videoHeight, videoWidth, 3); err != nil {
		return 0, err
	}
	for n := 0; ; n++ {
		if _, err = io.ReadFull(out, frame.Data); err != nil {
			if err == io.EOF && n == videoFrames {
				return sum, cmd.Wait()
			}
			cmd.Wait() //nolint:errcheck // the other error is returned
			return 0, fmt.Errorf("frame %d: %w", n, err)
		}
		sum ^= turns.Fold(&frame)
	}
}
