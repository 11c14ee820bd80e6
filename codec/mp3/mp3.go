// Package mp3 decodes MP3 files: MPEG-1, MPEG-2 and MPEG-2.5, layer III.
//
// The headers of all frames are read in Go: they say the rate, the channels and the length. The
// program ffmpeg decodes the frames, with its decoder mp3float; it must be in PATH. What the
// encoder says to have added at the start and at the end is left out, as libsndfile and ffmpeg do.
//
// Files that are cut are refused, and so are files with other bytes between their frames, or with
// more or fewer frames than the first one says.
package mp3

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/codec/internal/ffmpeg"
	"github.com/bivouac-ml/bivouac/codec/internal/pcm"
	"github.com/bivouac-ml/bivouac/errs"
)

const opName = "mp3"

func init() {
	audio.Register(audio.Format{Name: "MP3", Detect: detect, New: func() audio.Opener { return new(Decoder) }})
}

func detect(b []byte) bool {
	b, err := skipID3(b)
	if err != nil {
		return true // Open says what is wrong with the tag
	}
	_, ok := parseFrame(b)
	return ok
}

func damaged(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: opName, Want: want, Got: got, Remedy: "the file is cut or damaged"}
}

func unsupported(want, got string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: opName, Want: want, Got: got, Remedy: "convert the file"}
}

// Info is what the headers of a file say.
type Info struct {
	Rate     int // frames per second
	Channels int
	Frames   int // each has a sample of every channel
}

// ReadInfo reads the headers of a file. It does not need ffmpeg.
func ReadInfo(b []byte) (Info, error) {
	s, err := parse(b)
	if err != nil {
		return Info{}, err
	}
	return Info{Rate: s.rate, Channels: s.channels, Frames: s.length}, nil
}

// Decoder decodes files. It keeps memory from file to file.
type Decoder struct {
	sound  pcm.Lossy
	buffer []float32
	bytes  []byte
}

// stall is how long ffmpeg may write nothing.
const stall = time.Minute

// full is the int16 that 1 is.
const full = 1 << 15

// Open implements audio.Opener.
func (d *Decoder) Open(b []byte, limit int64) (audio.Sound, error) {
	s, err := parse(b)
	if err != nil {
		return nil, err
	}
	n := s.frames * s.samples() * s.channels
	if err := audio.CheckSize(opName, int64(n), 4, limit); err != nil {
		return nil, err
	}
	if cap(d.buffer) < n {
		d.buffer = make([]float32, n)
	}
	d.buffer = d.buffer[:n]
	if err := d.decode(s, d.buffer); err != nil {
		return nil, err
	}
	from := s.skip * s.channels
	d.sound = pcm.NewLossy(d.buffer[from:from+s.length*s.channels], s.channels, s.rate, full)
	return &d.sound, nil
}

// decode decodes all frames.
func (d *Decoder) decode(s stream, to []float32) error {
	ctx := context.Background()
	program, err := ffmpeg.Find(ctx, opName, "ffmpeg", stall)
	if err != nil {
		return err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return &errs.Error{Kind: errs.IO, Op: opName, Err: err}
	}
	p, err := program.StartFrom(in, []string{"-hide_banner", "-loglevel", "error", "-threads", "1",
		"-protocol_whitelist", "pipe", "-err_detect", "explode", "-c:a", "mp3float", "-f", "mp3", "-i", "pipe:0",
		"-map", "0:a:0", "-c:a", "pcm_f32le", "-f", "f32le", "pipe:1"}, nil)
	in.Close() //nolint:errcheck // the process has its own
	if err != nil {
		out.Close() //nolint:errcheck // nothing was written
		return err
	}
	defer p.End()
	defer p.Listen()()
	written := make(chan struct{})
	go func() {
		defer close(written)
		// The frames are written beside the reading: ffmpeg may write before it has read all. One that
		// is silent follows: ffmpeg wants two frames at least.
		out.SetWriteDeadline(time.Now().Add(stall)) //nolint:errcheck // pipes have deadlines
		if _, err := out.Write(s.data); err == nil {
			out.Write(silence(s.data)) //nolint:errcheck // the reader sees the end
		}
		out.Close() //nolint:errcheck // the reader sees the end
	}()
	err = d.read(p, to)
	out.SetWriteDeadline(time.Unix(1, 0)) //nolint:errcheck // pipes have deadlines
	<-written
	return err
}

// silence returns a frame without sound, which has the head of the first one.
func silence(first []byte) []byte {
	f, _ := parseFrame(first)
	b := make([]byte, f.size)
	copy(b, first[:frameHead])
	b[1] |= 1 // without CRC
	return b
}

// read reads all samples from ffmpeg.
func (d *Decoder) read(p *ffmpeg.Process, to []float32) error {
	const step = 1 << 14
	if d.bytes == nil {
		d.bytes = make([]byte, 4*step)
	}
	ctx, rest := context.Background(), to
	for len(rest) > 0 {
		b := d.bytes[:4*min(step, len(rest))]
		release := p.Allow(ctx)
		n, err := io.ReadFull(p, b)
		release()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			e := p.Failed(fmt.Sprintf("%d samples", len(to)))
			return errs.Wrap("", fmt.Sprintf("after %d samples", len(to)-len(rest)+n/4), e)
		}
		if err != nil {
			return err
		}
		for i := range rest[:len(b)/4] {
			rest[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		rest = rest[len(b)/4:]
	}
	return nil
}
