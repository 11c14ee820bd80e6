//go:build !purego

package castagnoli

import (
	"hash/crc32"
	"testing"
)

// Each of the instruction sets that the machine has gives the sum of hash/crc32 at each length
// around the bounds of its blocks.
func TestInstructionSets(t *testing.T) {
	for _, c := range []struct {
		name   string
		has    bool
		fold   fold
		blocks *[2]block
	}{{"PCLMULQDQ", usePCLMULQDQ, foldPCLMULQDQ, &narrow}, {"VPCLMULQDQ", useVPCLMULQDQ, foldVPCLMULQDQ, &wide}} {
		t.Run(c.name, func(t *testing.T) {
			if !c.has {
				t.Skip("the processor has no " + c.name)
			}
			long, short := c.blocks[0].bytes, c.blocks[1].bytes
			p := random(2*long + 2*short + 128)
			for _, whole := range []int{0, short, 2 * short, long, long + short, 2 * long} {
				for more := range 64 {
					for _, n := range []int{whole - more, whole + more} {
						if n < 0 {
							continue
						}
						for _, start := range []int{0, 1, 8, 31, 63} {
							b := p[start : start+n]
							if got, want := updateBlocks(uint32(n), b, c.fold, c.blocks), crc32.Update(uint32(n), table, b); got != want {
								t.Fatalf("%d bytes from %d: %08x, want %08x", n, start, got, want)
							}
						}
					}
				}
			}
		})
	}
}
