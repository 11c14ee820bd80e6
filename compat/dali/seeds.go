package dali

import "github.com/bivouac-ml/bivouac/rng/libstdcxx"

// PipelineSeeds returns the seeds that a pipeline deals out, in the order in which
// they are created, to those readers and random operators that have none of
// their own. Only the low 32 bits of the pipeline's seed count. DALI begins again
// with the first after the last.
func PipelineSeeds(seed int64) [1024]uint32 {
	var words [1024]uint32
	libstdcxx.SeedSeq{uint32(seed)}.Generate(words[:])
	return words
}
