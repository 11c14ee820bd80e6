package reader

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/lines"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The values of the argument missing.
const (
	absentFails   = "error"
	absentEmpty   = "empty"
	absentDefault = "default"
)

// lineParams are the arguments of readers of text, after their own.
func lineParams(own ...op.Parameter) []op.Parameter {
	return loaderargs.With(append(append([]op.Parameter{pathParam, indexParam}, own...),
		op.Parameter{Name: "missing", Type: op.String, Default: absentFails,
			Doc: "What a sample gets for a field that is not there: error, empty (no elements) or default (a value of " +
				"defaults)."},
		op.Parameter{Name: "defaults", Type: op.Strings,
			Doc: "Values of missing fields, one for each field, as they would stand in the file."})...)
}

// lineField is a field that becomes an output.
type lineField struct {
	name     string
	dtype    tensor.DType
	text     bool   // a field of CSV that becomes its bytes
	guessed  bool   // the dtype was taken from the first value in the data set
	fallback []byte // the elements if the field is missing; nil: an error
}

// specsOf returns the specs of the outputs.
func specsOf(fields []lineField) []tensor.Spec {
	specs := make([]tensor.Spec, len(fields))
	for i, f := range fields {
		specs[i] = tensor.Spec{DType: f.dtype, Shape: tensor.Shape{-1}}
	}
	return specs
}

// setDTypes sets the dtypes that are given. ok reports whether there are any.
func setDTypes(c *op.Config, fields []lineField) (ok bool, err error) {
	given := op.Get[[]tensor.DType](c, "dtypes")
	if len(given) == 0 {
		return false, nil
	}
	if len(given) != 1 && len(given) != len(fields) {
		return false, c.Invalid("dtypes", fmt.Sprintf("one dtype, or %d, one for each field", len(fields)),
			fmt.Sprint(len(given)), "")
	}
	for i := range fields {
		d := given[min(i, len(given)-1)]
		if !lines.Takes(d) {
			return false, c.Invalid("dtypes", "bool, an integer of 8 to 64 bits, or a float of 16 to 64 bits", d.String(), "")
		}
		fields[i].dtype = d
	}
	return true, nil
}

// setFallbacks sets what missing fields get. parse makes a value of a default.
func setFallbacks(c *op.Config, fields []lineField, parse func(text string) (lines.Value, error)) error {
	how, values := op.Get[string](c, "missing"), op.Get[[]string](c, "defaults")
	switch {
	case how != absentFails && how != absentEmpty && how != absentDefault:
		return c.Invalid("missing", "error, empty or default", how, errs.DidYouMean(how,
			[]string{absentFails, absentEmpty, absentDefault}))
	case how != absentDefault && len(values) > 0:
		return c.Invalid("defaults", "defaults together with missing=default", "missing="+how, "")
	case how == absentDefault && len(values) != len(fields):
		return c.Invalid("defaults", fmt.Sprintf("%d values, one for each field", len(fields)), fmt.Sprint(len(values)), "")
	case how == absentFails:
		return nil
	}
	for i := range fields {
		f := &fields[i]
		f.fallback = []byte{}
		if how == absentEmpty {
			continue
		}
		v, err := parse(values[i])
		if err == nil {
			f.fallback, err = v.Append(f.fallback, f.dtype, f.text)
		}
		if err != nil {
			return c.Invalid("defaults", "a value of field "+f.name, fmt.Sprintf("%q: %v", values[i], err), "")
		}
	}
	return nil
}

// lineSource is a data set of records of text.
type lineSource struct {
	name   string
	info   Info
	set    *shards.Set
	x      *index.Index
	fields []lineField
	header int64   // records before the first sample of each file
	starts []int64 // the first sample of each file
	// split appends the values of a record of a file to list. The values of the fields come last.
	split func(file int, record []byte, list []lines.Value) ([]lines.Value, error)
}

// open finds the records.
func (s *lineSource) open(ctx context.Context, c *op.Config, format index.Format) error {
	paths, err := pathsOf(ctx, c)
	if err != nil {
		return err
	}
	if s.set, err = shards.Open(ctx, s.name, paths); err != nil {
		return err
	}
	if s.x, err = index.Find(ctx, s.name, s.set, format, op.Get[string](c, "index_path")); err != nil {
		s.set.Close() //nolint:errcheck // the other error says more
		return err
	}
	total := int64(0)
	files := s.x.Files()
	for i, f := range files {
		end := s.x.Records()
		if i+1 < len(files) {
			end = files[i+1].First
		}
		if end-f.First < s.header {
			s.Close() //nolint:errcheck // the other error says more
			return &errs.Error{Kind: errs.Invalid, Op: s.name, Subject: s.set.Path(i),
				Want: "a header with the names of the columns", Got: "an empty file",
				Remedy: "leave the file out, or set header to false"}
		}
		s.starts = append(s.starts, total)
		total += end - f.First - s.header
	}
	if total == 0 {
		s.Close() //nolint:errcheck // the other error says more
		return &errs.Error{Kind: errs.Invalid, Op: s.name, Subject: s.set.Path(0), Want: "at least one record",
			Got: fmt.Sprintf("no record in %d files", s.set.Len())}
	}
	h := state.NewHasher("bivouac." + s.name + ".v1")
	h.String(s.x.Fingerprint())
	h.Int(s.header)
	for _, f := range s.fields {
		h.String(f.name)
		h.String(f.dtype.String())
		h.Bytes(f.fallback)
	}
	s.info = Info{Format: s.name, Samples: total, Files: counts(s.starts, total), Fingerprint: h.Sum()}
	return nil
}

