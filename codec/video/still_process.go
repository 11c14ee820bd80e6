package video

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/codec/internal/ffmpeg"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// A process of ffmpeg decodes one still image after the other. It reads them as the frames of an
// IVF stream, which says the length and the time of each, and writes them as a NUT stream, which
// says the same. Each time is used once.
//
//	in:  mark 0 │ image 1, mark 2, mark 3 │ image 4, …
//	out: mark 0 │ image 1, mark 2 …
//
// A mark is a tiny image that is whole. ffmpeg may keep back the last frame, so marks follow
// each image. An image that is not returned before the mark behind it is damaged.

// stillKind says what a process decodes, and to what. One process serves images of one kind.
type stillKind struct {
	codec  string // the name in an IVF stream: MJ2C, AV01 or HEVC
	op     string // of errors
	pixels string // the format of pixels that ffmpeg writes
	filter string // from the colours of the file, or "" for what the codec says
}

// marks are tiny images of each codec, in hexadecimal.
var marks = map[string]string{
	"MJ2C": "ff4fff510029000000000008000000080000000000000000000000080000000800000000000000000001070101" +
		"ff52000c00000001000304040001ff5c000d4040484850484850484850ff90000a0000000000150001ff93df800807808080ffd9",
	"AV01": "12000a081808bf6980868350320e194621879e68009040ca9f8dacf8",
	"HEVC": "0000000140010c01ffff01600000030090000003000003001e9598090000000142010101600000030090000003000003001ea0" +
		"884596566abcaf016808000003000800000300c840000000014401c173d0890000012801af1d80ee238fff5e8f",
}

// The times of processes.
const (
	idleStill  = 5 * time.Second        // how long a process waits for the next image
	markAgain  = 500 * time.Millisecond // how long until another mark is written
	stillStall = DefaultStall
)

// idle are the processes that wait for an image, the one that waited longest first.
var idle struct {
	sync.Mutex
	list []*stillProcess
}

// stillProcess is a process that decodes images.
type stillProcess struct {
	kind    stillKind
	process *ffmpeg.Process
	in      *os.File
	mark    []byte
	frames  nutReader
	next    int64 // the time of the next frame that is written
	used    bool  // whether it has decoded an image
	timer   *time.Timer

	mu sync.Mutex // guards in and next while marks are written
}

// decode decodes an image. read reads all its pixels, and may be called twice.
func (k stillKind) decode(data []byte, width, height int, l raster.Limits, read func(io.Reader) error) error {
	if err := l.Interrupted(); err != nil {
		return err
	}
	size, err := k.size(width, height)
	if err != nil {
		return err
	}
	ctx, cancel := context.Background(), func() {}
	if !l.Deadline.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, l.Deadline)
	}
	defer cancel()
	// The error of an image must not depend on what its process did before. So an image that fails is
	// decoded again by a new process. One that was killed is started again once.
	for again := false; ; again = true {
		p, err := k.take(ctx, again)
		if err != nil {
			return k.failed(ctx, l, err)
		}
		fresh := !p.used
		quiet := p.process.Listen()
		if err = p.decode(ctx, data, size, read); err != nil && ctx.Err() == nil && !errors.Is(err, errs.Exhausted) {
			err = p.explain(err)
		}
		quiet()
		if err == nil {
			p.give()
			return nil
		}
		p.end()
		if ctx.Err() != nil || again || fresh && !ffmpeg.IsKilled(err) {
			return k.failed(ctx, l, err)
		}
		if err := l.Interrupted(); err != nil {
			return err
		}
	}
}

// failed returns the error of the limit of time in place of the error of a context.
func (k stillKind) failed(ctx context.Context, l raster.Limits, err error) error {
	if !late(ctx) {
		return err
	}
	if why := l.Interrupted(); why != nil {
		return why
	}
	return &errs.Error{Kind: errs.Exhausted, Op: k.op, Want: "the image within its time", Err: context.DeadlineExceeded}
}

// late reports whether the time of ctx is over. The pipe has the same deadline, and may notice it
// first.
func late(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(end)
}

// size returns the bytes of an image.
func (k stillKind) size(width, height int) (int, error) {
	for depth, names := range pixelFormats {
		for i, name := range names {
			if name == k.pixels {
				return width * height * (i + 1) * (depth + 1), nil
			}
		}
	}
	return 0, &errs.Error{Kind: errs.Invalid, Op: k.op, Want: "a format of pixels", Got: k.pixels}
}

