package demo

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/examples/digits"
	"github.com/bivouac-ml/bivouac/tensor"
)

// batchOf makes the batch of a step again, from its position alone: no batch before it is read.
// same says whether ids and pixels are those that the killed process saw.
func (d *demonstration) batchOf(ctx context.Context, step int64) (drawn []byte, labels []int32, same bool, err error) {
	o := d.options
	data, err := digits.TrainPipeline(ctx, digits.Dataset{Dir: d.training("").Data}, digits.PipelineOptions{Seed: o.Seed})
	if err != nil {
		return nil, nil, false, err
	}
	defer data.Close()
	for range step - 1 {
		if err := data.Skip(); err != nil {
			return nil, nil, false, err
		}
	}
	batch, err := data.Next(ctx)
	if err != nil {
		return nil, nil, false, err
	}
	order, pixels := digestBatch(batch)
	e := d.killed.steps[step-1]
	if labels, err = elements[int32](batch.Outputs[1]); err != nil {
		return nil, nil, false, err
	}
	values, err := elements[float32](batch.Outputs[0])
	if err != nil {
		return nil, nil, false, err
	}
	drawn, err = drawDigits(values, len(labels))
	return drawn, labels, order == e.Order && pixels == e.Pixels, err
}

// elements are the elements of all samples of a batch.
func elements[T tensor.Element](b *tensor.Batch) ([]T, error) {
	t, err := b.Tensor()
	if err != nil {
		return nil, err
	}
	return tensor.Of[T](t)
}

// sheetColumns is how many digits stand in a row of the sheet.
const sheetColumns = 16

// drawDigits draws n normalised pictures as a PNG image.
func drawDigits(values []float32, n int) ([]byte, error) {
	const side, gap = digits.Side, 2
	if len(values) != n*side*side {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "demo", Subject: "batch",
			Want: fmt.Sprint(n*side*side, " pixels"), Got: fmt.Sprint(len(values))}
	}
	rows := (n + sheetColumns - 1) / sheetColumns
	sheet := image.NewGray(image.Rect(0, 0, sheetColumns*(side+gap)-gap, rows*(side+gap)-gap))
	for i, v := range values {
		of, y, x := i/(side*side), i/side%side, i%side
		left, top := of%sheetColumns*(side+gap), of/sheetColumns*(side+gap)
		sheet.SetGray(left+x, top+y, color.Gray{Y: digits.Pixel(v)})
	}
	var b bytes.Buffer
	err := png.Encode(&b, sheet)
	return b.Bytes(), err
}

const pageStyle = `body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;` +
	`color:#222;background:#fff}table{border-collapse:collapse;display:block;overflow-x:auto}` +
	`td,th{padding:.2rem .9rem .2rem 0;text-align:left;border-bottom:1px solid #ddd}` +
	`code{font-size:.85em}img,svg{max-width:100%;height:auto}img{width:100%;image-rendering:pixelated}` +
	`@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181d}td,th{border-color:#383c45}}`

// page is the report as one HTML document that needs no other file: the verdict, the losses, the
// kills, and the pictures of the step of the last kill.
func (d *demonstration) page(ctx context.Context, plot []byte) ([]byte, error) {
	r := &d.report
	var pictures string
	if n := len(r.Kills); n > 0 && r.Kills[n-1].Step > 0 {
		var err error
		if pictures, err = d.pictures(ctx, r.Kills[n-1].Step); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	verdict := fmt.Sprintf("Equal bit for bit after %d kills", len(r.Kills))
	if len(r.Failures) > 0 {
		verdict = "Different"
	}
	p(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">`)
	p(`<title>bivouac demo: %s</title><style>%s</style>`, html.EscapeString(verdict), pageStyle)
	p(`<h1>%s</h1>`, html.EscapeString(verdict))
	for _, f := range r.Failures {
		p(`<p><strong>%s</strong></p>`, html.EscapeString(f))
	}
	p(`<p>One network was trained twice on %d handwritten digits, with seed %d: once undisturbed, and once in a `+
		`process that was killed. It took %.1f s.</p>`, r.Train, r.Seed, r.Seconds)
	p(`<table><thead><tr><th></th><th>undisturbed</th><th>killed</th><th></th></tr></thead><tbody>`)
	for _, row := range r.rows() {
		same := "equal"
		if row.a != row.b {
			same = "DIFFERENT"
		}
		p(`<tr><th>%s</th><td><code>%s</code></td><td><code>%s</code></td><td>%s</td></tr>`, row.name, row.a, row.b, same)
	}
	p(`<tr><th>steps executed</th><td>%d</td><td>%d, at most %d allowed</td><td></td></tr></tbody></table>`,
		r.Steps, r.Executed, r.Bound)
	p(`<h2>The loss of each step</h2><figure>%s</figure>`, plot)
	p(`<h2>The kills</h2><table><thead><tr><th>kill</th><th>after step</th><th>while it committed</th>` +
		`<th>resumed after</th><th>steps lost</th></tr></thead><tbody>`)
	for i, k := range r.Kills {
		commit := "nothing"
		if k.InCommit {
			commit = fmt.Sprint("step ", k.Commit)
		}
		p(`<tr><td>%d</td><td>%d</td><td>%s</td><td>%d</td><td>%d</td></tr>`, i+1, k.Step, commit, k.Resumed, k.Lost)
	}
	p(`</tbody></table>`)
	b.WriteString(pictures)
	p(`<p>%d saves: the trainer stood still for %.2f ms each (median), and the commit took %.2f ms meanwhile. `+
		`<code>bivouac show %s</code> tells the story of the killed run.</p></html>`, r.Saves, float64(r.PauseMicros)/1000,
		float64(r.CommitMicros)/1000, html.EscapeString(r.Interrupted.Checkpoints))
	return b.Bytes(), nil
}

// pictures is the part of the page with the batch of a step. It is a failure if that is not what
// the killed process saw.
func (d *demonstration) pictures(ctx context.Context, step int64) (string, error) {
	drawn, labels, same, err := d.batchOf(ctx, step)
	if err != nil {
		return "", err
	}
	verdict := "They are the pixels that the killed process saw, bit for bit."
	if !same {
		d.report.fail("the pictures of step %d, made again from its position, are others", step)
		verdict = "They are NOT the pixels that the killed process saw."
	}
	return fmt.Sprintf("<h2>The pictures of step %d, the last before the last kill</h2>\n"+
		"<p>Decoded and augmented again, from the position of the step alone. %s</p>\n"+
		"<img alt=\"The digits %s\" src=\"data:image/png;base64,%s\">\n",
		step, verdict, fmt.Sprint(labels), base64.StdEncoding.EncodeToString(drawn)), nil
}
