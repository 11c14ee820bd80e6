package reader

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

const webdatasetName = "readers.webdataset"

func init() {
	Register(op.Schema{
		Name: "webdataset", Module: []string{"readers"},
		Doc: "Reads samples of several files out of tar archives, as the package webdataset writes them. Files whose names are equal " +
			"up to the first dot behind the last slash are one sample. The rest of the name is the component. " +
			"Each output has the bytes of a component.",
		Outputs: []op.Port{{Name: "component", Doc: "the bytes of a component, as elements of its dtype"}},
		Params: loaderargs.With([]op.Parameter{
			{Name: "paths", Type: op.Strings, Required: true, Tuning: true, Doc: "Paths of the archives, in this order."},
			{Name: "ext", Type: op.Strings, Required: true, Doc: `Names of the component of each output, such as "jpg;png;jpeg". The first file of a sample that has one of them counts.`},
			{Name: "index_paths", Type: op.Strings, Tuning: true, Doc: "Indexes of the archives that wds2idx made, version 1.1 or 1.2; by default bivouac.index beside the first archive, or without that, the headers of the archives."},
			{Name: "missing_component_behavior", Type: op.String, Default: "", Doc: `What a sample without a component is: "empty" (the output is empty; the default), "skip" (it is left out) or "error" (the data set is refused).`},
			{Name: "dtypes", Type: op.DTypes, Doc: "Type of the elements of each output; by default uint8."},
			{Name: "case_sensitive_extensions", Type: op.Bool, Default: true, Doc: "Names of components tell upper from lower case."},
		}...),
		OutputCount: func(c *op.Config) (int, error) { return len(op.Get[[]string](c, "ext")), checkWebdataset(c) },
	}, Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			if err := checkWebdataset(c); err != nil {
				return nil, err
			}
			return webdatasetSpecs(c), nil
		},
		Open: openWebdataset,
	})
}

// What a sample without a component is.
const (
	missingEmpty = "empty"
	missingSkip  = "skip"
	missingError = "error"
)

// webdatasetTypes are the types that outputs may have.
var webdatasetTypes = []tensor.DType{
	tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
	tensor.Float16, tensor.Float32, tensor.Float64,
}

// maxOutputs is the most outputs of the reader.
const maxOutputs = 1 << 12

// checkWebdataset checks the arguments without the data set.
func checkWebdataset(c *op.Config) error {
	paths, indexes := op.Get[[]string](c, "paths"), op.Get[[]string](c, "index_paths")
	ext, dtypes := op.Get[[]string](c, "ext"), op.Get[[]tensor.DType](c, "dtypes")
	switch {
	case len(paths) == 0:
		return c.Invalid("paths", "at least one archive", "no path", "")
	case len(ext) == 0 || len(ext) > maxOutputs:
		return c.Invalid("ext", fmt.Sprintf("names of components for 1 to %d outputs", maxOutputs),
			strconv.Itoa(len(ext)), "")
	case len(indexes) > 0 && len(indexes) != len(paths):
		return c.Invalid("index_paths", fmt.Sprintf("%d indexes, one for each archive", len(paths)),
			strconv.Itoa(len(indexes)), "")
	case c.Has("dtypes") && len(dtypes) != len(ext):
		return c.Invalid("dtypes", fmt.Sprintf("%d types, one for each output", len(ext)),
			strconv.Itoa(len(dtypes)), "")
	}
	for _, d := range dtypes {
		if !slices.Contains(webdatasetTypes, d) {
			return c.Invalid("dtypes", "integers of 8 to 64 bits, float16, float32 or float64", d.String(), "")
		}
	}
	switch b := op.Get[string](c, "missing_component_behavior"); strings.ToLower(b) {
	case "", missingEmpty, missingSkip, missingError:
	default:
		return c.Invalid("missing_component_behavior", "empty, skip or error", strconv.Quote(b),
			op.Nearest(b, []string{missingEmpty, missingSkip, missingError}))
	}
	return loaderargs.CheckContainer(c)
}