// take returns a process that waits, or a new one.
func (k stillKind) take(ctx context.Context, fresh bool) (*stillProcess, error) {
	idle.Lock()
	for i := len(idle.list) - 1; i >= 0 && !fresh; i-- {
		p := idle.list[i]
		if p.kind == k {
			idle.list = append(idle.list[:i], idle.list[i+1:]...)
			p.timer.Stop()
			idle.Unlock()
			return p, nil
		}
	}
	idle.Unlock()
	return k.start(ctx)
}

// chroma returns how chroma of less resolution is interpolated: as libheif and libavif do.
func (k stillKind) chroma() string {
	switch k.codec {
	case "HEVC":
		return "neighbor"
	case "AV01":
		return "bicubic"
	}
	return "bilinear"
}

// marks returns how many marks follow an image.
func (k stillKind) marks() int {
	if k.codec == "HEVC" {
		return 4 // its decoder keeps frames back as well
	}
	return 2
}

// mostIdle returns how many processes may wait: two for each processor, as images with alpha use
// two.
func mostIdle() int { return 2 * max(2, runtime.GOMAXPROCS(0)) }

// give lets a process wait for the next image. It ends when none comes for a while.
func (p *stillProcess) give() {
	p.used = true
	idle.Lock()
	idle.list = append(idle.list, p)
	p.timer = time.AfterFunc(idleStill, p.retire)
	var old *stillProcess
	if len(idle.list) > mostIdle() {
		old = idle.list[0]
		idle.list = append(idle.list[:0], idle.list[1:]...)
		old.timer.Stop()
	}
	idle.Unlock()
	if old != nil {
		old.end()
	}
}

// retire ends a process if it still waits.
func (p *stillProcess) retire() {
	idle.Lock()
	found := false
	for i, other := range idle.list {
		if found = other == p; found {
			idle.list = append(idle.list[:i], idle.list[i+1:]...)
			break
		}
	}
	idle.Unlock()
	if found {
		p.end()
	}
}

func (p *stillProcess) end() {
	p.in.Close() //nolint:errcheck // the process is killed
	p.process.End()
}

// start starts a process, and writes its first mark.
func (k stillKind) start(ctx context.Context) (*stillProcess, error) {
	program, err := ffmpeg.Find(ctx, opName, "ffmpeg", stillStall)
	if err != nil {
		return nil, errs.Wrap("", k.op, err)
	}
	mark, err := hex.DecodeString(marks[k.codec])
	if err != nil {
		return nil, err
	}
	args := []string{"-hide_banner", "-loglevel", "error", "-threads", "1", "-protocol_whitelist", "pipe",
		"-probesize", "32", "-analyzeduration", "0", "-fpsprobesize", "0", "-err_detect", "explode",
		"-f", "ivf"}
	if k.codec == "HEVC" {
		args = append(args, "-c:v", "hevc") // its name in an IVF stream is not known to old versions
	}
	args = append(args, "-i", "pipe:0", "-map", "0:v:0", "-autoscale", "0", "-copyts")
	if program.AtLeast(5, 1) {
		args = append(args, "-fps_mode", "passthrough")
	} else {
		args = append(args, "-vsync", "passthrough")
	}
	if k.filter != "" {
		args = append(args, "-vf", k.filter)
	}
	args = append(args, "-enc_time_base", "-1", "-sws_flags", k.chroma()+"+accurate_rnd+full_chroma_int+full_chroma_inp",
		"-c:v", "rawvideo", "-pix_fmt", k.pixels, "-flush_packets", "1", "-f", "nut",
		"-blocksize", strconv.Itoa(ffmpeg.PipeSize), "pipe:1")
	r, w, err := os.Pipe()
	if err != nil {
		return nil, &errs.Error{Kind: errs.IO, Op: k.op, Subject: program.Path, Err: err}
	}
	p := &stillProcess{kind: k, in: w, mark: mark}
	p.process, err = program.StartFrom(r, args, nil)
	r.Close() //nolint:errcheck // the process has its own
	if err != nil {
		w.Close() //nolint:errcheck // nothing was written
		return nil, err
	}
	p.frames.in = bufio.NewReaderSize(p.process, 1<<16)
	if err := p.write(ivfHeader(k.codec)); err == nil {
		p.send(mark) //nolint:errcheck // the first image finds it
	}
	return p, nil
}

