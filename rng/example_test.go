package rng_test

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/rng"
)

func Example() {
	keys := rng.NewKeyer(7)
	flip := rng.NodeKey("flip")
	for _, pos := range []int64{0, 1, 2, 1} { // position 1 draws the same again
		p := keys.Stream(pos, 0, flip, 0)
		fmt.Printf("%d %.4f\n", pos, p.Float32())
	}
	// Output:
	// 0 0.3472
	// 1 0.1497
	// 2 0.6739
	// 1 0.1497
}

func ExamplePhilox() {
	p := rng.NewPhilox(1234, 0, 0)
	fmt.Printf("%08x %08x\n", p.Uint32(), p.Uint32())
	saved := p.String()
	next := p.Uint32()

	restored, err := rng.ParsePhilox(saved)
	fmt.Println(saved, restored.Uint32() == next, err)
	// Output:
	// 2090b348 da7cf0ab
	// Philox_00000000000004D2_0000000000000000:0000000000000000_2 true <nil>
}
