package dalivec

import (
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// keyer gives the samples of the first random operator of a pipeline DALI's
// streams: the seed is the key, and samples of a batch lie 65537 sequences apart.
type keyer struct{ seed uint64 }

func (k keyer) Stream(pos int64, slot int, _ uint64, _ uint32) rng.Philox {
	return rng.NewPhilox(k.seed, uint64(pos-int64(slot)+int64(slot)*65537), 0)
}

// keyer returns the keyer of the case's operator. Its seed is the operator's own seed, or the first
// word of the pipeline's seed.
func (c *Case) keyer() keyer {
	if v, err := Constant(c.Args["seed"]); err == nil {
		if seed, ok := v.(int); ok && seed != -1 {
			return keyer{uint64(seed)}
		}
	}
	var words [1024]uint32
	libstdcxx.SeedSeq{uint32(c.Seed())}.Generate(words[:])
	return keyer{uint64(words[0])}
}
