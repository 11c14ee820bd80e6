package dataset

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/internal/config"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
)

// dataFile is a data.yaml.
type dataFile struct {
	in        *config.Text
	text      []byte // of the file; nil for a path
	dir       string // that paths are relative to
	at        string // the path of the file, or of the data set
	sources   []dataSource
	single    bool // the source stands at the top of the file
	listed    bool // there is a list of sources
	mixed     bool // weights, phases or a policy are given
	exhausted order.Exhaustion
	phases    []dataPhase
	window    int64
	tokenize  string
	pack      *dataPack
	cut       int // to how many tokens longer samples are cut; 0: to no length
	options   loader.Options[reader.Fields, reader.Fields]
}

// dataSource is a source of a data.yaml.
type dataSource struct {
	where   string // for errors
	name    string
	paths   []string
	reader  string
	split   string
	args    map[string]config.Value
	given   op.Args // besides args
	weight  float64
	window  int64 // -1: as the file says
	text    string
	lengths string      // a file
	column  string      // a field with the length
	fields  []dataField // nil: all
}

// dataField is a field that samples get: of, under the name as.
type dataField struct{ as, of string }

type dataPhase struct {
	where   config.Value
	step    int64 // or -1
	sample  int64 // or -1
	weights map[string]config.Value
}

type dataPack struct {
	where  config.Value
	length int
	field  string
	cut    bool
	pad    int32
	order.PackOptions
}

var sourceNames = []string{"name", "path", "split", "reader", "args", "weight", "shuffle_window", "text", "lengths",
	"fields"}

var dataNames = slices.Concat([]string{"sources", "path", "split", "reader", "args", "text", "lengths", "fields",
	"shuffle_window", "phases",
	"when_exhausted", "tokenize", "pack"}, config.OptionNames)

// readDataFile reads a data.yaml.
func readDataFile(path string, o OpenOptions) (*dataFile, error) {
	b, err := datafs.ReadFile(context.Background(), path)
	if err != nil {
		return nil, pathError("dataset.Open", path, err)
	}
	return parseDataFile(path, b, path, o)
}

// parseDataFile parses the text of a data.yaml that lies at a path, or would lie there. name is for
// errors.
func parseDataFile(name string, b []byte, path string, o OpenOptions) (*dataFile, error) {
	in := &config.Text{Op: "dataset.Open", File: name, Inspect: o.Inspect, Getenv: o.Getenv}
	f := &dataFile{in: in, text: b, dir: datafs.Dir(path), at: path, exhausted: order.CycleOn}
	root, err := f.in.Parse(b)
	if err != nil {
		return nil, err
	}
	if root.Node == nil {
		return nil, f.in.Wrong(name, "sources, or a path", "an empty file")
	}
	top := newDataSource(name, "")
	if err := root.Each(func(name string, v config.Value) error { return f.set(&top, name, v) }); err != nil {
		return nil, err
	}
	switch {
	case f.single && f.listed:
		return nil, root.In.Wrong("sources of "+name, "either sources, or path and reader", "both")
	case !f.single && !f.listed:
		return nil, root.In.Wrong(name, "sources, or a path", "neither")
	case f.single:
		f.sources = []dataSource{top}
	}
	return f, f.check()
}

// check finds mistakes between settings.
func (f *dataFile) check() error {
	var names []string
	for i := range f.sources {
		s := &f.sources[i]
		if s.name == "" {
			s.name = "source " + strconv.Itoa(i)
		}
		if slices.Contains(names, s.name) {
			return f.in.Wrong(s.where, "a name that no other source has", strconv.Quote(s.name))
		}
		names = append(names, s.name)
		if s.window >= 0 && !f.mixed {
			return f.in.Wrong(s.where, "weights, for a shuffle_window of a source", "no weights")
		}
		if len(s.paths) == 0 && s.reader == "" {
			return f.in.Wrong(s.where, "a path, or a reader with args", "neither")
		}
	}
	for _, p := range f.phases {
		if (p.step < 0) == (p.sample < 0) {
			return f.in.Wrong(p.where.Where(), "either from_step or from_sample", map[bool]string{true: "neither",
				false: "both"}[p.step < 0])
		}
		for _, name := range slices.Sorted(maps.Keys(p.weights)) {
			if !slices.Contains(names, name) {
				return p.weights[name].Unknown(name, names)
			}
		}
		for _, name := range names {
			if _, ok := p.weights[name]; !ok {
				return f.in.Wrong(p.where.Where(), "a weight for each source", "no weight for "+strconv.Quote(name))
			}
		}
		if p.step >= 0 && f.options.GlobalBatch == 0 {
			e := f.in.Wrong(p.where.Where(),
				"global_batch beside from_step, so that a step has as many samples for any number of ranks", "none")
			e.Remedy = "set global_batch, or give from_sample"
			return e
		}
	}
	if f.options.CollatePacks == nil && f.pack != nil && f.options.BatchSize == loader.NoBatching {
		return f.in.Wrong(f.pack.where.Where(), "batches, for packs", "batch_size null")
	}
	return nil
}

