package torchdata

// BaseSeed draws the base seed of an epoch's workers (_base_seed in the states of loaders) from the
// loader's generator, or from the global generator if the loader has none.
func BaseSeed(g *Generator) int64 { return g.Int63() }

// WorkerSeed returns the seed of a worker, for torch and for Python's random.
func WorkerSeed(base int64, worker int) uint64 { return uint64(base) + uint64(worker) }

// NumpySeed returns the words with which numpy.random.seed is called in a worker.
func NumpySeed(base int64, worker int) [4]uint32 {
	// The hash of numpy's SeedSequence, over the worker and the base seed.
	h := uint32(0x43b0d7e5)
	hash := func(v uint32) uint32 {
		v ^= h
		h *= 0x931e8875
		v *= h
		return v ^ v>>16
	}
	pool := [4]uint32{uint32(worker), uint32(base), uint32(base >> 32), 0}
	for i, v := range pool {
		pool[i] = hash(v)
	}
	for from := range pool {
		for to := range pool {
			if from != to {
				mixed := 0xca01f9dd*pool[to] - 0x4973f715*hash(pool[from])
				pool[to] = mixed ^ mixed>>16
			}
		}
	}
	h = 0x8b51f9dd
	for i, v := range pool {
		v ^= h
		h *= 0x58f38ded
		v *= h
		pool[i] = v ^ v>>16
	}
	return pool
}
