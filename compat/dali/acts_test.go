package dali_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// orderCase is a case of testdata/dali-readers/orders.json: which samples come with some arguments.
type orderCase struct {
	Op      string
	Args    map[string]any
	Meta    dali.ReaderMeta
	Batches [][]int
	Error   string
}

const orderBatch = 3

// readJSON reads a file of recorded cases and keeps the numbers as they are written.
func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		t.Fatal(err)
	}
}

func orderCases(t *testing.T) []orderCase {
	t.Helper()
	t.Chdir(filepath.Join("..", "..", "testdata", "dali-readers"))
	var file struct{ Cases []orderCase }
	readJSON(t, "orders.json", &file)
	return file.Cases
}

// goArgs returns the arguments of a case as Go has them. ok is false if a type is unknown here.
func goArgs(t *testing.T, recorded map[string]any) (args op.Args, ok bool) {
	t.Helper()
	args = op.Args{}
	for name, v := range recorded {
		list, isList := v.([]any)
		switch {
		case name == "features":
			var features []op.Feature
			for f, kind := range v.(map[string]any) {
				if kind == "bytes" {
					features = append(features, op.FixedLen(f, nil, tensor.Uint8, ""))
				} else {
					features = append(features, op.FixedLen(f, []int{1}, tensor.Int64, -1))
				}
			}
			slices.SortFunc(features, func(a, b op.Feature) int { return strings.Compare(a.Name, b.Name) })
			args[name] = features
		case name == "dtypes" && isList, name == "image_type":
			if !isList {
				list = []any{v}
			}
			var all []any
			for _, n := range list {
				text, ok := n.(string)
				if !ok {
					text, _ = n.(map[string]any)["type"].(string)
				}
				e, err := dalivec.Enum(text)
				if err != nil {
					return nil, false
				}
				all = append(all, e)
			}
			args[name] = any(all)
			if !isList {
				args[name] = all[0]
			}
		default:
			var err error
			if args[name], err = dalivec.Constant(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	return args, true
}

// delivery is what a reader gives with some arguments.
type delivery struct {
	meta    dali.ReaderMeta
	batches [][]string // the contents of each sample
	err     string
}

// deliveryOf runs a reader for a number of batches.
func deliveryOf(t *testing.T, reader string, args op.Args, iterations int) delivery {
	t.Helper()
	args = maps.Clone(args)
	args["name"] = "r"
	var folder string
	for _, saves := range []string{"save_preprocessed_annotations_dir", "dump_meta_files_path"} {
		if args[saves] != nil {
			folder = t.TempDir()
			args[saves] = folder
		}
	}
	o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: orderBatch, Workers: 1, Seed: 1}}
	var failed error
	def, err := dali.Define(o, func(b *pipeline.Builder) []pipeline.Node {
		nodes := b.Op(reader, args)
		failed = b.Err()
		return nodes
	})
	if failed != nil {
		return delivery{err: failed.Error()}
	}
	if err != nil {
		return delivery{err: err.Error()}
	}
	p, err := def.New(context.Background(), nil)
	if err != nil {
		return delivery{err: err.Error()}
	}
	defer p.Close()
	var out delivery
	if out.meta, err = p.ReaderMeta("r"); err != nil {
		t.Fatal(err)
	}
	for range iterations {
		b, err := p.Next(context.Background())
		if err != nil {
			return delivery{err: err.Error()}
		}
		batch := make([]string, b.Outputs[0].NumSamples())
		for s := range batch {
			for _, o := range b.Outputs {
				x := o.Sample(s)
				batch[s] += fmt.Sprintf("%v %v %s %x;", x.DType, x.Shape, x.Layout, sha256.Sum256(x.Data))
			}
		}
		out.batches = append(out.batches, batch)
	}
	if folder != "" {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		out.batches = append(out.batches, names)
	}
	return out
}

// TestRecordedOrders: with each argument a reader delivers the samples that DALI delivers, in the
// same order, with the same metadata.
func TestRecordedOrders(t *testing.T) {
	cases := orderCases(t)
	if len(cases) < 200 {
		t.Fatalf("%d cases", len(cases))
	}
	var ids map[string]int
	known := ""
	for i, c := range cases {
		args, ok := goArgs(t, c.Args)
		if !ok {
			t.Fatal(c.Args)
		}
		if c.Op != known { // the first case of a reader names its data only
			known, ids = c.Op, map[string]int{}
			for _, batch := range deliveryOf(t, c.Op, args, len(c.Batches)).batches {
				for _, s := range batch {
					if _, ok := ids[s]; !ok {
						ids[s] = len(ids)
					}
				}
			}
		}
		got := deliveryOf(t, c.Op, args, len(c.Batches))
		if c.Error != "" || got.err != "" {
			if (c.Error == "") != (got.err == "") {
				t.Errorf("case %d, %s %v: error %q, DALI's is %q", i, c.Op, c.Args, got.err, c.Error)
			}
			continue
		}
		var batches [][]int
		for _, batch := range got.batches {
			var row []int
			for _, s := range batch {
				id, ok := ids[s]
				if !ok {
					id = -1
				}
				row = append(row, id)
			}
			batches = append(batches, row)
		}
		if got.meta != c.Meta || fmt.Sprint(batches) != fmt.Sprint(c.Batches) {
			t.Errorf("case %d, %s %v:\n%+v %v\nDALI: %+v %v", i, c.Op, c.Args, got.meta, batches, c.Meta, c.Batches)
		}
	}
}

// withoutEffect are the arguments that change nothing that a reader delivers, in DALI and here.
var withoutEffect = []string{
	"cache_header_information", "dont_use_mmap", "lazy_init", "normalize_text", "num_labels", "prefetch_queue_depth",
	"read_ahead", "register_buffers", "skip_cached_images", "tensor_init_bytes", "use_o_direct",
}

// TestReaderArgumentsAct: for each argument of each reader of DALI there is a case, recorded from
// DALI, that has another outcome without it; or the argument is one of withoutEffect, and the page
// about DALI says so.
func TestReaderArgumentsAct(t *testing.T) {
	acts := map[string]map[string]bool{}
	try := func(reader string, recorded map[string]any, iterations int) {
		s, err := op.Lookup(reader)
		if err != nil {
			t.Fatal(err)
		}
		name := s.FullName()
		if current, ok := strings.CutPrefix(s.Deprecated, "use "); ok && name != "file_reader" { // which has all cases itself
			name = current
		}
		if acts[name] == nil {
			acts[name] = map[string]bool{}
		}
		args, ok := goArgs(t, recorded)
		if !ok {
			return
		}
		var all *delivery
		for arg := range args {
			if acts[name][arg] {
				continue
			}
			if all == nil {
				o := deliveryOf(t, reader, args, iterations)
				all = &o
			}
			without := maps.Clone(args)
			delete(without, arg)
			acts[name][arg] = fmt.Sprint(*all) != fmt.Sprint(deliveryOf(t, reader, without, iterations))
		}
	}
	for _, c := range orderCases(t) {
		try(c.Op, c.Args, 14)
	}
	var values, files struct{ Cases []recordedCase }
	readJSON(t, "cases.json", &values)
	for _, c := range values.Cases {
		try(c.Op, c.Args, 4)
	}
	t.Chdir(filepath.Join("..", "readers", "data"))
	readJSON(t, filepath.Join("..", "expect.json"), &files)
	for _, c := range files.Cases {
		try(c.Op, c.Args, 4)
	}

	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "compat", "dali.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range withoutEffect {
		if !regexp.MustCompile("(?m)^\\| [^|]*`" + name + "`").Match(page) {
			t.Errorf("docs/compat/dali.md does not list %s among the arguments without effect", name)
		}
	}
	readers := []string{"readers.file", "readers.tfrecord", "readers.mxnet", "readers.webdataset", "readers.numpy",
		"readers.coco", "readers.caffe", "readers.caffe2", "readers.nemo_asr", "readers.sequence",
		"experimental.readers.fits", "file_reader"}
	for _, reader := range readers {
		s, err := op.Lookup(reader)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Params {
			if !acts[reader][p.Name] && !slices.Contains(withoutEffect, p.Name) {
				t.Errorf("%s: no recorded case shows what %s does", reader, p.Name)
			}
		}
	}
}
