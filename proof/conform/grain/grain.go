// Package grain is the suite of cases that Grain recorded: shuffles, samplers, pipelines and
// states.
package grain

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
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// grainSuite has one case for each entry of "vectors" in the files that Grain made.
// A file is a family; the README of the vectors says what an entry is.
var Suite = suite.Suite{Cases: grainCases, Ignored: grainIgnored, Divergences: grainDivergences}

// grainDivergences are the kinds that docs/compat/grain.md lists.
var grainDivergences = []string{"window_seed", "interleave_epoch"}

var grainIgnored = map[string]string{
	"core":       "the flag of the case",
	"pipeline":   "the text of which ast is the tree",
	"normal_hex": "no order draws normal numbers",
}

// grainFamilies judge an entry of a file.
var grainFamilies = map[string]func(r *suite.Report, o *suite.Object){
	"index_shuffle": compareIndexShuffle,
	"index_sampler": compareSampler,
	"dataloader":    compareDataLoader,
	"elastic":       compareElastic,
	"pipelines":     comparePipeline,
	"philox":        comparePhilox,
}

func grainCases(dir string) ([]suite.Case, error) {
	cases, err := suite.VectorCases(dir, "grain", grainFamilies)
	if err != nil {
		return nil, err
	}
	own, err := bijectionCases(filepath.Join(dir, "bijection.json"))
	return append(cases, own...), err
}

// errExcluded is the refusal of arguments that the types here cannot hold.
var errExcluded = errors.New("excluded by the type")

func compareIndexShuffle(r *suite.Report, o *suite.Object) {
	if o.Has("call") {
		call := o.Child("call")
		index, most, rounds := call.Integer("index"), call.Integer("max_index"), call.Integer("rounds")
		seed, ok := call.Uint32Of("seed")
		got, err := grain.IndexShuffle(index, most, seed, int(rounds))
		if !ok {
			err = errExcluded
		}
		call.Done()
		if !o.Refusal(err) {
			if want := o.IntegerOf("value"); got != want {
				r.Fail("value %d, want %d", got, want)
			}
		}
		return
	}
	n := o.IntegerOf("n")
	seed, _ := o.Uint32Of("seed")
	rounds := grain.DefaultRounds
	if o.Has("rounds") {
		rounds = int(o.Integer("rounds"))
	}
	p, err := grain.NewPermutation(n, seed, rounds)
	if o.Refusal(err) {
		return
	}
	if o.Has("at") {
		want := o.Numbers("values")
		for i, at := range o.Numbers("at") {
			if got := p.At(at); got != want[i] {
				r.Fail("index %d: %d, want %d", at, got, want[i])
			}
		}
		return
	}
	comparePermutation(r, o, p, n)
}

func comparePermutation(r *suite.Report, o *suite.Object, p *grain.Permutation, n int64) {
	hash, perm, seen := sha256.New(), make([]int64, n), make([]bool, n)
	once := true
	for i := range perm {
		perm[i] = p.At(int64(i))
		once = once && !seen[perm[i]]
		seen[perm[i]] = true
		hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(perm[i])))
	}
	for _, key := range []string{"perm", "first"} {
		if want := o.Numbers(key); len(want) > len(perm) || !slices.Equal(want, perm[:len(want)]) {
			r.Fail("%s: got %v, want %v", key, perm[:min(len(want), len(perm))], want)
		}
	}
	if got, want := hex.EncodeToString(hash.Sum(nil)), o.Str("sha256_of_int64le"); got != want {
		r.Fail("sha256 %s, want %s", got, want)
	}
	if want := o.Boolean("bijection"); once != want || p.Bijective() != want {
		r.Fail("bijection %t, told %t, want %t", once, p.Bijective(), want)
	}
}

// bijectionCases returns the two claims of a file about where index_shuffle is a bijection, or no
// cases if the file does not exist.
func bijectionCases(file string) ([]suite.Case, error) {
	r := &suite.Report{}
	top, err := suite.Expectation(r, file)
	if suite.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	check := func(r *suite.Report, n int64, seeds []any, want bool) {
		for _, s := range seeds {
			seed, err := strconv.ParseUint(fmt.Sprint(s), 10, 32)
			if err != nil {
				r.Fail("seed: %v", err)
				return
			}
			p, err := grain.NewPermutation(n, uint32(seed), grain.DefaultRounds)
			if err != nil {
				r.Fail("%v", err)
				return
			}
			seen, distinct := make([]bool, n), int64(0)
			for i := range n {
				if id := p.At(i); !seen[id] {
					seen[id], distinct = true, distinct+1
				}
			}
			if missing := n - distinct; missing != map[bool]int64{true: 0, false: 1}[want] || p.Bijective() != want {
				r.Fail("n %d, seed %d: %d values missing, bijective %t, want %t", n, seed, missing, p.Bijective(), want)
			}
		}
	}
	one := func(name string, run func(r *suite.Report, o *suite.Object)) suite.Case {
		return suite.Case{Name: "bijection/" + name, Family: "bijection", Path: "bijection.json",
			Run: func(_ context.Context, r *suite.Report) {
				o := suite.NewObject(r, name+".", top.Members[name])
				run(r, o)
				o.Done()
			}}
	}
	return []suite.Case{
		one("n_1_to_5000", func(r *suite.Report, o *suite.Object) {
			o.Has("method") // how it was found out
			if n := o.Integer("failures"); n != 0 {
				r.Fail("%d failures, want a bijection everywhere", n)
			}
			tried := o.List("seeds")
			for n := int64(1); n <= 5000; n += 1 + n/50 { // some, for every n is a walk through the whole block of 16 bits
				check(r, n, tried, true)
			}
		}),
		one("enumerated", func(r *suite.Report, o *suite.Object) {
			tried := o.List("seeds")
			for _, n := range o.Numbers("bijective") {
				check(r, n, tried, true)
			}
			for _, n := range o.Numbers("one_value_missing_and_one_twice") {
				check(r, n, tried, false)
			}
		}),
	}, nil
}
