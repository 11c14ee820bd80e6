// Package audio opens files of sound. The packages of formats register themselves, so a program
// links only the formats that it imports:
//
//	codec/wav     WAV and RF64: PCM, floats, A-law, µ-law, ADPCM
//	codec/aiff    AIFF and AIFF-C: PCM, floats, A-law, µ-law
//	codec/flac    FLAC
//	codec/vorbis  Ogg Vorbis
//	codec/opus    Ogg Opus
//	codec/mp3     MP3, with the program ffmpeg
//
// The first bytes of a file show its format. The error for a format that is not linked, or that no
// package decodes, names the format.
package audio

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Sound is a decoded file, or a part of it. A frame has a sample of every channel. The methods that
// write samples write the channels of each frame next to each other; the slice has room for Frames
// times Channels numbers.
type Sound interface {
	Channels() int
	Rate() int // frames per second
	Frames() int
	// Floats reports whether samples are floats in the file.
	Floats() bool
	// Cut leaves n frames from a frame on. They must be there.
	Cut(first, n int)
	// Float32 writes samples as numbers from -1 to 1. Floats of the file are not limited.
	Float32(to []float32)
	// Int32 writes samples moved to the upper bits. Floats of the file are rounded as they are.
	Int32(to []int32)
	// Int16 writes the upper 16 bits of samples. Floats of the file are rounded as they are.
	Int16(to []int16)
}

// Opener decodes files of one format. It may keep memory from file to file.
type Opener interface {
	// Open decodes a file. The result is valid until the next call, and may share memory with the
	// file. It fails with errs.Exhausted if the samples need more than limit bytes.
	Open(file []byte, limit int64) (Sound, error)
}

// Format is a format that a package decodes.
type Format struct {
	Name   string
	Detect func(head []byte) bool
	New    func() Opener
}

var registry struct {
	sync.RWMutex
	formats []Format
}

// Register adds a format. The init functions of the packages of formats call it.
func Register(f Format) {
	registry.Lock()
	defer registry.Unlock()
	registry.formats = append(registry.formats, f)
}

// Decoder decodes files of all registered formats. The zero Decoder is ready to use. Only one
// goroutine may use it.
type Decoder struct{ openers map[string]Opener }

// Open decodes a file; see Opener. It fails with errs.Unsupported for a format that is not
// registered, and with errs.Corrupt for other files.
func (d *Decoder) Open(file []byte, limit int64) (Sound, error) {
	registry.RLock()
	defer registry.RUnlock()
	for i := range registry.formats {
		f := &registry.formats[i]
		if !f.Detect(file) {
			continue
		}
		o := d.openers[f.Name]
		if o == nil {
			if d.openers == nil {
				d.openers = map[string]Opener{}
			}
			o = f.New()
			d.openers[f.Name] = o
		}
		return o.Open(file, limit)
	}
	return nil, unknown(file)
}

// foreign are the formats that the error names.
var foreign = []struct {
	name, remedy string
	is           func(b []byte) bool
}{
	{"WAV", linked("wav"), begins("RIFF")}, {"RF64", linked("wav"), begins("RF64")},
	{"AIFF", linked("aiff"), begins("FORM")}, {"FLAC", linked("flac"), begins("fLaC")},
	{"Ogg Opus", linked("opus"), func(b []byte) bool {
		return begins("OggS")(b) && bytes.Contains(b[:min(len(b), 64)], []byte("OpusHead"))
	}},
	{"Ogg", linked("vorbis"), begins("OggS")},
	{"MP3", linked("mp3"), func(b []byte) bool {
		return begins("ID3")(b) || len(b) > 1 && b[0] == 0xff && b[1]&0xe6 == 0xe2
	}},
	{"AAC", convert, func(b []byte) bool { return len(b) > 1 && b[0] == 0xff && b[1]&0xf6 == 0xf0 }},
	{"MP4", convert, func(b []byte) bool { return len(b) > 8 && string(b[4:8]) == "ftyp" }},
	{"CAF", convert, begins("caff")}, {"AU", convert, begins(".snd")}, {"Wave64", convert, begins("riff")},
}

const convert = "convert the file to FLAC or WAV"

func linked(name string) string { return "import codec/" + name + ", or convert the file" }

func begins(magic string) func(b []byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }
}

func unknown(b []byte) error {
	for _, f := range foreign {
		if f.is(b) {
			return &errs.Error{Kind: errs.Unsupported, Subject: "audio", Want: "a format that is linked: " + formats(),
				Got: "a file of format " + f.name, Remedy: f.remedy}
		}
	}
	return &errs.Error{Kind: errs.Corrupt, Subject: "audio", Want: "a file of sound: " + formats(),
		Got: fmt.Sprintf("%d bytes that begin with %q", len(b), b[:min(4,
			len(b))]), Remedy: "the file is damaged, or of another format"}
}

// formats returns the names of all registered formats.
func formats() string {
	s := ""
	for i, f := range registry.formats {
		if i > 0 {
			s += ", "
		}
		s += f.Name
	}
	return s
}

// CheckSize returns an error if n samples of size bytes exceed limit bytes. what names the format.
func CheckSize(what string, n, size, limit int64) error {
	if n >= 0 && n <= limit/size {
		return nil
	}
	return &errs.Error{Kind: errs.Exhausted, Op: what, Want: fmt.Sprintf("samples of at most %d bytes", limit),
		Got: fmt.Sprintf("%d samples of %d bytes", n, size), Remedy: "raise Options.Limits.MaxBytes if the data is sound"}
}

// Mono writes the mean of the channels of each frame. to may be the start of frames.
func Mono(to, frames []float32, channels int) {
	if channels == 1 {
		copy(to, frames)
		return
	}
	weight := 1 / float32(channels)
	for f := range to[:len(frames)/channels] {
		sum := float32(0)
		for _, v := range frames[f*channels : (f+1)*channels] {
			sum += float32(v * weight)
		}
		to[f] = sum
	}
}
