package torchdata

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
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// tdRandom judges an entry of each section of rng.json.
var tdRandom = map[string]func(s *tdSet, r *suite.Report, o *suite.Object){
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
func tdRandomCases(set *tdSet) ([]suite.Case, error) {
	r := &suite.Report{}
	top, err := suite.Expectation(r, filepath.Join(set.dir, "rng.json"))
	if suite.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	top.Str("algorithm") // names the reference implementation
	var cases []suite.Case
	for section, judge := range tdRandom {
		for i, entry := range top.List(section) {
			name := fmt.Sprintf("rng/%s/%03d", section, i)
			cases = append(cases, suite.Case{Name: name, Family: "rng", Path: name,
				Run: func(_ context.Context, r *suite.Report) {
					o := suite.NewObject(r, "", entry)
					judge(set, r, o)
					o.Done()
				}})
		}
	}
	top.Done()
	slices.SortFunc(cases, func(a, b suite.Case) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range r.Failures {
		cases = append(cases, suite.Failing("rng", f))
	}
	return cases, nil
}

func generator(o *suite.Object) *torchdata.Generator {
	return new(torchdata.NewGenerator(o.Seed("seed")))
}

func sameList[T comparable](r *suite.Report, what string, got, want []T) {
	if !slices.Equal(got, want) {
		r.Fail("%s: %v, want %v", what, got, want)
	}
}

func compareRandperm(_ *tdSet, r *suite.Report, o *suite.Object) {
	g, n := generator(o), o.Integer("n")
	ids, err := torchdata.Randperm(n, g)
	if err != nil {
		r.Fail("%v", err)
		return
	}
	h := sha256.New()
	for _, id := range ids {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(id)))
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != o.Str("sha256_of_int64le") {
		r.Fail("another permutation")
	}
	if o.Has("perm") {
		sameList(r, "perm", ids, o.Numbers("perm"))
	}
	if o.Has("first") {
		sameList(r, "first", ids[:8], o.Numbers("first"))
		sameList(r, "last", ids[len(ids)-8:], o.Numbers("last"))
	}
	if b, err := g.MarshalBinary(); err != nil || fmt.Sprintf("%x", sha256.Sum256(b)) != o.Str("state_after_sha256") {
		r.Fail("another state after it: %v", err)
	}
}

// compareStates also reads what torch wrote after randn, where it is there, and
// writes it again. A blob is named by the beginning of its hash.
func compareStates(s *tdSet, r *suite.Report, o *suite.Object) {
	g := generator(o)
	same := func(key, blob string) {
		b, err := g.MarshalBinary()
		if err != nil || blob == "" || !strings.HasPrefix(fmt.Sprintf("%x", sha256.Sum256(b)), blob) {
			r.Fail("%s: another state: %v", key, err)
		}
	}
	blobOf := func(key string) string {
		m, _ := o.Get(key).(map[string]any)
		name, _ := m["blob"].(string)
		return name
	}
	same("initial", blobOf("initial"))
	if _, err := torchdata.Randperm(700, g); err != nil {
		r.Fail("%v", err)
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
			r.Fail("%s: %v", key, err)
			continue
		}
		same(key, blobOf(key))
	}
}

func compareRandint(_ *tdSet, r *suite.Report, o *suite.Object) {
	g, high := generator(o), int64(o.Seed("high"))
	want := o.Numbers("values")
	got := make([]int64, len(want))
	for i := range got {
		got[i] = g.Int63n(high)
	}
	sameList(r, "values", got, want)
}

func compareInt63(_ *tdSet, r *suite.Report, o *suite.Object) {
	g, want := generator(o), o.Numbers("values")
	got := make([]int64, len(want))
	for i := range got {
		got[i] = torchdata.BaseSeed(g)
	}
	sameList(r, "values", got, want)
}

