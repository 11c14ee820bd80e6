// Package flac decodes FLAC files (RFC 9639): samples of 4 to 32 bits and up to 8 channels.
//
// Checksums of headers and frames are checked, and so are the number of samples and the MD5 sum of
// the file, if it has them. A file that is cut, damaged or contradicts itself is an error of kind
// errs.Corrupt. A pair of channels of more than 24 bits that is stored as a sum or difference is an
// error of kind errs.Unsupported.
package flac

import (
	"crypto/md5"
	"fmt"
	"hash"
	"math"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/errs"
)

// Magic begins every file.
const Magic = "fLaC"

func init() {
	audio.Register(audio.Format{Name: "FLAC",
		Detect: func(b []byte) bool { return len(b) >= 4 && string(b[:4]) == Magic },
		New:    func() audio.Opener { return new(Decoder) }})
}

// Decoder decodes files. It keeps memory from file to file.
type Decoder struct {
	sound   sound
	r       reader
	planes  [][]int32 // the channels of a frame
	sum     hash.Hash
	bytes   []byte
	results []int32
	digest  [md5.Size]byte
}

// info is the block STREAMINFO.
type info struct {
	maxBlock             int
	rate, channels, bits int
	frames               int64 // 0: not known
	md5                  [md5.Size]byte
}

func damaged(where, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "flac", Subject: where, Want: want, Got: got,
		Remedy: "the file is cut or damaged"}
}

// Open implements audio.Opener.
func (d *Decoder) Open(b []byte, limit int64) (audio.Sound, error) {
	if len(b) < 4 || string(b[:4]) != Magic {
		return nil, damaged("start", fmt.Sprintf("%q", Magic), fmt.Sprintf("%q", b[:min(4, len(b))]))
	}
	in, at, err := metadata(b)
	if err != nil {
		return nil, err
	}
	if err := audio.CheckSize("flac", in.frames*int64(in.channels), 4, limit); err != nil {
		return nil, err
	}
	if d.sum == nil {
		d.sum = md5.New()
	}
	d.sum.Reset()
	d.results = d.results[:0]
	checked := in.md5 != [md5.Size]byte{}
	for frame := 0; at < len(b); frame++ {
		if in.frames > 0 && int64(len(d.results)) == in.frames*int64(in.channels) {
			break // tags of other programs may follow
		}
		before := len(d.results)
		n, err := d.frame(b[at:], &in, limit)
		if err != nil {
			return nil, errs.Wrap("flac", fmt.Sprintf("frame %d at byte %d", frame, at), err)
		}
		at += n
		if checked {
			d.hash(d.results[before:], in.bits)
		}
	}
	frames := int64(len(d.results) / in.channels)
	if in.frames > 0 && frames != in.frames {
		return nil, damaged("samples", fmt.Sprint(in.frames), fmt.Sprint(frames))
	}
	if checked {
		if d.sum.Sum(d.digest[:0]); d.digest != in.md5 {
			return nil, damaged("MD5 sum of the samples", fmt.Sprintf("%x", in.md5), fmt.Sprintf("%x", d.digest))
		}
	}
	d.sound = sound{samples: d.results, channels: in.channels, rate: in.rate, bits: in.bits}
	return &d.sound, nil
}

const streamInfo = 34 // bytes

// metadata reads the blocks before the frames and returns where they end.
func metadata(b []byte) (in info, at int, err error) {
	at = 4
	for first := true; ; first = false {
		if len(b)-at < 4 {
			return in, 0, damaged("metadata", "a block header", fmt.Sprintf("%d bytes", len(b)-at))
		}
		last, kind := b[at]&0x80 != 0, b[at]&0x7f
		size := int(b[at+1])<<16 | int(b[at+2])<<8 | int(b[at+3])
		at += 4
		if size > len(b)-at {
			return in, 0, damaged("metadata", fmt.Sprintf("a block of %d bytes", size), fmt.Sprintf("%d bytes", len(b)-at))
		}
		if first {
			if kind != 0 || size != streamInfo {
				return in, 0, damaged("metadata", "a block STREAMINFO of 34 bytes first",
					fmt.Sprintf("a block of type %d and %d bytes", kind, size))
			}
			s := b[at : at+size]
			in.maxBlock = int(s[2])<<8 | int(s[3])
			in.rate = int(s[10])<<12 | int(s[11])<<4 | int(s[12])>>4
			in.channels = int(s[12]>>1&7) + 1
			if in.bits = (int(s[12]&1)<<4 | int(s[13]>>4)) + 1; in.bits < 4 || in.rate == 0 {
				return in, 0, damaged("metadata", "a rate, and samples of at least 4 bits",
					fmt.Sprintf("%d frames per second of %d bits", in.rate, in.bits))
			}
			in.frames = int64(s[13]&15)<<32 | int64(s[14])<<24 | int64(s[15])<<16 | int64(s[16])<<8 | int64(s[17])
			copy(in.md5[:], s[18:])
		}
		if at += size; last {
			return in, at, nil
		}
	}
}

// hash adds samples to the MD5 sum, as little endian numbers of whole bytes.
func (d *Decoder) hash(samples []int32, bits int) {
	d.bytes = d.bytes[:0]
	switch size := (bits + 7) / 8; size {
	case 2:
		for _, v := range samples {
			d.bytes = append(d.bytes, byte(v), byte(v>>8))
		}
	case 3:
		for _, v := range samples {
			d.bytes = append(d.bytes, byte(v), byte(v>>8), byte(v>>16))
		}
	default:
		for _, v := range samples {
			for range size {
				d.bytes = append(d.bytes, byte(v))
				v >>= 8
			}
		}
	}
	d.sum.Write(d.bytes)
}

// sound is a decoded file.
type sound struct {
	samples              []int32
	channels, rate, bits int
}

func (s *sound) Channels() int { return s.channels }
func (s *sound) Rate() int     { return s.rate }
func (s *sound) Frames() int   { return len(s.samples) / s.channels }
func (s *sound) Floats() bool  { return false }

func (s *sound) Cut(first, n int) { s.samples = s.samples[first*s.channels : (first+n)*s.channels] }

// Float32 implements audio.Sound.
func (s *sound) Float32(to []float32) {
	if s.bits <= 24 {
		factor := float32(math.Ldexp(1, 1-s.bits))
		for i, v := range s.samples {
			to[i] = float32(v) * factor
		}
		return
	}
	factor := math.Ldexp(1, 1-s.bits)
	for i, v := range s.samples {
		to[i] = float32(float64(v) * factor)
	}
}

// Int32 implements audio.Sound.
func (s *sound) Int32(to []int32) {
	for i, v := range s.samples {
		to[i] = v << (32 - s.bits)
	}
}

// Int16 implements audio.Sound.
func (s *sound) Int16(to []int16) {
	for i, v := range s.samples {
		to[i] = int16(v << (32 - s.bits) >> 16)
	}
}
