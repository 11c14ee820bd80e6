package readertest

import (
	"bytes"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/reader/video" // experimental.readers.video
)

// Video makes a file of n+1 JPEG images of one gray, so that there are n clips of two frames. The
// gray of frame i is i modulo 256. No ffmpeg is needed.
func Video(dir string, n int) (name string, args op.Args, err error) {
	var b bytes.Buffer
	for i := range n + 1 {
		frame := image.NewGray(image.Rect(0, 0, 8, 8))
		for p := range frame.Pix {
			frame.Pix[p] = byte(i)
		}
		if err := jpeg.Encode(&b, frame, &jpeg.Options{Quality: 100}); err != nil {
			return "", nil, err
		}
	}
	path := filepath.Join(dir, "frames.mjpeg")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		return "", nil, err
	}
	return "experimental.readers.video", op.Args{"filenames": []string{path}, "sequence_length": 2, "step": 1,
		"enable_frame_num": "scalar"}, nil
}
