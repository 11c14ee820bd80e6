package grain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/grain"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// compareSampler judges IndexSampler: the index and the record of each position,
// the length over all shards, the text in checkpoints; or only its arguments.
func compareSampler(r *suite.Report, o *suite.Object) {
	if o.Has("sequential") {
		n := o.Integer("sequential")
		m, index := grain.Range(0, n, 1), int64(0)
		for _, pair := range o.List("index_and_record_key") {
			got, _ := m.At(index)
			if want := suite.NumbersOf(r, "pair", pair); !slices.Equal(want, []int64{index, got}) {
				r.Fail("sequential: got %d at %d, want %v", got, index, want)
			}
			index++
		}
		if index != m.Len() {
			r.Fail("sequential: length %d, want %d", m.Len(), index)
		}
		want := fmt.Sprintf("SequentialSampler(num_records=%d, shard_options=%s)", n, grain.Shard{})
		if got := o.Str("repr"); got != want {
			r.Fail("repr %q, want %q", want, got)
		}
		return
	}
	if o.Has("call") {
		call := o.Child("call")
		_, err := samplerOf(call)
		call.Done()
		o.Refusal(err)
		if err == nil && !o.Boolean("ok") {
			r.Fail("accepted")
		}
		return
	}
	s, err := samplerOf(o)
	if o.Refusal(err) {
		return
	}
	pairs := o.List("index_and_record_key")
	ids := make([]int64, len(pairs)+1)
	n := s.Fill(0, ids)
	if length, ends := s.Len(); ends && (n != int(min(length, int64(len(ids)))) || length < int64(len(pairs))) {
		r.Fail("%d of %d positions, want %d or more", n, length, len(pairs))
	}
	for pos, pair := range pairs {
		if want := suite.NumbersOf(r, "pair", pair); pos >= n || !slices.Equal(want, []int64{s.Index(int64(pos)), ids[pos]}) {
			r.Fail("position %d: got record %d at %d, want %v", pos, ids[pos], s.Index(int64(pos)), want)
		}
	}
	if got, want := s.Indices(), o.IntegerOf("len"); got != want {
		r.Fail("len %d, want %d", got, want)
	}
	if got, want := s.String(), o.Str("repr"); got != want {
		r.Fail("repr %q, want %q", got, want)
	}
}

// samplerOf makes a sampler of the arguments that an object has.
func samplerOf(o *suite.Object) (*grain.Sampler, error) {
	a := grain.SamplerOptions{Records: o.Integer("num_records"), Shuffle: o.Boolean("shuffle")}
	if o.Has("shard_count") {
		a.Shard = grain.Shard{Index: o.Integer("shard_index"), Count: o.Integer("shard_count"),
			Drop: o.Boolean("drop_remainder")}
	}
	if o.Get("num_epochs") != nil {
		if a.Epochs = o.Integer("num_epochs"); a.Epochs == 0 {
			return nil, errExcluded // 0 is the word for no end
		}
	}
	if o.Get("seed") != nil {
		seed, ok := o.Uint32Of("seed")
		if !ok {
			return nil, errExcluded
		}
		a.Seed = &seed
	}
	return grain.NewSampler(a)
}

// compareDataLoader judges a DataLoader over the numbers from 100 on: its batches,
// its states, and what comes after each of them.
func compareDataLoader(r *suite.Report, o *suite.Object) {
	workers, n, size := o.Integer("worker_count"), o.Integer("n"), o.Integer("batch")
	if workers > 0 {
		r.Skip = "workers of a DataLoader"
		return
	}
	a := grain.SamplerOptions{
		Records: n, Shuffle: o.Boolean("shuffle"), Epochs: o.Integer("num_epochs"),
		Shard: grain.Shard{Index: o.Integer("shard_index"), Count: o.Integer("shard_count"), Drop: true},
	}
	seed, _ := o.Uint32Of("seed")
	a.Seed = &seed
	s, err := grain.NewSampler(a)
	if o.Refusal(err) {
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
			all = append(all, fmt.Sprint(suite.NumbersOf(r, "batch", batch)))
		}
		return strings.Join(all, " ")
	}
	recorded := o.List("batches")
	if got, want := batches(0), texts(recorded); got != want {
		r.Fail("batches %s, want %s", got, want)
	}
	states := o.Strings("states")
	from := func(k int, want string) {
		state, err := grain.ParseLoaderState([]byte(states[k]))
		if err != nil {
			r.Fail("state %d: %v", k, err)
			return
		}
		pos, err := state.Position(s)
		if err != nil {
			r.Fail("state %d: %v", k, err)
			return
		}
		if got := s.State(pos, state.DataSource).String(); got != states[k] {
			r.Fail("state %d: got %s, want %s", k, got, states[k])
		}
		if got := batches(pos); got != want {
			r.Fail("from state %d: %s, want %s", k, got, want)
		}
	}
	if len(states) != len(recorded)+1 {
		r.Fail("%d states of %d batches", len(states), len(recorded))
		return
	}
	for k := range states {
		from(k, texts(recorded[k:]))
	}
	for _, resumed := range o.List("resumed_from") {
		pair, _ := resumed.([]any)
		k := suite.NumbersOf(r, "resumed_from", pair[:1])
		from(int(k[0]), texts(pair[1]))
	}
	compareOtherWorkers(r, o, s, states[1%len(states)])
}

