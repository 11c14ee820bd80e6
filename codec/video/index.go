package video

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/codec/internal/ffmpeg"
	"github.com/bivouac-ml/bivouac/errs"
)

// Kind says how a video is decoded.
type Kind uint8

// The kinds.
const (
	ByProgram  Kind = iota // by ffmpeg
	MotionJPEG             // in Go: JPEG images
	GIF                    // in Go
	WebP                   // in Go
)

// Index says what frames a video has, in the order in which they are shown. It does not change.
type Index struct {
	Kind          Kind
	Codec         string // as ffprobe names it
	Width, Height int

	pixels   string   // the format of pixels that ffmpeg is asked for
	full     bool     // whether the luma has all values from 0 to 255
	num, den int64    // of the unit of times, in seconds
	base     [2]int64 // the time base of the file, which is the unit unless the times are made up
	times    []int64  // of each frame, in units of the time base
	keys     []int    // the frames from which decoding can begin, 0 first
	counted  bool     // frames have no times to be found by: decoding begins at the first one
	parts    []part   // of each frame that is decoded in Go
}

// part is where the bytes of a frame are.
type part struct{ offset, size int64 }

// Frames returns the number of frames.
func (x *Index) Frames() int { return len(x.times) }

// Seconds returns the time of a frame, in seconds.
func (x *Index) Seconds(frame int) float64 {
	return float64(x.times[frame]) * float64(x.num) / float64(x.den)
}

// seconds writes a time in seconds, rounded up to microseconds.
func (x *Index) seconds(ticks int64) string {
	us := math.Ceil(float64(ticks) * float64(x.num) / float64(x.den) * 1e6)
	return strconv.FormatFloat(us/1e6, 'f', 6, 64)
}

// at returns the frame that has a time.
func (x *Index) at(ticks int64) (frame int, ok bool) { return slices.BinarySearch(x.times, ticks) }

// start returns the frame from which decoding begins to reach a frame.
func (x *Index) start(frame int) int {
	at, ok := slices.BinarySearch(x.keys, frame)
	if !ok {
		at--
	}
	return x.keys[at]
}

// starts returns where decoding may begin to reach a frame: the key frame before it, and if ffmpeg
// does not find that one, the first frame.
func (x *Index) starts(frame int) []int {
	if k := x.start(frame); k > 0 {
		return []int{k, 0}
	}
	return []int{0}
}

// readIndex finds the frames of a video.
func readIndex(ctx context.Context, s *source, o Options) (*Index, error) {
	if x, err := readImages(s, o); x != nil || err != nil {
		return x, err
	}
	p, err := ffmpeg.Find(ctx, opName, "ffprobe", o.Stall)
	if err != nil {
		return nil, err
	}
	if err := s.hold(); err != nil {
		return nil, err
	}
	r := indexReader{options: o}
	if err := r.run(ctx, p, s, "packet=pts,flags"); err != nil {
		return nil, err
	}
	if r.vague() {
		held := r.held
		r = indexReader{options: o, byFrames: true, held: held}
		if err := r.run(ctx, p, s, "frame=best_effort_timestamp,key_frame"); err != nil {
			return nil, err
		}
	}
	return r.index(s)
}

// indexReader makes an index of what ffprobe prints.
type indexReader struct {
	options  Options
	byFrames bool // decodes the video to know its frames
	held     bool // some packets say no time
	times    []int64
	keys     []int64 // times of key frames
	fields   map[string]string
}

// run reads packets or frames of the first stream of pictures.
func (r *indexReader) run(ctx context.Context, p ffmpeg.Program, s *source, entries string) error {
	name, inherit := s.argument()
	args := []string{"-hide_banner", "-loglevel", "error", "-protocol_whitelist", "file", "-fflags",
		"+discardcorrupt", "-select_streams", "V:0",
		"-show_entries", entries + ":stream=codec_name,width,height,pix_fmt,color_range,time_base,field_order,avg_frame_rate",
		"-of", "compact", name}
	return p.Lines(ctx, args, inherit, r.line)
}

// line reads a line such as "packet|pts=512|flags=K_".
func (r *indexReader) line(line []byte) error {
	kind, rest, _ := strings.Cut(string(line), "|")
	switch kind {
	case "stream":
		if r.fields == nil {
			r.fields = map[string]string{}
			eachField(rest, func(k, v string) { r.fields[k] = v })
		}
	case "packet", "frame":
		time, key, dropped, known := int64(0), false, false, false
		eachField(rest, func(k, v string) {
			switch k {
			case "pts", "best_effort_timestamp":
				t, err := strconv.ParseInt(v, 10, 64)
				time, known = t, err == nil
			case "flags":
				key, dropped = strings.HasPrefix(v, "K"), strings.Contains(v, "D")
			case "key_frame":
				key = v == "1"
			}
		})
		if dropped {
			return nil
		}
		r.held = r.held || !known
		if len(r.times) >= r.options.MaxFrames {
			return tooManyFrames(r.options)
		}
		r.times = append(r.times, time)
		if key {
			r.keys = append(r.keys, time)
		}
	}
	return nil
}

