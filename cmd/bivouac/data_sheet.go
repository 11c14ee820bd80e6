//go:build !bivouac_wheel

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// checkSheet returns an error unless a sheet can be written in the form that the name says.
func checkSheet(path string) error {
	if ext := strings.ToLower(filepath.Ext(path)); path != "" && ext != ".png" && ext != ".html" {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "data peek", Subject: "--sheet",
			Want: "a name that ends in .png or .html", Got: path}}
	}
	return nil
}

// mostDrawn bounds the samples of a sheet.
const mostDrawn = 1 << 14

// drawnSample is a sample on a sheet.
type drawnSample struct {
	title   string
	picture tensor.Tensor // empty if it has no picture
	lines   []string      // of its other fields
}

// drawSamples reads the samples of steps again and draws them to a new file.
func drawSamples(ctx context.Context, data *behind, steps []stepInfo, path string, cell int, g *global) error {
	total := samplesOf(steps)
	if err := checkDrawn(total); err != nil {
		return err
	}
	w := newWork(g)
	defer w.close()
	advance := samplesDone(w, "samples")
	var all []drawnSample
	err := eachDrawn(ctx, data, steps, 0, total, func(d drawnSample) error {
		all = append(all, d)
		advance(int64(len(all)), total)
		return nil
	})
	if err != nil {
		return err
	}
	w.close()
	return writeSheet(path, all, cell)
}

// samplesOf counts the samples of steps.
func samplesOf(steps []stepInfo) (n int64) {
	for _, s := range steps {
		for _, ids := range s.Ranks {
			n += int64(len(ids))
		}
	}
	return n
}

// eachDrawn reads samples of steps again, at most n from sample from on, and calls do for each.
func eachDrawn(ctx context.Context, data *behind, steps []stepInfo, from, n int64, do func(drawnSample) error) error {
	at := int64(0)
	for _, s := range steps {
		for i, ids := range s.Ranks {
			for row, id := range ids {
				if at++; at <= from || at-from > n {
					continue
				}
				f, err := data.sample(ctx, id)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err := do(drawn(s.title(i, row), data.describe(id), &f, err)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkDrawn(n int64) error {
	if n <= mostDrawn {
		return nil
	}
	return &errs.Error{Kind: errs.Exhausted, Op: "data peek", Subject: "--sheet",
		Want: fmt.Sprint("at most ", mostDrawn, " samples"), Got: fmt.Sprint(n),
		Remedy: "lower --count, or choose one --rank"}
}

// title names a row of the batch of a rank.
func (s *stepInfo) title(rank, row int) string {
	step := fmt.Sprint("step ", s.Step)
	if s.JobStep != nil {
		step = fmt.Sprint("job step ", *s.JobStep)
	}
	return fmt.Sprintf("%s, rank %d, row %d: sample %d", step, s.Rank+rank, row, s.Ranks[rank][row])
}

// drawn returns what the sheet shows of a sample. A sample that cannot be read shows why.
func drawn(title, name string, f *reader.Fields, failed error) drawnSample {
	d := drawnSample{title: title, lines: []string{name}}
	if failed != nil {
		d.lines = append(d.lines, oneLine(failed))
		return d
	}
	for i, field := range f.Names {
		v := f.Values[i]
		if isPicture(v) && !d.picture.DType.Valid() {
			t, err := decoded(v.Data, raster.RGB)
			if err == nil {
				d.picture = t
				continue
			}
			d.lines = append(d.lines, field+": "+oneLine(err))
			continue
		}
		d.lines = append(d.lines, field+": "+describeField(field, v, false).short())
	}
	return d
}

// short returns the contents of a field on a line.
func (f shownField) short() string {
	switch f.Kind {
	case "picture":
		return f.Picture
	case "text", "bytes":
		return f.Text
	case "numbers":
		list, _ := f.Values.([]string)
		return strings.Join(list, " ")
	}
	return f.Kind
}

// writeSheet writes the sheet in the form that its name says.
func writeSheet(path string, all []drawnSample, cell int) error {
	if strings.ToLower(filepath.Ext(path)) == ".html" {
		return writeNew(path, func(w io.Writer) error { return writePage(w, all, cell) })
	}
	if !slices.ContainsFunc(all, func(d drawnSample) bool { return d.picture.DType.Valid() }) {
		return &errs.Error{Kind: errs.Unsupported, Op: "data peek", Subject: path, Want: "samples with pictures",
			Got:    "samples without a picture that can be decoded",
			Remedy: "choose a name that ends in .html, which shows texts and numbers"}
	}
	side := int(math.Ceil(math.Sqrt(float64(len(all)))))
	var rows []sheetRow
	for at := range slices.Chunk(all, side) {
		row := sheetRow{}
		for _, d := range at {
			picture := d.picture
			if !picture.DType.Valid() { // it keeps its place
				picture = tensor.New(tensor.Uint8, 1, 1, 1)
				picture.Layout = "HWC"
			}
			row.after = append(row.after, []tensor.Tensor{picture})
		}
		rows = append(rows, row)
	}
	return (&sheet{names: []string{"pictures"}, cell: cell}).write(path, rows)
}

// address returns the picture as an address that has its bytes, at most side high and wide, or ""
// if the sample has no picture.
func (d *drawnSample) address(side int) (string, error) {
	if !d.picture.DType.Valid() {
		return "", nil
	}
	c := sheetCell{picture: d.picture}
	h, wide := c.extent(side)
	thumb := image.NewRGBA(image.Rect(0, 0, wide, h))
	c.draw(thumb, 0, 0, side)
	var b bytes.Buffer
	if err := png.Encode(&b, thumb); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

const pageHead = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Samples</title>
<style>
:root { color-scheme: light dark }
body { font: 14px system-ui, sans-serif; margin: 1em }
main { display: flex; flex-wrap: wrap; gap: 1em }
figure { margin: 0; max-width: 22em; overflow-wrap: anywhere }
img { display: block }
</style></head><body><main>
`

// writePage writes the sheet as a page that needs no other file.
func writePage(w io.Writer, all []drawnSample, cell int) error {
	if _, err := io.WriteString(w, pageHead); err != nil {
		return err
	}
	for _, d := range all {
		var b bytes.Buffer
		b.WriteString("<figure>")
		address, err := d.address(cell)
		if err != nil {
			return err
		}
		if address != "" {
			fmt.Fprintf(&b, `<img alt="%s" src="%s">`, html.EscapeString(d.title), address)
		}
		fmt.Fprintf(&b, "<figcaption><b>%s</b>", html.EscapeString(d.title))
		for _, line := range d.lines {
			fmt.Fprintf(&b, "<br>%s", html.EscapeString(printable(line)))
		}
		b.WriteString("</figcaption></figure>\n")
		if _, err := w.Write(b.Bytes()); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "</main></body></html>\n")
	return err
}
