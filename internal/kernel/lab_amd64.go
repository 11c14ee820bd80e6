//go:build !purego

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// useLab: tables of 256 bytes are looked up in registers, and bits are counted.
var useLab = useVBMI && cpu.X86.HasAVX512BITALG

// labFromRGB and labToRGB return how many pixels they made.
func labFromRGB(t *Lab, light, a, b, rgb []byte) int {
	const block, read = 16, 64 // pixels, bytes
	if !useLab || len(rgb) < read {
		return 0
	}
	blocks := (len(rgb)-read)/(3*block) + 1
	labFromRGBAVX512(&light[0], &a[0], &b[0], &rgb[0], blocks, (*byte)(unsafe.Pointer(&t.vector)), &t.root[0])
	return blocks * block
}

func labToRGB(t *Lab, rgb, light, a, b []byte) int {
	blocks := len(light) / wide
	if !useLab || blocks == 0 {
		return 0
	}
	labToRGBAVX512(&rgb[0], &light[0], &a[0], &b[0], blocks, (*byte)(unsafe.Pointer(&t.vector)))
	return blocks * wide
}
