// Package dataset opens the data sets of files: a file, a folder or a pattern of files in any
// format that a linked reader reads, or a data.yaml, which names sources, weights and the options
// of a loader. docs/guide/data-yaml.md has its settings.
//
//	Open ──▶ Data ──┬── a loader.Map: the samples of one or several sources
//	                ├── Order: their order, a mixture or packs
//	                └── Options: the options of the file, for loader.New
package dataset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/internal/config"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// OpenOptions are what a data.yaml cannot say.
type OpenOptions struct {
	// Tokenizer makes tokens of the text of samples, in place of tokenize in the file.
	Tokenizer reader.Tokenizer
	// Progress is called while Open counts the lengths of samples, by one goroutine at a time.
	Progress func(task string, done, total int64)
	// Limits bound a sample.
	Limits op.Limits
	// Reader is the name of the reader for a path that is not a data.yaml. Without a name the files
	// tell it.
	Reader string
	// Split is the split of such a path, such as "train", if it has several.
	Split string
	// Args are arguments for the reader of such a path, besides the path.
	Args op.Args
	// Inspect opens data to look at them and not to train: environment variables for rank and world
	// may be missing, and packs are left out, so that no lengths are counted. Options has no use then.
	Inspect bool
	// Getenv returns an environment variable that a data.yaml names. nil is os.LookupEnv.
	Getenv func(name string) (value string, ok bool)
}

// Data is a data set that Open opened: the samples of one or several sources, one source after the
// other. It is safe for concurrent use; no At may be running when Close is called.
type Data struct {
	file    *dataFile
	sources []*openSource
	mixture *order.Mixture // nil: one source
	order   order.Order
	lengths *order.Lengths
	samples int64
	print   string
	closed  atomic.Bool
}

// openSource is an open source.
type openSource struct {
	dataSource
	data   *reader.Data
	fields []dataField
	places []int // of fields in the reader's samples; -1: the tokens
	names  []string
	text   int // place of the text, or -1: no text becomes tokens
	coder  reader.Tokenizer
	first  int64                 // the id of its first sample
	found  *reader.FoundFeatures // nil unless its features were found in its records
}

// Open opens a data set: a file, a folder or a pattern of files in any format that a linked reader
// reads, or a data.yaml, which names sources, weights and the options of a loader; see
// docs/guide/data-yaml.md.
//
//	data, err := dataset.Open(ctx, "data.yaml", dataset.OpenOptions{})
//	…
//	defer data.Close()
//	l, err := loader.New(data, data.Options())
//
// Errors of kind errs.Invalid name the line of a mistake in the file.
func Open(ctx context.Context, path string, o OpenOptions) (*Data, error) {
	f := &dataFile{in: &config.Text{Op: "dataset.Open", File: path}, at: path, exhausted: order.CycleOn}
	if ext := strings.ToLower(datafs.Ext(path)); ext == ".yaml" || ext == ".yml" {
		var err error
		if o.Reader != "" || len(o.Args) > 0 || o.Split != "" {
			return nil, f.in.Wrong(path, "the reader, its args and the split in the file",
				"OpenOptions.Reader, Args or Split")
		}
		if f, err = readDataFile(path, o); err != nil {
			return nil, err
		}
	} else {
		s := newDataSource(path, datafs.Base(path))
		s.paths, s.reader, s.given, s.split = []string{path}, o.Reader, o.Args, o.Split
		f.sources = []dataSource{s}
	}
	return openFile(ctx, f, o)
}

// openFile opens the sources of a file.
func openFile(ctx context.Context, f *dataFile, o OpenOptions) (*Data, error) {
	if p := f.pack; p != nil && p.cut {
		f.cut = p.length
	}
	if o.Inspect {
		f.pack = nil
		for i := range f.phases { // the step of a phase depends on the packs
			f.phases[i].step = -1
		}
		f.phases = slices.DeleteFunc(f.phases, func(p dataPhase) bool { return p.sample < 0 })
	}
	d := &Data{file: f}
	if err := d.open(ctx, o); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Data) open(ctx context.Context, o OpenOptions) (err error) {
	coder := o.Tokenizer
	if coder == nil && d.file.tokenize != "" {
		if coder, err = reader.OpenTokenizer(d.file.tokenize); err != nil {
			return errs.Wrap("dataset.Open", d.file.at, err)
		}
	}
	for _, s := range d.file.sources {
		open, err := d.addSource(ctx, s, coder, o)
		if err != nil {
			return errs.Wrap("dataset.Open", s.where, err)
		}
		n := open.data.Len()
		if open.first = d.samples; n > math.MaxInt64-d.samples {
			return &errs.Error{Kind: errs.Invalid, Op: "dataset.Open", Subject: s.where, Want: "fewer than 2^63 samples",
				Got: "more"}
		}
		d.samples += n
	}
	d.print = d.fingerprint(d.sources)
	if d.file.pack != nil {
		if err := d.measure(ctx, o); err != nil {
			return err
		}
	}
	return d.arrange()
}

