package digits

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

const (
	// Classes is the number of classes.
	Classes = 10
	// cell is the extent of a digit in the table, in pixels of 0…maxInk.
	cell   = 8
	maxInk = 16
)

//go:embed data/digits.csv.gz
var table []byte

// digit is one line of the table.
type digit struct {
	pixels [cell * cell]uint8 // 0…maxInk, row by row
	class  int
}

// readTable parses the embedded table.
func readTable() ([]digit, error) {
	z, err := gzip.NewReader(bytes.NewReader(table))
	if err != nil {
		return nil, corrupt(0, err.Error())
	}
	var out []digit
	lines := bufio.NewScanner(z)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), ",")
		if len(fields) != cell*cell+1 {
			return nil, corrupt(n, strconv.Itoa(len(fields))+" columns")
		}
		var d digit
		for i, f := range fields {
			v, err := strconv.Atoi(strings.TrimSpace(f))
			switch {
			case err != nil || v < 0:
				return nil, corrupt(n, f)
			case i < len(d.pixels) && v <= maxInk:
				d.pixels[i] = uint8(v)
			case i == len(d.pixels) && v < Classes:
				d.class = v
			default:
				return nil, corrupt(n, f)
			}
		}
		out = append(out, d)
	}
	if err := lines.Err(); err != nil {
		return nil, corrupt(len(out)+1, err.Error())
	}
	return out, nil
}

func corrupt(line int, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "digits.readTable", Subject: "line " + strconv.Itoa(line), Got: got}
}

// enlarge draws the digit as a grey image of side×side pixels, interpolating
// linearly between the centres of its cells. All arithmetic is in integers: the
// same pixels on every machine.
func (d *digit) enlarge(side int) []uint8 {
	out := make([]uint8, side*side)
	for y := range side {
		y0, y1, wy := between(y, side)
		for x := range side {
			x0, x1, wx := between(x, side)
			at := func(r, c int) int { return int(d.pixels[r*cell+c]) }
			one := 2 * side
			top := at(y0, x0)*(one-wx) + at(y0, x1)*wx
			bottom := at(y1, x0)*(one-wx) + at(y1, x1)*wx
			ink := top*(one-wy) + bottom*wy
			full := maxInk * one * one
			out[y*side+x] = uint8((ink*255 + full/2) / full)
		}
	}
	return out
}

// between returns the two cells around pixel i of side, and the weight of the
// second in units of 1/(2*side).
func between(i, side int) (first, second, weight int) {
	pos := (2*i+1)*cell - side // the pixel's centre, in 1/(2*side) of a cell, from the centre of cell 0
	if pos < 0 {
		return 0, 0, 0
	}
	first, weight = pos/(2*side), pos%(2*side)
	return first, min(first+1, cell-1), weight
}
