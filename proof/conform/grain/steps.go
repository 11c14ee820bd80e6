package grain

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/grain"
	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// apply adds a step to a pipeline.
func (b *builder) apply(d dataset, s *step) (dataset, error) {
	switch s.name {
	case "MapDataset.range", "MapDataset.source":
		return source(s)
	case "MapDataset.mix", "MapDataset.concatenate", "ge.ZipMapDataset", "grain.IterDataset.mix", "ge.InterleaveIterDataset":
		return b.join(s)
	}
	if d.m == nil && d.iter == nil {
		return d, unknownStep(s.name)
	}
	if d.iter != nil {
		return b.applyIter(d, s)
	}
	var err error
	switch s.name {
	case "seed":
		seed, ok := seedAt(s, 0)
		if !ok {
			return d, errExcluded
		}
		d.seeds = []grain.Seeded{{Seed: seed, Depth: 1}}
	case "shuffle":
		seed, ok := d.seedOf(s)
		if !ok {
			return d, errExcluded
		}
		d.m = grain.Shuffle(d.m, seed)
	case "repeat":
		d.m, err = repeat(d.m, s)
	case "slice":
		d.m, err = sliced(d.m, s)
	case "batch":
		d.m, err = b.batch(d.m, s)
	case "random_map":
		f, err := b.function(s)
		seed, ok := d.seedOf(s)
		if err != nil || !ok {
			return d, errors.Join(err, errExcluded)
		}
		d.m = grain.RandomApply(d.m, "case", seed, func(x any, g *numpy.Generator) any { return b.keep(f.call(g, x)) })
	case "filter", "map", "map_with_index":
		return b.transform(d, s)
	case "ge.WindowShuffleMapDataset":
		size, _, e := s.Integer(0, "window_size")
		seed, ok := seedAt(s, -1)
		if e != nil || !ok {
			return d, errExcluded
		}
		b.windowSeed = max(b.windowSeed, seed)
		d.m, err = grain.ShuffleWindows(d.m, size, seed)
	case "to_iter_dataset":
		s.arg(-1, "num_threads") // how it reads ahead, which has no part in what it gives
		s.arg(-1, "prefetch_buffer_size")
		m := d.m
		return dataset{iter: func(p share) (grain.Iter[any], error) {
			if p.of == 1 {
				return grain.Iterate(m), nil
			}
			own, err := grain.Slice(m, p.index, grain.Endless, p.of)
			if err != nil {
				return nil, err
			}
			return grain.Iterate(own), nil
		}}, nil
	default:
		return d, unknownStep(s.name)
	}
	return d, err
}

func source(s *step) (dataset, error) {
	if s.name == "MapDataset.source" {
		l, _ := s.arg(0, "source").([]any)
		elements := make([]any, len(l))
		for i, v := range l {
			element, err := call{}.eval(v)
			if err != nil {
				return dataset{}, err
			}
			elements[i] = element
		}
		return dataset{m: grain.Source("case", elements)}, nil
	}
	start, _, err := s.Integer(0, "start")
	if err != nil {
		return dataset{}, err
	}
	stop, given, err := s.Integer(1, "stop")
	if err != nil {
		return dataset{}, err
	}
	if !given {
		start, stop = 0, start
	}
	by, given, err := s.Integer(2, "step")
	if err != nil {
		return dataset{}, err
	}
	if !given {
		by = 1
	}
	if by == 0 {
		return dataset{}, fmt.Errorf("a range with a step of 0")
	}
	return dataset{m: boxed(grain.Range(start, stop, by), func(id int64) any { return id })}, nil
}

func seedAt(s *step, place int) (uint32, bool) {
	seed, err := strconv.ParseUint(fmt.Sprint(s.arg(place, "seed")), 10, 32)
	return uint32(seed), err == nil
}

// seedOf is the seed that a step is given, or has of those before.
func (d dataset) seedOf(s *step) (uint32, bool) {
	if _, given := s.named["seed"]; !given && len(d.seeds) > 0 {
		return grain.DefaultSeed(d.seeds...), true
	}
	return seedAt(s, -1)
}

