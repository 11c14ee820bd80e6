// Package exif turns images as the orientation in their EXIF data says (CIPA DC-008, tag 0x0112): 1
// as stored, 2 to 4 mirrored or upside down, 5 to 8 with rows and columns exchanged.
package exif

import (
	"bytes"
	"encoding/binary"
)

// Segment returns the orientation in the APP1 segment of a JPEG file, or 1 if the segment has no
// orientation.
func Segment(body []byte) int {
	if exif, ok := bytes.CutPrefix(body, []byte("Exif\x00\x00")); ok {
		return Orientation(exif)
	}
	return 1
}

// Orientation reads the tag from the first directory of EXIF data, which has the form of a TIFF
// file. It returns 1 if the tag is missing or invalid.
func Orientation(b []byte) int {
	const tag, short, headerSize, entrySize = 0x0112, 3, 8, 12
	if len(b) < headerSize {
		return 1
	}
	var order binary.ByteOrder
	switch string(b[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 1
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 1
	}
	entries := int(order.Uint16(b[at:]))
	for e := b[at+2:]; entries > 0 && len(e) >= entrySize; entries, e = entries-1, e[entrySize:] {
		if order.Uint16(e) != tag {
			continue
		}
		if o := int(order.Uint16(e[8:])); order.Uint16(e[2:]) == short && o >= 1 && o <= 8 {
			return o
		}
		break
	}
	return 1
}

// Steps returns where the pixels of the turned image lie in the stored image of w x h pixels. The
// pixel at (x, y) of the turned image is stored pixel start + x*dx + y*dy.
func Steps(w, h, orientation int) (start, dx, dy int) {
	last := w*h - 1
	switch orientation {
	case 2: // mirrored
		return w - 1, -1, w
	case 3: // upside down
		return last, -1, -w
	case 4: // mirrored and upside down
		return last - (w - 1), 1, -w
	case 5: // transposed
		return 0, w, 1
	case 6: // to be turned right
		return last - (w - 1), -w, 1
	case 7: // transposed over the other diagonal
		return last, -w, -1
	case 8: // to be turned left
		return w - 1, w, -1
	}
	return 0, 1, w
}

// Turn writes src to dst, turned as the orientation says. src is a stored image, or a window of it,
// with w x h pixels of size bytes each.
func Turn(dst, src []uint8, w, h, size, orientation int) {
	start, dx, dy := Steps(w, h, orientation)
	outW, outH := Size(w, h, orientation)
	at := 0
	for y := range outH {
		from := start + y*dy
		for range outW {
			copy(dst[at:at+size], src[from*size:from*size+size])
			at += size
			from += dx
		}
	}
}

// Size returns the size of an image of w x h pixels after turning.
func Size(w, h, orientation int) (width, height int) {
	if orientation > 4 {
		return h, w
	}
	return w, h
}

// Stored returns the place in the stored image, of w x h pixels, of a window of the turned image.
// The window has its corner at x, y and the size width x height.
func Stored(x, y, width, height, w, h, orientation int) (left, top, columns, rows int) {
	left, top, columns, rows = x, y, width, height
	if orientation > 4 {
		left, top, columns, rows = y, x, height, width
	}
	switch orientation {
	case 2, 3, 7, 8: // columns run backwards
		left = w - left - columns
	}
	switch orientation {
	case 3, 4, 6, 7: // rows run backwards
		top = h - top - rows
	}
	return left, top, columns, rows
}
