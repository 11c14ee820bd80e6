package order

import (
	"cmp"
	"slices"
)

// keysOfRun bounds the keys of a run of a keySet, and so how many keys move when one is added or
// taken.
const keysOfRun = 512

// keySet is a set of keys. Keys are added, and the least key from a bound on is taken. The set
// keeps its keys in sorted runs of at most keysOfRun keys, so each operation takes a search and a
// short move for any number of keys. The zero set is empty.
type keySet struct {
	runs [][]uint64 // ascending; none is empty
}

// run returns the first run whose last key is at least key, or len(runs) if there is no such run.
func (s *keySet) run(key uint64) int {
	r, _ := slices.BinarySearchFunc(s.runs, key, func(run []uint64, key uint64) int {
		return cmp.Compare(run[len(run)-1], key)
	})
	return r
}

// add adds a key that is not in the set.
func (s *keySet) add(key uint64) {
	if len(s.runs) == 0 {
		s.runs = append(s.runs, append(make([]uint64, 0, keysOfRun), key))
		return
	}
	r := min(s.run(key), len(s.runs)-1)
	run := s.runs[r]
	if len(run) == keysOfRun {
		upper := append(make([]uint64, 0, keysOfRun), run[keysOfRun/2:]...)
		run = run[:keysOfRun/2]
		s.runs[r] = run
		s.runs = slices.Insert(s.runs, r+1, upper)
		if key > run[len(run)-1] {
			r, run = r+1, upper
		}
	}
	at, _ := slices.BinarySearch(run, key)
	s.runs[r] = slices.Insert(run, at, key)
}

// takeFrom removes the least key that is at least bound from the set and returns it. ok is false if
// there is no such key.
func (s *keySet) takeFrom(bound uint64) (key uint64, ok bool) {
	r := s.run(bound)
	if r == len(s.runs) {
		return 0, false
	}
	at, _ := slices.BinarySearch(s.runs[r], bound)
	key = s.runs[r][at]
	if s.runs[r] = slices.Delete(s.runs[r], at, at+1); len(s.runs[r]) == 0 {
		s.runs = slices.Delete(s.runs, r, r+1)
	}
	return key, true
}
