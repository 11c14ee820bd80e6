//go:build cgo && libjpeg

package jpeg

/*
#cgo LDFLAGS: -ljpeg
#cgo noescape bivouac_jpeg_decode
#cgo nocallback bivouac_jpeg_decode
#include <stdio.h>
#include <jpeglib.h>
#include "shim.h"
#ifndef LIBJPEG_TURBO_VERSION_NUMBER
#error "the headers do not belong to libjpeg-turbo; build without the tag libjpeg"
#endif
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/bivouac-ml/bivouac/codec/jpeg/internal/pure"
	"github.com/bivouac-ml/bivouac/errs"
)

// backend is the decoder of this build: libjpeg-turbo, and the decoder in Go for
//
//   - windows, if the decoder in Go has vector instructions, because it skips the rest of the image
//     faster,
//   - the gray of four inks, which DALI does not compute as libjpeg would,
//   - files that libjpeg-turbo refuses. DALI decodes some of them, such as files whose only scan is
//     followed by bytes that look like unknown markers. A file that is cut off within its only scan
//     is not tried again: both decoders refuse it.
type backend struct {
	turbo    turbo
	portable portable
}

func (b *backend) decode(j *job) error {
	if !j.fast && pure.Vectors() && (j.region.W < j.header.Width || j.region.H < j.header.Height) {
		return b.portable.decode(j)
	}
	if j.format == Gray && j.header.Components == 4 {
		return b.portable.decode(j)
	}
	err := b.turbo.decode(j)
	if err == nil || b.turbo.cut || errors.Is(err, errs.Exhausted) {
		return err
	}
	switch other := b.portable.decode(j); {
	case other == nil:
		return nil
	case errors.Is(other, errs.Exhausted):
		return other
	}
	return err
}

const advice = ""

func identity() string {
	const v = C.LIBJPEG_TURBO_VERSION_NUMBER
	return fmt.Sprintf("libjpeg-turbo %d.%d.%d", v/1000000, v/1000%1000, v%1000)
}

// turbo decodes with libjpeg-turbo. It keeps one decompressor, whose memory the library manages
// itself. It cannot convert four inks to gray.
type turbo struct {
	*handle
	cut bool // the last file ended within the data of its only scan
}

type handle struct{ c *C.bivouac_jpeg }

func (t *turbo) open() error {
	c := C.bivouac_jpeg_new()
	if c == nil {
		return &errs.Error{Kind: errs.Exhausted, Op: "jpeg", Got: "no memory for a decompressor"}
	}
	t.handle = &handle{c}
	runtime.AddCleanup(t.handle, func(c *C.bivouac_jpeg) { C.bivouac_jpeg_free(c) }, c)
	return nil
}

func (t *turbo) decode(j *job) (err error) {
	t.cut = false
	dst, data, h, r := j.dst, j.data, j.header, j.region
	if t.handle == nil {
		if err := t.open(); err != nil {
			return err
		}
	}
	w := C.bivouac_jpeg_window{
		width: C.int(h.Width), height: C.int(h.Height),
		x: C.int(r.X), y: C.int(r.Y), w: C.int(r.W), h: C.int(r.H),
		format: C.int(j.format), max_scans: MaxScans,
	}
	if j.fast {
		w.fast = 1
	}
	if !j.limits.Deadline.IsZero() {
		w.milliseconds = C.longlong(max(1, time.Until(j.limits.Deadline).Milliseconds()))
	}
	code := C.bivouac_jpeg_decode(t.c, (*C.uchar)(unsafe.SliceData(data)), C.size_t(len(data)), (*C.uchar)(unsafe.SliceData(dst)), w)
	switch code {
	case C.BIVOUAC_JPEG_OK:
	case C.BIVOUAC_JPEG_LATE:
		if err = j.limits.Interrupted(); err == nil {
			err = &errs.Error{Kind: errs.Exhausted, Op: "jpeg", Got: "no time left"}
		}
	default:
		t.cut = code == C.BIVOUAC_JPEG_CUT
		kind := map[C.int]errs.Kind{C.BIVOUAC_JPEG_UNSUPPORTED: errs.Unsupported, C.BIVOUAC_JPEG_EXHAUSTED: errs.Exhausted}[code]
		if kind == 0 {
			kind = errs.Corrupt
		}
		err = &errs.Error{Kind: kind, Op: "jpeg", Got: "Failed to decode: " + C.GoString(C.bivouac_jpeg_message(t.c))}
	}
	runtime.KeepAlive(t.handle)
	return err
}