// addSource opens a source with its reader.
func (d *Data) addSource(ctx context.Context, s dataSource, coder reader.Tokenizer, o OpenOptions) (*openSource,
	error) {
	name, args, err := d.readerOf(ctx, &s)
	if err != nil {
		return nil, err
	}
	found, err := findFeatures(ctx, name, args, o.Inspect)
	if err != nil {
		return nil, err
	}
	data, err := reader.Open(ctx, name, args)
	if err != nil {
		return nil, err
	}
	data.Limits = o.Limits
	open := &openSource{dataSource: s, data: data, text: -1, coder: coder, found: found}
	d.sources = append(d.sources, open)
	return open, open.choose()
}

// readerOf returns the reader of a source and its arguments.
func (d *Data) readerOf(ctx context.Context, s *dataSource) (name string, args op.Args, err error) {
	if s.reader == "" {
		if name, args, err = reader.DetectSplit(ctx, s.paths, s.split); err != nil {
			return "", nil, err
		}
	} else {
		name, args = s.reader, op.Args{}
		if len(s.paths) > 0 {
			if args, err = reader.PathArgs(ctx, name, s.paths); err != nil {
				return "", nil, err
			}
		}
		if s.split != "" {
			if err := checkSplit(name); err != nil {
				return "", nil, err
			}
			args["split"] = s.split
		}
	}
	maps.Copy(args, s.given)
	if len(s.args) == 0 {
		return name, args, nil
	}
	schema, err := reader.Schema(name)
	if err != nil {
		return "", nil, err
	}
	own, err := s.arguments(schema, d.file.dir)
	maps.Copy(args, own)
	return name, args, err
}

// checkSplit returns an error unless a reader takes a split.
func checkSplit(name string) error {
	schema, err := reader.Schema(name)
	if err != nil {
		return err
	}
	if _, ok := schema.Param("split"); !ok {
		return &errs.Error{Kind: errs.Invalid, Op: schema.FullName(), Subject: "split",
			Want: "a reader with splits, or none named", Got: "a reader without an argument split",
			Remedy: "leave the reader out, or name the files of the split in path"}
	}
	return nil
}

// findFeatures looks for the features of records, such as TFRecords, if no argument names them.
// With inspect it adds them to args. Otherwise it fails, and the error names them: what the first
// records have does not prove what all have, so a run must not depend on it.
func findFeatures(ctx context.Context, name string, args op.Args, inspect bool) (*reader.FoundFeatures, error) {
	schema, err := reader.Schema(name)
	if err != nil {
		return nil, err
	}
	opener, err := reader.Lookup(schema)
	if err != nil || opener.Find == nil {
		return nil, err
	}
	found, err := opener.Find(ctx, args)
	if err != nil || found == nil {
		return nil, err
	}
	if !inspect || len(found.Features) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: schema.FullName(), Subject: "features",
			Want: "the features to read: name, type, and a fixed shape or a variable length",
			Got:  strings.Join(append([]string{"no argument"}, found.LeftOut...), "; "),
			Remedy: fmt.Sprintf("the first %d records have: args: {%s}; change the shapes if later records differ",
				found.Records, found)}
	}
	args["features"] = found.Any()
	return found, nil
}

// tokensField is the name of the tokens of a text.
const tokensField = "tokens"

