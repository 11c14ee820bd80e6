package video

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"

	"github.com/bivouac-ml/bivouac/codec/internal/ffmpeg"
	"github.com/bivouac-ml/bivouac/errs"
)

// stream is a process of ffmpeg that writes the frames of a video in order.
type stream struct {
	video   *Video
	process *ffmpeg.Process
	frames  nutReader
	next    int // the frame that comes next
}

// begin starts ffmpeg at a key frame. It writes the frames from a number on.
func (v *Video) begin(ctx context.Context, key, from int) (*stream, error) {
	p, err := ffmpeg.Find(ctx, opName, "ffmpeg", v.options.Stall)
	if err != nil {
		return nil, err
	}
	if err := v.source.hold(); err != nil {
		return nil, err
	}
	x := v.Index
	name, inherit := v.source.argument()
	args := []string{"-nostdin", "-hide_banner", "-loglevel", "error", "-threads", strconv.Itoa(v.options.Threads),
		"-protocol_whitelist", "file", "-fflags", "+discardcorrupt", "-noautorotate", "-copyts"}
	if key > 0 {
		args = append(args, "-noaccurate_seek", "-seek_timestamp", "1", "-ss", x.seconds(x.times[key]))
	}
	args = append(args, "-i", name, "-map", "0:V:0", "-autoscale", "0", "-an", "-sn", "-dn")
	if p.AtLeast(5, 1) {
		args = append(args, "-fps_mode", "passthrough")
	} else {
		args = append(args, "-vsync", "passthrough")
	}
	// Each frame carries its number, or its time from the time of the first frame on.
	filter := "setpts=N"
	if !x.counted {
		filter = fmt.Sprintf("select='gte(pts,%d)',setpts=PTS-(%d)", x.times[from], x.times[0])
	}
	args = append(args, "-vf", filter, "-enc_time_base", "-1", "-sws_flags", "bilinear+accurate_rnd+full_chroma_int",
		"-c:v", "rawvideo", "-pix_fmt", x.pixels, "-flush_packets", "1", "-f", "nut",
		"-blocksize", strconv.Itoa(ffmpeg.PipeSize), "pipe:1")
	s := &stream{video: v}
	if !x.counted {
		s.next = from
	}
	if s.process, err = p.Start(args, inherit); err != nil {
		return nil, err
	}
	s.frames.in = bufio.NewReaderSize(s.process, 1<<16)
	return s, nil
}

// read reads the next frame into p and returns its number.
func (s *stream) read(ctx context.Context, p []byte) (number int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	release := s.process.Allow(ctx)
	defer release()
	number, err = s.readFrame(p)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	s.next = number + 1
	return number, nil
}

func (s *stream) readFrame(p []byte) (number int, err error) {
	h, err := s.frames.next()
	if err == nil {
		if number, err = s.number(h.time); err != nil {
			return 0, err
		}
		if h.size != len(p) {
			return 0, &errs.Error{Kind: errs.Mismatch, Op: opName, Subject: fmt.Sprintf("frame %d", number),
				Want: fmt.Sprintf("%d x %d pixels, %d bytes", s.video.Width, s.video.Height, len(p)),
				Got:  fmt.Sprintf("%d bytes", h.size), Remedy: "the size must not change within a video"}
		}
		_, err = io.ReadFull(s.frames.in, p[copy(p, h.start):])
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, s.process.Failed(fmt.Sprintf("frame %d", s.next))
	}
	return number, err
}

// missed returns the error of a frame that does not come, although a later one does.
func (s *stream) missed(frame, number int) error {
	e := &errs.Error{Kind: errs.Corrupt, Op: opName, Subject: s.process.Path(), Want: fmt.Sprintf("frame %d", frame),
		Got: fmt.Sprintf("frame %d", number), Err: errMissed, Remedy: "the file may be damaged"}
	if text := s.process.Said(); text != "" {
		e.Got += fmt.Sprintf(", and ffmpeg says %q", text)
	}
	return e
}

// number returns the number of a frame with a time in units of ffmpeg's output.
func (s *stream) number(time int64) (int, error) {
	x := s.video.Index
	// ticks = time · (num/den of the output) ÷ (num/den of the file)
	t := big.NewInt(time)
	t.Mul(t, big.NewInt(s.frames.num)).Mul(t, big.NewInt(x.base[1]))
	var rest big.Int
	t.QuoRem(t, new(big.Int).Mul(big.NewInt(s.frames.den), big.NewInt(x.base[0])), &rest)
	if rest.Sign() != 0 || !t.IsInt64() {
		return 0, badNut("time %d of %d/%d s, which no frame of the file has", time, s.frames.num, s.frames.den)
	}
	ticks := t.Int64()
	number := int(ticks)
	if !x.counted {
		var ok bool
		if number, ok = x.at(ticks + x.times[0]); !ok {
			return 0, badNut("a frame at %s s, which the index does not have", x.seconds(ticks+x.times[0]))
		}
	}
	if number >= len(x.times) || number < s.next {
		return 0, &errs.Error{Kind: errs.Corrupt, Op: opName, Subject: "the output of ffmpeg",
			Want: fmt.Sprintf("frame %d of %d", s.next, len(x.times)), Got: fmt.Sprintf("frame %d", number),
			Remedy: "the file may be damaged, or have changed"}
	}
	return number, nil
}

var errMissed = errors.New("the program leaves the frame out")

func isMissed(err error) bool { return errors.Is(err, errMissed) }

func (s *stream) close() { s.process.End() }
