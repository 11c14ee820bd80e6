package grain

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
)

// proportions returns Grain's integers for weights: the smallest weight becomes 100, and all others
// are cut to whole numbers.
func proportions(weights []float64, n int) ([]uint64, error) {
	if weights == nil {
		weights = make([]float64, n)
		for i := range weights {
			weights[i] = 1
		}
	}
	if n == 0 || len(weights) != n {
		return nil, invalid("grain.Mix", fmt.Sprintf("one weight for each of %d data sets, at least one", n),
			fmt.Sprintf("%d weights", len(weights)))
	}
	least := math.Inf(1)
	for _, w := range weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return nil, invalid("grain.Mix", "positive weights", fmt.Sprint(w))
		}
		least = min(least, w)
	}
	scale, whole := 100/least, make([]uint64, n)
	for i, w := range weights {
		if w*scale > 1<<31 {
			return nil, invalid("grain.Mix", "weights of at most 2^31/100 times the smallest weight", fmt.Sprint(w))
		}
		whole[i] = uint64(w * scale)
	}
	return whole, nil
}

// pick returns the data set of element k of a mixture, and the element's index there.
func pick(k int64, proportions []uint64) (source int, index int64) {
	var rest uint64
	for _, p := range proportions {
		rest += p
	}
	at, next := uint64(k), uint64(k)+1
	for i, p := range proportions {
		after, afterNext := portion(at, rest-p, rest), portion(next, rest-p, rest)
		if at-after != next-afterNext {
			return i, int64(next - afterNext - 1)
		}
		rest -= p
		at, next = after, afterNext
	}
	return 0, 0
}

// portion returns k*part/whole for part <= whole.
func portion(k, part, whole uint64) uint64 {
	hi, lo := bits.Mul64(k, part)
	quotient, _ := bits.Div64(hi, lo, whole)
	return quotient
}

// Mix is MapDataset.mix: elements of maps in turn, by weight (nil means equal weights), until the
// first map has delivered its epoch. The error is of kind errs.Invalid if a map is empty, if a
// weight is not positive, or if there is not one weight for each map.
func Mix[T any](maps []Map[T], weights []float64) (Map[T], error) {
	parts, err := checkMix(maps, weights)
	if err != nil {
		return nil, err
	}
	var sum uint64
	for _, p := range parts {
		sum += p
	}
	least := math.Inf(1)
	for i, p := range parts {
		least = min(least, float64(maps[i].Len())/(float64(p)/float64(sum)))
	}
	n := int64(Endless)
	if least < Endless {
		n = int64(least)
	}
	return mixed("mix", maps, parts, n), nil
}

// MixIterators is IterDataset.mix of iterators over maps: the elements of Mix, up to the first
// request for an element that an iterator does not have. It fails in the same cases as Mix.
func MixIterators[T any](maps []Map[T], weights []float64) (Map[T], error) {
	parts, err := checkMix(maps, weights)
	if err != nil {
		return nil, err
	}
	for _, m := range maps {
		if m.Sparse() {
			return nil, invalid("grain.MixIterators", "maps that leave no elements out (use MixIter)", m.String())
		}
	}
	var bound float64
	for _, m := range maps {
		bound += float64(m.Len())
	}
	n := int64(Endless)
	if bound < 1<<62 {
		n = int64(sort.Search(int(bound)+1, func(k int) bool {
			return exhausted(int64(k), maps, parts)
		}))
	}
	return mixed("mix-iterators", maps, parts, n), nil
}

// exhausted reports whether the mixture needs more elements up to k than a map has.
func exhausted[T any](k int64, maps []Map[T], parts []uint64) bool {
	var rest uint64
	for _, p := range parts {
		rest += p
	}
	next := uint64(k) + 1
	for i, p := range parts {
		after := portion(next, rest-p, rest)
		if next-after > uint64(maps[i].Len()) {
			return true
		}
		rest -= p
		next = after
	}
	return false
}

func checkMix[T any](maps []Map[T], weights []float64) ([]uint64, error) {
	for i, m := range maps {
		if m.Len() == 0 {
			return nil, invalid("grain.Mix", "data sets that are not empty", fmt.Sprintf("no element in data set %d", i))
		}
	}
	return proportions(weights, len(maps))
}

func mixed[T any](kind string, maps []Map[T], parts []uint64, n int64) Map[T] {
	maps, sparse := append([]Map[T](nil), maps...), false
	ats, end, whole := make([]func(wide) (T, bool), len(maps)), everywhere, int64(0)
	for _, p := range parts {
		whole += int64(p)
	}
	for i, m := range maps {
		at, until := reached(m)
		ats[i], end, sparse = at, least(end, until), sparse || m.Sparse()
	}
	return mapped[T]{n, sparse, func(k wide) (T, bool) {
		round, rest := k.divide(whole) // each round draws on every source as often as its part says
		source, index := pick(rest, parts)
		return ats[source](round.at(int64(parts[source]), index))
	}, fmt.Sprintf("%s(proportions=%d of %v)", kind, parts, maps), end}
}
