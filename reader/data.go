package reader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A Source may know more than its samples: names of fields, lengths.
type (
	// Fielded is implemented by sources whose outputs have names of their own, such as columns.
	Fielded interface {
		// Fields returns the name of each output.
		Fields() []string
	}
	// Measured is implemented by sources that know lengths without reading the samples.
	Measured interface {
		// Length returns the extent of the first axis of an output of a sample. ok is false if it is
		// not known.
		Length(id int64, output int) (n int64, ok bool)
	}
)

// bounded is implemented by sources that know a bound of Size for all samples.
type bounded interface{ largest() int64 }

// Data is a data set that is read without a pipeline. All methods are safe for concurrent use; no
// Read may be running when Close is called.
type Data struct {
	Source
	// Limits bound a sample. They are set before the first Read.
	Limits op.Limits

	name  string
	info  Info
	names []string
	specs []tensor.Spec
	most  int64             // no sample is larger
	pool  sync.Pool         // of *fetcher
	ahead func(ids []int64) // nil if the source needs no such call
}

// Open opens a data set with a registered reader. name is the name of the reader, such as "file" or
// "readers.file". args are op.Args, or the struct of op/opargs.
func Open(ctx context.Context, name string, args any) (*Data, error) {
	schema, err := Schema(name)
	if err != nil {
		return nil, err
	}
	node, set, err := op.Arguments(args)
	if err != nil {
		return nil, errs.Wrap("reader.Open", schema.FullName(), err)
	}
	if node == "" {
		node = schema.Name
	}
	config, perSample, err := op.Resolve(schema, node, 0, set)
	if err != nil {
		return nil, err
	}
	if len(perSample) > 0 {
		return nil, config.Invalid(perSample[0], "a constant", "a value per sample", "")
	}
	opener, err := Lookup(schema)
	if err != nil {
		return nil, err
	}
	d := &Data{name: schema.FullName()}
	if d.specs, err = opener.Outputs(config); err != nil {
		return nil, err
	}
	if d.Source, err = opener.Open(ctx, config); err != nil {
		return nil, err
	}
	d.info, d.most, d.ahead = d.Source.Info(), math.MaxInt64, AheadOf(d.Source)
	if b, ok := d.Source.(bounded); ok {
		d.most = b.largest()
	}
	d.names = fieldNames(schema, config, d.Source, len(d.specs))
	return d, nil
}

// Schema returns the schema of a reader by its name, with or without "readers.". The error for an
// unknown name suggests the nearest one. If a package that is not linked has the reader, the error
// names it.
func Schema(name string) (*op.Schema, error) {
	full := name
	if !strings.Contains(name, ".") {
		full = "readers." + name
	}
	schema, err := op.Lookup(full)
	if err == nil && schema.Reader {
		return schema, nil
	}
	if pkg := importOf(full); pkg != "" && err != nil {
		return nil, notLinked(full, pkg)
	}
	if err != nil && errs.KindOf(err) != errs.NotFound {
		return nil, err
	}
	names := Names()
	for _, n := range names {
		names = append(names, strings.TrimPrefix(n, "readers."))
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "reader.Open", Subject: strconv.Quote(name),
		Want: "the name of a reader",
		Got:  "a name that no reader has", Remedy: errs.DidYouMean(name, names)}
}

