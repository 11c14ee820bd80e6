package torchdata

import (
	"context"
	"encoding/binary"

	"github.com/bivouac-ml/bivouac/compat/torchdata/internal/leap"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// Worker holds the three global random number generators of a Python worker process. Its fields may
// be replaced, as torch.manual_seed does in a worker_init_fn. A data set gets it from WorkerOf. It
// belongs to the worker that reads, and is not safe for concurrent use.
type Worker struct {
	Torch  *Generator // torch's default generator
	Python *Twister   // the generator of module random
	Numpy  *Twister   // the generator of numpy.random
}

// NewWorker returns the generators with which a worker begins.
func NewWorker(baseSeed int64, worker int) *Worker {
	seed := WorkerSeed(baseSeed, worker)
	torch := NewGenerator(seed)
	numpy := NumpySeed(baseSeed, worker)
	return &Worker{Torch: &torch, Python: NewPythonRandom(seed), Numpy: NewTwister(numpy[:])}
}

type workerKeyType struct{}

// WorkerOf returns the random numbers of the worker for which a data set is opened or read. ok is
// false outside of workers.
func WorkerOf(ctx context.Context) (w *Worker, ok bool) {
	w, ok = ctx.Value(workerKeyType{}).(*Worker)
	return w, ok
}

// context adds the worker to a context.
func (w *Worker) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, workerKeyType{}, w)
}

// Twister is a Mersenne twister that is seeded with several words, as in Python and numpy.
type Twister struct{ engine libstdcxx.MT19937 }

// NewPythonRandom returns random.Random(seed) for an integer of at least 0.
func NewPythonRandom(seed uint64) *Twister {
	key := []uint32{uint32(seed)}
	if high := uint32(seed >> 32); high != 0 {
		key = append(key, high)
	}
	return NewTwister(key)
}

// NewTwister returns numpy.random.RandomState(key), init_by_array of the reference
// implementation. The key has at least one word.
func NewTwister(key []uint32) *Twister {
	const n = leap.Size
	var x [n]uint32
	x[0] = 19650218
	for i := 1; i < n; i++ {
		x[i] = 1812433253*(x[i-1]^x[i-1]>>30) + uint32(i)
	}
	i, j := 1, 0
	step := func(factor uint32, add uint32) {
		x[i] = (x[i] ^ (x[i-1]^x[i-1]>>30)*factor) + add
		if i++; i == n {
			x[0], i = x[n-1], 1
		}
	}
	for range max(n, len(key)) {
		step(1664525, key[j]+uint32(j))
		j = (j + 1) % len(key)
	}
	for range n - 1 {
		step(1566083941, -uint32(i))
	}
	x[0] = 1 << 31
	b := make([]byte, 0, 4*(n+1))
	for _, word := range x {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	t := &Twister{}
	if err := t.engine.UnmarshalBinary(binary.LittleEndian.AppendUint32(b, n)); err != nil {
		panic(err) // the bytes are made here
	}
	return t
}

// Uint32 returns the next word: random.getrandbits(32), or
// numpy.random.randint(0, 2**32, dtype=numpy.uint32).
func (t *Twister) Uint32() uint32 { return uint32(t.engine.Next()) }

// Float64 returns a number in [0, 1): random.random() or numpy.random.random().
func (t *Twister) Float64() float64 {
	high, low := t.Uint32()>>5, t.Uint32()>>6
	return (float64(high)*(1<<26) + float64(low)) / (1 << 53)
}
