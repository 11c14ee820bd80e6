package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/grain"
	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/proof/shuffletest"
)

// size is a number of samples with the permutations of it that are drawn.
type size struct{ n, keys int }

func printTables(w io.Writer, quick bool) error {
	var failed error
	all := shuffles(&failed)
	fewer := func(sizes []size) []size {
		if quick {
			sizes = sizes[:3]
			for i := range sizes {
				sizes[i].keys /= 40
			}
		}
		return sizes
	}
	fmt.Fprint(w, "\n### Five statistics\n\nAscents, fixed points, pairs of successors, rank correlation with the identity, cycles: the mean\nor variance that is furthest from its value over all permutations, in standard deviations.\n\n")
	table(w, all, fewer([]size{{10, 2000}, {100, 2000}, {256, 2000}, {257, 2000}, {1000, 1000}, {1797, 1000}, {4097, 400}, {65536, 100}, {65537, 100}, {131072, 100}, {262144, 60}, {262145, 60}, {1000003, 40}}),
		func(s shuffle, n, keys int) float64 {
			z, _ := shuffletest.Worst(n, keys, s.draw)
			return z
		})
	fmt.Fprint(w, "\n### Differences of neighbours\n\nHow often two pairs of positions, at a distance in their bits, have ids with the same\ndifference in their bits, compared with Fisher-Yates.\n\n")
	table(w, all, fewer([]size{{16, 4000}, {33, 4000}, {100, 4000}, {257, 1000}, {1000, 1000}, {4096, 200}, {65536, 40}, {65537, 40}, {262144, 20}}),
		func(s shuffle, n, keys int) float64 { return shuffletest.DifferencesOff(n, keys, s.draw) })
	fmt.Fprint(w, "\n### All permutations of few samples\n\nchi² of how often each of the n! comes, each 100 times expected.\n\n")
	few := []size{{2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}
	if quick {
		few = few[:2]
	}
	table(w, all, few,
		func(s shuffle, n, _ int) float64 { return shuffletest.Uniform(n, 100, s.draw) })
	printMissing(w, all)
	if err := printSingles(w); err != nil {
		return err
	}
	return failed
}

// table prints a row for each size and a column for each shuffle.
func table(w io.Writer, all []shuffle, sizes []size, measure func(s shuffle, n, keys int) float64) {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.name
	}
	fmt.Fprintf(w, "| n | permutations | %s |\n|---|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(all)))
	for _, z := range sizes {
		cells := make([]string, len(all))
		for i, s := range all {
			cells[i] = cell(measure(s, z.n, z.keys))
		}
		drawn := fmt.Sprint(z.keys)
		if z.keys == 1 {
			drawn = "100 n!"
		}
		fmt.Fprintf(w, "| %d | %s | %s |\n", z.n, drawn, strings.Join(cells, " | "))
	}
}

// printMissing prints the ids that never come in shuffles that are not permutations.
func printMissing(w io.Writer, all []shuffle) {
	fmt.Fprint(w, "\n### Is it a permutation\n\nIds that never come, of n, with seed 42 (others come twice).\n\n")
	names, sizes := []string{}, []int{4097, 65536, 65537, 65538, 131073, 262144, 262145, 262146, 1048576, 1048577}
	for _, s := range all[:4] {
		names = append(names, s.name)
	}
	fmt.Fprintf(w, "| n | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, n := range sizes {
		p, cells := make([]int64, n), []string{}
		for _, s := range all[:4] {
			s.draw(42, p)
			text := fmt.Sprint(shuffletest.Missing(p))
			if text != "0" {
				text = "**" + text + "**"
			}
			cells = append(cells, text)
		}
		fmt.Fprintf(w, "| %d | %s |\n", n, strings.Join(cells, " | "))
	}
}

// printSingles prints what is one number each.
func printSingles(w io.Writer) error {
	fmt.Fprint(w, "\n### Seeds and draws\n\n| what | measured | if all were well |\n|---|---|---|\n")
	const n = 1000
	a, b := make([]int64, n), make([]int64, n)
	equal := func(x, y []int64) int {
		c := 0
		for i := range x {
			if x[i] == y[i] {
				c++
			}
		}
		return c
	}
	order.NewShuffled(n, 7, "").Fill(n, a)
	order.NewShuffled(n, 8, "").Fill(0, b)
	fmt.Fprintf(w, "| Bivouac: places alike in epoch 1 of seed 7 and epoch 0 of seed 8, of %d | %d | about 1 |\n", n, equal(a, b))
	for to, seed := range map[*[]int64]uint32{&a: 7, &b: 8} {
		m := grain.Shuffle(grain.Range(0, n, 1), seed)
		first := int64(8-seed) * n
		for i := range *to {
			(*to)[i], _ = m.At(first + int64(i))
		}
	}
	fmt.Fprintf(w, "| Grain: the same | **%d** | about 1 |\n", equal(a, b))

	const samples, draws = 260_301_048, 1_000_000 // 2^32 / 16.5
	g := torchdata.NewGenerator(1)
	low := 0
	for range draws {
		if g.Int63n(samples) < samples/2 {
			low++
		}
	}
	z := (float64(low) - draws/2) / math.Sqrt(draws/4)
	fmt.Fprintf(w, "| torch `randint`, as `RandomSampler(replacement=True)` draws, n = %d: draws of the lower half of the ids | **%.2f %%** (%.0f standard deviations) | 50.00 %% |\n", samples, 100*float64(low)/draws, z)
	p := order.NewPermutation(samples, order.Key(1, 0, ""))
	ids := make([]int64, draws)
	p.Fill(0, ids)
	low = 0
	for _, id := range ids {
		if id < samples/2 {
			low++
		}
	}
	z = (float64(low) - draws/2) / math.Sqrt(draws/4)
	_, err := fmt.Fprintf(w, "| Bivouac, first %d of an epoch of n = %d: of the lower half | %.2f %% (%.1f standard deviations) | 50.00 %% |\n\n", draws, samples, 100*float64(low)/draws, z)
	return err
}