// Names returns the full names of all registered readers, sorted.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	var list []string
	for name := range registry.openers {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// fieldNames returns the names of the outputs: those that the source tells, or the elements of an
// argument with a name for each output, or the names of the ports.
func fieldNames(schema *op.Schema, c *op.Config, s Source, n int) []string {
	if f, ok := s.(Fielded); ok {
		if names := f.Fields(); len(names) == n {
			return names
		}
	}
	for _, arg := range []string{"fields", "columns", "features", "feature_names", "ext"} {
		if names := op.Get[[]string](c, arg); len(names) == n {
			return names
		}
	}
	names := make([]string, n)
	for i := range names {
		port := schema.Outputs[min(i, len(schema.Outputs)-1)]
		if names[i] = port.Name; n > len(schema.Outputs) && i >= len(schema.Outputs)-1 {
			names[i] += strconv.Itoa(i - len(schema.Outputs) + 1)
		}
	}
	return names
}

// Reader returns the full name of the reader, such as "readers.file".
func (d *Data) Reader() string { return d.name }

// Len returns the number of samples.
func (d *Data) Len() int64 { return d.info.Samples }

// Names returns the names of the fields. The caller must not change them.
func (d *Data) Names() []string { return d.names }

// Specs describes the fields. The caller must not change them.
func (d *Data) Specs() []tensor.Spec { return d.specs }

// Shards returns the number of samples of each file, or nil if the source does not tell.
func (d *Data) Shards() []int64 {
	return d.info.Files
}

// Length returns the extent of the first axis of a field of a sample. ok is false if only reading
// the sample tells.
func (d *Data) Length(id int64, field int) (n int64, ok bool) {
	if m, is := d.Source.(Measured); is {
		if n, ok = m.Length(id, field); ok {
			return n, true
		}
	}
	if shape := d.specs[field].Shape; len(shape) > 0 && shape[0] >= 0 {
		return int64(shape[0]), true
	}
	return 0, false
}

// Sample reads one sample into new memory.
func (d *Data) Sample(ctx context.Context, id int64) (f Fields, err error) {
	ids, list := [1]int64{id}, [1]Fields{}
	err = d.Read(ctx, ids[:], list[:])
	return list[0], err
}

// Read reads samples into dst, one element for each id, and reuses the memory of the elements. A
// sample that cannot be read has no values then, and the error has the errors of all of them. Each
// names the sample.
func (d *Data) Read(ctx context.Context, ids []int64, dst []Fields) error {
	if len(ids) != len(dst) {
		return &errs.Error{Kind: errs.Invalid, Op: d.name, Want: fmt.Sprintf("room for %d samples", len(ids)),
			Got: fmt.Sprint(len(dst))}
	}
	n, limits := d.Len(), d.Limits.WithDefaults()
	for s, id := range ids {
		f := &dst[s]
		f.Names, f.data, f.id = d.names, d, id
		if len(f.Values) != len(d.names) || len(f.memory) != len(d.names) {
			f.Values, f.memory = make([]tensor.Tensor, len(d.names)), make([][]byte, len(d.names))
		}
		if id < 0 || id >= n {
			return &errs.Error{Kind: errs.Invalid, Op: d.name, Subject: "sample " + strconv.FormatInt(id, 10),
				Want: "an id from 0 to " + strconv.FormatInt(n-1, 10), Got: "an id that the data set does not have"}
		}
		if d.most > limits.MaxBytes {
			if err := limits.CheckBytes("a sample", d.Size(id)); err != nil {
				return d.failed(id, err)
			}
		}
	}
	if d.ahead != nil {
		d.ahead(ids)
	}
	r, _ := d.pool.Get().(*fetcher)
	if r == nil {
		r = d.newFetcher()
	}
	err := r.fetch(ctx, ids, dst)
	d.pool.Put(r)
	return err
}

// failed adds the sample to an error.
func (d *Data) failed(id int64, err error) error {
	return errs.Wrap(d.name, fmt.Sprintf("sample %d, %s", id, d.Describe(id)), err)
}

// fetcher is a block and its memory. The bytes of samples go straight to the Fields of the caller.
type fetcher struct {
	d         *Data
	block     op.Block
	local     any
	dst       []Fields
	positions []int64
	slots     []int32
}

func (d *Data) newFetcher() *fetcher {
	r := &fetcher{d: d}
	b := r.block.Binding()
	b.Memory, b.Local, b.Specs, b.Out, b.Limits = r, &r.local, d.specs, make([][]tensor.Tensor, len(d.specs)), d.Limits
	return r
}

// fetch reads samples into dst.
func (r *fetcher) fetch(ctx context.Context, ids []int64, dst []Fields) error {
	b := r.block.Binding()
	r.dst, r.positions, r.slots = dst, r.positions[:0], r.slots[:0]
	for s := range ids {
		r.positions, r.slots = append(r.positions, ids[s]), append(r.slots, int32(min(s, math.MaxInt32)))
	}
	b.Positions, b.Slots = r.positions, r.slots
	for o := range b.Out {
		b.Out[o] = b.Out[o][:0]
		for s := range dst {
			b.Out[o] = append(b.Out[o], dst[s].Values[o])
		}
	}
	err := r.source(ctx, ids)
	for o := range b.Out {
		for s := range dst {
			if dst[s].Values[o] = b.Out[o][s]; err != nil || b.Errors[s] != nil {
				dst[s].Values[o].DType, dst[s].Values[o].Data = tensor.Invalid, nil
			}
		}
		clear(b.Out[o])
	}
	r.dst = nil
	if err != nil {
		clear(b.Errors)
		if len(ids) == 1 {
			return r.d.failed(ids[0], err)
		}
		return errs.Wrap(r.d.name, "", err)
	}
	return r.failures(ids)
}

// source calls the source. A panic of a limit becomes an error.
func (r *fetcher) source(ctx context.Context, ids []int64) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *errs.Error:
			err = p
		default:
			panic(p)
		}
	}()
	return r.d.Fetch(ctx, ids, &r.block)
}

// failures returns the errors of samples, and forgets them.
func (r *fetcher) failures(ids []int64) error {
	failed := r.block.Binding().Errors
	if len(failed) == 0 {
		return nil
	}
	var list []error
	for s, id := range ids {
		if err := failed[s]; err != nil {
			list = append(list, r.d.failed(id, err))
		}
	}
	clear(failed)
	if len(list) == 1 {
		return list[0]
	}
	return errors.Join(list...)
}

// Output implements op.Memory.
func (r *fetcher) Output(i, s, size int) []byte {
	m := &r.dst[s].memory[i]
	if size > cap(*m) || *m == nil {
		*m = tensor.New(tensor.Uint64, (size+7)/8).Data
	}
	return (*m)[:size:cap(*m)]
}

// Scratch implements op.Memory.
func (r *fetcher) Scratch(size int) []byte {
	return tensor.New(tensor.Uint64, (size+7)/8).Data[:size]
}