func newDataSource(where, name string) dataSource {
	return dataSource{where: where, name: name, weight: 1, window: -1}
}

// set assigns a setting of the top of the file.
func (f *dataFile) set(top *dataSource, name string, v config.Value) (err error) {
	switch name {
	case "sources":
		f.listed = true
		return v.EachElement(func(i int, v config.Value) error {
			s := newDataSource(v.Where(), "")
			if err := v.Each(func(name string, v config.Value) error { return f.setSource(&s, name, v) }); err != nil {
				return err
			}
			f.sources = append(f.sources, s)
			return nil
		})
	case "phases":
		f.mixed = true
		return v.EachElement(func(i int, v config.Value) error { return f.setPhase(v) })
	case "when_exhausted":
		f.mixed = true
		var text string
		if text, err = v.Text(); err != nil {
			return err
		}
		i := slices.Index(exhaustions, text)
		if i < 0 {
			return v.Wrong(`"stop first", "drop ended", "cycle all" or "cycle on"`)
		}
		f.exhausted = order.Exhaustion(i)
	case "tokenize":
		f.tokenize, err = pathOf(v, f.dir)
	case "pack":
		return f.setPack(v)
	case "shuffle_window":
		var n int
		n, err = v.Integer(1)
		f.window = int64(n)
	case "rank":
		f.options.Rank, err = fromEnvironment(v, 0)
	case "world":
		f.options.World, err = fromEnvironment(v, 1)
	case "path", "split", "reader", "args", "fields", "text", "lengths":
		if name == "path" || name == "reader" {
			f.single = true
		}
		return f.setSource(top, name, v)
	default:
		if !slices.Contains(config.OptionNames, name) {
			return v.Unknown(name, dataNames)
		}
		return v.SetOption(&f.options, name)
	}
	return err
}

var exhaustions = []string{"stop first", "drop ended", "cycle all", "cycle on"}

func (f *dataFile) setSource(s *dataSource, name string, v config.Value) (err error) {
	switch name {
	case "name":
		s.name, err = v.Text()
		if err == nil && s.name == "" {
			return v.Wrong("a name")
		}
	case "path":
		if v.Node.Kind == yaml.SequenceNode {
			return v.EachElement(func(_ int, v config.Value) error {
				p, err := pathOf(v, f.dir)
				s.paths = append(s.paths, p)
				return err
			})
		}
		var p string
		p, err = pathOf(v, f.dir)
		s.paths = []string{p}
	case "reader":
		s.reader, err = v.Text()
	case "split":
		if s.split, err = v.Text(); err == nil && s.split == "" {
			return v.Wrong("the name of a split, such as train")
		}
	case "args":
		s.args = map[string]config.Value{}
		return v.Each(func(name string, v config.Value) error {
			s.args[name] = v
			return nil
		})
	case "weight":
		f.mixed = true
		s.weight, err = weightOf(v)
	case "shuffle_window":
		var n int
		n, err = v.Integer(1)
		s.window = int64(n)
	case "text":
		s.text, err = v.Text()
	case "lengths":
		if v.Node.Kind != yaml.MappingNode {
			s.lengths, err = pathOf(v, f.dir)
			break
		}
		return v.Each(func(name string, v config.Value) (err error) {
			if name != "field" {
				return v.Unknown(name, []string{"field"})
			}
			s.column, err = v.Text()
			return err
		})
	case "fields":
		return fieldsOf(v, &s.fields)
	default:
		return v.Unknown(name, sourceNames)
	}
	return err
}

func (f *dataFile) setPhase(v config.Value) error {
	p := dataPhase{where: v, step: -1, sample: -1, weights: map[string]config.Value{}}
	err := v.Each(func(name string, v config.Value) (err error) {
		switch name {
		case "from_step":
			p.step, err = positionOf(v)
		case "from_sample":
			p.sample, err = positionOf(v)
		case "weights":
			return v.Each(func(name string, v config.Value) error {
				p.weights[name] = v
				_, err := weightOf(v)
				return err
			})
		default:
			return v.Unknown(name, []string{"from_step", "from_sample", "weights"})
		}
		return err
	})
	f.phases = append(f.phases, p)
	return err
}