// compareOtherWorkers judges whether a state passes for a loader of another number
// of workers.
func compareOtherWorkers(r *suite.Report, o *suite.Object, s *grain.Sampler, text string) {
	state, err := grain.ParseLoaderState([]byte(text))
	if err != nil {
		r.Fail("%v", err)
		return
	}
	state.WorkerCount += 2
	_, err = state.Position(s)
	if accepted := fmt.Sprint(o.Get("other_worker_count")) == "accepted"; accepted != (err == nil) {
		r.Fail("state of another number of workers: %v, want accepted %t", err, accepted)
	}
}

// compareElastic judges ElasticIterator: the first batches of each shard, and the
// next ones after a resume with other shards.
func compareElastic(r *suite.Report, o *suite.Object) {
	seed, _ := o.Uint32Of("shuffle_seed")
	m, err := grain.Repeat(grain.Shuffle(grain.Range(0, o.Integer("n"), 1), seed), o.Integer("repeat"))
	if o.Refusal(err) {
		return
	}
	global := o.Integer("global_batch_size")
	compare := func(next, shard, count int64, want any) {
		b, err := grain.Elastic(m, global, grain.Shard{Index: shard, Count: count}, next)
		if err != nil {
			r.Fail("%v", err)
			return
		}
		batches, _ := want.([]any)
		for i, batch := range batches {
			if got, _ := b.At(int64(i)); !slices.Equal(got, suite.NumbersOf(r, "batch", batch)) {
				r.Fail("shard %d of %d from %d, batch %d: got %v, want %v", shard, count, next, i, got, batch)
			}
		}
	}
	for shard, want := range o.List("first_3_batches_by_shard") {
		compare(0, int64(shard), o.Integer("shard_count"), want)
	}
	next, err := grain.ParseNextIndex(o.Raw("state_after_3"), "global_next_index")
	if err != nil || next != 3*global {
		r.Fail("state after 3 batches: %d, %v", next, err)
		return
	}
	for _, resumed := range o.List("resumed") {
		e := suite.NewObject(r, "resumed.", resumed)
		count := e.Integer("shard_count")
		if _, err := grain.Elastic(m, global, grain.Shard{Count: count}, next); !e.Refusal(err) {
			for shard, want := range e.List("next_batch_by_shard") {
				compare(next, int64(shard), count, []any{want})
			}
		}
		e.Done()
	}
}

// comparePhilox judges the generator of random transforms.
func comparePhilox(r *suite.Report, o *suite.Object) {
	key := uint64(o.Integer("key"))
	raw := numpy.NewPhilox(key)
	for i, want := range o.Strings("raw_u64") {
		if got := fmt.Sprint(raw.Uint64()); got != want {
			r.Fail("raw_u64[%d]: got %s, want %s", i, got, want)
		}
	}
	drawn := numpy.NewPhilox(key)
	g := numpy.NewGenerator(&drawn)
	for i, want := range o.Numbers("integers_0_1000") {
		if got := g.Integers(0, 1000); got != want {
			r.Fail("integers_0_1000[%d]: got %d, want %d", i, got, want)
		}
	}
	if got, want := suite.HexOf(g.Float64(), g.Float64(), g.Float64()), o.Str("random_hex"); got != want {
		r.Fail("random_hex: got %s, want %s", got, want)
	}
}
