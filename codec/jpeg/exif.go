package jpeg

import (
	"bytes"
	"encoding/binary"
)

// orientation returns the EXIF orientation of a JPEG file (CIPA DC-008, tag
// 0x0112), or 1 when there is none or it makes no sense.
func orientation(data []byte) int {
	const app1, startOfScan, endOfImage = 0xe1, 0xda, 0xd9
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker := data[at+1]
		if marker == 0xff { // a fill byte
			at++
			continue
		}
		if marker == startOfScan || marker == endOfImage {
			break
		}
		size := int(binary.BigEndian.Uint16(data[at+2:]))
		if size < 2 || at+2+size > len(data) {
			break
		}
		if body := data[at+4 : at+2+size]; marker == app1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) {
			return tiffOrientation(body[6:])
		}
		at += 2 + size
	}
	return 1
}

// tiffOrientation reads the tag from the first directory of a TIFF header.
func tiffOrientation(b []byte) int {
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

// reorient writes the stored image src to dst as its orientation asks.
func reorient(dst, src []uint8, h Header, channels int) {
	// The pixel at output (x, y) comes from start + x*dx + y*dy, in pixels.
	w, last := h.Width, h.Width*h.Height-1
	var start, dx, dy int
	switch h.Orientation {
	case 2: // mirrored
		start, dx, dy = w-1, -1, w
	case 3: // upside down
		start, dx, dy = last, -1, -w
	case 4: // mirrored and upside down
		start, dx, dy = last-(w-1), 1, -w
	case 5: // transposed
		start, dx, dy = 0, w, 1
	case 6: // to be turned right
		start, dx, dy = last-(w-1), -w, 1
	case 7: // transposed over the other diagonal
		start, dx, dy = last, -w, -1
	case 8: // to be turned left
		start, dx, dy = w-1, w, -1
	default:
		start, dx, dy = 0, 1, w
	}
	outW, outH := h.Oriented()
	at := 0
	for y := range outH {
		from := start + y*dy
		for range outW {
			copy(dst[at:at+channels], src[from*channels:from*channels+channels])
			at += channels
			from += dx
		}
	}
}
