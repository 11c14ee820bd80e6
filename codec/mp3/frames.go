package mp3

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// A file is tags, then frames, then tags. A frame begins with four bytes:
//
//	11 bits set │ 2 version │ 2 layer │ 1 without CRC │ 4 bit rate │ 2 rate │ 1 padding │ 1 │ 2 channels │ 6
//
// The first frame may have no sound but say what the file has.
const frameHead = 4

// frame is the header of a frame.
type frame struct {
	version  byte // 3: MPEG-1, 2: MPEG-2, 0: MPEG-2.5
	rate     int
	channels int
	size     int // bytes
}

var (
	rates    = [3]int{44100, 48000, 32000} // of MPEG-1; MPEG-2 has half of them, and MPEG-2.5 a quarter
	bitRates = [2][16]int{
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}, // MPEG-2 and 2.5
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
	}
)

// parseFrame reads the header of a frame of layer III.
func parseFrame(b []byte) (f frame, ok bool) {
	if len(b) < frameHead || b[0] != 0xff || b[1]&0xe6 != 0xe2 {
		return f, false
	}
	f.version = b[1] >> 3 & 3
	bits, rate := b[2]>>4, b[2]>>2&3
	if f.version == 1 || bits == 15 || rate == 3 {
		return f, false
	}
	f.rate, f.channels = rates[rate], 2
	if b[3]>>6 == 3 {
		f.channels = 1
	}
	switch f.version {
	case 3:
		f.size = 144000 * bitRates[1][bits] / f.rate
	case 2:
		f.rate /= 2
		f.size = 72000 * bitRates[0][bits] / f.rate
	default:
		f.rate /= 4
		f.size = 72000 * bitRates[0][bits] / f.rate
	}
	if f.size > 0 { // 0: the free format, whose frames do not say their size
		f.size += int(b[2] >> 1 & 1)
	}
	return f, true
}

// samples returns the samples of a channel in a frame.
func (f frame) samples() int {
	if f.version == 3 {
		return 1152
	}
	return 576
}

// side returns the size of what follows the header before the sound.
func (f frame) side() int {
	switch {
	case f.version == 3 && f.channels == 2:
		return 32
	case f.version == 3, f.channels == 2:
		return 17
	}
	return 9
}

// stream is what a file has.
type stream struct {
	frame
	data   []byte // all frames with sound
	frames int
	skip   int // samples of a channel that are left out at the start
	length int // samples of a channel that are left
}

// parse reads all headers of a file.
func parse(b []byte) (s stream, err error) {
	if b, err = skipID3(b); err != nil {
		return s, err
	}
	whole := len(b)
	at := func() string { return fmt.Sprintf("byte %d behind the tags", whole-len(b)) }
	first, ok := parseFrame(b)
	if !ok {
		return s, damaged("a frame of layer III", fmt.Sprintf("%x", b[:min(len(b), frameHead)]))
	}
	s.frame = first
	t := tag{frames: -1}
	for n := 0; ; n++ {
		f, ok := parseFrame(b)
		if !ok {
			rest, err := skipTail(b)
			if err != nil {
				return s, err
			}
			if _, more := parseFrame(rest); more {
				return s, &errs.Error{Kind: errs.Unsupported, Op: opName, Want: "one file",
					Got: "another file behind the tags at " + at(), Remedy: "split the file"}
			}
			if len(rest) > 0 {
				return s, damaged("a frame of layer III at "+at(), fmt.Sprintf("%x", b[:min(len(b), frameHead)]))
			}
			break
		}
		if f.size == 0 {
			return s, unsupported("frames that say their bit rate", "the free format")
		}
		if f.version != first.version || f.rate != first.rate || f.channels != first.channels {
			return s, unsupported(fmt.Sprintf("%d channels at %d Hz in all frames", first.channels, first.rate),
				fmt.Sprintf("%d channels at %d Hz at %s", f.channels, f.rate, at()))
		}
		if f.size > len(b) {
			return s, damaged(fmt.Sprintf("a frame of %d bytes at %s", f.size, at()), fmt.Sprintf("%d bytes", len(b)))
		}
		if n == 0 {
			if t, ok = parseTag(f, b[:f.size]); ok {
				b = b[f.size:]
				s.data = b
				continue
			}
			s.data = b
		}
		s.frames++
		b = b[f.size:]
	}
	s.data = s.data[:len(s.data)-len(b)]
	if t.frames >= 0 && t.frames != s.frames {
		return s, damaged(fmt.Sprintf("%d frames, as the first frame says", t.frames), fmt.Sprint(s.frames))
	}
	s.mute()
	total := s.frames * s.samples()
	s.skip = t.skip
	if s.length = total - t.skip - t.rest; s.length < 1 {
		return s, damaged(fmt.Sprintf("more than the %d samples that are left out", t.skip+t.rest), fmt.Sprint(total))
	}
	return s, nil
}

