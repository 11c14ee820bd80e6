package coco

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// AppendRuns appends the lengths of the runs that a text holds. Each is written in characters of 5
// bits from '0' on, the least first, with a sixth bit for "more follows"; from the fourth on it is
// the difference from the length two before.
func AppendRuns(runs []uint32, text []byte) ([]uint32, error) {
	bad := func(want, got string) ([]uint32, error) {
		return runs, &errs.Error{Kind: errs.Corrupt, Want: want, Got: got}
	}
	start := len(runs)
	for i := 0; i < len(text); {
		v, shift := int64(0), 0
		for {
			if i == len(text) {
				return bad("a text of whole numbers", fmt.Sprintf("a text that is cut after %d characters", i))
			}
			c := int64(text[i]) - '0'
			if c < 0 || c > 63 {
				return bad("characters from '0' to 'o'", fmt.Sprintf("%q at %d", text[i], i))
			}
			if shift > 30 {
				return bad("lengths of 32 bits", fmt.Sprintf("a longer number at %d", i))
			}
			i++
			v |= c & 31 << shift
			shift += 5
			if c&32 == 0 {
				if c&16 != 0 {
					v |= -1 << shift
				}
				break
			}
		}
		if n := len(runs) - start; n > 2 {
			v += int64(runs[start+n-2])
		}
		if v < 0 || v > math.MaxUint32 {
			return bad("lengths of 32 bits", fmt.Sprintf("%d in run %d", v, len(runs)-start))
		}
		runs = append(runs, uint32(v))
	}
	return runs, nil
}

// CheckRuns returns an error unless runs fill a mask of the given size.
func CheckRuns(runs []uint32, height, width int) error {
	sum := uint64(0)
	for _, n := range runs {
		sum += uint64(n)
	}
	if want := uint64(height) * uint64(width); sum != want {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("runs of %d pixels, which %d x %d has", want, height, width),
			Got: fmt.Sprintf("%d in %d runs", sum, len(runs))}
	}
	return nil
}

// Painter draws masks into images. The zero Painter is ready; it keeps its memory.
type Painter struct {
	pixels        []int32 // row by row
	height, width int
	scale         [2]float32 // of corners
	end           int        // of the pixels that were drawn, down the columns
	marks         []uint32   // where the outline of a polygon crosses columns
	runs          []uint32
	order         []int32
}

// draw sets the pixels of runs to label, and notes where the last of them ends.
func (m *Painter) draw(runs []uint32, label int32) {
	row, column, end := 0, 0, 0
	for i, n := range runs {
		left := int(n)
		if end += left; i%2 == 1 && n > 0 {
			m.end = max(m.end, min(end, len(m.pixels)))
		}
		if i%2 == 0 {
			row += left
			column, row = column+row/m.height, row%m.height
			continue
		}
		for left > 0 && column < m.width {
			rows := min(left, m.height-row)
			for at := row*m.width + column; rows > 0; at += m.width {
				m.pixels[at] = label
				rows, left, row = rows-1, left-1, row+1
			}
			if row == m.height {
				row, column = 0, column+1
			}
		}
	}
}

// at returns where a pixel lies that is counted down the columns.
func (m *Painter) at(i int) int { return i%m.height*m.width + i/m.height }

// settled returns where the last run of a label begins that was just drawn up to m.end: a run of
// its pixels if they lead to the end of the image, else the run behind them.
func (m *Painter) settled(label int32) int {
	if m.end < len(m.pixels) {
		return m.end
	}
	first := m.end
	for first > 0 && m.pixels[m.at(first-1)] == label {
		first--
	}
	return first
}

// fine is how much finer than pixels the grid is on which outlines are drawn.
const fine = 5

// outline returns the runs of the pixels within a polygon. A line of the outline goes from column
// to column of the fine grid, or if it is steep from row to row, each place rounded. Where it
// leaves the middle of a column of pixels, the pixels below it change sides.
func (m *Painter) outline(polygon [][2]float32) []uint32 {
	m.marks = m.marks[:0]
	last := len(polygon) - 1
	if last < 0 {
		return nil
	}
	x0, y0 := m.corner(polygon[last])
	for i := range last + 1 {
		x1, y1 := m.corner(polygon[i])
		m.line(x0, y0, x1, y1)
		x0, y0 = x1, y1
	}
	slices.Sort(m.marks)
	m.marks = append(m.marks, uint32(m.height*m.width))
	return m.turns()
}

// corner returns the point of the fine grid at a corner.
func (m *Painter) corner(v [2]float32) (x, y int) {
	const far = 1 << 40
	on := func(v float64) int { return int(max(-far, min(far, fine*v+.5))) }
	return on(float64(v[0] * m.scale[0])), on(float64(v[1] * m.scale[1]))
}

// line marks where a line leaves the middles of columns.
func (m *Painter) line(x0, y0, x1, y1 int) {
	dx, dy := max(x1-x0, x0-x1), max(y1-y0, y0-y1)
	flat := dx >= dy
	if flat && x0 > x1 || !flat && y0 > y1 {
		x0, y0, x1, y1 = x1, y1, x0, y0
	}
	left, right := max(0, min(x0, x1)), max(x0, x1)
	// The column of pixels c has its middle at x = fine*c + 2.
	first, end := max(0, (left+fine-3)/fine), min(m.width, (right-3+fine)/fine)
	if dx == 0 {
		return
	}
	if flat {
		slope := float64(y1-y0) / float64(dx)
		at := func(t int) int { return int(float64(y0) + float64(slope*float64(t)) + .5) }
		for c := first; c < end; c++ {
			t := fine*c + 2 - x0
			m.mark(c, min(at(t), at(t+1)))
		}
		return
	}
	slope := float64(x1-x0) / float64(dy)
	at := func(t int) int { return int(float64(x0) + float64(slope*float64(t)) + .5) }
	for c := first; c < end; c++ {
		x := fine*c + 2
		// t is the last row on this side of the place between x and x+1.
		t := max(0, min(dy-1, int((float64(x-x0)+.5)/slope)))
		if slope > 0 {
			for t > 0 && at(t) > x {
				t--
			}
			for t+1 <= dy && at(t+1) <= x {
				t++
			}
		} else {
			for t > 0 && at(t) <= x {
				t--
			}
			for t+1 <= dy && at(t+1) > x {
				t++
			}
		}
		m.mark(c, y0+t)
	}
}

// mark marks the pixel of a column that is below y on the fine grid, counted down the columns.
func (m *Painter) mark(column, y int) {
	row := 0
	if y > 2 {
		row = min(m.height, (y-2+fine-1)/fine)
	}
	m.marks = append(m.marks, uint32(column*m.height+row))
}

// turns returns the lengths between marks as runs. A length of 0 joins its neighbours.
func (m *Painter) turns() []uint32 {
	runs, before := m.runs[:0], uint32(0)
	join := false
	for i, mark := range m.marks {
		n := mark - before
		before = mark
		switch {
		case join:
			runs[len(runs)-1] += n
			join = false
		case n == 0 && i > 0:
			join = true
		default:
			runs = append(runs, n)
		}
	}
	m.runs = runs
	return runs
}
