package stateproto_test

import (
	"encoding/base64"
	"fmt"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
)

// A checkpoint of a pipeline with an external source and a random operator.
func Example() {
	b, err := base64.StdEncoding.DecodeString("ChYKEl9fRXh0ZXJuYWxTb3VyY2VfMBIACjAKLF9fTWFrZUNvbnRpZ3VvdXNfQ3B1VG9DcHVfX19FeHRlcm5hbFNvdXJjZV8wEgAK" +
		"SgoLX19Vbmlmb3JtXzESO1BoaWxveF8wMDAwMDAwMDhEMDNBOTA3XzAwMDAwMDAwMDAwMDAwMDA6MDAwMDAwMDAwMDAwMDAwMF8wCikKJV9fTWFrZUNvbnRpZ3VvdXNfQ3B1VG9D" +
		"cHVfX19Vbmlmb3JtXzESABIfCht7Iml0ZXIiOiAwLCAiZXBvY2hfaWR4IjogMH0SAA==")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := stateproto.Parse(b)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range c.Ops {
		fmt.Printf("%s: %T\n", c.Ops[i].Name, c.Ops[i].Snapshot())
	}
	fmt.Printf("%s\n", c.External.Pipeline)
	// Output:
	// __ExternalSource_0: stateproto.Stateless
	// __MakeContiguous_CpuToCpu___ExternalSource_0: stateproto.Stateless
	// __Uniform_1: stateproto.Random
	// __MakeContiguous_CpuToCpu___Uniform_1: stateproto.Stateless
	// {"iter": 0, "epoch_idx": 0}
}

// The state of a reader in dynamic mode.
func ExampleReader_UnmarshalText() {
	var r stateproto.Reader
	if err := r.UnmarshalText([]byte("ChAKCjE2NDkzNzQyODkQABgD")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Loader.RNG, r.Loader.Epoch, r.Loader.Age)
	// Output: 1649374289 0 3
}
