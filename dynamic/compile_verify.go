package dynamic

import (
	"context"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// verifier calls the body of a loop again and compares its calls with the compiled calls.
type verifier struct {
	ctx   context.Context
	body  Body
	every int64
	next  int64 // the number of delivered steps at which the next check is due
	first *recording
	lines []recordedLine
	err   error
}

func newVerifier(ctx context.Context, body Body, every int, rec *recording, g *graph.Graph) *verifier {
	return &verifier{ctx: ctx, body: body, every: int64(every), first: rec, lines: rec.lines(g)}
}

// check calls the body again if a check is due after the given number of delivered steps.
func (v *verifier) check(delivered int64) error {
	if v.err != nil || delivered < v.next {
		return v.err
	}
	v.next = delivered + v.every
	v.err = v.compare()
	return v.err
}

func (v *verifier) compare() error {
	rec := newRecording()
	in := make([]Value, len(v.first.given))
	for i, of := range v.first.given {
		if of.batch {
			rec.size, rec.sized = v.first.size, "the root"
		}
		var err error
		if in[i], err = rec.rootSymbol(of, i); err != nil {
			return err
		}
	}
	g, err := rec.recordBody(v.ctx, v.body, in)
	if err != nil {
		return errs.Wrap("", "the body, called again", err)
	}
	again := rec.lines(g)
	for i := range max(len(again), len(v.lines)) {
		want, got := lineAt(v.lines, i), lineAt(again, i)
		if want.text == got.text && want.schema != got.schema {
			got.text = "another function"
		}
		if want.text != got.text || !slices.EqualFunc(want.constant, got.constant, tensor.Tensor.Equal) {
			if want.text == got.text {
				want.text, got.text = want.text+" with one content", "another content"
			}
			return &errs.Error{Kind: errs.Mismatch, Subject: "the body, called again",
				Want: want.String() + ", as in Compile", Got: got.String(),
				Remedy: "the body depends on a Go value that has changed: " +
					"compute it with operators, return it from the root, or compile another loop"}
		}
	}
	return nil
}

// recordedLine describes one call of a body, or one of its outputs.
type recordedLine struct {
	text     string
	site     string
	constant []tensor.Tensor
	schema   *op.Schema
}

// String returns the description with its place in the program.
func (l recordedLine) String() string {
	if l.site == "" {
		return l.text
	}
	return l.text + " at " + l.site
}

func lineAt(lines []recordedLine, i int) recordedLine {
	if i < len(lines) {
		return lines[i]
	}
	return recordedLine{text: "no further call"}
}

// lines describes the calls and outputs of a recorded body.
func (rec *recording) lines(g *graph.Graph) []recordedLine {
	var list []recordedLine
	for _, n := range g.Nodes {
		l := recordedLine{text: n.Name + " = " + n.Identity(), schema: n.Schema}
		if in, ok := rec.inputs[n.Name]; ok {
			l = recordedLine{text: fmt.Sprintf("%s, %s %d axes %q", n.Name, in.spec.DType, len(in.spec.Shape), in.spec.Layout),
				constant: in.constant}
		}
		if at, ok := rec.sites[n.Name]; ok {
			l.site = at.String()
		}
		if number, ok := rec.draws[n.Name]; ok {
			i := slices.IndexFunc(rec.sources, func(s *source) bool { return slices.Contains(s.draws, number) })
			l.text += fmt.Sprintf(" draws %d from generator %p", slices.Index(rec.sources[i].draws, number), rec.sources[i].rng)
		}
		list = append(list, l)
	}
	for i, o := range rec.outputs {
		l := recordedLine{text: fmt.Sprintf("output %d", i)}
		switch {
		case o.root >= 0:
			l.text += fmt.Sprintf(": value %d of the root", o.root)
		case o.constant != nil:
			l.text += ": a constant"
			l.constant = o.constant.core().list()
		default:
			l.text += ": " + g.Outputs[o.output].String()
		}
		list = append(list, l)
	}
	return append(list, recordedLine{text: fmt.Sprintf("steps of %d samples, fixed %t", rec.size, rec.fixed)})
}
