package main

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/proof/growth"
)

func orderOps() []growth.Op {
	lengths := func(tb growth.TB, n int) *order.Lengths {
		of := make([]int32, n)
		for i := range of {
			of[i] = int32(1 + i*7919%2000)
		}
		l, err := order.NewLengths(of)
		if err != nil {
			tb.Fatal(err)
		}
		return l
	}
	all := func(o order.Order, n int) error {
		got := make([]int64, n)
		if filled := o.Fill(0, got); filled != n {
			return fmt.Errorf("%d of %d positions", filled, n)
		}
		return nil
	}
	packs := func(name string, options order.PackOptions) growth.Op {
		return growth.Op{Name: "order: packs in one block, " + name, N: 4000,
			Prepare: func(tb growth.TB, n int) func() error {
				l := lengths(tb, n)
				return func() error {
					options := options
					options.Block = int64(n)
					p, err := order.NewPacks(order.NewShuffled(int64(n), 1, "d"), l, options)
					if err != nil {
						return err
					}
					return all(p, n)
				}
			}}
	}
	return []growth.Op{
		packs("by best fit", order.PackOptions{Capacity: 4096}),
		packs("large ones", order.PackOptions{Capacity: 1 << 40, Most: 3}),
		packs("padded", order.PackOptions{Capacity: 4096, Padded: true}),
		{Name: "order: buckets", N: 4000, Prepare: func(tb growth.TB, n int) func() error {
			l := lengths(tb, n)
			return func() error {
				b, err := order.NewBuckets(order.NewShuffled(int64(n), 1, "d"), l, []int64{500, 1000, 1500, 2000}, 8, int64(n))
				if err != nil {
					return err
				}
				return all(b, n)
			}
		}},
		{Name: "order: selection", N: 4000, Prepare: func(_ growth.TB, n int) func() error {
			ids := make([]int64, 0, n)
			for i := range n {
				ids = append(ids, int64(2*i))
			}
			return func() error {
				s, err := order.SelectIDs(int64(2*n), ids)
				if err != nil {
					return err
				}
				return all(order.NewSelected(order.NewShuffled(int64(n), 1, "d"), s), n)
			}
		}},
		{Name: "order: windows", N: 2000, Prepare: func(_ growth.TB, n int) func() error {
			sizes := make([]int64, n)
			for i := range sizes {
				sizes[i] = 3
			}
			return func() error {
				w, err := order.NewWindows(sizes, 100, 1, "d")
				if err != nil {
					return err
				}
				return all(w, 3*n)
			}
		}},
		{Name: "order: segments", N: 500, Prepare: func(_ growth.TB, n int) func() error {
			return func() error {
				segments := make([]order.Segment, n)
				for i := range segments {
					segments[i] = order.Segment{Order: order.NewShuffled(16, uint64(i), "d"), Len: 16}
				}
				s, err := order.NewSegments(segments...)
				if err != nil {
					return err
				}
				return all(s, 16*n)
			}
		}},
		{Name: "order: mixture, long", N: 4000, Prepare: func(tb growth.TB, n int) func() error {
			m := mixture(tb, 10)
			return func() error { return all(m, n) }
		}},
		// Laying out the turns of sources takes time in the number of sources times the positions of a
		// period, at most order.MixtureParts. This is not measured here.
		{Name: "order: one position of a mixture of many", N: 200, Prepare: func(tb growth.TB, n int) func() error {
			m := mixture(tb, n)
			return func() error {
				for i := range n {
					if m.Fill(int64(i), make([]int64, 1)) != 1 {
						return fmt.Errorf("position %d is not there", i)
					}
				}
				return nil
			}
		}},
	}
}

// mixture is a mixture of n sources.
func mixture(tb growth.TB, n int) *order.Mixture {
	sources := make([]order.Source, n)
	for i := range sources {
		sources[i] = order.Source{Order: order.NewShuffled(100_000, 1, name(i)), Weight: float64(1 + i%3)}
	}
	m, err := order.NewMixture(sources, order.StopFirst)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}