func eachField(text string, f func(k, v string)) {
	for field := range strings.SplitSeq(text, "|") {
		if k, v, ok := strings.Cut(field, "="); ok {
			f(k, v)
		}
	}
}

// vague reports whether the packets do not tell the frames: a packet has no time or the time of
// another one, may be a frame that is not shown (VP8) or half a frame (fields).
func (r *indexReader) vague() bool {
	codec, fields := r.fields["codec_name"], r.fields["field_order"]
	if r.held || codec == "vp8" || fields != "" && fields != "progressive" && fields != "unknown" {
		return true
	}
	slices.Sort(r.times)
	for i := 1; i < len(r.times); i++ {
		if r.times[i] == r.times[i-1] {
			return true
		}
	}
	return false
}

// index makes the index.
func (r *indexReader) index(s *source) (*Index, error) {
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Corrupt, Op: opName, Want: want, Got: got, Remedy: "check that the file is a video"}
	}
	if r.fields == nil {
		return nil, bad("a stream of pictures", "none")
	}
	x := &Index{Kind: ByProgram, Codec: r.fields["codec_name"], times: r.times}
	var err error
	if x.Width, err = strconv.Atoi(r.fields["width"]); err == nil {
		x.Height, err = strconv.Atoi(r.fields["height"])
	}
	if err != nil || x.Width < 1 || x.Height < 1 {
		return nil, bad("a size", fmt.Sprintf("%q x %q", r.fields["width"], r.fields["height"]))
	}
	if err := r.options.Limits.CheckPixels(opName, x.Width, x.Height); err != nil {
		return nil, err
	}
	if x.num, x.den, err = parseRatio(r.fields["time_base"]); err != nil {
		return nil, bad("a time base", strconv.Quote(r.fields["time_base"]))
	}
	x.base = [2]int64{x.num, x.den}
	if len(r.times) == 0 {
		return nil, bad("at least one frame", "none")
	}
	x.pixels, x.full = choosePixels(r.fields["pix_fmt"], r.fields["color_range"])
	x.counted = r.held || r.byFrames && !increasing(r.times)
	if !x.counted {
		slices.Sort(x.times)
	} else if !increasing(x.times) {
		// The times are made up from the rate.
		num, den, err := parseRatio(r.fields["avg_frame_rate"])
		if err != nil {
			num, den = 25, 1
		}
		x.num, x.den = den, num
		for i := range x.times {
			x.times[i] = int64(i)
		}
	}
	x.keys = []int{0}
	if !x.counted {
		slices.Sort(r.keys)
		for _, t := range r.keys {
			if i, ok := x.at(t); ok && i > x.keys[len(x.keys)-1] {
				x.keys = append(x.keys, i)
			}
		}
	}
	return x, nil
}

func increasing(times []int64) bool {
	for i := 1; i < len(times); i++ {
		if times[i] <= times[i-1] {
			return false
		}
	}
	return true
}

// parseRatio parses two positive numbers, such as "1/90000".
func parseRatio(text string) (num, den int64, err error) {
	a, b, _ := strings.Cut(text, "/")
	if num, err = strconv.ParseInt(a, 10, 32); err == nil {
		den, err = strconv.ParseInt(b, 10, 32)
	}
	if err == nil && (num < 1 || den < 1) {
		err = strconv.ErrRange
	}
	return num, den, err
}

// KeyBefore returns the frame from which decoding begins to reach a frame, if no process is on its
// way there.
func (x *Index) KeyBefore(frame int) int {
	if x.Kind == MotionJPEG || x.Kind != ByProgram && frame < 0 {
		return frame
	}
	if x.Kind != ByProgram {
		return 0
	}
	return x.start(frame)
}

// FrameAt returns the first frame that is not shown before a time in seconds, or with up false the
// last frame that is not shown after it. The time counts as a number of single precision, and is
// cut to the unit of times of the video. Times beyond the ends give 0, and with up the number of
// frames.
func (x *Index) FrameAt(seconds float64, up bool) int {
	ticks := math.Trunc(float64(float32(seconds)) * float64(x.den) / float64(x.num))
	at, found := slices.BinarySearchFunc(x.times, ticks, func(t int64, ticks float64) int {
		return cmp.Compare(float64(t), ticks)
	})
	if !up && !found {
		at--
	}
	return max(at, 0)
}