// record returns the record of a sample.
func (s *lineSource) record(id int64) int64 {
	if s.header == 0 {
		return id
	}
	file := findRun(s.starts, id)
	return s.x.Files()[file].First + s.header + id - s.starts[file]
}

// Fields implements Fielded: the names of the fields or columns.
func (s *lineSource) Fields() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

func (s *lineSource) Info() Info { return s.info }

func (s *lineSource) Size(id int64) int64 { return s.x.Length(s.record(id)) }

func (s *lineSource) Describe(id int64) string {
	at, err := s.x.Span(s.record(id))
	if err != nil {
		return fmt.Sprintf("record %d", id)
	}
	return fmt.Sprintf("file %s, record %d at byte %d", s.set.Path(at.File), id-s.starts[at.File], at.Offset)
}

func (s *lineSource) Close() error {
	err := s.set.Close()
	if e := s.x.Close(); err == nil {
		err = e
	}
	return err
}

func (s *lineSource) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	return Each(ctx, ids, dst, func(id int64, i int) error { return s.fetch(ctx, id, i, dst) })
}

// lineWork is the memory of a worker.
type lineWork struct {
	record, elements []byte
	values           []lines.Value
}

func (s *lineSource) fetch(ctx context.Context, id int64, i int, dst *op.Block) error {
	at, err := s.x.Span(s.record(id))
	if err != nil {
		return err
	}
	w := op.PerWorker[lineWork](dst)
	w.record = slices.Grow(w.record[:0], int(at.Length))[:at.Length]
	if err := s.set.ReadAt(ctx, at.File, w.record, at.Offset); err != nil {
		return err
	}
	err = lines.CheckText(w.record)
	if err == nil {
		w.values, err = s.split(at.File, w.record, w.values[:0])
	}
	if err != nil {
		return errs.Wrap("", s.where(ctx, at), err)
	}
	values := w.values[len(w.values)-len(s.fields):]
	for o := range s.fields {
		f, v := &s.fields[o], values[o]
		elements := f.fallback
		switch empty := v.Empty(); {
		case empty && elements == nil && f.text:
			elements = w.elements[:0] // no text is a text without letters
		case empty && elements == nil:
			return s.fieldError(ctx, at, f, &errs.Error{Kind: errs.Mismatch, Want: "a value", Got: v.Kind.String(),
				Remedy: "set missing to empty or default"})
		case !empty:
			if w.elements, err = v.Append(w.elements[:0], f.dtype, f.text); err != nil {
				return s.fieldError(ctx, at, f, err)
			}
			elements = w.elements
		}
		copy(dst.Out(o, i, len(elements)/f.dtype.Size()).Data, elements)
	}
	return nil
}

// fieldError returns the error about a field of a record.
func (s *lineSource) fieldError(ctx context.Context, at index.Span, f *lineField, err error) error {
	e := &errs.Error{Subject: s.where(ctx, at) + ", field " + f.name, Err: err}
	if f.guessed {
		e.Remedy = "set dtypes: " + f.dtype.String() + " was taken from the first record"
	}
	return e
}

// mostCounted is how much of a file is read to number a line in an error.
const mostCounted = 64 << 20

// where returns the file and the line of a record, for errors.
func (s *lineSource) where(ctx context.Context, at index.Span) string {
	if at.Offset > mostCounted {
		return fmt.Sprintf("%s, byte %d", s.set.Path(at.File), at.Offset)
	}
	line, b := 1, make([]byte, 256<<10)
	r := io.LimitReader(s.set.Reader(ctx, at.File), at.Offset)
	for {
		n, err := r.Read(b)
		line += bytes.Count(b[:n], []byte{'\n'})
		if err == io.EOF {
			return fmt.Sprintf("%s, line %d", s.set.Path(at.File), line)
		}
		if err != nil {
			return fmt.Sprintf("%s, byte %d", s.set.Path(at.File), at.Offset)
		}
	}
}

// textHead is how much of a file is read to find out about its fields.
const textHead = 1 << 20

// headRecords returns the records at the start of the first file, which are whole.
func headRecords(ctx context.Context, c *op.Config, scan func(r io.Reader, add lines.Add) error) (path string,
	records [][]byte, err error) {
	paths, err := pathsOf(ctx, c)
	if err != nil {
		return "", nil, err
	}
	name := c.Schema.FullName()
	set, err := shards.Open(ctx, name, paths[:1])
	if err != nil {
		return "", nil, err
	}
	defer set.Close()
	head, whole, err := index.Head(ctx, set, 0, textHead)
	if err != nil {
		return "", nil, errs.Wrap(name, "", err)
	}
	err = scan(bytes.NewReader(head), func(offset, length int64) error {
		if end := offset + length; whole || end < int64(len(head)) {
			records = append(records, head[offset:end])
		}
		return nil
	})
	if err != nil && (whole || len(records) == 0) { // the head may end within quotes
		return "", nil, errs.Wrap(name, paths[0], err)
	}
	return paths[0], records, nil
}
