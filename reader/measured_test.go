package reader_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// measured is testdata/readers/expect.json: what DALI and the package webdataset deliver.
type measured struct {
	Cases      []*measuredCase
	Webdataset []struct {
		Name    string
		Paths   []string
		Samples []map[string]string
	}
}

type measuredCase struct {
	Name, Op string
	Args     map[string]any
	Error    string
	Samples  []struct {
		Outputs []struct {
			DType, Layout string
			Shape         []int
			Hex           string
		}
		SourceInfo string `json:"source_info"`
	}
}

// readMeasured reads expect.json. The working directory becomes the folder of the data.
func readMeasured(t *testing.T) *measured {
	t.Helper()
	t.Chdir(filepath.Join("..", "testdata", "readers", "data"))
	b, err := os.ReadFile("../expect.json")
	if err != nil {
		t.Fatal(err)
	}
	m := &measured{}
	if err := json.Unmarshal(b, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// openAs opens a reader, as pipelines do.
func openAs(name string, args op.Args) (reader.Source, []tensor.Spec, error) {
	s, err := op.Lookup(name)
	if err != nil {
		return nil, nil, err
	}
	_, set, err := op.Arguments(args)
	if err != nil {
		return nil, nil, err
	}
	c, _, err := op.Resolve(s, "test", 0, set)
	if err != nil {
		return nil, nil, err
	}
	o, err := reader.Lookup(s)
	if err != nil {
		return nil, nil, err
	}
	specs, err := o.Outputs(c)
	if err != nil {
		return nil, nil, err
	}
	src, err := o.Open(context.Background(), c)
	return src, specs, err
}

// take fetches samples: [sample][output].
func take(src reader.Source, specs []tensor.Spec, ids ...int64) ([][]tensor.Tensor, error) {
	var b op.Block
	var local any
	x := b.Binding()
	x.Memory, x.Positions, x.Specs, x.Local = memory{}, make([]int64, len(ids)), specs, &local
	for range specs {
		x.Out = append(x.Out, make([]tensor.Tensor, len(ids)))
	}
	if err := src.Fetch(context.Background(), ids, &b); err != nil {
		return nil, err
	}
	out := make([][]tensor.Tensor, len(ids))
	for s := range ids {
		if err := x.Errors[s]; err != nil {
			return nil, err
		}
		for o := range specs {
			out[s] = append(out[s], x.Out[o][s])
		}
	}
	return out, nil
}

func allIDs(src reader.Source) []int64 {
	ids := make([]int64, src.Info().Samples)
	for i := range ids {
		ids[i] = int64(i)
	}
	return ids
}

var dtypeNames = map[string]tensor.DType{
	"BOOL": tensor.Bool, "UINT8": tensor.Uint8, "INT8": tensor.Int8, "UINT16": tensor.Uint16, "INT16": tensor.Int16, "UINT32": tensor.Uint32,
	"INT32": tensor.Int32, "INT64": tensor.Int64, "FLOAT16": tensor.Float16, "FLOAT": tensor.Float32, "STRING": tensor.Invalid,
}

var imageNames = map[string]op.ImageType{"GRAY": op.Gray, "BGR": op.BGR, "YCbCr": op.YCbCr, "ANY_DATA": op.AnyData}

// arguments are the arguments of a case as Go values.
func (c *measuredCase) arguments() op.Args {
	args := op.Args{}
	for name, v := range c.Args {
		param, _ := op.Lookup(c.Op)
		p, _ := param.Param(name)
		list, isList := v.([]any)
		switch {
		case name == "dtypes":
			var types []tensor.DType
			for _, n := range list {
				types = append(types, dtypeNames[n.(string)])
			}
			v = types
		case name == "image_type":
			v = imageNames[v.(string)]
		case isList && p.Type == op.Strings:
			texts := []string{}
			for _, n := range list {
				texts = append(texts, n.(string))
			}
			v = texts
		case isList && p.Type == op.Ints:
			var numbers []int
			for _, n := range list {
				numbers = append(numbers, int(n.(float64)))
			}
			v = numbers
		case isList:
			var numbers []float64
			for _, n := range list {
				numbers = append(numbers, n.(float64))
			}
			v = numbers
		case p.Type == op.Int || p.Type == op.Ints:
			v = int(v.(float64))
		}
		args[name] = v
	}
	return args
}

// run compares the reader with what was measured.
func (c *measuredCase) run() error {
	src, specs, err := openAs(c.Op, c.arguments())
	if err == nil {
		defer src.Close() //nolint:errcheck // nothing was written
		var got [][]tensor.Tensor
		if got, err = take(src, specs, allIDs(src)...); err == nil && c.Error == "" {
			return c.compare(src, got)
		}
	}
	switch {
	case c.Error != "" && err == nil:
		return fmt.Errorf("got samples, want an error: %s", c.Error)
	case c.Error == "":
		return err
	}
	return nil
}

func (c *measuredCase) compare(src reader.Source, got [][]tensor.Tensor) error {
	if len(got) != len(c.Samples) {
		return fmt.Errorf("got %d samples, want %d", len(got), len(c.Samples))
	}
	for i, want := range c.Samples {
		name := ""
		if named, ok := src.(reader.Named); ok {
			name = named.Name(int64(i))
		}
		if name != want.SourceInfo {
			return fmt.Errorf("sample %d: source_info %q, want %q", i, name, want.SourceInfo)
		}
		for o, w := range want.Outputs {
			g := got[i][o]
			if g.DType.String() != w.DType || !slices.Equal([]int(g.Shape), w.Shape) || g.Layout != w.Layout {
				return fmt.Errorf("sample %d, output %d: got %s %v %q, want %s %v %q", i, o, g.DType, g.Shape,
					g.Layout, w.DType, w.Shape, w.Layout)
			}
			if h := hex.EncodeToString(g.Data); h != w.Hex {
				return fmt.Errorf("sample %d, output %d: got %.200s, want %.200s", i, o, h, w.Hex)
			}
		}
	}
	return nil
}

// differences are the cases in which a reader does another thing than DALI, by parts of operator,
// name and arguments, with the reason.
var differences = map[string]string{
	"readers.numpy type >":         "big-endian arrays are read",
	"readers.numpy version":        "headers of versions 2 and 3 are read",
	"readers.sequence orientation": "DALI turns the shape of the frame and not its pixels",
	"fits/c-RICE_1-f4-0":           "DALI gives the bits of integers as floats",
	"fits/c-RICE_1-f8-0":           "as above",
	"fits/c-PLIO_1":                "refused by name",
	"fits/c-HCOMPRESS_1":           "refused by name",
	"fits/c-NOCOMPRESS":            "read, as astropy reads it",
}

// Readers deliver what DALI delivers, and refuse what it refuses.
func TestMeasured(t *testing.T) {
	m := readMeasured(t)
	if len(m.Cases) < 300 {
		t.Fatalf("%d cases", len(m.Cases))
	}
	used := map[string]bool{}
	for _, c := range m.Cases {
		_, name, _ := strings.Cut(c.Name, " ")
		if _, err := op.Lookup(c.Op); err != nil {
			t.Errorf("no %s", c.Op)
			continue
		}
		key := ""
		for k := range differences {
			if strings.Contains(fmt.Sprint(c.Op, " ", name, " ", c.Args), k) {
				key = k
			}
		}
		err := c.run()
		switch {
		case err != nil && key == "":
			t.Errorf("%s %s %v: %v", c.Name, c.Op, c.Args, err)
		case err != nil:
			used[key] = true
		}
	}
	for k := range differences {
		if !used[k] {
			t.Errorf("%s: nothing differs", k)
		}
	}
}

// Archives of the package webdataset have the samples that it reads out of them.
func TestPackageWebdataset(t *testing.T) {
	m := readMeasured(t)
	for _, set := range m.Webdataset {
		names := map[string]bool{}
		for _, s := range set.Samples {
			for name := range s {
				names[name] = name != "__key__"
			}
		}
		delete(names, "__key__")
		ext := slices.Sorted(maps.Keys(names))
		src, specs, err := openAs("readers.webdataset", op.Args{"paths": set.Paths, "ext": ext})
		if err != nil {
			t.Errorf("%s: %v", set.Name, err)
			continue
		}
		got, err := take(src, specs, allIDs(src)...)
		if err != nil || len(got) != len(set.Samples) {
			t.Errorf("%s: %d samples, %v, want %d", set.Name, len(got), err, len(set.Samples))
			continue
		}
		for i, want := range set.Samples {
			if d := src.Describe(int64(i)); !strings.Contains(d, fmt.Sprintf("%q", want["__key__"])) {
				t.Errorf("%s, sample %d: %s, want the key %q", set.Name, i, d, want["__key__"])
			}
			for o, name := range ext {
				b, err := hex.DecodeString(want[name])
				if err != nil || !bytes.Equal(got[i][o].Data, b) {
					t.Errorf("%s, sample %d: %s is %.100q, want %.100q", set.Name, i, name, got[i][o].Data, b)
				}
			}
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}