func repeat(m grain.Map[any], s *step) (grain.Map[any], error) {
	epochs, given, err := s.Integer(0, "num_epochs")
	if err != nil {
		return nil, err
	}
	if given && epochs == 0 {
		return nil, errExcluded // 0 is the word for no end
	}
	return grain.Repeat(m, epochs)
}

func sliced(m grain.Map[any], s *step) (grain.Map[any], error) {
	by, given, err := s.Integer(2, "step")
	if err != nil {
		return nil, err
	}
	if !given {
		by = 1
	}
	start, stop := int64(0), int64(grain.Endless)
	if by < 0 {
		start, stop = grain.Endless, -grain.Endless
	}
	for place, to := range []*int64{&start, &stop} {
		n, given, err := s.Integer(place, [2]string{"start", "stop"}[place])
		if err != nil {
			return nil, err
		}
		if given {
			*to = n
		}
	}
	return grain.Slice(m, start, stop, by)
}

func batchArgs(s *step) (size int64, drop bool, err error) {
	size, _, err = s.Integer(0, "batch_size")
	drop, _ = s.arg(1, "drop_remainder").(bool)
	return size, drop, err
}

func (b *builder) batch(m grain.Map[any], s *step) (grain.Map[any], error) {
	size, drop, err := batchArgs(s)
	if err != nil {
		return nil, err
	}
	batches, err := grain.Batch(m, size, drop)
	if err != nil {
		return nil, err
	}
	return boxed(batches, b.batches), nil
}

// transform adds a function of elements.
func (b *builder) transform(d dataset, s *step) (dataset, error) {
	f, err := b.function(s)
	if err != nil {
		return d, err
	}
	keep := func(x any) bool {
		kept := false
		v, err := f.call(nil, x)
		if err == nil {
			kept, err = truth(v)
		}
		b.keep(nil, err)
		return kept
	}
	apply := func(x any) any { return b.keep(f.call(nil, x)) }
	parent := d.iter
	switch {
	case s.name == "map_with_index" && d.m != nil:
		d.m = grain.ApplyIndexed(d.m, "case", func(i int64, x any) any { return b.keep(f.call(nil, i, x)) })
	case s.name == "filter" && d.m != nil:
		d.m = grain.Filter(d.m, "case", keep)
	case s.name == "map" && d.m != nil:
		d.m = grain.Apply(d.m, "case", apply)
	case s.name == "filter":
		d.iter = over(parent, func(it grain.Iter[any]) (grain.Iter[any], error) { return grain.FilterIter(it, keep), nil })
	case s.name == "map":
		d.iter = over(parent, func(it grain.Iter[any]) (grain.Iter[any], error) { return grain.ApplyIter(it, apply), nil })
	default:
		return d, unknownStep(s.name + " of an iterator")
	}
	return d, nil
}

// over makes iterators that wrap the iterators of a parent.
func over(parent func(share) (grain.Iter[any], error), wrap func(grain.Iter[any]) (grain.Iter[any], error)) func(share) (grain.Iter[any], error) {
	return func(p share) (grain.Iter[any], error) {
		it, err := parent(p)
		if err != nil {
			return nil, err
		}
		return wrap(it)
	}
}

