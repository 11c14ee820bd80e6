package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/grain"
	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// compareSampler judges IndexSampler: the index and the record of each position,
// the length over all shards, the text in checkpoints; or only its arguments.
func compareSampler(r *report, o *object) {
	if o.has("sequential") {
		n := o.integer("sequential")
		m, index := grain.Range(0, n, 1), int64(0)
		for _, pair := range o.list("index_and_record_key") {
			got, _ := m.At(index)
			if want := numbersOf(r, "pair", pair); !slices.Equal(want, []int64{index, got}) {
				r.fail("sequential: got %d at %d, want %v", got, index, want)
			}
			index++
		}
		if index != m.Len() {
			r.fail("sequential: length %d, want %d", m.Len(), index)
		}
		want := fmt.Sprintf("SequentialSampler(num_records=%d, shard_options=%s)", n, grain.Shard{})
		if got := o.str("repr"); got != want {
			r.fail("repr %q, want %q", want, got)
		}
		return
	}
	if o.has("call") {
		call := o.child("call")
		_, err := samplerOf(call)
		call.done()
		o.refusal(err)
		if err == nil && !o.boolean("ok") {
			r.fail("accepted")
		}
		return
	}
	s, err := samplerOf(o)
	if o.refusal(err) {
		return
	}
	pairs := o.list("index_and_record_key")
	ids := make([]int64, len(pairs)+1)
	n := s.Fill(0, ids)
	if length, ends := s.Len(); ends && (n != int(min(length, int64(len(ids)))) || length < int64(len(pairs))) {
		r.fail("%d of %d positions, want %d or more", n, length, len(pairs))
	}
	for pos, pair := range pairs {
		if want := numbersOf(r, "pair", pair); pos >= n || !slices.Equal(want, []int64{s.Index(int64(pos)), ids[pos]}) {
			r.fail("position %d: got record %d at %d, want %v", pos, ids[pos], s.Index(int64(pos)), want)
		}
	}
	if got, want := s.Indices(), o.integerOf("len"); got != want {
		r.fail("len %d, want %d", got, want)
	}
	if got, want := s.String(), o.str("repr"); got != want {
		r.fail("repr %q, want %q", got, want)
	}
}

// samplerOf makes a sampler of the arguments that an object has.
func samplerOf(o *object) (*grain.Sampler, error) {
	a := grain.SamplerOptions{Records: o.integer("num_records"), Shuffle: o.boolean("shuffle")}
	if o.has("shard_count") {
		a.Shard = grain.Shard{Index: o.integer("shard_index"), Count: o.integer("shard_count"), Drop: o.boolean("drop_remainder")}
	}
	if o.get("num_epochs") != nil {
		if a.Epochs = o.integer("num_epochs"); a.Epochs == 0 {
			return nil, errExcluded // 0 is the word for no end
		}
	}
	if o.get("seed") != nil {
		seed, ok := o.uint32Of("seed")
		if !ok {
			return nil, errExcluded
		}
		a.Seed = &seed
	}
	return grain.NewSampler(a)
}

// compareDataLoader judges a DataLoader over the numbers from 100 on: its batches,
// its states, and what comes after each of them.
func compareDataLoader(r *report, o *object) {
	workers, n, size := o.integer("worker_count"), o.integer("n"), o.integer("batch")
	if workers > 0 {
		r.skip = "workers of a DataLoader"
		return
	}
	a := grain.SamplerOptions{
		Records: n, Shuffle: o.boolean("shuffle"), Epochs: o.integer("num_epochs"),
		Shard: grain.Shard{Index: o.integer("shard_index"), Count: o.integer("shard_count"), Drop: true},
	}
	seed, _ := o.uint32Of("seed")
	a.Seed = &seed
	s, err := grain.NewSampler(a)
	if o.refusal(err) {
		return
	}
	batches := func(pos int64) string {
		length, _ := s.Len()
		var all []string
		for ; pos < length; pos += size {
			ids := make([]int64, size)
			ids = ids[:s.Fill(pos, ids)]
			for i := range ids {
				ids[i] += 100
			}
			all = append(all, fmt.Sprint(ids))
		}
		return strings.Join(all, " ")
	}
	texts := func(v any) string {
		var all []string
		l, _ := v.([]any)
		for _, batch := range l {
			all = append(all, fmt.Sprint(numbersOf(r, "batch", batch)))
		}
		return strings.Join(all, " ")
	}
	recorded := o.list("batches")
	if got, want := batches(0), texts(recorded); got != want {
		r.fail("batches %s, want %s", got, want)
	}
	states := o.strings("states")
	from := func(k int, want string) {
		state, err := grain.ParseLoaderState([]byte(states[k]))
		if err != nil {
			r.fail("state %d: %v", k, err)
			return
		}
		pos, err := state.Position(s)
		if err != nil {
			r.fail("state %d: %v", k, err)
			return
		}
		if got := s.State(pos, state.DataSource).String(); got != states[k] {
			r.fail("state %d: got %s, want %s", k, got, states[k])
		}
		if got := batches(pos); got != want {
			r.fail("from state %d: %s, want %s", k, got, want)
		}
	}
	if len(states) != len(recorded)+1 {
		r.fail("%d states of %d batches", len(states), len(recorded))
		return
	}
	for k := range states {
		from(k, texts(recorded[k:]))
	}
	for _, resumed := range o.list("resumed_from") {
		pair, _ := resumed.([]any)
		k := numbersOf(r, "resumed_from", pair[:1])
		from(int(k[0]), texts(pair[1]))
	}
	compareOtherWorkers(r, o, s, states[1%len(states)])
}