// tag is what a first frame without sound says.
type tag struct {
	frames     int // or -1
	skip, rest int // samples of a channel that are left out at the start and at the end
}

// decoderDelay is how many samples later than its input a decoder of layer III is.
const decoderDelay = 529

// parseTag reads the tag of Xing and LAME, or of Fraunhofer.
func parseTag(f frame, b []byte) (t tag, ok bool) {
	t.frames = -1
	if len(b) > 36+4 && string(b[36:40]) == "VBRI" {
		return t, true
	}
	b = b[min(len(b), frameHead+f.side()):]
	if len(b) < 8 || string(b[:4]) != "Xing" && string(b[:4]) != "Info" {
		return t, false
	}
	flags := binary.BigEndian.Uint32(b[4:])
	b = b[8:]
	const table = 100
	for i, size := range []int{4, 4, table, 4} { // frames, bytes, places, quality
		if flags>>i&1 == 0 {
			continue
		}
		if len(b) < size {
			return t, true
		}
		if i == 0 {
			t.frames = int(binary.BigEndian.Uint32(b))
		}
		b = b[size:]
	}
	if len(b) < 24 || b[0] == 0 { // the name of an encoder and its settings
		return t, true
	}
	delay, padding := int(b[21])<<4|int(b[22])>>4, int(b[22]&15)<<8|int(b[23])
	t.skip, t.rest = delay+decoderDelay, max(0, padding-decoderDelay)
	return t, true
}

// skipID3 returns what follows the tags at the start of a file.
func skipID3(b []byte) ([]byte, error) {
	const head = 10
	for bytes.HasPrefix(b, []byte("ID3")) {
		if len(b) < head {
			return nil, damaged("a tag of ID3", fmt.Sprintf("%d bytes", len(b)))
		}
		size := head
		for i, v := range b[6:head] {
			size += int(v&0x7f) << (21 - 7*i)
		}
		if b[5]&0x10 != 0 { // its head is repeated at its end
			size += head
		}
		if size > len(b) {
			return nil, damaged(fmt.Sprintf("a tag of ID3 of %d bytes", size), fmt.Sprintf("%d bytes", len(b)))
		}
		b = b[size:]
	}
	return b, nil
}

// skipTail returns what follows the tags and zeros at the end of a file.
func skipTail(b []byte) ([]byte, error) {
	const id3v1, ape = 128, 32
	for {
		before := len(b)
		var err error
		if b, err = skipID3(bytes.TrimLeft(b, "\x00")); err != nil {
			return nil, err
		}
		switch {
		case bytes.HasPrefix(b, []byte("TAG")):
			b = b[min(len(b), id3v1):]
		case bytes.HasPrefix(b, []byte("APETAGEX")) && len(b) >= ape:
			size := int64(ape) // a foot alone
			if flags := binary.LittleEndian.Uint32(b[20:]); flags>>29&1 == 1 {
				size += int64(binary.LittleEndian.Uint32(b[12:])) // a head, then items and a foot
			}
			if size > int64(len(b)) {
				return nil, damaged(fmt.Sprintf("a tag of APE of %d bytes", size), fmt.Sprintf("%d bytes", len(b)))
			}
			b = b[size:]
		case bytes.HasPrefix(b, []byte("LYRICSBEGIN")):
			for _, end := range []string{"LYRICS200", "LYRICSEND"} {
				if at := bytes.Index(b, []byte(end)); at >= 0 {
					b = b[at+len(end):]
					break
				}
			}
		}
		if len(b) == before {
			return b, nil
		}
	}
}

// mute makes the frames at the start silent that need sound of frames before the first one. It
// copies the frames if there are any.
func (s *stream) mute() {
	const most = 511 // bytes of earlier frames that a frame uses
	kept, at := 0, 0 // bytes of sound of earlier frames
	copied := false
	for i := 0; i < s.frames && kept < most; i++ {
		f, _ := parseFrame(s.data[at:])
		from := at + frameHead
		if s.data[at+1]&1 == 0 {
			from += 2 // a CRC
		}
		side := f.side()
		if f.size < from-at+side {
			return // ffmpeg refuses it
		}
		need := int(s.data[from]) // bytes of earlier frames; 9 bits in MPEG-1
		if f.version == 3 {
			need = need<<1 | int(s.data[from+1]>>7)
		}
		if need > kept {
			if !copied {
				s.data, copied = bytes.Clone(s.data), true
			}
			clear(s.data[from : from+side])
		}
		kept += f.size - (from - at) - side
		at += f.size
	}
}
