package grain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// Filter is MapDataset.filter. Elements for which keep returns false are left out, and still have
// their index. The String contains name in place of keep.
func Filter[T any](m Map[T], name string, keep func(T) bool) Map[T] {
	at, end := reached(m)
	return mapped[T]{m.Len(), true, func(i wide) (none T, ok bool) {
		if x, ok := at(i); ok && keep(x) {
			return x, true
		}
		return none, false
	}, fmt.Sprintf("filter(%s of %s)", strconv.Quote(name), m), end}
}

// Apply is MapDataset.map. The String contains name in place of fn.
func Apply[T, U any](m Map[T], name string, fn func(T) U) Map[U] {
	return indexed(m, name, everywhere, func(_ wide, x T) U { return fn(x) })
}

// ApplyIndexed is MapDataset.map_with_index. The index continues in later epochs.
func ApplyIndexed[T, U any](m Map[T], name string, fn func(index int64, element T) U) Map[U] {
	return indexed(m, name, wide{lo: 1 << 63}, func(index wide, x T) U { return fn(int64(index.lo), x) })
}

// indexed applies a function of indices below most.
func indexed[T, U any](m Map[T], name string, most wide, fn func(index wide, element T) U) Map[U] {
	at, end := reached(m)
	return mapped[U]{m.Len(), m.Sparse(), func(i wide) (none U, ok bool) {
		if x, ok := at(i); ok {
			return fn(i, x), true
		}
		return none, false
	}, fmt.Sprintf("map(%s of %s)", strconv.Quote(name), m), least(end, most)}
}

// RandomApply is MapDataset.random_map. fn gets a generator that depends only on the seed and the
// index, which continues in later epochs.
func RandomApply[T, U any](m Map[T], name string, seed uint32, fn func(element T, random *numpy.Generator) U) Map[U] {
	keyed := numpy.SeedPhilox(seed)
	return indexed(m, fmt.Sprintf("%s seed=%d", name, seed), wide{hi: 1}, func(index wide, x T) U {
		p := keyed.At([4]uint64{3: index.lo})
		return fn(x, numpy.NewGenerator(&p))
	})
}

// Seeded is a seed from MapDataset.seed, and how many steps after it a transformation comes. A
// Depth of 1 is the next step.
type Seeded struct{ Seed, Depth uint32 }

// DefaultSeed returns the seed of a transformation without a seed of its own. seeds are the nearest
// seeds before it, in the order of the parents that they belong to.
func DefaultSeed(seeds ...Seeded) uint32 {
	var words []uint32
	nearest := slices.SortedStableFunc(slices.Values(seeds), func(a, b Seeded) int { return cmp.Compare(a.Depth, b.Depth) })
	for _, s := range nearest {
		words = append(words, s.Seed, s.Depth)
	}
	var seed [1]uint32
	numpy.NewSeedSequence(words...).Generate32(seed[:])
	return seed[0]
}

// Concatenate is MapDataset.concatenate: the epochs of several maps, one after the other. The error
// is of kind errs.Invalid if a map is endless, or if the maps are too long together.
func Concatenate[T any](maps []Map[T]) (Map[T], error) {
	maps, ends, n, sparse := append([]Map[T](nil), maps...), make([]int64, len(maps)), int64(0), false
	ats, end := make([]func(wide) (T, bool), len(maps)), everywhere
	for i, m := range maps {
		if m.Len() >= Endless-n {
			return nil, invalid("grain.Concatenate", "maps that end, with fewer elements together than an endless map",
				m.String())
		}
		n += m.Len()
		ends[i], sparse = n, sparse || m.Sparse()
	}
	for i, m := range maps {
		at, until := reached(m)
		ats[i], end = at, least(end, epochs(until, m.Len(), n))
	}
	return mapped[T]{n, sparse, func(i wide) (T, bool) {
		epoch, at := i.divide(n)
		k := upper(ends, at)
		length := maps[k].Len()
		return ats[k](epoch.at(length, at-(ends[k]-length)))
	}, fmt.Sprintf("concatenate%v", maps), end}, nil
}

// upper returns the first of ends that is above at.
func upper(ends []int64, at int64) int {
	low, high := 0, len(ends)-1
	for low < high {
		if mid := (low + high) / 2; ends[mid] > at {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// Zip is ZipMapDataset: for each index the elements of all maps. The error is of kind errs.Invalid
// for no maps, for maps of different lengths, and for maps that leave elements out.
func Zip[T any](maps []Map[T]) (Map[[]T], error) {
	maps = append([]Map[T](nil), maps...)
	if len(maps) == 0 {
		return nil, invalid("grain.Zip", "at least one map", "no map")
	}
	n, ats, end := maps[0].Len(), make([]func(wide) (T, bool), len(maps)), everywhere
	for i, m := range maps {
		if m.Len() != n || m.Sparse() {
			return nil, invalid("grain.Zip", fmt.Sprintf("maps of %d elements, with none left out", n), m.String())
		}
		at, until := reached(m)
		ats[i], end = at, least(end, until)
	}
	return mapped[[]T]{n, false, func(i wide) ([]T, bool) {
		row := make([]T, len(ats))
		for k, at := range ats {
			row[k], _ = at(i)
		}
		return row, true
	}, fmt.Sprintf("zip%v", maps), end}, nil
}

// ShuffleWindows is WindowShuffleMapDataset. Window w has the given number of indices and is
// shuffled with seed+w, modulo 2^32; Grain stops with an error at an overflow. Windows continue in
// later epochs. If the window size does not divide the epoch, its last window reaches into the next
// epoch, as in Grain: some elements of the epoch come twice, others never. The error is of kind
// errs.Invalid if window < 1.
func ShuffleWindows[T any](m Map[T], window int64, seed uint32) (Map[T], error) {
	n := m.Len()
	if window < 1 {
		return nil, invalid("grain.ShuffleWindows", "a window of at least 1", fmt.Sprint(window))
	}
	at, end := reached(m)
	return mapped[T]{n, m.Sparse(), func(i wide) (T, bool) {
		var keys [DefaultRounds]uint32
		w, k := i.divide(window)
		p := makePermutation(window, seed+uint32(w.lo), keys[:])
		return at(w.at(window, p.At(k)))
	}, fmt.Sprintf("windows(size=%d seed=%d of %s)", window, seed, m), epochs(end, window, window)}, nil
}