// webdatasetSpecs returns the specs of the outputs.
func webdatasetSpecs(c *op.Config) []tensor.Spec {
	specs := make([]tensor.Spec, len(op.Get[[]string](c, "ext")))
	dtypes := op.Get[[]tensor.DType](c, "dtypes")
	for i := range specs {
		specs[i] = tensor.Spec{DType: tensor.Uint8, Shape: tensor.Shape{-1}}
		if len(dtypes) > 0 {
			specs[i].DType = dtypes[i]
		}
	}
	return specs
}

// archives is a set of archives and an index of their samples.
type archives struct {
	info    Info
	set     *shards.Set
	index   *index.Index
	ids     []int64          // of the samples with all components, if others are left out; nil: all
	outputs map[string][]int // for each name of a component, the outputs that take it
	few     []takers         // the same, for few names
	widths  []int            // bytes of an element of each output
	parts   sync.Pool        // of *parts
}

func openWebdataset(ctx context.Context, c *op.Config) (Source, error) {
	set, err := shards.Open(ctx, webdatasetName, op.Get[[]string](c, "paths"))
	if err != nil {
		return nil, err
	}
	w := &archives{set: set}
	if err := w.open(ctx, c); err != nil {
		w.Close() //nolint:errcheck // nothing was written
		return nil, err
	}
	return w, nil
}

// open finds the samples.
func (w *archives) open(ctx context.Context, c *op.Config) error {
	var err error
	if indexes := op.Get[[]string](c, "index_paths"); len(indexes) > 0 {
		w.index, err = indexOfText(ctx, w.set, indexes)
	} else {
		w.index, err = index.Find(ctx, webdatasetName, w.set, WebdatasetFormat, "")
	}
	if err != nil {
		return err
	}
	for _, spec := range webdatasetSpecs(c) {
		w.widths = append(w.widths, spec.DType.Size())
	}
	ext, exact := op.Get[[]string](c, "ext"), op.Get[bool](c, "case_sensitive_extensions")
	if w.outputs = outputsOf(ext, w.index.PartNames(), exact); len(w.outputs) <= fewNames {
		for _, name := range w.index.PartNames() {
			if list := w.outputs[name]; list != nil {
				w.few = append(w.few, takers{name, list})
			}
		}
	}
	samples := w.index.Records()
	behavior := strings.ToLower(op.Get[string](c, "missing_component_behavior"))
	if behavior == missingSkip || behavior == missingError || c.Has("dtypes") {
		if err := w.look(ctx, behavior, ext); err != nil {
			return err
		}
	}
	h := state.NewHasher("bivouac.readers.webdataset.v1")
	h.String(w.index.Fingerprint())
	if w.ids != nil {
		samples = int64(len(w.ids))
		h.Int(samples)
	}
	if samples == 0 {
		return &errs.Error{Kind: errs.Invalid, Op: webdatasetName, Subject: w.set.Path(0),
			Want: "at least one sample with the components " + strings.Join(ext, ", "),
			Got: fmt.Sprintf("none among %d samples with the components %s", w.index.Records(),
				someNames(w.index.PartNames()))}
	}
	w.info = Info{Format: webdatasetName, Samples: samples, Files: w.counts(), Fingerprint: h.Sum()}
	return nil
}

// counts returns the number of samples of each archive.
func (w *archives) counts() []int64 {
	counts := make([]int64, w.set.Len())
	rest := w.ids
	for i := range counts {
		from, to := w.index.In(i)
		if w.ids == nil {
			counts[i] = to - from
			continue
		}
		n, _ := slices.BinarySearch(rest, to)
		counts[i], rest = int64(n), rest[n:]
	}
	return counts
}

// takers are the outputs that take the components of a name.
type takers struct {
	name    string
	outputs []int
}

