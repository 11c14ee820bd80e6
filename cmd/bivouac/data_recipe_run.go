package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/recipe"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// recipeRun is what `data recipe RECIPE DATA --json` prints.
type recipeRun struct {
	Recipe  string            `json:"recipe"`
	Columns map[string]string `json:"columns"` // of the inputs
	Seed    uint64            `json:"seed"`
	Samples []recipeSample    `json:"samples"`
	Sheet   string            `json:"sheet,omitempty"`
}

type recipeSample struct {
	ID      int64            `json:"id"`
	From    string           `json:"from"`
	Results [][]recipeOutput `json:"results"` // of each time, of each output
}

type recipeOutput struct {
	Name     string  `json:"name"`
	DType    string  `json:"dtype"`
	Shape    []int   `json:"shape"`
	Layout   string  `json:"layout,omitempty"`
	Elements int     `json:"elements"`
	Least    float64 `json:"least"`
	Mean     float64 `json:"mean"`
	Most     float64 `json:"most"`
	SHA256   string  `json:"sha256"`
}

// apply shows what a recipe makes of the first samples of a data set.
func (o *RecipeOptions) apply(ctx context.Context, g *global, r *recipe.Recipe, name, path string) error {
	set, err := o.settings(r)
	if err != nil {
		return err
	}
	d, err := o.open(ctx, path)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // only read
	if d.Len() == 0 {
		return &errs.Error{Kind: errs.Invalid, Op: "data", Subject: path, Want: "at least one sample", Got: "none"}
	}
	in, err := o.inputs(ctx, r, d)
	if err != nil {
		return err
	}
	run := recipeRun{Recipe: name, Columns: map[string]string{}, Seed: o.Seed}
	for i, input := range r.Inputs() {
		run.Columns[input] = in.columns[i]
	}
	def, err := pipeline.Define(pipeline.Options{BatchSize: 1, Seed: o.Seed}, func(b *pipeline.Builder) []pipeline.Node {
		source := pipeline.SampleFunc(func(ctx context.Context, at pipeline.SampleInfo) ([]tensor.Tensor, error) {
			return in.sample(ctx, at.IdxInEpoch/int64(o.Times))
		})
		return r.Append(b, set, pipeline.ExternalSource(b, source, pipeline.SourceOptions{
			Outputs: len(in.columns), Specs: in.specs})...)
	})
	if err != nil {
		return errs.Wrap("data", "recipe "+name, err)
	}
	p, err := def.New(ctx, nil)
	if err != nil {
		return errs.Wrap("data", "recipe "+name, err)
	}
	defer p.Close() //nolint:errcheck // only read
	w := newWork(g)
	defer w.close()
	n := min(int64(o.Samples), d.Len())
	advance := samplesDone(w, name)
	rows := make([]sheetRow, 0, n)
	for id := range n {
		_, own, err := d.Split(id)
		if err != nil {
			return err
		}
		source, _, _ := d.Split(id)
		s := recipeSample{ID: id, From: d.Source(source).Describe(own)}
		row := sheetRow{before: in.before(ctx, id, o.Output != "")}
		for range o.Times {
			batch, err := p.Next(ctx)
			if err != nil {
				return errs.Wrap("data", "recipe "+name+", sample "+fmt.Sprint(id)+", "+s.From, err)
			}
			var outputs []recipeOutput
			var made []tensor.Tensor
			for i, b := range batch.Outputs {
				t := b.Sample(0)
				outputs = append(outputs, summary(r.Outputs()[i], t))
				if o.Output != "" {
					made = append(made, t.Clone())
				}
			}
			s.Results = append(s.Results, outputs)
			row.after = append(row.after, made)
		}
		run.Samples, rows = append(run.Samples, s), append(rows, row)
		advance(id+1, n)
	}
	if o.Output != "" {
		s := sheet{names: r.Outputs(), cell: o.Cell}
		for _, name := range s.names {
			mean, std, _ := r.Normalization(name, set)
			s.mean, s.std = append(s.mean, mean), append(s.std, std)
		}
		if err := s.write(o.Output, rows); err != nil {
			return err
		}
		run.Sheet = o.Output
	}
	w.close()
	return g.show(run, func() { run.print(g, d) })
}

func (run *recipeRun) print(g *global, d *dataset.Data) {
	sayFound(g, d)
	for _, s := range run.Samples {
		g.printf("sample %d (%s)\n", s.ID, s.From)
		for i, outputs := range s.Results {
			for k, out := range outputs {
				head := ""
				if k == 0 {
					head = fmt.Sprint(i)
				}
				g.printf("%3s  %s  %s\n", head, out.Name, out.text())
			}
		}
	}
	if run.Sheet != "" {
		g.printf("sheet: %s\n", run.Sheet)
	}
}

// summary sums up an output.
func summary(name string, t tensor.Tensor) recipeOutput {
	o := recipeOutput{Name: name, DType: t.DType.String(), Shape: append([]int{}, t.Shape...),
		Layout: t.Layout, Elements: t.Len()}
	h := sha256.New()
	describeTo(h, t)
	o.SHA256 = hex.EncodeToString(h.Sum(nil))
	values, err := tensor.Cast(tensor.Float64, t)
	if err != nil {
		return o
	}
	list, err := tensor.Of[float64](values)
	if err != nil || len(list) == 0 {
		return o
	}
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	o.Least, o.Mean, o.Most = finite(slices.Min(list)), finite(sum/float64(len(list))), finite(slices.Max(list))
	return o
}

// finite returns v as JSON can hold it.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// recipeInputs reads the samples that a recipe gets.
type recipeInputs struct {
	data    *dataset.Data
	recipe  *recipe.Recipe
	names   []string // of the inputs
	columns []string
	specs   []tensor.Spec
	classes int
}

