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
	options := grain.LoaderOptions{Workers: workers, Batch: size}
	if states := o.Strings("states"); len(states) > 0 {
		first, err := grain.ParseLoaderState([]byte(states[0]))
		if err != nil {
			r.Fail("state 0: %v", err)
			return
		}
		options.DataSource = first.DataSource
	}
	texts := func(v any) string {
		var all []string
		l, _ := v.([]any)
		for _, batch := range l {
			all = append(all, fmt.Sprint(suite.NumbersOf(r, "batch", batch)))
		}
		return strings.Join(all, " ")
	}
	recorded, states := o.List("batches"), o.Strings("states")
	// from judges the batches from state k on, and the states between them.
	from := func(k int, want string) {
		it, err := grain.LoaderIter(s, options)
		if err == nil && k > 0 {
			err = it.SetState([]byte(states[k]))
		}
		if err != nil {
			r.Fail("state %d: %v", k, err)
			return
		}
		var all []string
		for i := k; ; i++ {
			if got := string(it.State()); i < len(states) && got != states[i] {
				r.Fail("from state %d, state %d: got %s, want %s", k, i, got, states[i])
			}
			ids, ok := it.Next()
			if !ok {
				break
			}
			for j := range ids {
				ids[j] += 100
			}
			all = append(all, fmt.Sprint(ids))
		}
		if got := strings.Join(all, " "); got != want {
			r.Fail("from state %d: %s, want %s", k, got, want)
		}
		if workers == 0 {
			comparePosition(r, s, states[k], int64(k)*size)
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
	options.Workers++
	other, err := grain.LoaderIter(s, options)
	if err == nil {
		err = other.SetState([]byte(states[1%len(states)]))
	}
	if accepted := fmt.Sprint(o.Get("other_worker_count")) == "accepted"; accepted != (err == nil) {
		r.Fail("state of another number of workers: %v, want accepted %t", err, accepted)
	}
}

// comparePosition judges a state of a loader without workers as a position of its sampler.
func comparePosition(r *suite.Report, s *grain.Sampler, text string, want int64) {
	state, err := grain.ParseLoaderState([]byte(text))
	if err != nil {
		r.Fail("%v", err)
		return
	}
	if length, ends := s.Len(); ends {
		want = min(want, length)
	}
	pos, err := state.Position(s)
	if err != nil || pos != want || s.State(pos, state.DataSource).String() != text {
		r.Fail("state %s: position %d, %v, want %d", text, pos, err, want)
	}
	state.WorkerCount += 2
	if _, err := state.Position(s); err == nil {
		r.Fail("the state of workers has a position")
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
