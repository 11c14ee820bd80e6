// Package wav reads WAV and RF64 files, and writes the headers of WAV files: PCM samples of 8, 16,
// 24 and 32 bits, floats of 32 and 64 bits, A-law, µ-law, and the ADPCM codings of IMA and
// Microsoft.
//
// Samples of A-law, µ-law and ADPCM are decoded to 16 bits. Whole blocks of ADPCM are decoded, so
// their last frames can be padding.
package wav

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/codec/internal/pcm"
	"github.com/bivouac-ml/bivouac/errs"
)

func init() {
	audio.Register(audio.Format{Name: "WAV", Detect: Detect, New: func() audio.Opener { return opener{} }})
}

type opener struct{}

// Open implements audio.Opener.
func (opener) Open(b []byte, limit int64) (audio.Sound, error) {
	a, err := Parse(b)
	if err != nil {
		return nil, err
	}
	return a, audio.CheckSize("wav", int64(a.Frames())*int64(a.Channels()), 4, limit)
}

const maxChannels = 1024

var le = binary.LittleEndian

// Detect reports whether a file begins like a WAV file.
func Detect(head []byte) bool {
	return len(head) >= 12 && (string(head[:4]) == "RIFF" || string(head[:4]) == "RF64") && string(head[8:12]) == "WAVE"
}

// open is the size of the data of a program that wrote a stream: the data ends with the file.
const open = 0xffffffff

// Parse reads the headers of a file. Fails with errs.Corrupt for a file that is cut or contradicts
// itself, and with errs.Unsupported for other encodings. The size that the file gives for itself is
// not used: programs that write streams leave it open. The result shares memory with the file
// unless samples were compressed.
func Parse(b []byte) (audio.Sound, error) {
	if !Detect(b) {
		return nil, damaged("a file that begins with RIFF and WAVE", fmt.Sprintf("%q", b[:min(12, len(b))]))
	}
	var f *format
	long := int64(-1) // the size of the data of RF64
	for rest := b[12:]; ; {
		if len(rest) < 8 {
			if f == nil {
				return nil, damaged("a chunk fmt", "none")
			}
			return nil, damaged("a chunk data", "none")
		}
		id, size := string(rest[:4]), int64(le.Uint32(rest[4:]))
		rest = rest[8:]
		if id == "data" && size == open {
			if size = int64(len(rest)); long >= 0 {
				size = long
			}
		}
		if size > int64(len(rest)) {
			return nil, damaged(fmt.Sprintf("%d bytes of chunk %q", size, id), fmt.Sprint(len(rest)))
		}
		chunk := rest[:size]
		switch id {
		case "ds64":
			if len(chunk) >= 16 {
				long = int64(min(le.Uint64(chunk[8:]), 1<<62))
			}
		case "fmt ":
			var err error
			if f, err = newFormat(chunk); err != nil {
				return nil, err
			}
		case "data":
			if f == nil {
				return nil, damaged("a chunk fmt before the data", "none")
			}
			return f.decode(chunk)
		}
		rest = rest[min(int64(len(rest)), size+size%2):]
	}
}

// extensible is the encoding whose real one comes at the end of the chunk, with this tail.
const extensible = 0xfffe

var guid = []byte{0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71}

// The encodings.
const (
	encodedPCM   = 1
	encodedMS    = 2
	encodedFloat = 3
	encodedALaw  = 6
	encodedULaw  = 7
	encodedIMA   = 17
)

// format is a chunk fmt.
type format struct {
	encoding              uint16
	channels, rate, bits  int
	blockBytes, blockSize int // bytes and frames of a block of ADPCM
	coefficients          [][2]int32
}

func newFormat(b []byte) (*format, error) {
	if len(b) < 16 {
		return nil, damaged("a chunk fmt of at least 16 bytes", fmt.Sprint(len(b)))
	}
	f := &format{encoding: le.Uint16(b), channels: int(le.Uint16(b[2:])), rate: int(le.Uint32(b[4:])),
		blockBytes: int(le.Uint16(b[12:])), bits: int(le.Uint16(b[14:]))}
	if f.encoding == extensible && len(b) >= 40 && bytes.Equal(b[26:40], guid) {
		f.encoding = le.Uint16(b[24:])
	}
	known := false
	switch f.encoding {
	case encodedPCM:
		known = f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32
	case encodedFloat:
		known = f.bits == 32 || f.bits == 64
	case encodedALaw, encodedULaw:
		known = f.bits == 8
	case encodedIMA, encodedMS:
		known = f.bits == 4
	}
	if !known {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "wav",
			Want: "PCM of 8, 16, 24 or 32 bits, floats of 32 or 64 bits, A-law, µ-law, or ADPCM of 4 bits",
			Got:  fmt.Sprintf("encoding %d with %d bits", f.encoding, f.bits), Remedy: "convert the file"}
	}
	if f.channels < 1 || f.channels > maxChannels || f.rate < 1 {
		return nil, damaged(fmt.Sprintf("1 to %d channels and a rate", maxChannels),
			fmt.Sprintf("%d channels, %d frames per second", f.channels, f.rate))
	}
	if f.bits == 4 {
		return f, f.blocks(b)
	}
	return f, nil
}

// decode returns the samples of the data.
func (f *format) decode(data []byte) (audio.Sound, error) {
	kind := pcm.Signed
	switch f.encoding {
	case encodedPCM:
		if f.bits == 8 {
			kind = pcm.Unsigned
		}
	case encodedFloat:
		kind = pcm.Float
	case encodedALaw, encodedULaw:
		if len(data)%f.channels != 0 {
			return nil, damaged(fmt.Sprintf("frames of %d bytes", f.channels), fmt.Sprintf("%d bytes", len(data)))
		}
		return pcm.New(f.channels, f.rate, 16, pcm.Signed, le, pcm.Companded(data, f.encoding == encodedALaw)), nil
	default:
		return f.adpcm(data)
	}
	if frame := f.channels * f.bits / 8; len(data)%frame != 0 {
		return nil, damaged(fmt.Sprintf("frames of %d bytes", frame), fmt.Sprintf("%d bytes", len(data)))
	}
	return pcm.New(f.channels, f.rate, f.bits, kind, le, data), nil
}

func damaged(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "wav", Want: want, Got: got, Remedy: "the file is cut or damaged"}
}
