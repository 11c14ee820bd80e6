package opus

import (
	"fmt"

	"github.com/pion/opus"
)

// streams are the decoders of a file: one for a file of one or two channels, more for others.
type streams struct {
	list []opus.Decoder
	// scratch is what a decoder writes before its channels are put in their places.
	scratch []float32
	packet  []byte
}

// reset makes the decoders ready for a new file.
func (s *streams) reset(h *header, rate int) error {
	for len(s.list) < h.streams {
		s.list = append(s.list, opus.NewDecoder())
	}
	for i := range h.streams {
		channels := 1
		if i < h.coupled {
			channels = 2
		}
		if err := s.list[i].Init(rate, channels); err != nil {
			return damaged("a rate and channels", err.Error())
		}
	}
	return nil
}

// decode decodes a packet of all streams.
func (s *streams) decode(to []float32, packet []byte, h *header) error {
	if h.streams == 1 && h.channels == 1+h.coupled && h.mapping[0] == 0 && (h.channels == 1 || h.mapping[1] == 1) {
		return s.one(&s.list[0], to, packet, h.channels)
	}
	frames := len(to) / h.channels
	if cap(s.scratch) < 2*frames {
		s.scratch = make([]float32, 2*frames)
	}
	clear(to)
	channel := 0
	for i := range h.streams {
		part, width := packet, 1
		if i < h.streams-1 {
			var err error
			if s.packet, packet, err = undelimit(s.packet[:0], packet); err != nil {
				return err
			}
			part = s.packet
		}
		if i < h.coupled {
			width = 2
		}
		pcm := s.scratch[:frames*width]
		if err := s.one(&s.list[i], pcm, part, width); err != nil {
			return err
		}
		for c, from := range h.mapping {
			if from == 255 || int(from) < channel || int(from) >= channel+width {
				continue
			}
			for f := range frames {
				to[f*h.channels+c] = pcm[f*width+int(from)-channel]
			}
		}
		channel += width
	}
	return nil
}

// one decodes a packet of one stream, which must fill to.
func (s *streams) one(d *opus.Decoder, to []float32, packet []byte, channels int) error {
	n, err := d.DecodeToFloat32(packet, to)
	if err != nil {
		return damaged("a packet of Opus", err.Error())
	}
	if n*channels != len(to) {
		return damaged(fmt.Sprintf("a packet of %d frames", len(to)/channels), fmt.Sprint(n))
	}
	return nil
}

// duration returns the frames of a packet at 48 kHz. Its first byte has the mode and the length of
// a frame in bits 7 to 3, and in bits 1 to 0 how the number of frames is written.
func duration(packet []byte) (int, error) {
	if len(packet) < 1 {
		return 0, damaged("a packet of Opus", "an empty one")
	}
	mode := packet[0] >> 3
	frame := 0
	switch {
	case mode < 12: // SILK: 10, 20, 40, 60 ms
		frame = [4]int{480, 960, 1920, 2880}[mode&3]
	case mode < 16: // hybrid: 10, 20 ms
		frame = 480 << (mode & 1)
	default: // CELT: 2.5, 5, 10, 20 ms
		frame = 120 << (mode & 3)
	}
	n := 1
	switch packet[0] & 3 {
	case 1, 2:
		n = 2
	case 3:
		if len(packet) < 2 {
			return 0, damaged("the number of frames of a packet", "the end of it")
		}
		n = int(packet[1] & 63)
	}
	if n < 1 || n*frame > mostFrames {
		return 0, damaged("a packet of up to 120 ms", fmt.Sprintf("%d frames of %d at 48 kHz", n, frame))
	}
	return n * frame, nil
}

// undelimit takes the first packet from b. It says the size of its last frame, which other packets
// leave to the end. The packet is appended to buf without that size.
func undelimit(buf, b []byte) (packet, rest []byte, err error) {
	short := func() error { return damaged("a packet of each stream", "the end of the packet") }
	size := func(b []byte) (n, bytes int) {
		switch {
		case len(b) > 0 && b[0] < 252:
			return int(b[0]), 1
		case len(b) > 1:
			return int(b[0]) + 4*int(b[1]), 2
		}
		return -1, 0
	}
	if len(b) < 1 {
		return nil, nil, short()
	}
	at, body := 1, 0 // at: behind what is known of the head; body: bytes of the frames
	padding := 0
	frames, equal := 1, true
	switch b[0] & 3 {
	case 1:
		frames = 2
	case 2:
		frames, equal = 2, false
	case 3:
		if len(b) < 2 {
			return nil, nil, short()
		}
		frames, equal, at = int(b[1]&63), b[1]&0x80 == 0, 2
		for more := b[1]&0x40 != 0; more; {
			if at >= len(b) {
				return nil, nil, short()
			}
			v := int(b[at])
			if at++; v == 255 {
				padding += 254
			} else {
				padding, more = padding+v, false
			}
		}
	}
	if !equal {
		for range frames - 1 {
			n, bytes := size(b[at:])
			if n < 0 {
				return nil, nil, short()
			}
			at, body = at+bytes, body+n
		}
	}
	n, bytes := size(b[at:])
	if n < 0 {
		return nil, nil, short()
	}
	head := at
	at += bytes
	if body += n; equal {
		body = n * frames
	}
	if body+padding > len(b)-at {
		return nil, nil, short()
	}
	packet = append(append(buf, b[:head]...), b[at:at+body+padding]...)
	return packet, b[at+body+padding:], nil
}
