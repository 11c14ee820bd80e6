package torchdata

import (
	"slices"

	"github.com/bivouac-ml/bivouac/order"
)

// SubsetRandomSampler is torch's SubsetRandomSampler: the given samples in a random order. It has
// no state.
type SubsetRandomSampler struct {
	ids []int64
	gen *Generator
}

// NewSubsetRandomSampler returns the sampler of ids, which it copies. It draws from g, which it
// shares with other users. nil means torch's global generator, here seeded with DefaultSeed.
func NewSubsetRandomSampler(ids []int64, g *Generator) *SubsetRandomSampler {
	return &SubsetRandomSampler{slices.Clone(ids), globalOf(g)}
}

// Len implements order.Sampler.
func (s *SubsetRandomSampler) Len() int64 { return int64(len(s.ids)) }

// Open implements order.Sampler.
func (s *SubsetRandomSampler) Open() order.Cursor[int64] {
	return &lazy[int64]{begin: func() (func() (int64, bool, error), error) {
		order := make([]int64, len(s.ids))
		for i, place := range randperm(int64(len(s.ids)), s.gen) {
			order[i] = s.ids[place]
		}
		return (&listing[int64]{order}).Next, nil
	}}
}

// WeightedSampler is torch's WeightedRandomSampler. It has no state.
type WeightedSampler struct {
	o   WeightedOptions
	gen *Generator
}

// NewWeightedSampler returns the sampler. It shares the generator of the options with other users;
// nil means torch's global generator, here seeded with DefaultSeed. The error is of kind
// errs.Invalid if NumSamples < 1. As in torch, the weights are checked when the first sample of an
// epoch is drawn.
func NewWeightedSampler(o WeightedOptions) (*WeightedSampler, error) {
	if o.NumSamples < 1 || o.NumSamples > MaxSamples {
		return nil, badCount("torchdata.NewWeightedSampler", "NumSamples", o.NumSamples, 1)
	}
	o.Weights = slices.Clone(o.Weights)
	return &WeightedSampler{o, globalOf(o.Generator)}, nil
}

// Len implements order.Sampler.
func (s *WeightedSampler) Len() int64 { return s.o.NumSamples }

// Open implements order.Sampler.
func (s *WeightedSampler) Open() order.Cursor[int64] {
	return &lazy[int64]{begin: func() (func() (int64, bool, error), error) {
		ids, err := Multinomial(s.o.Weights, s.o.NumSamples, !s.o.WithoutReplacement, s.gen)
		return (&listing[int64]{ids}).Next, err
	}}
}

// Multinomial returns torch.multinomial(weights, n, replacement, generator=g) for weights in double
// precision. The error is of kind errs.Invalid if the weights are not a distribution, or if n is
// above the number of samples that can be drawn.
func Multinomial(weights []float64, n int64, replacement bool, g *Generator) ([]int64, error) {
	w, err := NewWeighted(WeightedOptions{Weights: weights, NumSamples: n, WithoutReplacement: !replacement, Generator: g})
	if err != nil {
		return nil, err
	}
	ids := make([]int64, n)
	w.Fill(0, ids)
	g.Discard(w.epochWords)
	return ids, nil
}

// DistributedSampler is torch's DistributedSampler: the samples of one rank.
// StatefulDistributedSampler is torchdata's, with the state {yielded}. The epoch is not in the
// state: call SetEpoch after a resume, as after any start.
//
// It is not safe for concurrent use.
type DistributedSampler struct {
	samples Samples
	o       DistributedOptions
	epoch   int64
}

// NewDistributedSampler returns torch's sampler of a data set. It reads the length of the data set
// now, and uses all fields of o except N and Fixed. The error is of kind errs.Invalid.
func NewDistributedSampler(s Samples, o DistributedOptions) (*DistributedSampler, error) {
	o.N, o.Fixed = s.Len(), false
	if _, err := NewDistributed(o); err != nil {
		return nil, err
	}
	return &DistributedSampler{samples: s, o: o}, nil
}

// SetEpoch selects the shuffle of the epochs that are opened from now on.
func (s *DistributedSampler) SetEpoch(epoch int64) { s.epoch = epoch }

// Len implements order.Sampler.
func (s *DistributedSampler) Len() int64 {
	d, err := NewDistributed(s.o)
	if err != nil {
		return 0
	}
	return d.EpochLen()
}

// ids returns the samples of the epoch.
func (s *DistributedSampler) ids() ([]int64, error) {
	d, err := NewDistributed(s.o)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, d.EpochLen())
	d.Fill(s.epoch*d.EpochLen(), ids)
	return ids, nil
}

// Open implements order.Sampler.
func (s *DistributedSampler) Open() order.Cursor[int64] {
	ids, err := s.ids()
	if err != nil {
		return &lazy[int64]{begin: func() (func() (int64, bool, error), error) { return nil, err }}
	}
	return &listing[int64]{ids}
}

// StatefulDistributedSampler is torchdata's DistributedSampler with a state.
type StatefulDistributedSampler struct {
	DistributedSampler
	yielded int64
	resumed *int64
}

// NewStatefulDistributedSampler works like NewDistributedSampler for torchdata's sampler.
func NewStatefulDistributedSampler(s Samples, o DistributedOptions) (*StatefulDistributedSampler, error) {
	d, err := NewDistributedSampler(s, o)
	if err != nil {
		return nil, err
	}
	return &StatefulDistributedSampler{DistributedSampler: *d}, nil
}

// Open implements order.Sampler.
func (s *StatefulDistributedSampler) Open() order.Cursor[int64] {
	return &lazy[int64]{begin: func() (func() (int64, bool, error), error) {
		s.yielded = 0
		if s.resumed != nil {
			s.yielded, s.resumed = *s.resumed, nil
		}
		ids, err := s.ids()
		if err != nil {
			return nil, err
		}
		rest := &listing[int64]{ids[min(s.yielded, int64(len(ids))):]}
		return func() (int64, bool, error) {
			id, ok, err := rest.Next()
			if ok {
				s.yielded++
			}
			return id, ok, err
		}, nil
	}}
}

type distributedState struct {
	Yielded *int64 `json:"yielded"`
}

// AppendState implements state.Stateful.
func (s *StatefulDistributedSampler) AppendState(b []byte) ([]byte, error) {
	return appendJSON(b, distributedState{&s.yielded})
}

// SetState implements state.Stateful. The next epoch that is opened continues there.
func (s *StatefulDistributedSampler) SetState(b []byte) error {
	const op = "torchdata.StatefulDistributedSampler.SetState"
	var st distributedState
	if err := decode(op, b, &st); err != nil {
		return err
	}
	if st.Yielded == nil || *st.Yielded < 0 {
		return badSampler(op, "yielded", "a number of at least 0", string(b))
	}
	s.resumed = st.Yielded
	return nil
}
