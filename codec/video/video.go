// Package video decodes the frames of videos, by number.
//
// Most videos are decoded by the program ffmpeg, of version 4.4 or later, which must be in PATH
// together with ffprobe. One process decodes one stream and writes its frames to a pipe. The
// package converts them to RGB. Motion JPEG (in AVI files, or one image after the other) and
// animated GIF and WebP are decoded in Go, without ffmpeg.
//
//	file ── ffprobe ── Index: time of each frame, key frames
//	file ── ffmpeg, from a key frame on ── planes of frames ── Decoder ── RGB
//
// An [Index] lists the frames in the order in which they are shown. A [Decoder] finds any frame by
// its number: it decodes from the nearest key frame before it, or goes on where it is. The frame
// that it returns is the same, however it got there: each frame carries its time, which is compared
// with the index. A packet that is cut is left out of the index. A frame that ffmpeg does not
// return is an error of that frame alone. Other damage is concealed, as the decoders of ffmpeg do.
//
// Colours are converted by BT.601, whatever the file says about its matrix, in the range that the
// file says, as DALI does. Chroma is interpolated linearly between the middles of its samples.
// Frames are not turned as the file's rotation says.
//
// The package registers decoders of JPEG 2000, AVIF and HEIC with package codec. Their processes
// wait for the next image of their kind, and end when none comes for five seconds.
//
// A process of ffmpeg is killed when its decoder is closed or its context ends. It also ends when
// the program ends for any reason: its pipe closes, and on Linux it gets a signal.
package video

