package crew

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// A range of keys with fewer entries than fewEntries is not worth a goroutine.
const fewEntries = 4096

// merge returns the entries of all lists in the order of their keys. A key that is in several lists
// is the metadata of an array, which must be the same. n is the list with another one. The keys are
// cut into ranges, which are merged at once.
func merge(lists []entries) (all entries, n int, err error) {
	total := 0
	for i, list := range lists {
		total += len(list)
		if !slices.IsSortedFunc(list, compareKeys) {
			lists[i] = slices.Clone(list)
			slices.SortStableFunc(lists[i], compareKeys)
		}
	}
	return mergeRanges(lists, total, min(runtime.GOMAXPROCS(0), total/fewEntries))
}

// mergeRanges merges sorted lists with that many entries in about that many ranges.
func mergeRanges(lists []entries, total, ranges int) (all entries, n int, err error) {
	type outcome struct {
		list entries
		n    int
		err  error
	}
	cuts := cutKeys(lists, total, ranges)
	outcomes := make([]outcome, len(cuts)+1)
	all = make(entries, total)
	var group sync.WaitGroup
	left, at := slices.Clone(lists), 0
	for i := range outcomes {
		part, size := left, 0
		if i < len(cuts) {
			part = make([]entries, len(lists))
			for k, list := range left {
				end, _ := slices.BinarySearchFunc(list, cuts[i], compareKey)
				part[k], left[k] = list[:end], list[end:]
			}
		}
		for _, list := range part {
			size += len(list)
		}
		room := all[at : at : at+size]
		at += size
		group.Go(func() {
			o := &outcomes[i]
			o.list, o.n, o.err = mergeInto(room, part)
		})
	}
	group.Wait()
	at = 0
	for _, o := range outcomes {
		if o.err != nil {
			return nil, o.n, o.err
		}
		if at < cap(all) && len(o.list) > 0 && &all[at] != &o.list[0] {
			copy(all[at:], o.list)
		}
		at += len(o.list)
	}
	return all[:at], 0, nil
}

// cutKeys returns keys that cut lists with total entries into about that many ranges with about as
// many entries each.
func cutKeys(lists []entries, total, ranges int) []string {
	if ranges < 2 {
		return nil
	}
	const samples = 64 // a range
	step := max(1, total/(ranges*samples))
	var keys []string
	passed := 0 // since the last sample, over all lists
	for _, list := range lists {
		i := step - 1 - passed
		for ; i < len(list); i += step {
			keys = append(keys, list[i].Key)
		}
		passed = len(list) - 1 - (i - step)
	}
	slices.Sort(keys)
	var cuts []string
	for i := 1; i < ranges && len(keys) > 0; i++ {
		cuts = append(cuts, keys[i*len(keys)/ranges])
	}
	return slices.Compact(cuts)
}

// mergeInto appends the entries of sorted lists to all, which has room for them.
func mergeInto(all entries, lists []entries) (entries, int, error) {
	q := make(queue, 0, len(lists))
	for i, list := range lists {
		if len(list) > 0 {
			q = append(q, rest{list, i})
		}
	}
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
	for len(q) > 0 {
		e := &q[0].list[0]
		if last := len(all) - 1; last < 0 || all[last].Key != e.Key {
			all = append(all, *e)
		} else if b := all[last].Value.Inline; b == nil || !bytes.Equal(b, e.Value.Inline) {
			return nil, q[0].n, otherStorage(e.Key)
		}
		if q[0].list = q[0].list[1:]; len(q[0].list) == 0 {
			q[0] = q[len(q)-1]
			q = q[:len(q)-1]
		}
		if len(q) > 1 {
			q.down(0)
		}
	}
	return all, 0, nil
}

func compareKey(e ocdbt.Entry, key string) int { return strings.Compare(e.Key, key) }

func compareKeys(a, b ocdbt.Entry) int { return strings.Compare(a.Key, b.Key) }

// rest is what is left of list n.
type rest struct {
	list entries
	n    int
}

// queue is a heap of lists: the first has the least key, and of equal keys the least number.
type queue []rest

func (q queue) less(i, j int) bool {
	c := strings.Compare(q[i].list[0].Key, q[j].list[0].Key)
	return c < 0 || c == 0 && q[i].n < q[j].n
}

// down moves list i to its place: to the end of the way along the least lists, since what follows
// an entry in its list is seldom the least of all, and from there up.
func (q queue) down(i int) {
	top, moved := i, q[i]
	for {
		least := 2*i + 1
		if least >= len(q) {
			break
		}
		if right := least + 1; right < len(q) && q.less(right, least) {
			least = right
		}
		q[i] = q[least]
		i = least
	}
	q[i] = moved
	for i > top {
		above := (i - 1) / 2
		if !q.less(i, above) {
			return
		}
		q[i], q[above] = q[above], q[i]
		i = above
	}
}