// fewNames is how many names are compared one after the other, which takes less time than a map.
const fewNames = 8

// taking returns the outputs that take the components of a name.
func (w *archives) taking(name string) []int {
	if len(w.outputs) > fewNames {
		return w.outputs[name]
	}
	for i := range w.few {
		if w.few[i].name == name { // mostly the same bytes, which are not compared
			return w.few[i].outputs
		}
	}
	return nil
}

// outputsOf returns which outputs take the components of each name.
func outputsOf(ext, names []string, exact bool) map[string][]int {
	fold := func(s string) string {
		if exact {
			return s
		}
		return strings.ToLower(s)
	}
	wanted := map[string][]int{}
	for o, list := range ext {
		for rest := fold(list); rest != ""; { // as in DALI an empty name counts, but not at the end
			var name string
			name, rest, _ = strings.Cut(rest, ";")
			if l := wanted[name]; len(l) == 0 || l[len(l)-1] != o {
				wanted[name] = append(l, o)
			}
		}
	}
	outputs := map[string][]int{}
	for _, name := range names {
		if l := wanted[fold(name)]; l != nil {
			outputs[name] = l
		}
	}
	return outputs
}

// someNames lists the first names of a list.
func someNames(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// look goes through all samples. It notes those that have all components, or refuses the first that
// has not.
func (w *archives) look(ctx context.Context, behavior string, ext []string) error {
	if behavior == missingSkip {
		w.ids = []int64{}
	}
	var p parts
	for id := range w.index.Records() {
		if id%1024 == 0 && ctx.Err() != nil {
			return errs.Wrap(webdatasetName, "", &errs.Error{Kind: errs.Canceled, Err: ctx.Err()})
		}
		if err := w.choose(id, &p); err != nil {
			return errs.Wrap(webdatasetName, w.describe(id), err)
		}
		missing := -1
		for o, at := range p.chosen {
			if at < 0 {
				missing = o
				break
			}
			if err := w.checkSize(o, p.list[at]); err != nil {
				return errs.Wrap(webdatasetName, w.describe(id), err)
			}
		}
		switch {
		case behavior == missingError && missing >= 0:
			return &errs.Error{Kind: errs.Invalid, Op: webdatasetName, Subject: w.describe(id),
				Want: "a component " + strings.ReplaceAll(ext[missing], ";", " or "),
				Got:  "the components " + p.names(), Remedy: `missing_component_behavior "empty" or "skip" allows it`}
		case behavior == missingSkip && missing < 0:
			w.ids = append(w.ids, id)
		}
	}
	return nil
}

// parts are the components of a sample, and for each output the place of its component or -1.
type parts struct {
	list   []index.Part
	chosen []int
}

// memory returns memory for the components of a sample.
func (w *archives) memory() *parts {
	if p, ok := w.parts.Get().(*parts); ok {
		return p
	}
	return &parts{}
}

// names lists the names of the components.
func (p *parts) names() string {
	var names []string
	for _, part := range p.list {
		names = append(names, part.Name)
	}
	return someNames(names)
}

// choose finds the component of each output. The first in the archive counts. A component that
// comes twice is an error.
func (w *archives) choose(id int64, p *parts) error {
	var err error
	if p.list, err = w.index.Parts(id, p.list[:0]); err != nil {
		return err
	}
	p.chosen = p.chosen[:0]
	for range w.widths {
		p.chosen = append(p.chosen, -1)
	}
	for i := range p.list {
		name := p.list[i].Name
		for _, o := range w.taking(name) {
			switch at := p.chosen[o]; {
			case at < 0:
				p.chosen[o] = i
			case p.list[at].Name == name:
				return &errs.Error{Kind: errs.Corrupt, Subject: "component " + strconv.Quote(name), Want: "one file",
					Got:    fmt.Sprintf("two, at offsets %d and %d", p.list[at].Offset, p.list[i].Offset),
					Remedy: "write the archive with one file a component"}
			}
		}
	}
	return nil
}

// checkSize checks that a component has whole elements.
func (w *archives) checkSize(o int, part index.Part) error {
	if w.widths[o] == 1 || part.Length%int64(w.widths[o]) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Subject: "component " + strconv.Quote(part.Name),
		Want: fmt.Sprintf("a multiple of %d bytes, for dtypes[%d]", w.widths[o],
			o), Got: strconv.FormatInt(part.Length, 10)}
}

