// Package opus decodes Ogg Opus files.
//
// The decoder is github.com/pion/opus, which is written in Go. As in libsndfile, and so in DALI, a
// file is decoded at 8, 12, 16, 24 or 48 kHz: the least of these that is not below the rate of the
// recording, which the header names. The beginning that the header says is left out, and so is
// what lies behind the position of the last page. The gain of the header is applied.
//
// Packets of the CELT mode, as music has them, give samples within 2 levels of int16 of libopus.
// Packets of the SILK and hybrid modes, as speech at low rates has them, differ more: libopus
// rounds in fixed point there, and the decoder computes with floats. See docs/numerics.md.
package opus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/codec/internal/pcm"
	"github.com/bivouac-ml/bivouac/errs"
)

func init() {
	audio.Register(audio.Format{Name: "Ogg Opus", Detect: detect, New: func() audio.Opener { return new(Decoder) }})
}

// identification is the start of the first packet.
const identification = "OpusHead"

func detect(head []byte) bool {
	return bytes.HasPrefix(head, []byte("OggS")) && bytes.Contains(head[:min(len(head), 64)], []byte(identification))
}

// Decoder decodes files. It keeps memory from file to file.
type Decoder struct {
	sound   pcm.Lossy
	streams streams
	buffer  []float32
}

const (
	fullRate    = 48000
	mostFrames  = fullRate * 120 / 1000 // of a packet, at 48 kHz
	mostStreams = 255
)

func damaged(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "opus", Want: want, Got: got, Remedy: "the file is cut or damaged"}
}

// header is the first packet of a file.
type header struct {
	channels int
	skip     int // frames at 48 kHz that are left out
	rate     int // of the recording
	gain     float32
	// A packet has this many packets of streams. The first of them, coupled many, are stereo.
	streams, coupled int
	mapping          []byte // of each channel: the channel of the streams, or 255 for silence
}

// parseHeader reads the first packet.
func parseHeader(b []byte) (h header, err error) {
	const least = 19
	if len(b) < least || string(b[:8]) != identification {
		return h, damaged("a header of Opus", fmt.Sprintf("%d bytes that begin with %q", len(b), b[:min(len(b), 8)]))
	}
	if version := b[8]; version == 0 || version >= 2 { // libopusfile takes 0 to 15, libsndfile 1
		return h, &errs.Error{Kind: errs.Unsupported, Op: "opus", Want: "a header of version 1",
			Got: fmt.Sprint("version ", version), Remedy: "convert the file"}
	}
	le := binary.LittleEndian
	h.channels, h.skip, h.rate = int(b[9]), int(le.Uint16(b[10:])), int(le.Uint32(b[12:]))
	h.gain = float32(math.Pow(10, float64(int16(le.Uint16(b[16:])))/(20*256)))
	switch family := b[18]; family {
	case 0:
		if h.channels < 1 || h.channels > 2 {
			return h, damaged("1 or 2 channels", fmt.Sprint(h.channels))
		}
		h.streams, h.coupled, h.mapping = 1, h.channels-1, []byte{0, 1}[:h.channels]
		return h, nil
	case 1, 255:
		if len(b) < least+2+h.channels {
			return h, damaged("a header with a table of channels", fmt.Sprintf("%d bytes", len(b)))
		}
		h.streams, h.coupled, h.mapping = int(b[19]), int(b[20]), b[21:21+h.channels]
		if h.channels < 1 || h.streams < 1 || h.coupled > h.streams || h.streams+h.coupled > mostStreams {
			return h, damaged("channels and streams", fmt.Sprintf("%d channels, %d streams, %d of them stereo",
				h.channels, h.streams, h.coupled))
		}
		for _, c := range h.mapping {
			if int(c) >= h.streams+h.coupled && c != 255 {
				return h, damaged(fmt.Sprintf("a table of %d channels", h.streams+h.coupled), fmt.Sprint("channel ", c))
			}
		}
		return h, nil
	default:
		return h, &errs.Error{Kind: errs.Unsupported, Op: "opus", Want: "channels of family 0, 1 or 255",
			Got: fmt.Sprint("family ", family), Remedy: "convert the file"}
	}
}