import (
	"context"
	"fmt"
	"time"

	"github.com/bivouac-ml/bivouac/codec/internal/ffmpeg"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

const opName = "video"

// The defaults of Options.
const (
	DefaultMaxFrames = 1 << 24
	DefaultStall     = time.Minute
	DefaultKeep      = 32 << 20
)

// Options bound the cost of a video. The zero Options have the defaults.
type Options struct {
	Limits raster.Limits // of a frame
	// MaxFrames is the most frames of a file; 0 means DefaultMaxFrames.
	MaxFrames int
	// Stall is how long ffmpeg may take for a frame, or ffprobe for a part of the index, before it is
	// killed; 0 means DefaultStall.
	Stall time.Duration
	// Threads is the number of threads of each process of ffmpeg; 0 means 1.
	Threads int
	// Keep is how many bytes of decoded frames a Decoder keeps, so that clips that overlap are not
	// decoded twice; 0 means DefaultKeep. The last frame is always kept.
	Keep int
}

func (o Options) withDefaults() Options {
	if o.MaxFrames <= 0 {
		o.MaxFrames = DefaultMaxFrames
	}
	if o.Stall <= 0 {
		o.Stall = DefaultStall
	}
	if o.Threads <= 0 {
		o.Threads = 1
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	return o
}

// Video is a video whose index is known. It is safe for concurrent use.
type Video struct {
	*Index
	source  source
	options Options
}

// source is where the bytes of a video are: in a file, or in memory.
type source struct {
	path string // of the file; "" if the video is in memory
	data []byte // if the video is in memory
	held held   // a file that has data, made for ffmpeg
}

func (s *source) String() string {
	if s.path == "" {
		return "a video in memory"
	}
	return s.path
}

// Open reads the index of a file.
func Open(ctx context.Context, path string, o Options) (*Video, error) {
	s := source{path: path}
	x, err := readIndex(ctx, &s, o.withDefaults())
	if err != nil {
		return nil, errs.Wrap("", path, err)
	}
	return &Video{x, s, o.withDefaults()}, nil
}

// OpenBytes reads the index of a video in memory. data must not change until Close.
func OpenBytes(ctx context.Context, data []byte, o Options) (*Video, error) {
	s := source{data: data}
	x, err := readIndex(ctx, &s, o.withDefaults())
	if err != nil {
		s.release()
		return nil, err
	}
	return &Video{x, s, o.withDefaults()}, nil
}

// OpenIndexed returns a file whose index was read before.
func OpenIndexed(path string, x *Index, o Options) *Video {
	return &Video{x, source{path: path}, o.withDefaults()}
}

// Close releases what OpenBytes took. No Decoder may be in use.
func (v *Video) Close() error {
	v.source.release()
	return nil
}

// NewDecoder returns a decoder that is at no frame.
func (v *Video) NewDecoder() *Decoder { return &Decoder{video: v} }

// Decoder decodes frames of a video. It is not safe for concurrent use.
type Decoder struct {
	video  *Video
	stream *stream // a process of ffmpeg, or nil
	images *images // what decodes in Go, or nil
	kept   []keptFrame
	free   [][]byte
	work   planes
}

// keptFrame is a frame as ffmpeg wrote it.
type keptFrame struct {
	number int
	pixels []byte
}

// Next returns the frame that the decoder would decode next, or -1 if it is at no frame.
func (d *Decoder) Next() int {
	if d.stream == nil {
		return -1
	}
	return d.stream.next
}

// Distance returns how many frames must be decoded to get a frame: 0 if it is kept.
func (d *Decoder) Distance(frame int) int {
	x := d.video.Index
	if x.Kind != ByProgram || d.find(frame) != nil {
		return 0
	}
	if d.goesOn(frame) {
		return frame - d.stream.next + 1
	}
	return frame - x.start(frame) + 1
}

// goesOn reports whether decoding on is the quickest way to a frame.
func (d *Decoder) goesOn(frame int) bool {
	return d.stream != nil && d.stream.next <= frame && d.stream.next >= d.video.start(frame)
}

func (d *Decoder) find(frame int) []byte {
	for i := range d.kept {
		if d.kept[i].number == frame {
			return d.kept[i].pixels
		}
	}
	return nil
}

// Decode writes a frame to dst: height times width times 3 bytes, RGB. It stops when ctx ends.
func (d *Decoder) Decode(ctx context.Context, frame int, dst []byte) error {
	v := d.video
	if frame < 0 || frame >= v.Frames() {
		return &errs.Error{Kind: errs.Invalid, Op: opName, Subject: v.source.String(),
			Want: fmt.Sprintf("a frame from 0 to %d", v.Frames()-1), Got: fmt.Sprint(frame)}
	}
	if want := v.Width * v.Height * 3; len(dst) != want {
		return &errs.Error{Kind: errs.Invalid, Op: opName, Subject: v.source.String(),
			Want: fmt.Sprintf("memory of %d bytes", want), Got: fmt.Sprint(len(dst))}
	}
	if err := v.options.Limits.CheckPixels(opName, v.Width, v.Height); err != nil {
		return err
	}
	if v.Kind != ByProgram {
		if d.images == nil {
			d.images = &images{video: v}
		}
		return d.describe(frame, d.images.decode(ctx, frame, dst))
	}
	pixels := d.find(frame)
	if pixels == nil {
		var err error
		if pixels, err = d.decodeTo(ctx, frame); err != nil {
			return d.describe(frame, err)
		}
	}
	d.work.toRGB(dst, pixels, v.Index)
	return nil
}

func (d *Decoder) describe(frame int, err error) error {
	if err == nil {
		return nil
	}
	return errs.Wrap("", fmt.Sprintf("%s, frame %d of %d", &d.video.source, frame, d.video.Frames()), err)
}

// decodeTo decodes up to a frame. If that fails where the decoder is, the frame is decoded again
// from its key frame, and then from the first frame, so that its error depends on nothing else. A
// process that others killed is begun again once.
func (d *Decoder) decodeTo(ctx context.Context, frame int) ([]byte, error) {
	v := d.video
	if d.goesOn(frame) {
		if p, err := d.advance(ctx, frame); err == nil || ctx.Err() != nil {
			return p, err
		}
	}
	var err error
	for _, from := range v.starts(frame) {
		for range 2 {
			d.stop()
			if d.stream, err = v.begin(ctx, from, frame); err != nil {
				return nil, err
			}
			var p []byte
			if p, err = d.advance(ctx, frame); err == nil || ctx.Err() != nil {
				return p, err
			}
			if !ffmpeg.IsKilled(err) {
				break
			}
		}
		if !isMissed(err) {
			break
		}
	}
	return nil, err
}

// advance reads frames up to a frame, and keeps what it passes.
func (d *Decoder) advance(ctx context.Context, frame int) ([]byte, error) {
	for {
		p := d.memory()
		number, err := d.stream.read(ctx, p)
		if err != nil {
			d.free = append(d.free, p)
			d.stop()
			return nil, err
		}
		d.kept = append(d.kept, keptFrame{number, p})
		switch {
		case number == frame:
			return p, nil
		case number > frame:
			return nil, d.stream.missed(frame, number)
		}
	}
}

// memory returns memory for a frame. It drops the oldest kept frame when there are enough.
func (d *Decoder) memory() []byte {
	size := d.video.frameSize()
	if most := max(1, d.video.options.Keep/max(1, size)); len(d.kept) >= most {
		drop := len(d.kept) - most + 1
		for _, k := range d.kept[:drop] {
			d.free = append(d.free, k.pixels)
		}
		d.kept = append(d.kept[:0], d.kept[drop:]...)
	}
	if n := len(d.free); n > 0 {
		p := d.free[n-1]
		d.free = d.free[:n-1]
		return p
	}
	return make([]byte, size)
}

func (d *Decoder) stop() {
	if d.stream != nil {
		d.stream.close()
		d.stream = nil
	}
}

// Close kills the process of the decoder. The decoder may be used again.
func (d *Decoder) Close() error {
	d.stop()
	if d.images != nil {
		d.images.close()
	}
	d.kept, d.free, d.images = nil, nil, nil
	return nil
}
