// Package vorbis decodes Ogg Vorbis files.
//
// The decoder is github.com/jfreymuth/oggvorbis. Samples differ from other decoders by rounding.
package vorbis

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/codec/internal/pcm"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/jfreymuth/oggvorbis"
)

func init() {
	audio.Register(audio.Format{Name: "Ogg Vorbis", Detect: detect, New: func() audio.Opener { return new(Decoder) }})
}

// identification is the start of the first packet.
const identification = "\x01vorbis"

func detect(head []byte) bool {
	return bytes.HasPrefix(head, []byte("OggS")) && bytes.Contains(head[:min(len(head), 64)], []byte(identification))
}

// Decoder decodes files. It keeps memory from file to file.
type Decoder struct {
	sound  pcm.Lossy
	buffer []float32
}

const (
	maxChannels = 255
	step        = 4096 // frames that are read at a time
)

func damaged(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "vorbis", Want: want, Got: got, Remedy: "the file is cut or damaged"}
}

// Open implements audio.Opener.
func (d *Decoder) Open(b []byte, limit int64) (s audio.Sound, err error) {
	defer func() {
		if p := recover(); p != nil { // the library trusts its input
			s, err = nil, damaged("a file that can be decoded", fmt.Sprint(p))
		}
	}()
	if !detect(b) {
		return nil, damaged("a file that begins with OggS and a header of Vorbis", fmt.Sprintf("%q", b[:min(4, len(b))]))
	}
	if err := checkHeaders(b); err != nil {
		return nil, err
	}
	r, err := oggvorbis.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, damaged("the headers of Vorbis", err.Error())
	}
	channels, rate := r.Channels(), r.SampleRate()
	if channels < 1 || channels > maxChannels || rate < 1 {
		return nil, damaged("channels and a rate", fmt.Sprintf("%d channels, %d frames per second", channels, rate))
	}
	claimed := r.Length()
	d.buffer = d.buffer[:0]
	for {
		if cap(d.buffer)-len(d.buffer) < step*channels {
			d.buffer = append(d.buffer, make([]float32, max(step*channels, len(d.buffer)))...)[:len(d.buffer)]
		}
		n, err := r.Read(d.buffer[len(d.buffer) : len(d.buffer)+step*channels])
		d.buffer = d.buffer[:len(d.buffer)+n]
		if err := audio.CheckSize("vorbis", int64(len(d.buffer)), 4, limit); err != nil {
			return nil, err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, damaged("packets of Vorbis", err.Error())
		}
	}
	if frames := int64(len(d.buffer) / channels); claimed > 0 && frames < claimed {
		return nil, damaged(fmt.Sprintf("%d frames", claimed), fmt.Sprint(frames))
	}
	d.sound = pcm.NewLossy(d.buffer, channels, rate, math.MaxInt16)
	return &d.sound, nil
}