// factor returns how many frames at 48 kHz are a frame of the output.
func (h *header) factor() int {
	switch {
	case h.rate > 24000:
		return 1
	case h.rate > 16000:
		return 2
	case h.rate > 12000:
		return 3
	case h.rate > 8000:
		return 4
	}
	return 6
}

// span returns the first frame that is decoded and kept, and the end, at 48 kHz.
func (h *header) span(list []ended) (first, end int, err error) {
	total, begin, known := 0, 0, false
	for i, p := range list {
		n, err := duration(p.packet)
		if err != nil {
			return 0, 0, err
		}
		total += n
		if p.position < 0 {
			continue
		}
		switch {
		case known || p.last && p.position <= int64(total):
		case p.position < int64(total):
			return 0, 0, damaged(fmt.Sprintf("a first page of at least %d frames", total), fmt.Sprint(p.position))
		case p.last:
			return 0, 0, damaged(fmt.Sprintf("packets up to position %d", p.position), fmt.Sprintf("up to %d", total))
		default: // a stream that was cut from a longer one begins later
			begin = int(min(p.position, math.MaxInt)) - total
		}
		known = true
		end = int(min(p.position-int64(begin), math.MaxInt32))
		if end > total || end < total && i != len(list)-1 {
			return 0, 0, damaged(fmt.Sprintf("packets up to position %d", p.position), fmt.Sprintf("up to %d", total+begin))
		}
	}
	if !known || list[len(list)-1].position < 0 {
		return 0, 0, damaged("the position of the last page", "none")
	}
	if end <= h.skip {
		return 0, 0, damaged(fmt.Sprintf("more than the %d frames that are left out", h.skip), fmt.Sprint(end))
	}
	return h.skip, end, nil
}

// Open implements audio.Opener.
func (d *Decoder) Open(b []byte, limit int64) (s audio.Sound, err error) {
	defer func() {
		if p := recover(); p != nil { // the library may trust its input
			s, err = nil, damaged("a file that can be decoded", fmt.Sprint(p))
		}
	}()
	if !detect(b) {
		return nil, damaged("a file that begins with OggS and a header of Opus", fmt.Sprintf("%q", b[:min(4, len(b))]))
	}
	list, err := packets(b)
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(list[0].packet)
	if err != nil {
		return nil, err
	}
	if len(list) < 3 || !bytes.HasPrefix(list[1].packet, []byte("OpusTags")) {
		return nil, damaged("a header, comments and packets of Opus", fmt.Sprintf("%d packets", len(list)))
	}
	if list[len(list)-1].more {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "opus", Want: "a file of one stream",
			Got: "another stream behind the first", Remedy: "split the file"}
	}
	list = list[2:]
	first, end, err := h.span(list)
	if err != nil {
		return nil, err
	}
	factor := h.factor()
	frames := (end - first) / factor
	first /= factor
	if err := audio.CheckSize("opus", int64(first+frames)*int64(h.channels), 4, limit); err != nil {
		return nil, err
	}
	if err := d.decode(&h, list, first+frames); err != nil {
		return nil, err
	}
	d.sound = pcm.NewLossy(d.buffer[first*h.channels:(first+frames)*h.channels], h.channels, fullRate/factor,
		math.MaxInt16)
	return &d.sound, nil
}

// decode decodes packets to the buffer, until it has n frames.
func (d *Decoder) decode(h *header, list []ended, n int) error {
	factor := h.factor()
	if err := d.streams.reset(h, fullRate/factor); err != nil {
		return err
	}
	if size := (n + mostFrames) * h.channels; cap(d.buffer) < size {
		d.buffer = make([]float32, 0, size)
	}
	d.buffer = d.buffer[:0]
	for i, p := range list {
		at := len(d.buffer)
		if at >= n*h.channels {
			return nil
		}
		want, err := duration(p.packet)
		if err != nil {
			return err
		}
		want /= factor
		to := d.buffer[at : at+want*h.channels]
		if err := d.streams.decode(to, p.packet, h); err != nil {
			return errs.Wrap("", fmt.Sprint("packet ", i), err)
		}
		if h.gain != 1 {
			for k := range to {
				to[k] *= h.gain
			}
		}
		d.buffer = d.buffer[:at+len(to)]
	}
	if len(d.buffer) < n*h.channels {
		return damaged(fmt.Sprintf("%d frames", n), fmt.Sprint(len(d.buffer)/h.channels))
	}
	return nil
}