// choose finds the fields of a source and its text.
func (s *openSource) choose() error {
	have := s.data.Names()
	if s.coder != nil {
		name := s.dataSource.text
		if name == "" {
			name = "text"
		}
		s.text = slices.Index(have, name)
		switch {
		case s.text < 0 && (s.dataSource.text != "" || !slices.Contains(have, tokensField)):
			return &errs.Error{Kind: errs.NotFound, Subject: "text", Want: "a field " + strconv.Quote(name) + " to tokenize",
				Got: fmt.Sprintf("the fields %q", have), Remedy: "name the field with text"}
		case s.text >= 0 && s.data.Specs()[s.text].DType != tensor.Uint8:
			return &errs.Error{Kind: errs.Mismatch, Subject: "field " + name, Want: "text, uint8",
				Got: s.data.Specs()[s.text].DType.String()}
		}
	}
	known := have
	if s.text >= 0 {
		known = slices.Clone(have)
		known[s.text] = tokensField
	}
	s.fields = s.dataSource.fields
	if s.fields == nil {
		for _, name := range known {
			s.fields = append(s.fields, dataField{name, name})
		}
	}
	for _, f := range s.fields {
		place := slices.Index(known, f.of)
		if place < 0 {
			return &errs.Error{Kind: errs.NotFound, Subject: "fields", Want: fmt.Sprintf("one of %q", known),
				Got: strconv.Quote(f.of), Remedy: errs.DidYouMean(f.of, known)}
		}
		s.places, s.names = append(s.places, place), append(s.names, f.as)
	}
	return nil
}

// fingerprint hashes what decides the samples of the first sources.
func (d *Data) fingerprint(sources []*openSource) string {
	h := state.NewHasher("bivouac.loader.data.v1")
	for _, s := range sources {
		info := s.data.Info()
		h.String(info.Fingerprint)
		h.Int(info.Samples)
		for i, f := range s.fields {
			h.String(f.as)
			h.Int(int64(s.places[i]))
		}
		if s.text >= 0 {
			h.String(s.coder.Fingerprint())
			h.Int(int64(s.text))
		}
	}
	if d.file.cut > 0 {
		h.Int(int64(d.file.cut))
	}
	return h.Sum()
}

// Len implements loader.Map.
func (d *Data) Len() int64 { return d.samples }

// Fingerprint implements loader.Fingerprinted. It depends on the samples of all sources, on their
// order, and on the tokenizer, and not on weights or phases, which the order has.
func (d *Data) Fingerprint() string { return d.print }

// FingerprintOf implements loader.Growing, for data to which whole sources were added at the end of
// the list. For other numbers of samples it returns the fingerprint of no data set.
func (d *Data) FingerprintOf(n int64) string {
	for i, s := range d.sources {
		if s.first+s.data.Len() == n {
			return d.fingerprint(d.sources[:i+1])
		}
	}
	return d.print + ", unknown before"
}

// Close closes all sources. Another Close does nothing.
func (d *Data) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	var list []error
	for _, s := range d.sources {
		list = append(list, s.data.Close())
	}
	return errors.Join(list...)
}

// split returns the source of a sample and its id there.
func (d *Data) split(id int64) (*openSource, int64, error) {
	if id < 0 || id >= d.samples {
		return nil, 0, outOfRange(id, d.samples)
	}
	if d.mixture != nil {
		i, own, err := d.mixture.Split(id)
		if err != nil {
			return nil, 0, err
		}
		return d.sources[i], own, nil
	}
	for _, s := range d.sources {
		if n := s.data.Len(); id < s.first+n {
			return s, id - s.first, nil
		}
	}
	return nil, 0, outOfRange(id, d.samples)
}

// At implements loader.Map.
func (d *Data) At(ctx context.Context, id int64, _ loader.Random) (f reader.Fields, err error) {
	s, own, err := d.split(id)
	if err != nil {
		return f, err
	}
	if f, err = s.at(ctx, own); err != nil {
		return f, errs.Wrap("", "source "+s.name, err)
	}
	return f, d.fit(&f)
}

// at reads a sample of the source.
func (s *openSource) at(ctx context.Context, id int64) (reader.Fields, error) {
	f, err := s.data.Sample(ctx, id)
	if err != nil {
		return f, err
	}
	if s.text >= 0 {
		t := f.Values[s.text]
		if len(t.Shape) > 1 {
			return f, &errs.Error{Kind: errs.Mismatch, Subject: f.Origin(), Want: "text, uint8[n]", Got: t.String()}
		}
		tokens, err := s.coder.Encode(t.Data, make([]int32, 0, len(t.Data)/3+8))
		if err != nil {
			return f, errs.Wrap("tokenize", f.Origin(), err)
		}
		f.Values[s.text] = tensor.FromSlice(tokens)
	}
	return f.Only(s.names, s.places), nil
}

