package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/order"
)

// tdRandom judges an entry of each section of rng.json.
var tdRandom = map[string]func(s *tdSet, r *report, o *object){
	"randperm":     compareRandperm,
	"states":       compareStates,
	"randint":      compareRandint,
	"random_int64": compareInt63,
	"uniform":      compareUniform,
	"samplers":     compareTdSampler,
	"distributed":  compareTdDistributed,
	"random_split": compareSplit,
	"worker_seeds": compareWorkerSeeds,
}

// tdRandomCases has a case for each entry of rng.json.
func tdRandomCases(set *tdSet) ([]testCase, error) {
	r := &report{}
	top, err := expectation(r, filepath.Join(set.dir, "rng.json"))
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	top.str("algorithm") // names the reference implementation
	var cases []testCase
	for section, judge := range tdRandom {
		for i, entry := range top.list(section) {
			name := fmt.Sprintf("rng/%s/%03d", section, i)
			cases = append(cases, testCase{name: name, family: "rng", path: name, run: func(_ context.Context, r *report) {
				o := newObject(r, "", entry)
				judge(set, r, o)
				o.done()
			}})
		}
	}
	top.done()
	slices.SortFunc(cases, func(a, b testCase) int { return strings.Compare(a.name, b.name) })
	for _, f := range r.failures {
		cases = append(cases, failing("rng", f))
	}
	return cases, nil
}

// seed reads the text of a seed, which may be negative.
func (o *object) seed(key string) uint64 {
	text := o.str(key)
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		o.r.fail("%s: %v", key, err)
	}
	return uint64(n)
}

func (o *object) generator() *torchdata.Generator { return new(torchdata.NewGenerator(o.seed("seed"))) }

func sameList[T comparable](r *report, what string, got, want []T) {
	if !slices.Equal(got, want) {
		r.fail("%s: %v, want %v", what, got, want)
	}
}

func compareRandperm(_ *tdSet, r *report, o *object) {
	g, n := o.generator(), o.integer("n")
	ids, err := torchdata.Randperm(n, g)
	if err != nil {
		r.fail("%v", err)
		return
	}
	h := sha256.New()
	for _, id := range ids {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(id)))
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != o.str("sha256_of_int64le") {
		r.fail("another permutation")
	}
	if o.has("perm") {
		sameList(r, "perm", ids, o.numbers("perm"))
	}
	if o.has("first") {
		sameList(r, "first", ids[:8], o.numbers("first"))
		sameList(r, "last", ids[len(ids)-8:], o.numbers("last"))
	}
	if b, err := g.MarshalBinary(); err != nil || fmt.Sprintf("%x", sha256.Sum256(b)) != o.str("state_after_sha256") {
		r.fail("another state after it: %v", err)
	}
}

// compareStates also reads what torch wrote after randn, where it is there, and
// writes it again. A blob is named by the beginning of its hash.
func compareStates(s *tdSet, r *report, o *object) {
	g := o.generator()
	same := func(key, blob string) {
		b, err := g.MarshalBinary()
		if err != nil || blob == "" || !strings.HasPrefix(fmt.Sprintf("%x", sha256.Sum256(b)), blob) {
			r.fail("%s: another state: %v", key, err)
		}
	}
	blobOf := func(key string) string {
		m, _ := o.get(key).(map[string]any)
		name, _ := m["blob"].(string)
		return name
	}
	same("initial", blobOf("initial"))
	if _, err := torchdata.Randperm(700, g); err != nil {
		r.fail("%v", err)
	}
	same("after_randperm_700", blobOf("after_randperm_700"))
	for _, key := range []string{"after_randn_3", "after_randn_1_f64"} {
		text, ok := s.blobs[blobOf(key)]
		if !ok {
			continue
		}
		b, err := hex.DecodeString(text)
		if err == nil {
			err = g.UnmarshalBinary(b)
		}
		if err != nil {
			r.fail("%s: %v", key, err)
			continue
		}
		same(key, blobOf(key))
	}
}

func compareRandint(_ *tdSet, r *report, o *object) {
	g, high := o.generator(), int64(o.seed("high"))
	want := o.numbers("values")
	got := make([]int64, len(want))
	for i := range got {
		got[i] = g.Int63n(high)
	}
	sameList(r, "values", got, want)
}

