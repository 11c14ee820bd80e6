package loader

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/reader"
)

// dataFile is a data.yaml.
type dataFile struct {
	in        *configText
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
	options   Options[reader.Fields, reader.Fields]
}

// dataSource is a source of a data.yaml.
type dataSource struct {
	where   string // for errors
	name    string
	paths   []string
	reader  string
	split   string
	args    map[string]configValue
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
	where   configValue
	step    int64 // or -1
	sample  int64 // or -1
	weights map[string]configValue
}

type dataPack struct {
	where  configValue
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
	"when_exhausted", "tokenize", "pack"}, configNames)

// readDataFile reads a data.yaml.
func readDataFile(path string, inspect bool) (*dataFile, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, pathError("loader.Open", path, err)
	}
	f := &dataFile{in: &configText{"loader.Open", path, inspect}, dir: filepath.Dir(path), at: path,
		exhausted: order.CycleOn}
	root, err := f.in.parse(b)
	if err != nil {
		return nil, err
	}
	if root.node == nil {
		return nil, f.in.wrong(path, "sources, or a path", "an empty file")
	}
	top := newDataSource(path, "")
	if err := root.each(func(name string, v configValue) error { return f.set(&top, name, v) }); err != nil {
		return nil, err
	}
	switch {
	case f.single && f.listed:
		return nil, root.in.wrong("sources of "+path, "either sources, or path and reader", "both")
	case !f.single && !f.listed:
		return nil, root.in.wrong(path, "sources, or a path", "neither")
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
			return f.in.wrong(s.where, "a name that no other source has", strconv.Quote(s.name))
		}
		names = append(names, s.name)
		if s.window >= 0 && !f.mixed {
			return f.in.wrong(s.where, "weights, for a shuffle_window of a source", "no weights")
		}
		if len(s.paths) == 0 && s.reader == "" {
			return f.in.wrong(s.where, "a path, or a reader with args", "neither")
		}
	}
	for _, p := range f.phases {
		if (p.step < 0) == (p.sample < 0) {
			return f.in.wrong(p.where.where(), "either from_step or from_sample", map[bool]string{true: "neither",
				false: "both"}[p.step < 0])
		}
		for _, name := range slices.Sorted(maps.Keys(p.weights)) {
			if !slices.Contains(names, name) {
				return p.weights[name].unknown(name, names)
			}
		}
		for _, name := range names {
			if _, ok := p.weights[name]; !ok {
				return f.in.wrong(p.where.where(), "a weight for each source", "no weight for "+strconv.Quote(name))
			}
		}
		if p.step >= 0 && f.options.GlobalBatch == 0 {
			e := f.in.wrong(p.where.where(),
				"global_batch beside from_step, so that a step has as many samples for any number of ranks", "none")
			e.Remedy = "set global_batch, or give from_sample"
			return e
		}
	}
	if f.options.CollatePacks == nil && f.pack != nil && f.options.BatchSize == NoBatching {
		return f.in.wrong(f.pack.where.where(), "batches, for packs", "batch_size null")
	}
	return nil
}

func newDataSource(where, name string) dataSource {
	return dataSource{where: where, name: name, weight: 1, window: -1}
}

// set assigns a setting of the top of the file.
func (f *dataFile) set(top *dataSource, name string, v configValue) (err error) {
	switch name {
	case "sources":
		f.listed = true
		return v.eachElement(func(i int, v configValue) error {
			s := newDataSource(v.where(), "")
			if err := v.each(func(name string, v configValue) error { return f.setSource(&s, name, v) }); err != nil {
				return err
			}
			f.sources = append(f.sources, s)
			return nil
		})
	case "phases":
		f.mixed = true
		return v.eachElement(func(i int, v configValue) error { return f.setPhase(v) })
	case "when_exhausted":
		f.mixed = true
		var text string
		if text, err = v.text(); err != nil {
			return err
		}
		i := slices.Index(exhaustions, text)
		if i < 0 {
			return v.wrong(`"stop first", "drop ended", "cycle all" or "cycle on"`)
		}
		f.exhausted = order.Exhaustion(i)
	case "tokenize":
		f.tokenize, err = v.path(f.dir)
	case "pack":
		return f.setPack(v)
	case "shuffle_window":
		var n int
		n, err = v.integer(1)
		f.window = int64(n)
	case "rank":
		f.options.Rank, err = v.fromEnvironment(0)
	case "world":
		f.options.World, err = v.fromEnvironment(1)
	case "path", "split", "reader", "args", "fields", "text", "lengths":
		if name == "path" || name == "reader" {
			f.single = true
		}
		return f.setSource(top, name, v)
	default:
		if !slices.Contains(configNames, name) {
			return v.unknown(name, dataNames)
		}
		return f.options.set(name, v)
	}
	return err
}

var exhaustions = []string{"stop first", "drop ended", "cycle all", "cycle on"}

func (f *dataFile) setSource(s *dataSource, name string, v configValue) (err error) {
	switch name {
	case "name":
		s.name, err = v.text()
		if err == nil && s.name == "" {
			return v.wrong("a name")
		}
	case "path":
		if v.node.Kind == yaml.SequenceNode {
			return v.eachElement(func(_ int, v configValue) error {
				p, err := v.path(f.dir)
				s.paths = append(s.paths, p)
				return err
			})
		}
		var p string
		p, err = v.path(f.dir)
		s.paths = []string{p}
	case "reader":
		s.reader, err = v.text()
	case "split":
		if s.split, err = v.text(); err == nil && s.split == "" {
			return v.wrong("the name of a split, such as train")
		}
	case "args":
		s.args = map[string]configValue{}
		return v.each(func(name string, v configValue) error {
			s.args[name] = v
			return nil
		})
	case "weight":
		f.mixed = true
		s.weight, err = v.weight()
	case "shuffle_window":
		var n int
		n, err = v.integer(1)
		s.window = int64(n)
	case "text":
		s.text, err = v.text()
	case "lengths":
		if v.node.Kind != yaml.MappingNode {
			s.lengths, err = v.path(f.dir)
			break
		}
		return v.each(func(name string, v configValue) (err error) {
			if name != "field" {
				return v.unknown(name, []string{"field"})
			}
			s.column, err = v.text()
			return err
		})
	case "fields":
		return v.fields(&s.fields)
	default:
		return v.unknown(name, sourceNames)
	}
	return err
}