// inputs finds the columns of the inputs. The first sample tells which hold pictures.
func (o *RecipeOptions) inputs(ctx context.Context, r *recipe.Recipe, d *dataset.Data) (*recipeInputs, error) {
	f, err := d.At(ctx, 0, loader.Random{})
	if err != nil {
		return nil, errs.Wrap("data", "", err)
	}
	var pictures []string
	for i, v := range f.Values {
		if isPicture(v) {
			pictures = append(pictures, f.Names[i])
		}
	}
	in := &recipeInputs{data: d, recipe: r, names: r.Inputs(), classes: o.Classes}
	if in.columns, err = o.columns(r, f.Names, pictures); err != nil {
		return nil, err
	}
	first, err := in.sample(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, t := range first {
		spec := t.Spec()
		for i := range spec.Shape {
			spec.Shape[i] = -1
		}
		in.specs = append(in.specs, spec)
	}
	return in, nil
}

func isPicture(t tensor.Tensor) bool {
	return t.DType == tensor.Uint8 && len(t.Shape) == 1 && codec.Detect(t.Data) != codec.Unknown
}

// sample returns the data of the inputs. It ends the epoch after the last sample.
func (in *recipeInputs) sample(ctx context.Context, id int64) ([]tensor.Tensor, error) {
	if id >= in.data.Len() {
		return nil, io.EOF
	}
	f, err := in.data.At(ctx, id, loader.Random{})
	if err != nil {
		return nil, errs.Wrap("data", "", err)
	}
	var next *reader.Fields
	list := make([]tensor.Tensor, len(in.names))
	for i, name := range in.names {
		from := &f
		if isPartner(name) {
			if next == nil {
				other, err := in.data.At(ctx, (id+1)%in.data.Len(), loader.Random{})
				if err != nil {
					return nil, errs.Wrap("data", "", err)
				}
				next = &other
			}
			from = next
		}
		v, err := from.Value(in.columns[i])
		if err == nil {
			v, err = in.convert(name, v)
		}
		if err != nil {
			return nil, errs.Wrap("data", in.data.Describe(id)+", input "+name, err)
		}
		list[i] = v
	}
	return list, nil
}

// convert returns a value of a column as an input takes it: pictures decoded unless the recipe
// decodes them, and numbers of classes as vectors with --classes.
func (in *recipeInputs) convert(name string, v tensor.Tensor) (tensor.Tensor, error) {
	switch {
	case !v.DType.Valid():
		return v, &errs.Error{Kind: errs.Mismatch, Want: "a value", Got: "a missing one"}
	case in.recipe.Decodes(name) && !isPicture(v):
		return v, &errs.Error{Kind: errs.Mismatch, Want: "the bytes of a picture", Got: v.String()}
	case in.recipe.Decodes(name):
		return v, nil
	case isPicture(v):
		color := raster.RGB
		if strings.Contains(name, "mask") {
			color = raster.Gray
		}
		return decoded(v.Data, color)
	case in.classes > 0 && v.Len() == 1 && v.DType.IsInteger():
		return oneHot(v, in.classes)
	case strings.HasSuffix(name, "labels") && v.Len() == 1 && v.DType.IsInteger() && in.mixesLabels():
		return v, &errs.Error{Kind: errs.Mismatch, Want: "a number for each class, float32", Got: v.String(),
			Remedy: "--classes N makes such vectors of numbers of classes"}
	}
	return v, nil
}

// mixesLabels reports whether the recipe takes the labels of partners.
func (in *recipeInputs) mixesLabels() bool { return slices.Contains(in.names, "partner_labels") }

func oneHot(v tensor.Tensor, classes int) (tensor.Tensor, error) {
	wide, err := tensor.Cast(tensor.Int64, v)
	if err != nil {
		return v, err
	}
	list, err := tensor.Of[int64](wide)
	if err != nil {
		return v, err
	}
	if list[0] < 0 || list[0] >= int64(classes) {
		return v, &errs.Error{Kind: errs.Invalid, Want: fmt.Sprintf("the number of a class, from 0 to %d", classes-1),
			Got: fmt.Sprint(list[0]), Remedy: "raise --classes"}
	}
	hot := make([]float32, classes)
	hot[list[0]] = 1
	return tensor.FromSlice(hot, classes), nil
}

// decoded decodes a picture.
func decoded(data []byte, color raster.Color) (t tensor.Tensor, err error) {
	h, err := codec.ReadHeader(data)
	if err != nil {
		return t, err
	}
	o := codec.Output{Color: color, Orient: true}
	width, height, c := o.Size(h)
	if err := (raster.Limits{Pixels: mostPicture}).CheckPixels("data", width, height); err != nil {
		return t, err
	}
	t = tensor.New(tensor.Uint8, height, width, c)
	t.Layout = "HWC"
	return t, new(codec.Decoder).Decode(t.Data, data, h, o)
}

// mostPicture bounds the pixels of a picture that is shown.
const mostPicture = 1 << 26

// before returns the picture of a sample as it is in the data, or an empty tensor if it has none.
func (in *recipeInputs) before(ctx context.Context, id int64, wanted bool) (t tensor.Tensor) {
	if !wanted {
		return t
	}
	f, err := in.data.At(ctx, id, loader.Random{})
	if err != nil {
		return t
	}
	for _, column := range in.columns {
		if v, err := f.Value(column); err == nil && isPicture(v) {
			if t, err = decoded(v.Data, raster.RGB); err == nil {
				return t
			}
		}
	}
	return tensor.Tensor{}
}