// compareOtherWorkers judges whether a state passes for a loader of another number
// of workers.
func compareOtherWorkers(r *report, o *object, s *grain.Sampler, text string) {
	state, err := grain.ParseLoaderState([]byte(text))
	if err != nil {
		r.fail("%v", err)
		return
	}
	state.WorkerCount += 2
	_, err = state.Position(s)
	if accepted := fmt.Sprint(o.get("other_worker_count")) == "accepted"; accepted != (err == nil) {
		r.fail("state of another number of workers: %v, want accepted %t", err, accepted)
	}
}

// compareElastic judges ElasticIterator: the first batches of each shard, and the
// next ones after a resume with other shards.
func compareElastic(r *report, o *object) {
	seed, _ := o.uint32Of("shuffle_seed")
	m, err := grain.Repeat(grain.Shuffle(grain.Range(0, o.integer("n"), 1), seed), o.integer("repeat"))
	if o.refusal(err) {
		return
	}
	global := o.integer("global_batch_size")
	compare := func(next, shard, count int64, want any) {
		b, err := grain.Elastic(m, global, grain.Shard{Index: shard, Count: count}, next)
		if err != nil {
			r.fail("%v", err)
			return
		}
		batches, _ := want.([]any)
		for i, batch := range batches {
			if got, _ := b.At(int64(i)); !slices.Equal(got, numbersOf(r, "batch", batch)) {
				r.fail("shard %d of %d from %d, batch %d: got %v, want %v", shard, count, next, i, got, batch)
			}
		}
	}
	for shard, want := range o.list("first_3_batches_by_shard") {
		compare(0, int64(shard), o.integer("shard_count"), want)
	}
	next, err := grain.ParseNextIndex(o.raw("state_after_3"), "global_next_index")
	if err != nil || next != 3*global {
		r.fail("state after 3 batches: %d, %v", next, err)
		return
	}
	for _, resumed := range o.list("resumed") {
		e := newObject(r, "resumed.", resumed)
		count := e.integer("shard_count")
		if _, err := grain.Elastic(m, global, grain.Shard{Count: count}, next); !e.refusal(err) {
			for shard, want := range e.list("next_batch_by_shard") {
				compare(next, int64(shard), count, []any{want})
			}
		}
		e.done()
	}
}

// comparePhilox judges the generator of random transforms.
func comparePhilox(r *report, o *object) {
	key := uint64(o.integer("key"))
	raw := numpy.NewPhilox(key)
	for i, want := range o.strings("raw_u64") {
		if got := fmt.Sprint(raw.Uint64()); got != want {
			r.fail("raw_u64[%d]: got %s, want %s", i, got, want)
		}
	}
	drawn := numpy.NewPhilox(key)
	g := numpy.NewGenerator(&drawn)
	for i, want := range o.numbers("integers_0_1000") {
		if got := g.Integers(0, 1000); got != want {
			r.fail("integers_0_1000[%d]: got %d, want %d", i, got, want)
		}
	}
	if got, want := hexOf(g.Float64(), g.Float64(), g.Float64()), o.str("random_hex"); got != want {
		r.fail("random_hex: got %s, want %s", got, want)
	}
}
