package strided

import "slices"

// group is a group of neighbouring axes that are all folded or all kept.
type group struct {
	n      int
	folded bool
}

// Run is a block of an array in memory, of Rows rows of N elements, that begins at element In. With
// Along each row is folded into one element of the result: the first row into element Out, the next
// rows into the elements after it. Otherwise all rows are folded into the N elements that begin at
// Out, element by element.
type Run struct {
	In, Out, Rows, N int
	Along            bool
}

// Fold walks over a dense array of the given shape in the order of its memory, for an operation
// that removes the folded axes. It calls f for one block after the other. Shapes without elements
// have no blocks.
func Fold(shape, folded []int, f func(Run)) {
	var buf [ranks]group
	groups := buf[:0]
	for i, n := range shape {
		if n == 0 {
			return
		}
		is := slices.Contains(folded, i)
		switch k := len(groups) - 1; {
		case n == 1:
		case k >= 0 && groups[k].folded == is:
			groups[k].n *= n
		default:
			groups = append(groups, group{n, is})
		}
	}
	run := Run{Rows: 1, N: 1}
	if k := len(groups) - 1; k >= 0 {
		run.N, run.Along, groups = groups[k].n, groups[k].folded, groups[:k]
	}
	if k := len(groups) - 1; k >= 0 { // neighbours differ: this axis is folded if the last is kept
		run.Rows, groups = groups[k].n, groups[:k]
	}
	walk(groups, run, f)
}

// walk calls f at every position of the groups.
func walk(groups []group, run Run, f func(Run)) {
	in, out := run.Rows*run.N, run.N // elements of a block, and of its result
	if run.Along {
		out = run.Rows
	}
	times := 1
	for _, g := range groups {
		times *= g.n
	}
	for t := range times {
		run.In, run.Out = t*in, 0
		step := out
		for i, rest := len(groups)-1, t; i >= 0; i-- {
			if at := rest % groups[i].n; !groups[i].folded {
				run.Out += at * step
				step *= groups[i].n
			}
			rest /= groups[i].n
		}
		f(run)
	}
}
