// Package ordertest makes orders of every kind, for tests of packages that take any order.
package ordertest

import (
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// OfKind returns an order of n samples of a kind: sequential, permutation, cycle, shuffled,
// windows, packs, buckets, selected, filtered or repeated. It also returns the tables that the
// order is over. The length of a sample, and whether it is selected, depend on its id alone, so
// that an order of more samples is one of the same data set, grown. The error is of kind
// errs.NotFound for another kind.
func OfKind(kind string, n int64, seed uint64) (o order.Order, tables []order.Table, err error) {
	shuffled := order.NewShuffled(n, seed, "own")
	of, table, mask := make([]int32, n), make(order.Table, n), make(order.Table, n)
	for i := range of {
		of[i] = int32(1 + i*i%7)
		table[i] = int64(of[i])
		if i%3 != 1 {
			mask[i] = 1
		}
	}
	lengths, err := order.NewLengths(of)
	if err != nil {
		return nil, nil, err
	}
	selection := order.NewSelection(n, func(id int64) bool { return id%3 != 1 })
	switch kind {
	case "sequential":
		o = order.Sequential(n)
	case "permutation":
		o = order.NewPermutation(n, seed)
	case "cycle":
		o = order.NewCycle(n)
	case "shuffled":
		o = shuffled
	case "windows":
		var sizes order.Table
		for i, left := int64(0), n; left > 0; i++ {
			sizes = append(sizes, min(left, 2+i%3))
			left -= 2 + i%3
		}
		o, err = order.NewWindows(sizes, 2, seed, "own")
		tables = append(tables, sizes)
	case "packs":
		o, err = order.NewPacks(shuffled, lengths, order.PackOptions{Capacity: 9, Block: 16})
		tables = append(tables, table)
	case "buckets":
		o, err = order.NewBuckets(shuffled, lengths, []int64{3, 5}, 4, 16)
		tables = append(tables, table)
	case "selected":
		o, tables = order.NewSelected(order.NewShuffled(selection.Count(), seed, "own"), selection), append(tables, mask)
	case "filtered":
		o, err = order.NewFiltered(shuffled, selection)
		tables = append(tables, mask)
	case "repeated":
		o, err = order.Repeat(order.NewPermutation(n, seed), 0)
	default:
		err = &errs.Error{Kind: errs.NotFound, Op: "ordertest.OfKind", Subject: kind, Want: "a kind of orders"}
	}
	return o, tables, err
}

// fatal is a test that may fail, drawn or not.
