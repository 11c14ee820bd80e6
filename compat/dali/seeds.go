package dali

import "github.com/bivouac-ml/bivouac/rng/libstdcxx"

// PipelineSeeds returns the seeds that a pipeline gives to readers and random operators without a
// seed of their own, in the order in which these are created. Only the low 32 bits of the
// pipeline's seed count. After the last seed DALI begins again with the first.
func PipelineSeeds(seed int64) [1024]uint32 {
	var words [1024]uint32
	libstdcxx.SeedSeq{uint32(seed)}.Generate(words[:])
	return words
}