func (f *dataFile) setPack(v config.Value) error {
	p := &dataPack{where: v}
	err := v.Each(func(name string, v config.Value) (err error) {
		var n int
		switch name {
		case "length":
			p.length, err = v.Integer(1)
		case "field":
			p.field, err = v.Text()
		case "pad":
			if !v.Is("!!int") || v.Node.Decode(&p.pad) != nil {
				return v.Wrong("a token")
			}
		case "longer":
			var text string
			if text, err = v.Text(); err == nil && text != "cut" && text != "refuse" {
				return v.Wrong(`"cut" or "refuse"`)
			}
			p.cut = text == "cut"
		case "block":
			n, err = v.Integer(1)
			p.Block = int64(n)
		case "most":
			n, err = v.Integer(1)
			p.Most = int64(n)
		default:
			return v.Unknown(name, []string{"length", "field", "pad", "longer", "block", "most"})
		}
		return err
	})
	if err == nil && p.length == 0 {
		err = f.in.Wrong(v.Where(), "a length in tokens", "none")
	}
	p.Capacity, f.pack = int64(p.length), p
	return err
}

// path returns a path, relative to a folder unless it is absolute or a URL.
func pathOf(v config.Value, dir string) (string, error) {
	p, err := v.Text()
	if err == nil && p == "" {
		return "", v.Wrong("a path")
	}
	return under(dir, p), err
}

func under(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) || strings.Contains(path, "://") || strings.HasPrefix(path, "~") {
		return path
	}
	return datafs.Join(dir, path)
}

func weightOf(v config.Value) (w float64, err error) {
	if !v.Is("!!int") && !v.Is("!!float") || v.Node.Decode(&w) != nil || !(w >= 0) || math.IsInf(w, 1) {
		return 0, v.Wrong("a weight of at least 0")
	}
	return w, nil
}

func positionOf(v config.Value) (n int64, err error) {
	if !v.Is("!!int") || v.Node.Decode(&n) != nil || n < 1 {
		return -1, v.Wrong("an integer of at least 1")
	}
	return n, nil
}

// fromEnvironment returns a number, or the number of an environment variable: "env RANK", or
// "env RANK or 0".
func fromEnvironment(v config.Value, least int) (int, error) {
	words := strings.Fields(v.Node.Value)
	if !v.Is("!!str") || len(words) == 0 || words[0] != "env" {
		n, err := v.Integer(least)
		if err != nil {
			return 0, v.Wrong(`an integer, or "env NAME"`)
		}
		return n, nil
	}
	if len(words) != 2 && (len(words) != 4 || words[2] != "or") {
		return 0, v.Wrong(`"env NAME" or "env NAME or NUMBER"`)
	}
	lookup := v.In.Getenv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	text, ok := lookup(words[1])
	if !ok || text == "" {
		if v.In.Inspect {
			return least, nil
		}
		if len(words) == 2 {
			e := v.In.Wrong(v.Where(), "the environment variable "+words[1], "none")
			e.Remedy = `write "env ` + words[1] + ` or ` + strconv.Itoa(least) + `" for a program that runs alone`
			return 0, e
		}
		text = words[3]
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > math.MaxInt32 {
		return 0, v.In.Wrong(v.Where(), "an integer of at least "+strconv.Itoa(least)+" in "+words[1], strconv.Quote(text))
	}
	return n, nil
}

// fields reads a list of names, or new names with the old ones.
func fieldsOf(v config.Value, list *[]dataField) error {
	*list = []dataField{}
	if v.Node.Kind == yaml.MappingNode {
		return v.Each(func(name string, v config.Value) error {
			of, err := v.Text()
			*list = append(*list, dataField{name, of})
			return err
		})
	}
	return v.EachElement(func(_ int, v config.Value) error {
		name, err := v.Text()
		if err == nil && slices.ContainsFunc(*list, func(f dataField) bool { return f.as == name }) {
			return v.Wrong("each name at most once")
		}
		*list = append(*list, dataField{name, name})
		return err
	})
}

func pathError(name, path string, err error) error {
	var own *errs.Error
	if errors.As(err, &own) {
		return errs.Wrap(name, path, err)
	}
	if other := datafs.Check(path); other != nil {
		return errs.Wrap(name, "", other)
	}
	kind := errs.IO
	switch {
	case os.IsNotExist(err):
		kind = errs.NotFound
	case os.IsPermission(err):
		kind = errs.Permission
	}
	return &errs.Error{Kind: kind, Op: name, Subject: path, Err: err}
}