// applyIter adds a step to an IterDataset. That it is refused shows when an iterator
// is made; Grain says it at once.
func (b *builder) applyIter(d dataset, s *step) (dataset, error) {
	switch s.name {
	case "filter", "map":
		return b.transform(d, s)
	case "batch":
		size, drop, err := batchArgs(s)
		if err != nil {
			return d, err
		}
		d.iter = over(d.iter, func(it grain.Iter[any]) (grain.Iter[any], error) {
			batches, err := grain.BatchIter(it, size, drop)
			if err != nil {
				return nil, err
			}
			return grain.ApplyIter(batches, b.batches), nil
		})
	case "ge.LimitIterDataset":
		count, _, err := s.Integer(0, "count")
		if err != nil {
			return d, err
		}
		d.iter = over(d.iter, func(it grain.Iter[any]) (grain.Iter[any], error) { return grain.LimitIter(it, count) })
	case "ge.RepeatIterDataset":
		epochs, given, err := s.Integer(0, "num_epochs")
		if err != nil || given && epochs == 0 {
			return d, errors.Join(err, errExcluded)
		}
		d.iter = over(d.iter, func(it grain.Iter[any]) (grain.Iter[any], error) { return grain.RepeatIter(it, epochs) })
	case "ge.WindowShuffleIterDataset":
		size, _, err := s.Integer(0, "window_size")
		seed, ok := seedAt(s, -1)
		if err != nil || !ok {
			return d, errors.Join(err, errExcluded)
		}
		b.windowSeed = max(b.windowSeed, seed)
		d.iter = over(d.iter, func(it grain.Iter[any]) (grain.Iter[any], error) { return grain.ShuffleWindowsIter(it, size, seed) })
	case "ge.FirstFitPackIterDataset", "ge.BestFitPackIterDataset", "ge.ConcatThenSplitIterDataset":
		return b.pack(d, s)
	case "mp_prefetch":
		return prefetch(d, s)
	default:
		return d, unknownStep(s.name + " of an iterator")
	}
	_, err := d.iterate()
	return d, err
}

// prefetch is what workers of their own processes give: each every n-th element.
func prefetch(d dataset, s *step) (dataset, error) {
	workers, _, err := s.Integer(-1, "num_workers")
	s.arg(-1, "per_worker_buffer_size") // how far they read ahead, which has no part in what they give
	if err != nil || workers == 0 {
		return d, err
	}
	parent := d.iter
	d.iter = func(share) (grain.Iter[any], error) {
		its := make([]grain.Iter[any], workers)
		for i := range its {
			it, err := parent(share{int64(i), workers})
			if err != nil {
				return nil, err
			}
			its[i] = it
		}
		return grain.InterleaveMended(its, workers)
	}
	_, err = d.iterate()
	return d, err
}

// join makes one pipeline of several.
func (b *builder) join(s *step) (dataset, error) {
	parents, err := b.parents(s)
	if err != nil {
		return dataset{}, err
	}
	weights, err := weightsOf(s)
	if err != nil {
		return dataset{}, err
	}
	cycle, _, err := s.Integer(-1, "cycle_length")
	if err != nil {
		return dataset{}, err
	}
	if s.name == "grain.IterDataset.mix" || s.name == "ge.InterleaveIterDataset" {
		d := dataset{iter: func(p share) (grain.Iter[any], error) {
			its, err := iterators(parents, p)
			if err != nil {
				return nil, err
			}
			if s.name == "grain.IterDataset.mix" {
				return grain.MixIter(its, weights)
			}
			return grain.InterleaveMended(its, cycle)
		}}
		_, err := d.iterate()
		return d, err
	}
	all, err := mapsOf(parents)
	if err != nil {
		return dataset{}, err
	}
	var m grain.Map[any]
	switch s.name {
	case "MapDataset.mix":
		m, err = grain.Mix(all, weights)
	case "MapDataset.concatenate":
		m, err = grain.Concatenate(all)
	default:
		var rows grain.Map[[]any]
		if rows, err = grain.Zip(all); err == nil {
			m = boxed(rows, func(row []any) any { return list(row) })
		}
	}
	var seeds []grain.Seeded
	for _, p := range parents {
		seeds = append(seeds, deeper(p.seeds)...)
	}
	return dataset{m: m, seeds: seeds}, err
}

func weightsOf(s *step) ([]float64, error) {
	l, given := s.arg(1, "weights").([]any)
	if !given {
		return nil, nil
	}
	weights := make([]float64, len(l))
	for i, v := range l {
		number, _ := v.(json.Number)
		w, err := number.Float64()
		if err != nil {
			return nil, err
		}
		weights[i] = w
	}
	return weights, nil
}