// fit cuts the tokens of a sample to the length of a pack and makes them int32.
func (d *Data) fit(f *reader.Fields) error {
	p := d.file.pack
	if p == nil {
		return nil
	}
	i, err := p.tokensOf(f.Names)
	if err != nil {
		return errs.Wrap("", f.Origin(), err)
	}
	tokens, err := int32s(f.Values[i])
	if err != nil {
		return errs.Wrap("", f.Origin()+", field "+f.Names[i], err)
	}
	n := len(tokens)
	if p.cut && n > p.length {
		tokens = tokens[:p.length]
	}
	f.Values[i] = tensor.FromSlice(tokens)
	mask := slices.Index(f.Names, maskField)
	if mask < 0 {
		return nil
	}
	v := f.Values[mask]
	if len(v.Shape) != 1 || v.Shape[0] != n {
		return &errs.Error{Kind: errs.Mismatch, Subject: f.Origin() + ", field " + maskField,
			Want: fmt.Sprintf("a number for each of %d tokens", n), Got: v.String()}
	}
	if v, err = tensor.Cast(tensor.Float32, v); err == nil {
		v.Shape, v.Data = tensor.Shape{len(tokens)}, v.Data[:4*len(tokens)]
		f.Values[mask] = v
	}
	return err
}

// int32s returns tokens of any integer type.
func int32s(t tensor.Tensor) ([]int32, error) {
	if t.DType == tensor.Int32 {
		if list, err := tensor.Of[int32](t); err == nil && len(t.Shape) == 1 {
			return list, nil
		}
	}
	if !t.DType.IsInteger() || len(t.Shape) != 1 {
		return nil, &errs.Error{Kind: errs.Mismatch, Want: "tokens: integers, of one axis", Got: t.String()}
	}
	v, err := tensor.Cast(tensor.Int32, t)
	if err != nil {
		return nil, err
	}
	if i := tensor.Loss(tensor.Int32, v.Data, t.DType, t.Data); i >= 0 {
		return nil, &errs.Error{Kind: errs.Mismatch, Want: "tokens below 2^31", Got: t.Element(i)}
	}
	return tensor.Of[int32](v)
}

// Sources returns the names of the sources, in the order of their samples.
func (d *Data) Sources() []string {
	names := make([]string, len(d.sources))
	for i, s := range d.sources {
		names[i] = s.name
	}
	return names
}

// Source returns the reader of a source, by its number.
func (d *Data) Source(i int) *reader.Data { return d.sources[i].data }

// Found returns the features of a source of TFRecords if its records told them, because no argument
// names them, and else nil. Only OpenOptions.Inspect allows that.
func (d *Data) Found(i int) *reader.FoundFeatures { return d.sources[i].found }

// Split returns the source of a sample, and the id of the sample in the source.
func (d *Data) Split(id int64) (source int, own int64, err error) {
	s, own, err := d.split(id)
	return slices.Index(d.sources, s), own, err
}

// Describe says where a sample comes from.
func (d *Data) Describe(id int64) string {
	s, own, err := d.split(id)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("source %s, sample %d, %s", s.name, own, s.data.Describe(own))
}

// Names returns the names of the fields of a source's samples.
func (d *Data) Names(source int) []string { return d.sources[source].names }

// Order returns the order of the samples: of one source its own, else a mixture by weights and
// phases, and of packs the packs. It is an argument of Options.
func (d *Data) Order() order.Order { return d.order }

// Options returns the options of the file, with the order, and with a function that makes batches.
// A field of known shape becomes one tensor with a row for each sample. A field whose first axis
// differs becomes the samples one after the other, and NAME_ends says where each ends. Packs become
// tokens, segment_ids, positions and loss_mask; see loader.Packed.
func (d *Data) Options() loader.Options[reader.Fields, reader.Fields] {
	o := d.file.options
	o.Order, o.Shuffle = d.order, false
	if d.file.pack != nil {
		o.CollatePacks = d.collatePacks
		return o
	}
	if o.BatchSize != loader.NoBatching {
		o.Collate = d.Collate
	}
	return o
}

func outOfRange(id, n int64) error {
	return &errs.Error{Kind: errs.Invalid, Subject: "sample " + strconv.FormatInt(id, 10),
		Want: "an id below " + strconv.FormatInt(n, 10), Got: "an id that the data set does not have"}
}
