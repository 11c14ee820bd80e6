package video

import (
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/video/videotest"
)

// made makes a H.264 clip of 640 x 480 pixels that moves everywhere.
func made(b *testing.B, frames string) string {
	b.Helper()
	videotest.Need(b)
	path := filepath.Join(b.TempDir(), "clip.mp4")
	out, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "mandelbrot=size=640x480:rate=25",
		"-frames:v", frames,
		"-c:v", "libx264", "-preset", "fast", "-g", "50", "-pix_fmt", "yuv420p", path).CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return path
}

const benchFrames = 300

// BenchmarkDecode decodes a clip in order, frame by frame, to RGB.
func BenchmarkDecode(b *testing.B) {
	v, err := Open(b.Context(), made(b, "300"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	d := v.NewDecoder()
	defer d.Close()
	p := make([]byte, v.Width*v.Height*3)
	for b.Loop() {
		d.Close()
		for i := range v.Frames() {
			if err := d.Decode(b.Context(), i, p); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N*benchFrames)/b.Elapsed().Seconds(), "frames/s")
}

// BenchmarkProgram is what ffmpeg takes alone: it writes raw frames to a pipe, which is read.
func BenchmarkProgram(b *testing.B) {
	path := made(b, "300")
	for _, pixels := range []string{"yuv420p", "rgb24"} {
		b.Run(pixels, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("ffmpeg", "-v", "error", "-threads", "1", "-i", path, "-f", "rawvideo",
					"-pix_fmt", pixels, "pipe:1")
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					b.Fatal(err)
				}
				buf := make([]byte, 640*480*3)
				for err == nil {
					_, err = io.ReadFull(out, buf)
				}
				if err := cmd.Wait(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*benchFrames)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}

// BenchmarkColors converts a frame of 640 x 480 pixels to RGB.
func BenchmarkColors(b *testing.B) {
	x := &Index{Width: 640, Height: 480, pixels: "yuv420p"}
	src := make([]byte, x.frameSize())
	for i := range src {
		src[i] = byte(i * 7)
	}
	dst := make([]byte, x.Width*x.Height*3)
	var p planes
	b.SetBytes(int64(len(dst)))
	for b.Loop() {
		p.toRGB(dst, src, x)
	}
}