// record returns the number of a sample in the index.
func (w *archives) record(id int64) int64 {
	if w.ids != nil {
		return w.ids[id]
	}
	return id
}

func (w *archives) Info() Info { return w.info }

// Size implements Source: the bytes of the components that outputs take.
func (w *archives) Size(id int64) int64 {
	p := w.memory()
	defer w.parts.Put(p)
	if w.choose(w.record(id), p) != nil {
		return 0
	}
	var total int64
	for _, at := range p.chosen {
		if at >= 0 {
			total += p.list[at].Length
		}
	}
	return total
}

// largest implements bounded.
func (w *archives) largest() int64 {
	size := largestFile(w.set)
	if size > math.MaxInt64/maxOutputs {
		return math.MaxInt64
	}
	return size * int64(len(w.widths))
}

// Describe implements Source.
func (w *archives) Describe(id int64) string { return w.describe(w.record(id)) }

// describe is Describe for a record of the index.
func (w *archives) describe(record int64) string {
	span, err := w.index.Span(record)
	if err != nil {
		return fmt.Sprintf("sample %d", record)
	}
	key, _ := w.index.Key(record) //nolint:errcheck // the number is enough
	if key == "" {
		return fmt.Sprintf("%s, sample %d at offset %d", w.set.Path(span.File), record, span.Offset)
	}
	return fmt.Sprintf("%s, sample %q at offset %d", w.set.Path(span.File), key, span.Offset)
}

// Name implements Named as DALI does: path, offset and name of the file of output 0, or "".
func (w *archives) Name(id int64) string {
	record := w.record(id)
	var p parts
	span, err := w.index.Span(record)
	if err != nil || w.choose(record, &p) != nil || p.chosen[0] < 0 {
		return ""
	}
	part := p.list[p.chosen[0]]
	key, _ := w.index.Key(record) //nolint:errcheck // a name may be short of it
	switch key {
	case "": // an index of version 1.1 has no names
	case part.Name: // a file without a dot
	default:
		key += "." + part.Name
	}
	return fmt.Sprintf("%s:%d:%s", w.set.Path(span.File), part.Offset, key)
}

// Fetch implements Source.
func (w *archives) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	r := op.PerWorker[partsReader](dst)
	return Each(ctx, ids, dst, func(id int64, s int) error { return w.fetch(ctx, w.record(id), s, dst, r) })
}

// partsReader is what a goroutine keeps between samples.
type partsReader struct {
	parts parts
	buffer
}

func (w *archives) fetch(ctx context.Context, record int64, s int, dst *op.Block, r *partsReader) error {
	file, err := w.index.FileOf(record)
	if err != nil {
		return err
	}
	p := &r.parts
	if err := w.choose(record, p); err != nil {
		return err
	}
	for o, at := range p.chosen {
		if at < 0 {
			dst.Out(o, s, 0)
			continue
		}
		part := &p.list[at]
		if err := w.checkSize(o, *part); err != nil {
			return err
		}
		out := dst.Out(o, s, int(part.Length)/w.widths[o])
		if err := r.read(ctx, w.set, file, out.Data, part.Offset); err != nil {
			return errs.Wrap("", "component "+strconv.Quote(part.Name), err)
		}
	}
	return nil
}

// Close implements Source.
func (w *archives) Close() error {
	err := w.set.Close()
	if w.index != nil {
		if other := w.index.Close(); err == nil {
			err = other
		}
	}
	return err
}
