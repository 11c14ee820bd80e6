package flac

import (
	"fmt"
	"math/bits"

	"github.com/bivouac-ml/bivouac/codec/audio"
	"github.com/bivouac-ml/bivouac/errs"
)

// header is the header of a frame.
type header struct {
	block, channels, bits, size int // size is in bytes, with the checksum
	joint                       int // 8: left and side, 9: side and right, 10: middle and side; else 0
}

var blockSizes = [16]int{0, 192, 576, 1152, 2304, 4608, 0, 0, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}

var sampleSizes = [8]int{0, 8, 12, -1, 16, 20, 24, 32}

// parse reads the header of a frame.
func parse(b []byte, in *info) (h header, err error) {
	cut := func() (header, error) { return h, damaged("header", "a whole header", fmt.Sprintf("%d bytes", len(b))) }
	if len(b) < 6 {
		return cut()
	}
	if b[0] != 0xff || b[1]&0xfe != 0xf8 {
		return h, damaged("header", "the bytes ff f8 or ff f9", fmt.Sprintf("%x", b[:2]))
	}
	block, rate, channels, size := int(b[2]>>4), int(b[2]&15), int(b[3]>>4), int(b[3]>>1&7)
	at := 4
	more := bits.LeadingZeros8(^b[at]) // of a number in UTF-8
	if more == 1 || more > 7 {
		return h, damaged("header", "a number in UTF-8", fmt.Sprintf("%x", b[at]))
	}
	at += max(1, more)
	need := at + 1
	switch block {
	case 6:
		need++
	case 7:
		need += 2
	}
	switch rate {
	case 12:
		need++
	case 13, 14:
		need += 2
	}
	if len(b) < need {
		return cut()
	}
	switch h.block = blockSizes[block]; block {
	case 0:
		return h, damaged("header", "a block size", "the reserved code 0")
	case 6:
		h.block = int(b[at]) + 1
	case 7:
		h.block = int(b[at])<<8 + int(b[at+1]) + 1
	}
	if h.bits = sampleSizes[size]; size == 0 {
		h.bits = in.bits
	}
	h.channels = channels + 1
	if channels >= 8 {
		h.channels, h.joint = 2, channels
	}
	h.size = need
	switch {
	case crc8(b[:need-1]) != b[need-1]:
		return h, damaged("header", fmt.Sprintf("the checksum %02x", crc8(b[:need-1])), fmt.Sprintf("%02x", b[need-1]))
	case rate == 15 || channels > 10 || h.bits < 0 || b[3]&1 != 0:
		return h, damaged("header", "no reserved code", fmt.Sprintf("% x", b[:4]))
	case h.bits != in.bits || h.channels != in.channels:
		return h, damaged("header", fmt.Sprintf("%d channels of %d bits, like the file", in.channels, in.bits),
			fmt.Sprintf("%d of %d", h.channels, h.bits))
	case h.block > 65535 || in.maxBlock > 0 && h.block > in.maxBlock:
		return h, damaged("header", fmt.Sprintf("a block of at most %d", in.maxBlock), fmt.Sprint(h.block))
	case h.joint != 0 && h.bits > 24:
		return h, &errs.Error{Kind: errs.Unsupported, Op: "flac", Want: "at most 24 bits in joint stereo",
			Got: fmt.Sprint(h.bits), Remedy: "convert the file to 24 bits"}
	}
	return h, nil
}

// frame decodes the frame at the start of b, appends its samples to results, and returns its bytes.
func (d *Decoder) frame(b []byte, in *info, limit int64) (int, error) {
	h, err := parse(b, in)
	if err != nil {
		return 0, err
	}
	total := len(d.results) + h.block*h.channels
	if err := audio.CheckSize("flac", int64(total), 4, limit); err != nil {
		return 0, err
	}
	for len(d.planes) < h.channels {
		d.planes = append(d.planes, nil)
	}
	d.r.start(b[h.size:])
	for c := range h.channels {
		if cap(d.planes[c]) < h.block {
			d.planes[c] = make([]int32, h.block)
		}
		d.planes[c] = d.planes[c][:h.block]
		width := h.bits
		if h.joint == 8 && c == 1 || h.joint == 9 && c == 0 || h.joint == 10 && c == 1 {
			width++
		}
		if err := d.r.subframe(d.planes[c], width); err != nil {
			return 0, errs.Wrap("", fmt.Sprintf("channel %d", c), err)
		}
	}
	end := h.size + d.r.align()
	if d.r.over() || end+2 > len(b) {
		return 0, damaged("", "a whole frame", fmt.Sprintf("%d bytes", len(b)))
	}
	if got, want := uint16(b[end])<<8|uint16(b[end+1]), crc16(b[:end]); got != want {
		return 0, damaged("", fmt.Sprintf("the checksum %04x", want), fmt.Sprintf("%04x", got))
	}
	at := len(d.results)
	if cap(d.results) < total {
		grown := make([]int32, at, max(total, min(2*cap(d.results), int(limit/4))))
		copy(grown, d.results)
		d.results = grown
	}
	d.results = d.results[:total]
	d.join(d.results[at:], &h)
	return end + 2, nil
}

// join writes the channels of a frame next to each other.
func (d *Decoder) join(to []int32, h *header) {
	if h.channels != 2 {
		for c, plane := range d.planes[:h.channels] {
			for i, v := range plane {
				to[i*h.channels+c] = v
			}
		}
		return
	}
	a, b := d.planes[0], d.planes[1]
	b, to = b[:len(a)], to[:2*len(a)]
	switch h.joint {
	case 8:
		for i, v := range a {
			to[2*i], to[2*i+1] = v, v-b[i]
		}
	case 9:
		for i, v := range b {
			to[2*i], to[2*i+1] = v+a[i], v
		}
	case 10:
		for i, side := range b {
			middle := a[i]<<1 | side&1
			to[2*i], to[2*i+1] = (middle+side)>>1, (middle-side)>>1
		}
	default:
		for i, v := range a {
			to[2*i], to[2*i+1] = v, b[i]
		}
	}
}

