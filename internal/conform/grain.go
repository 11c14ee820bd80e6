package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/grain"
)

// grainSuite has one case for each entry of "vectors" in the files that Grain made.
// A file is a family; the README of the vectors says what an entry is.
var grainSuite = suite{cases: grainCases, ignored: grainIgnored, divergences: grainDivergences}

// grainDivergences are the kinds that docs/compat/grain.md lists.
var grainDivergences = []string{"window_seed", "interleave_epoch"}

var grainIgnored = map[string]string{
	"core":       "the flag of the case",
	"pipeline":   "the text of which ast is the tree",
	"normal_hex": "no order draws normal numbers",
}

// grainFamilies judge an entry of a file.
var grainFamilies = map[string]func(r *report, o *object){
	"index_shuffle": compareIndexShuffle,
	"index_sampler": compareSampler,
	"dataloader":    compareDataLoader,
	"elastic":       compareElastic,
	"pipelines":     comparePipeline,
	"philox":        comparePhilox,
}

func grainCases(dir string) ([]testCase, error) {
	cases, err := vectorCases(dir, "grain", grainFamilies)
	if err != nil {
		return nil, err
	}
	own, err := bijectionCases(filepath.Join(dir, "bijection.json"))
	return append(cases, own...), err
}

// integerOf reads a member that is an integer or the text of one.
func (o *object) integerOf(key string) int64 {
	if s, ok := o.get(key).(string); ok {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			o.r.fail("%s%s: %v", o.where, key, err)
		}
		return n
	}
	return o.integer(key)
}

// numbers reads a list of integers, or of their texts.
func (o *object) numbers(key string) []int64 { return numbersOf(o.r, o.where+key, o.get(key)) }

func numbersOf(r *report, where string, v any) []int64 {
	l, _ := v.([]any)
	out := make([]int64, len(l))
	for i, x := range l {
		n, err := strconv.ParseInt(fmt.Sprint(x), 10, 64)
		if err != nil {
			r.fail("%s[%d]: %v", where, i, err)
		}
		out[i] = n
	}
	return out
}

// uint32Of reads a member that Grain takes as a seed; ok is false where it is none,
// which the type excludes here.
func (o *object) uint32Of(key string) (seed uint32, ok bool) {
	n, err := strconv.ParseUint(fmt.Sprint(o.get(key)), 10, 32)
	return uint32(n), err == nil
}

// refusal judges an error against one that was recorded; it tells whether either is
// there, so that nothing else is to be compared.
func (o *object) refusal(err error) bool {
	want := o.has("error")
	switch {
	case want && err == nil:
		o.r.fail("accepted, want %v", o.m["error"])
	case !want && err != nil:
		o.r.fail("refused: %v", err)
	}
	return want || err != nil
}

// errExcluded is the refusal of arguments that the types here cannot hold.
var errExcluded = errors.New("excluded by the type")

func compareIndexShuffle(r *report, o *object) {
	if o.has("call") {
		call := o.child("call")
		index, most, rounds := call.integer("index"), call.integer("max_index"), call.integer("rounds")
		seed, ok := call.uint32Of("seed")
		got, err := grain.IndexShuffle(index, most, seed, int(rounds))
		if !ok {
			err = errExcluded
		}
		call.done()
		if !o.refusal(err) {
			if want := o.integerOf("value"); got != want {
				r.fail("value %d, want %d", got, want)
			}
		}
		return
	}
	n := o.integerOf("n")
	seed, _ := o.uint32Of("seed")
	rounds := grain.DefaultRounds
	if o.has("rounds") {
		rounds = int(o.integer("rounds"))
	}
	p, err := grain.NewPermutation(n, seed, rounds)
	if o.refusal(err) {
		return
	}
	if o.has("at") {
		want := o.numbers("values")
		for i, at := range o.numbers("at") {
			if got := p.At(at); got != want[i] {
				r.fail("index %d: %d, want %d", at, got, want[i])
			}
		}
		return
	}
	comparePermutation(r, o, p, n)
}

func comparePermutation(r *report, o *object, p *grain.Permutation, n int64) {
	hash, perm, seen := sha256.New(), make([]int64, n), make([]bool, n)
	once := true
	for i := range perm {
		perm[i] = p.At(int64(i))
		once = once && !seen[perm[i]]
		seen[perm[i]] = true
		hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(perm[i])))
	}
	for _, key := range []string{"perm", "first"} {
		if want := o.numbers(key); len(want) > len(perm) || !slices.Equal(want, perm[:len(want)]) {
			r.fail("%s: got %v, want %v", key, perm[:min(len(want), len(perm))], want)
		}
	}
	if got, want := hex.EncodeToString(hash.Sum(nil)), o.str("sha256_of_int64le"); got != want {
		r.fail("sha256 %s, want %s", got, want)
	}
	if want := o.boolean("bijection"); once != want || p.Bijective() != want {
		r.fail("bijection %t, told %t, want %t", once, p.Bijective(), want)
	}
}

// bijectionCases are the two claims of a file about where index_shuffle is a
// bijection. There are none where the file is not.
func bijectionCases(file string) ([]testCase, error) {
	r := &report{}
	top, err := expectation(r, file)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	check := func(r *report, n int64, seeds []any, want bool) {
		for _, s := range seeds {
			seed, err := strconv.ParseUint(fmt.Sprint(s), 10, 32)
			if err != nil {
				r.fail("seed: %v", err)
				return
			}
			p, err := grain.NewPermutation(n, uint32(seed), grain.DefaultRounds)
			if err != nil {
				r.fail("%v", err)
				return
			}
			seen, distinct := make([]bool, n), int64(0)
			for i := range n {
				if id := p.At(i); !seen[id] {
					seen[id], distinct = true, distinct+1
				}
			}
			if missing := n - distinct; missing != map[bool]int64{true: 0, false: 1}[want] || p.Bijective() != want {
				r.fail("n %d, seed %d: %d values missing, bijective %t, want %t", n, seed, missing, p.Bijective(), want)
			}
		}
	}
	one := func(name string, run func(r *report, o *object)) testCase {
		return testCase{name: "bijection/" + name, family: "bijection", path: "bijection.json", run: func(_ context.Context, r *report) {
			o := newObject(r, name+".", top.m[name])
			run(r, o)
			o.done()
		}}
	}
	return []testCase{
		one("n_1_to_5000", func(r *report, o *object) {
			o.has("method") // how it was found out
			if n := o.integer("failures"); n != 0 {
				r.fail("%d failures, want a bijection everywhere", n)
			}
			tried := o.list("seeds")
			for n := int64(1); n <= 5000; n += 1 + n/50 { // some, for every n is a walk through the whole block of 16 bits
				check(r, n, tried, true)
			}
		}),
		one("enumerated", func(r *report, o *object) {
			tried := o.list("seeds")
			for _, n := range o.numbers("bijective") {
				check(r, n, tried, true)
			}
			for _, n := range o.numbers("one_value_missing_and_one_twice") {
				check(r, n, tried, false)
			}
		}),
	}, nil
}