func (f *dataFile) setPhase(v configValue) error {
	p := dataPhase{where: v, step: -1, sample: -1, weights: map[string]configValue{}}
	err := v.each(func(name string, v configValue) (err error) {
		switch name {
		case "from_step":
			p.step, err = v.position()
		case "from_sample":
			p.sample, err = v.position()
		case "weights":
			return v.each(func(name string, v configValue) error {
				p.weights[name] = v
				_, err := v.weight()
				return err
			})
		default:
			return v.unknown(name, []string{"from_step", "from_sample", "weights"})
		}
		return err
	})
	f.phases = append(f.phases, p)
	return err
}

func (f *dataFile) setPack(v configValue) error {
	p := &dataPack{where: v}
	err := v.each(func(name string, v configValue) (err error) {
		var n int
		switch name {
		case "length":
			p.length, err = v.integer(1)
		case "field":
			p.field, err = v.text()
		case "pad":
			if !v.is("!!int") || v.node.Decode(&p.pad) != nil {
				return v.wrong("a token")
			}
		case "longer":
			var text string
			if text, err = v.text(); err == nil && text != "cut" && text != "refuse" {
				return v.wrong(`"cut" or "refuse"`)
			}
			p.cut = text == "cut"
		case "block":
			n, err = v.integer(1)
			p.Block = int64(n)
		case "most":
			n, err = v.integer(1)
			p.Most = int64(n)
		default:
			return v.unknown(name, []string{"length", "field", "pad", "longer", "block", "most"})
		}
		return err
	})
	if err == nil && p.length == 0 {
		err = f.in.wrong(v.where(), "a length in tokens", "none")
	}
	p.Capacity, f.pack = int64(p.length), p
	return err
}

// eachElement calls set for each element of a list.
func (v configValue) eachElement(set func(i int, v configValue) error) error {
	if v.node.Kind != yaml.SequenceNode || len(v.node.Content) == 0 {
		return v.wrong("a list")
	}
	for i, n := range v.node.Content {
		if err := set(i, configValue{v.name + "[" + strconv.Itoa(i) + "]", n, v.in}); err != nil {
			return err
		}
	}
	return nil
}

// path returns a path, relative to a folder unless it is absolute or a URL.
func (v configValue) path(dir string) (string, error) {
	p, err := v.text()
	if err == nil && p == "" {
		return "", v.wrong("a path")
	}
	return under(dir, p), err
}

func under(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) || strings.Contains(path, "://") || strings.HasPrefix(path, "~") {
		return path
	}
	return filepath.Join(dir, path)
}

func (v configValue) weight() (w float64, err error) {
	if !v.is("!!int") && !v.is("!!float") || v.node.Decode(&w) != nil || !(w >= 0) || math.IsInf(w, 1) {
		return 0, v.wrong("a weight of at least 0")
	}
	return w, nil
}

func (v configValue) position() (n int64, err error) {
	if !v.is("!!int") || v.node.Decode(&n) != nil || n < 1 {
		return -1, v.wrong("an integer of at least 1")
	}
	return n, nil
}

// fromEnvironment returns a number, or the number of an environment variable: "env RANK", or
// "env RANK or 0".
func (v configValue) fromEnvironment(least int) (int, error) {
	words := strings.Fields(v.node.Value)
	if !v.is("!!str") || len(words) == 0 || words[0] != "env" {
		n, err := v.integer(least)
		if err != nil {
			return 0, v.wrong(`an integer, or "env NAME"`)
		}
		return n, nil
	}
	if len(words) != 2 && (len(words) != 4 || words[2] != "or") {
		return 0, v.wrong(`"env NAME" or "env NAME or NUMBER"`)
	}
	text, ok := os.LookupEnv(words[1])
	if !ok || text == "" {
		if v.in.inspect {
			return least, nil
		}
		if len(words) == 2 {
			e := v.in.wrong(v.where(), "the environment variable "+words[1], "none")
			e.Remedy = `write "env ` + words[1] + ` or ` + strconv.Itoa(least) + `" for a program that runs alone`
			return 0, e
		}
		text = words[3]
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > math.MaxInt32 {
		return 0, v.in.wrong(v.where(), "an integer of at least "+strconv.Itoa(least)+" in "+words[1], strconv.Quote(text))
	}
	return n, nil
}

// fields reads a list of names, or new names with the old ones.
func (v configValue) fields(list *[]dataField) error {
	*list = []dataField{}
	if v.node.Kind == yaml.MappingNode {
		return v.each(func(name string, v configValue) error {
			of, err := v.text()
			*list = append(*list, dataField{name, of})
			return err
		})
	}
	return v.eachElement(func(_ int, v configValue) error {
		name, err := v.text()
		if err == nil && slices.ContainsFunc(*list, func(f dataField) bool { return f.as == name }) {
			return v.wrong("each name at most once")
		}
		*list = append(*list, dataField{name, name})
		return err
	})
}

func pathError(name, path string, err error) error {
	if other := errs.CheckPath(path); other != nil {
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
