package webp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

const frameHeader = 16 // bytes of the header of a frame

// firstFrame returns the first frame of an animation. ok is false for other files.
func firstFrame(data []byte) (frame []byte, ok bool) {
	for rest := data[12:]; len(rest) >= 8; {
		name, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		body := rest[:min(size, uint64(len(rest)))]
		if name == "ANMF" {
			if uint64(len(body)) < size {
				body = nil // cut
			}
			return body, true
		}
		rest = rest[min(size+size&1, uint64(len(rest))):]
	}
	return nil, extended(data) && data[20]&animated != 0
}

// extended reports whether the file has a header that says what is in it.
func extended(data []byte) bool {
	return len(data) >= 30 && string(data[12:16]) == "VP8X"
}

// animated is the bit of the extended header that marks an animation.
const animated = 0x02

// decodeFrame decodes a frame to its place in an image with header h. Around it, pixels are black
// and transparent.
func decodeFrame(frame []byte, h raster.Header, img *raster.Image) error {
	if len(frame) < frameHeader {
		return raster.Corrupt("webp", "a complete first frame", fmt.Sprintf("%d bytes", len(frame)))
	}
	uint24 := func(at int) int { return int(frame[at]) | int(frame[at+1])<<8 | int(frame[at+2])<<16 }
	at := image.Pt(2*uint24(0), 2*uint24(3))
	place := image.Rectangle{Min: at, Max: at.Add(image.Pt(1+uint24(6), 1+uint24(9)))}
	if !place.In(image.Rect(0, 0, h.Width, h.Height)) {
		return raster.Corrupt("webp", fmt.Sprintf("a frame within %dx%d", h.Width, h.Height), place.String())
	}
	still := stillFile(frame[frameHeader:], place.Size())
	part := raster.Image{Limits: img.Limits}
	if err := Decode(still, &part); err != nil {
		return err
	}
	if size := image.Pt(part.Width, part.Height); size != place.Size() {
		return raster.Corrupt("webp", "a frame of "+place.Size().String(), size.String())
	}
	if err := img.Reset(h); err != nil {
		return err
	}
	for y := range h.Height {
		row := img.Row(h.Width)
		clear(row)
		if y >= place.Min.Y && y < place.Max.Y {
			from := part.Pix[(y-place.Min.Y)*part.Width*part.Channels:]
			for x := range part.Width {
				to := row[(place.Min.X+x)*h.Channels:][:h.Channels]
				if h.Channels == 4 {
					to[3] = 0xff
				}
				copy(to, from[x*part.Channels:(x+1)*part.Channels])
			}
		}
		if err := img.Put(y, 0, 1, row); err != nil {
			return err
		}
	}
	return nil
}

// stillFile makes a file of the chunks of a frame. Alpha beside a lossy image needs an extended
// header.
func stillFile(chunks []byte, size image.Point) []byte {
	file := []byte("RIFF\x00\x00\x00\x00WEBP")
	if bytes.HasPrefix(chunks, []byte("ALPH")) {
		const alpha = 0x10
		w, h := size.X-1, size.Y-1
		file = append(file, "VP8X\x0a\x00\x00\x00"...)
		file = append(file, alpha, 0, 0, 0, byte(w), byte(w>>8), byte(w>>16), byte(h), byte(h>>8), byte(h>>16))
	}
	file = append(file, chunks...)
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	return file
}