// ivfHeader returns the beginning of a stream with 25 frames a second.
func ivfHeader(codec string) []byte {
	le := binary.LittleEndian
	b := le.AppendUint16([]byte("DKIF"), 0)
	b = append(le.AppendUint16(b, 32), codec...)
	b = le.AppendUint16(le.AppendUint16(b, 8), 8)
	b = le.AppendUint32(le.AppendUint32(b, ivfRate), 1)
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0)
}

const ivfRate = 25

func (p *stillProcess) write(b []byte) error {
	p.in.SetWriteDeadline(time.Now().Add(stillStall)) //nolint:errcheck // pipes have deadlines
	_, err := p.in.Write(b)
	return err
}

// send writes a frame and returns its time.
func (p *stillProcess) send(frame []byte) (time int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var head [12]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(frame)))
	binary.LittleEndian.PutUint64(head[4:], uint64(p.next))
	time = p.next
	p.next++
	if err = p.write(head[:]); err == nil {
		err = p.write(frame)
	}
	return time, err
}

// errDamaged marks an image for which ffmpeg returns no pixels.
var errDamaged = errors.New("the program leaves the image out")

// decode decodes an image of size bytes.
func (p *stillProcess) decode(ctx context.Context, data []byte, size int, read func(io.Reader) error) error {
	release := p.process.Allow(ctx)
	defer release()
	stop := make(chan struct{})
	written := make(chan struct{})
	var number int64
	// The image is written beside the reading: ffmpeg may write before it has read all.
	p.mu.Lock()
	number = p.next
	p.mu.Unlock()
	go func() {
		defer close(written)
		for i := range 1 + p.kind.marks() {
			b := p.mark
			if i == 0 {
				b = data
			}
			if _, err := p.send(b); err != nil {
				return // the reader sees the end
			}
		}
		for {
			select {
			case <-stop:
				return
			case <-time.After(markAgain):
				if _, err := p.send(p.mark); err != nil {
					return
				}
			}
		}
	}()
	err := p.receive(number, size, read)
	close(stop)
	if err != nil {
		p.in.SetWriteDeadline(time.Unix(1, 0)) //nolint:errcheck // pipes have deadlines
	}
	<-written
	return err
}

// receive reads the frame with a time.
func (p *stillProcess) receive(number int64, size int, read func(io.Reader) error) error {
	for {
		h, err := p.frames.next()
		if err != nil {
			return err
		}
		at, rest := h.time*p.frames.num*ivfRate, int64(0)
		if at, rest = at/p.frames.den, at%p.frames.den; rest != 0 {
			return badNut("time %d of %d/%d s", h.time, p.frames.num, p.frames.den)
		}
		switch {
		case at > number:
			return errDamaged
		case at < number:
			if _, err := p.frames.in.Discard(h.size - len(h.start)); err != nil {
				return err
			}
		case h.size != size:
			return &errs.Error{Kind: errs.Corrupt, Op: p.kind.op,
				Want: fmt.Sprintf("%d bytes of pixels, as the header says", size),
				Got:  fmt.Sprintf("%d bytes from ffmpeg", h.size), Remedy: "the file is damaged"}
		default:
			all := &io.LimitedReader{R: io.MultiReader(&fixed{h.start}, p.frames.in), N: int64(size)}
			if err := read(all); err != nil {
				return early(err)
			}
			_, err := io.Copy(io.Discard, all) // tiles may be larger than their part of the image
			return err
		}
	}
}

// fixed reads bytes.
type fixed struct{ b []byte }

// Read implements io.Reader.
func (f *fixed) Read(b []byte) (int, error) {
	if len(f.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, f.b)
	f.b = f.b[n:]
	return n, nil
}

// explain returns the error of an image with what ffmpeg said, once it has ended.
func (p *stillProcess) explain(err error) error {
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if !ended && !errors.Is(err, errDamaged) {
		return err
	}
	p.in.Close() //nolint:errcheck // the process ends
	p.process.Drain()
	if !ended {
		e := &errs.Error{Kind: errs.Corrupt, Op: p.kind.op, Want: "an image that ffmpeg decodes",
			Got: "no pixels", Remedy: "the file is damaged", Err: err}
		if text := p.process.Said(); text != "" {
			e.Got += ", and ffmpeg says " + strconv.Quote(text)
		}
		return e
	}
	return errs.Wrap("", p.kind.op, p.process.Failed("an image"))
}