// subframe decodes the samples of a channel.
func (r *reader) subframe(to []int32, width int) error {
	if r.read(1) != 0 {
		return damaged("", "a zero bit before the type", "1")
	}
	kind := int(r.read(6))
	wasted := 0
	if r.read(1) == 1 {
		k, ok := r.unary(width)
		if wasted = k + 1; !ok || wasted >= width {
			return damaged("", fmt.Sprintf("less than %d unused bits", width), "more")
		}
		width -= wasted
	}
	var err error
	switch {
	case kind == 0:
		v := r.signed(uint(width))
		for i := range to {
			to[i] = v
		}
	case kind == 1:
		for i := range to {
			to[i] = r.signed(uint(width))
		}
	case kind >= 8 && kind <= 12:
		err = r.fixed(to, width, kind-8)
	case kind >= 32:
		err = r.linear(to, width, kind-31)
	default:
		err = damaged("", "a type of subframe", fmt.Sprintf("the reserved type %d", kind))
	}
	if wasted > 0 {
		for i := range to {
			to[i] <<= wasted
		}
	}
	return err
}

func (r *reader) warmUp(to []int32, width, order int) error {
	if order > len(to) {
		return damaged("", fmt.Sprintf("a predictor of order at most %d, the size of the block", len(to)), fmt.Sprint(order))
	}
	for i := range order {
		to[i] = r.signed(uint(width))
	}
	return nil
}

// fixed decodes samples that a fixed polynomial predicts.
func (r *reader) fixed(to []int32, width, order int) error {
	if err := r.warmUp(to, width, order); err != nil {
		return err
	}
	if err := r.residual(to, order); err != nil {
		return err
	}
	switch order {
	case 1:
		for i := 1; i < len(to); i++ {
			to[i] += to[i-1]
		}
	case 2:
		for i := 2; i < len(to); i++ {
			to[i] += 2*to[i-1] - to[i-2]
		}
	case 3:
		for i := 3; i < len(to); i++ {
			to[i] += 3*to[i-1] - 3*to[i-2] + to[i-3]
		}
	case 4:
		for i := 4; i < len(to); i++ {
			to[i] += 4*to[i-1] - 6*to[i-2] + 4*to[i-3] - to[i-4]
		}
	}
	return nil
}

// linear decodes samples that a linear predictor predicts.
func (r *reader) linear(to []int32, width, order int) error {
	if err := r.warmUp(to, width, order); err != nil {
		return err
	}
	precision := int(r.read(4)) + 1
	shift := r.signed(5)
	if precision == 16 || shift < 0 {
		return damaged("", "coefficients of at most 15 bits and a shift of at least 0", fmt.Sprintf("%d bits, shift %d",
			precision, shift))
	}
	var room [32]int32 // the last coefficient first
	c := room[:order]
	for i := range c {
		c[order-1-i] = r.signed(uint(precision))
	}
	if err := r.residual(to, order); err != nil {
		return err
	}
	if width+precision+bits.Len(uint(order)) <= 32 {
		predict32(to, c, uint(shift))
		return nil
	}
	for i := order; i < len(to); i++ {
		sum := int64(0)
		for k, v := range to[i-order : i] {
			sum += int64(c[k]) * int64(v)
		}
		to[i] += int32(sum >> shift)
	}
	return nil
}

// predict32 adds predictions whose sums fit 32 bits.
func predict32(to, c []int32, shift uint) {
	order := len(c)
	if order == 8 {
		k := (*[8]int32)(c)
		for i := 8; i < len(to); i++ {
			v := (*[8]int32)(to[i-8:])
			sum := k[0]*v[0] + k[1]*v[1] + k[2]*v[2] + k[3]*v[3] + k[4]*v[4] + k[5]*v[5] + k[6]*v[6] + k[7]*v[7]
			to[i] += sum >> shift
		}
		return
	}
	for i := order; i < len(to); i++ {
		past := to[i-order : i]
		sum := int32(0)
		k := 0
		for ; k+4 <= len(c) && k+4 <= len(past); k += 4 {
			a, b := (*[4]int32)(c[k:]), (*[4]int32)(past[k:])
			sum += a[0]*b[0] + a[1]*b[1] + a[2]*b[2] + a[3]*b[3]
		}
		for ; k < len(c) && k < len(past); k++ {
			sum += c[k] * past[k]
		}
		to[i] += sum >> shift
	}
}

// residual decodes the differences from the predictions, from element order on.
func (r *reader) residual(to []int32, order int) error {
	method, partitions := r.read(2), 1<<r.read(4)
	if method > 1 {
		return damaged("", "a coding of residuals", fmt.Sprintf("the reserved coding %d", method))
	}
	each := len(to) / partitions
	if each*partitions != len(to) || each < order {
		return damaged("", fmt.Sprintf("partitions of a block of %d, with a predictor of order %d", len(to), order),
			fmt.Sprint(partitions))
	}
	width := uint(4 + method)
	escape := uint32(1)<<width - 1
	for p := range partitions {
		part := to[max(order, p*each) : (p+1)*each]
		k := r.read(width)
		if k == escape {
			raw := uint(r.read(5))
			for i := range part {
				part[i] = r.signed(raw)
			}
			continue
		}
		if !r.rice(part, uint(k)) {
			return damaged("", "residuals", "the end of the file")
		}
	}
	return nil
}