func compareUniform(_ *tdSet, r *suite.Report, o *suite.Object) {
	g := generator(o)
	var d, f []byte
	for range 6 {
		d = binary.LittleEndian.AppendUint64(d, math.Float64bits(g.Float64()))
	}
	for range 6 {
		f = binary.LittleEndian.AppendUint32(f, math.Float32bits(g.Float32()))
	}
	sameList(r, "f64", []string{hex.EncodeToString(d)}, []string{o.Str("f64_hex")})
	sameList(r, "f32", []string{hex.EncodeToString(f)}, []string{o.Str("f32_hex")})
}

// compareTdSampler opens a sampler once for each epoch.
func compareTdSampler(_ *tdSet, r *suite.Report, o *suite.Object) {
	description := map[string]any{}
	for k, v := range o.Members {
		if k != "n" && k != "epochs" && v != nil {
			description[k] = v
		}
		o.Has(k)
	}
	description["seed"] = json.Number(fmt.Sprint(int64(o.Seed("seed"))))
	raw, err := json.Marshal(description)
	if err != nil {
		r.Fail("%v", err)
		return
	}
	n := int64(0)
	if o.Has("n") {
		n = o.Integer("n")
	}
	s, err := tdSamplerOf(raw, torchdata.Range(n), nil)
	if err != nil {
		r.Fail("%v", err)
		return
	}
	for i, want := range o.List("epochs") {
		got, err := allOf(s.Open())
		if err != nil {
			r.Fail("epoch %d: %v", i, err)
		}
		sameList(r, fmt.Sprint("epoch ", i), got, suite.NumbersOf(r, "epochs", want))
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

func compareTdDistributed(_ *tdSet, r *suite.Report, o *suite.Object) {
	d := torchdata.DistributedOptions{Replicas: o.Integer("num_replicas"), Sequential: !o.Boolean("shuffle"),
		Seed: int64(o.Seed("seed")), DropLast: o.Boolean("drop_last")}
	n, epoch := torchdata.Range(o.Integer("n")), o.Integer("epoch")
	for rank, want := range o.List("by_rank") {
		d.Rank = int64(rank)
		s, err := torchdata.NewStatefulDistributedSampler(n, d)
		if err != nil {
			r.Fail("rank %d: %v", rank, err)
			continue
		}
		s.SetEpoch(epoch)
		got, err := allOf(s.Open())
		if err != nil || s.Len() != int64(len(got)) {
			r.Fail("rank %d: %d of %d ids: %v", rank, len(got), s.Len(), err)
		}
		sameList(r, fmt.Sprint("rank ", rank), got, suite.NumbersOf(r, "by_rank", want))
	}
}

func compareSplit(_ *tdSet, r *suite.Report, o *suite.Object) {
	g, n := generator(o), o.Integer("n")
	var lengths []int64
	var fractions []float64
	whole := true
	for _, v := range o.List("lengths") {
		f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err != nil {
			r.Fail("lengths: %v", err)
		}
		fractions, lengths = append(fractions, f), append(lengths, int64(f))
		whole = whole && f == float64(int64(f))
	}
	if !whole {
		var err error
		if lengths, err = torchdata.SplitLengths(n, fractions); err != nil {
			r.Fail("%v", err)
			return
		}
	}
	parts, err := torchdata.RandomSplit(n, lengths, g)
	want := o.List("indices")
	if err != nil || len(parts) != len(want) {
		r.Fail("%d parts, want %d: %v", len(parts), len(want), err)
		return
	}
	for i := range want {
		sameList(r, fmt.Sprint("part ", i), parts[i], suite.NumbersOf(r, "indices", want[i]))
	}
}

func compareWorkerSeeds(_ *tdSet, r *suite.Report, o *suite.Object) {
	base, worker := int64(o.Seed("base_seed")), int(o.Integer("worker"))
	if got, want := torchdata.WorkerSeed(base, worker), o.Seed("torch_and_python_seed"); got != want {
		r.Fail("seed %d, want %d", got, want)
	}
	var got []int64
	for _, word := range torchdata.NumpySeed(base, worker) {
		got = append(got, int64(word))
	}
	sameList(r, "numpy_seed_words", got, o.Numbers("numpy_seed_words"))
}