func compareInt63(_ *tdSet, r *report, o *object) {
	g, want := o.generator(), o.numbers("values")
	got := make([]int64, len(want))
	for i := range got {
		got[i] = torchdata.BaseSeed(g)
	}
	sameList(r, "values", got, want)
}

func compareUniform(_ *tdSet, r *report, o *object) {
	g := o.generator()
	var d, f []byte
	for range 6 {
		d = binary.LittleEndian.AppendUint64(d, math.Float64bits(g.Float64()))
	}
	for range 6 {
		f = binary.LittleEndian.AppendUint32(f, math.Float32bits(g.Float32()))
	}
	sameList(r, "f64", []string{hex.EncodeToString(d)}, []string{o.str("f64_hex")})
	sameList(r, "f32", []string{hex.EncodeToString(f)}, []string{o.str("f32_hex")})
}

// compareTdSampler opens a sampler once for each epoch.
func compareTdSampler(_ *tdSet, r *report, o *object) {
	description := map[string]any{}
	for k, v := range o.m {
		if k != "n" && k != "epochs" && v != nil {
			description[k] = v
		}
		o.has(k)
	}
	description["seed"] = json.Number(fmt.Sprint(int64(o.seed("seed"))))
	raw, err := json.Marshal(description)
	if err != nil {
		r.fail("%v", err)
		return
	}
	n := int64(0)
	if o.has("n") {
		n = o.integer("n")
	}
	s, err := tdSamplerOf(raw, torchdata.Range(n), nil)
	if err != nil {
		r.fail("%v", err)
		return
	}
	for i, want := range o.list("epochs") {
		got, err := allOf(s.Open())
		if err != nil {
			r.fail("epoch %d: %v", i, err)
		}
		sameList(r, fmt.Sprint("epoch ", i), got, numbersOf(r, "epochs", want))
	}
}

// allOf returns all that a cursor gives.
func allOf(c order.Cursor[int64]) ([]int64, error) {
	var ids []int64
	for {
		id, ok, err := c.Next()
		if !ok || err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
}

func compareTdDistributed(_ *tdSet, r *report, o *object) {
	d := torchdata.DistributedOptions{Replicas: o.integer("num_replicas"), Sequential: !o.boolean("shuffle"), Seed: int64(o.seed("seed")), DropLast: o.boolean("drop_last")}
	n, epoch := torchdata.Range(o.integer("n")), o.integer("epoch")
	for rank, want := range o.list("by_rank") {
		d.Rank = int64(rank)
		s, err := torchdata.NewStatefulDistributedSampler(n, d)
		if err != nil {
			r.fail("rank %d: %v", rank, err)
			continue
		}
		s.SetEpoch(epoch)
		got, err := allOf(s.Open())
		if err != nil || s.Len() != int64(len(got)) {
			r.fail("rank %d: %d of %d ids: %v", rank, len(got), s.Len(), err)
		}
		sameList(r, fmt.Sprint("rank ", rank), got, numbersOf(r, "by_rank", want))
	}
}

func compareSplit(_ *tdSet, r *report, o *object) {
	g, n := o.generator(), o.integer("n")
	var lengths []int64
	var fractions []float64
	whole := true
	for _, v := range o.list("lengths") {
		f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err != nil {
			r.fail("lengths: %v", err)
		}
		fractions, lengths = append(fractions, f), append(lengths, int64(f))
		whole = whole && f == float64(int64(f))
	}
	if !whole {
		var err error
		if lengths, err = torchdata.SplitLengths(n, fractions); err != nil {
			r.fail("%v", err)
			return
		}
	}
	parts, err := torchdata.RandomSplit(n, lengths, g)
	want := o.list("indices")
	if err != nil || len(parts) != len(want) {
		r.fail("%d parts, want %d: %v", len(parts), len(want), err)
		return
	}
	for i := range want {
		sameList(r, fmt.Sprint("part ", i), parts[i], numbersOf(r, "indices", want[i]))
	}
}

func compareWorkerSeeds(_ *tdSet, r *report, o *object) {
	base, worker := int64(o.seed("base_seed")), int(o.integer("worker"))
	if got, want := torchdata.WorkerSeed(base, worker), o.seed("torch_and_python_seed"); got != want {
		r.fail("seed %d, want %d", got, want)
	}
	var got []int64
	for _, word := range torchdata.NumpySeed(base, worker) {
		got = append(got, int64(word))
	}
	sameList(r, "numpy_seed_words", got, o.numbers("numpy_seed_words"))
}
