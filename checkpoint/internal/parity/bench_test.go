package parity

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/internal/crc"
)

// BenchmarkEncoder compares the cost of parity with the cost of a CRC-32C of the same bytes.
func BenchmarkEncoder(b *testing.B) {
	data := make([]byte, 64<<20)
	for i := range data {
		data[i] = byte(i * 31)
	}
	b.Run("crc", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			crc.Sum(data)
		}
	})
	for _, percent := range []int{1, 3, 5, 10} {
		b.Run(fmt.Sprint(percent), func(b *testing.B) {
			b.ReportAllocs()
			before := cpu()
			defer func() { b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op") }()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				e := newEncoder(newTable(shapeOf(int64(len(data)), percent), nil), func(region, []byte) error { return nil })
				for off := 0; off < len(data); off += 4 << 20 {
					if err := e.add(data[off:off+4<<20], int64(off)); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// cpu is the time of the processor that this process took, in nanoseconds: a busy machine
// does not change it much.
func cpu() int64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
