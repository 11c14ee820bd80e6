package dataset

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// endsSuffix ends the name of the ends of samples in a field whose first axis differs.
const endsSuffix = "_ends"

// maskField is the field of a sample that says how much each of its tokens counts.
const maskField = "loss_mask"

// Collate makes a batch of samples, as Options says.
func (d *Data) Collate(samples []reader.Fields) (batch reader.Fields, err error) {
	if len(samples) == 0 {
		return batch, &errs.Error{Kind: errs.Invalid, Op: "dataset.Collate", Want: "at least one sample", Got: "no sample"}
	}
	names := samples[0].Names
	for i := range samples {
		if !slices.Equal(samples[i].Names, names) {
			return batch, &errs.Error{Kind: errs.Mismatch, Op: "dataset.Collate", Subject: samples[i].Origin(),
				Want: fmt.Sprintf("the fields %q, as the first sample has", names), Got: fmt.Sprintf("%q", samples[i].Names),
				Remedy: "choose and rename fields of the sources with fields, or set Options.Collate"}
		}
	}
	for i, name := range names {
		fixed := d.fixed(name)
		first := samples[0].Values[i]
		for s := range samples {
			v := samples[s].Values[i]
			same := len(v.Shape) == len(first.Shape) && (v.Shape.Equal(first.Shape) || !fixed &&
				v.Shape[1:].Equal(first.Shape[1:]))
			if v.DType != first.DType || !v.DType.Valid() || !same {
				return batch, &errs.Error{Kind: errs.Mismatch, Op: "dataset.Collate",
					Subject: samples[s].Origin() + ", field " + name,
					Want:    first.String() + ", as the first sample of the batch has", Got: v.String(),
					Remedy: "set Options.Collate"}
			}
		}
		if fixed || len(first.Shape) == 0 {
			batch = batch.With(name, stackFields(samples, i))
			continue
		}
		values, ends := joinFields(samples, i)
		batch = batch.With(name, values).With(name+endsSuffix, ends)
	}
	return batch, nil
}

// fixed reports whether all samples have one shape for a field, as all readers say.
func (d *Data) fixed(name string) bool {
	var first tensor.Shape
	for n, s := range d.sources {
		i := slices.Index(s.names, name)
		if i < 0 || s.places[i] == s.text {
			return false
		}
		shape := s.data.Specs()[s.places[i]].Shape
		if shape == nil || slices.Contains(shape, -1) || n > 0 && !shape.Equal(first) {
			return false
		}
		first = shape
	}
	return true
}

// stackFields makes one tensor of the values of a field, along a new first axis.
func stackFields(samples []reader.Fields, i int) tensor.Tensor {
	first := samples[0].Values[i]
	t := tensor.New(first.DType, append([]int{len(samples)}, first.Shape...)...)
	if first.Layout != "" {
		t.Layout = "N" + first.Layout
	}
	for s := range samples {
		copy(t.Data[s*len(first.Data):], samples[s].Values[i].Data)
	}
	return t
}

// joinFields puts the values of a field one after the other.
func joinFields(samples []reader.Fields, i int) (values, ends tensor.Tensor) {
	list, n := make([]int64, len(samples)), 0
	for s := range samples {
		n += samples[s].Values[i].Shape[0]
		list[s] = int64(n)
	}
	first := samples[0].Values[i]
	values = tensor.New(first.DType, append([]int{n}, first.Shape[1:]...)...)
	values.Layout = first.Layout
	at := 0
	for s := range samples {
		at += copy(values.Data[at:], samples[s].Values[i].Data)
	}
	return values, tensor.FromSlice(list)
}

// collatePacks makes rows of packs.
func (d *Data) collatePacks(packs [][]reader.Fields) (batch reader.Fields, err error) {
	p := d.file.pack
	tokens := make([][][]int32, len(packs))
	for i, samples := range packs {
		left := p.length
		for k := range samples {
			list, err := p.tokens(&samples[k])
			if err != nil {
				return batch, errs.Wrap("dataset.Pack", samples[k].Origin(), err)
			}
			if len(list) > left {
				return batch, &errs.Error{Kind: errs.Mismatch, Op: "dataset.Pack", Subject: samples[k].Origin(),
					Want: fmt.Sprintf("at most %d tokens, as its length said", left), Got: fmt.Sprint(len(list)),
					Remedy: "correct the lengths of the source"}
			}
			tokens[i] = append(tokens[i], list)
			left -= len(list)
		}
	}
	b, err := loader.PackTokens(p.length, p.pad)(tokens)
	if err != nil {
		return batch, err
	}
	weights, err := tensor.Of[float32](b.LossMask)
	if err != nil {
		return batch, err
	}
	for i, samples := range packs {
		at := i * p.length
		for k := range samples {
			if err := copyMask(weights[at:at+len(tokens[i][k])], &samples[k]); err != nil {
				return batch, err
			}
			at += len(tokens[i][k])
		}
	}
	return reader.Fields{Names: packedNames, Values: []tensor.Tensor{b.Tokens, b.SegmentIDs, b.Positions,
		b.LossMask}}, nil
}

// tokens returns the tokens of a sample.
func (p *dataPack) tokens(f *reader.Fields) ([]int32, error) {
	i, err := p.tokensOf(f.Names)
	if err != nil {
		return nil, err
	}
	return int32s(f.Values[i])
}

// copyMask copies the mask of a sample to dst if the sample has one.
func copyMask(dst []float32, f *reader.Fields) error {
	mask, ok := f.Get(maskField)
	if !ok {
		return nil
	}
	weights, err := tensor.Of[float32](mask)
	if err != nil || len(weights) != len(dst) {
		return &errs.Error{Kind: errs.Mismatch, Op: "dataset.Pack", Subject: f.Origin() + ", field " + maskField,
			Want: fmt.Sprintf("%d numbers of type float32", len(dst)), Got: mask.String(), Err: err}
	}
	copy(dst, weights)
	return nil
}

var packedNames = []string{tokensField, "segment_ids", "positions", maskField}
