package dali_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// recordedValue is a sample of an output.
type recordedValue struct {
	DType, Hex, Zlib, Layout, Source string
	Shape                            []int
}

func (v *recordedValue) bytes(t *testing.T) []byte {
	t.Helper()
	b, err := hex.DecodeString(v.Hex)
	if err != nil {
		t.Fatal(err)
	}
	if v.Zlib == "" {
		return b
	}
	packed, err := base64.StdEncoding.DecodeString(v.Zlib)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return b
}

// recordedCase is what a reader delivers from a data set in testdata/dali-readers.
type recordedCase struct {
	Name, Op    string
	Args        map[string]any
	Batch       int
	Meta        dali.ReaderMeta
	Iterations  [][][]recordedValue // iteration, output, sample
	Checkpoints []struct {
		K     int
		State []byte
	}
	Pipeline []byte // serialized
	Error    string
}

func recordedCases(t *testing.T, name string) []recordedCase {
	t.Helper()
	t.Chdir(filepath.Join("..", "..", "testdata", "dali-readers"))
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		DALI  string
		Cases []recordedCase
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// TestRecordedReaders: the readers deliver what DALI delivers, with the same metadata, names of
// sources and checkpoints, and go on from DALI's checkpoints.
func TestRecordedReaders(t *testing.T) {
	cases := recordedCases(t, "cases.json")
	if len(cases) < 100 {
		t.Fatalf("%d cases", len(cases))
	}
	runRecorded(t, cases)
}

// TestRecordedVideos: experimental.readers.video delivers the frames that DALI delivers, with
// values within two levels, and everything else exactly.
func TestRecordedVideos(t *testing.T) {
	videotest.Need(t)
	cases := recordedCases(t, "videos.json")
	if len(cases) < 50 {
		t.Fatalf("%d cases", len(cases))
	}
	if testing.Short() { // each case starts several processes
		cases = slices.DeleteFunc(cases, func(c recordedCase) bool { return len(c.Name)%5 != 0 })
	}
	runRecorded(t, cases)
}

func runRecorded(t *testing.T, cases []recordedCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			args := op.Args{"name": "r"}
			for name, v := range c.Args {
				var err error
				if args[name], err = dalivec.Constant(v); err != nil {
					t.Fatal(err)
				}
			}
			saved, saves := c.saved()
			if saves != "" && c.Error == "" {
				args[saves] = t.TempDir()
			}
			p, err := c.pipeline(args, nil)
			if c.Error != "" {
				if err == nil {
					_, err = p.Next(context.Background())
				}
				if err == nil {
					t.Fatal("no error")
				}
				var own *errs.Error
				if !errors.As(err, &own) || errs.KindOf(err) == errs.Other {
					t.Fatalf("an error without a kind: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if meta, err := p.ReaderMeta("r"); err != nil || meta != c.Meta {
				t.Fatalf("reader_meta %+v %v, want %+v", meta, err, c.Meta)
			}
			if saves != "" {
				sameFolder(t, args[saves].(string), saved)
			}
			c.follow(t, p, 0)
			c.deserialized(t)
			for _, at := range c.Checkpoints {
				q, err := c.pipeline(args, at.State)
				if err != nil {
					t.Fatalf("from DALI's checkpoint after %d iterations: %v", at.K, err)
				}
				c.follow(t, q, at.K)
				q.Close()
			}
		})
	}
}

// saved returns the folder that the case saves annotations into, and the argument that names it.
func (c *recordedCase) saved() (folder, argument string) {
	for _, argument := range []string{"save_preprocessed_annotations_dir", "dump_meta_files_path"} {
		if folder, ok := c.Args[argument].(string); ok {
			return folder, argument
		}
	}
	return "", ""
}

func (c *recordedCase) pipeline(args op.Args, checkpoint []byte) (*dali.Pipeline, error) {
	o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: c.Batch, Workers: 1, Seed: 1},
		EnableCheckpointing: len(c.Checkpoints) > 0, Checkpoint: checkpoint}
	var failed error
	def, err := dali.Define(o, func(b *pipeline.Builder) []pipeline.Node {
		nodes := b.Op(c.Op, args)
		if failed = b.Err(); failed == nil && len(c.Checkpoints) == 0 { // it would be in them
			nodes = append(nodes, nodes[0].Property("source_info"))
		}
		return nodes
	})
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	return def.New(context.Background(), nil)
}

// deserialized runs the pipeline as DALI serialized it, and compares what it delivers.
func (c *recordedCase) deserialized(t *testing.T) {
	t.Helper()
	if _, saves := c.saved(); saves != "" {
		return // into the folder of the data
	}
	def, err := dali.Deserialize(c.Pipeline, nil)
	if err != nil {
		t.Fatalf("DALI's pipeline: %v", err)
	}
	p, err := def.New(context.Background(), nil)
	if err != nil {
		t.Fatalf("DALI's pipeline: %v", err)
	}
	defer p.Close()
	plain := *c
	plain.Checkpoints = nil
	plain.compare(t, p, 0, false)
}

// follow compares what p delivers from iteration k on.
func (c *recordedCase) follow(t *testing.T, p *dali.Pipeline, k int) {
	t.Helper()
	c.compare(t, p, k, len(c.Checkpoints) == 0)
}

// compare compares what p delivers from iteration k on. The last output may be the names of the
// sources.
func (c *recordedCase) compare(t *testing.T, p *dali.Pipeline, k int, sources bool) {
	t.Helper()
	for ; k < len(c.Iterations); k++ {
		for _, at := range c.Checkpoints {
			if at.K != k {
				continue
			}
			if got, err := p.AppendState(nil); err != nil || !bytes.Equal(got, at.State) {
				t.Fatalf("checkpoint after %d iterations: %q %v, want %q", k, got, err, at.State)
			}
		}
		b, err := p.Next(context.Background())
		if err != nil {
			t.Fatalf("iteration %d: %v", k, err)
		}
		want, outputs := c.Iterations[k], b.Outputs
		if sources {
			last := len(outputs) - 1
			for s := range want[0] {
				got, source := string(outputs[last].Sample(s).Data), want[0][s].Source
				if source != "" && got != source {
					t.Errorf("iteration %d, sample %d comes from %q, want %q", k, s, got, source)
				}
			}
			outputs = outputs[:last]
		}
		if len(outputs) != len(want) {
			t.Fatalf("%d outputs, want %d", len(outputs), len(want))
		}
		for o, out := range outputs {
			if out.NumSamples() != len(want[o]) {
				t.Fatalf("iteration %d, output %d: %d samples, want %d", k, o, out.NumSamples(), len(want[o]))
			}
			for s := range want[o] {
				if err := sameValue(t, out.Sample(s), &want[o][s]); err != nil {
					t.Errorf("iteration %d, output %d, sample %d: %v", k, o, s, err)
				}
			}
		}
	}
}

func sameValue(t *testing.T, got tensor.Tensor, want *recordedValue) error {
	t.Helper()
	data := want.bytes(t)
	switch {
	case got.DType.String() != want.DType || !slices.Equal(got.Shape, want.Shape):
		return fmt.Errorf("%v %v, want %s %v", got.DType, got.Shape, want.DType, want.Shape)
	case got.Layout != want.Layout:
		return fmt.Errorf("layout %q, want %q", got.Layout, want.Layout)
	case want.Layout == "FHWC":
		bias := 0.05
		frames := tensor.Tensor{DType: got.DType, Shape: got.Shape, Layout: got.Layout, Data: data}
		return dalivec.Compare(got, frames, dalivec.Tolerance{Abs: 2, Rounding: 1, Bias: &bias})
	case !bytes.Equal(got.Data, data):
		for i := range data {
			if got.Data[i] != data[i] {
				return fmt.Errorf("byte %d: %x, want %x", i, got.Data[i:min(i+16, len(data))], data[i:min(i+16, len(data))])
			}
		}
	}
	return nil
}

// sameFolder compares all files of two folders.
func sameFolder(t *testing.T, got, want string) {
	t.Helper()
	names := func(dir string) (list []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	if g, w := names(got), names(want); !slices.Equal(g, w) {
		t.Fatalf("files %s, want %s", strings.Join(g, " "), strings.Join(w, " "))
	}
	for _, name := range names(want) {
		g, err := os.ReadFile(filepath.Join(got, name))
		if err != nil {
			t.Fatal(err)
		}
		w, err := os.ReadFile(filepath.Join(want, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(g, w) {
			t.Errorf("%s: %x, want %x", name, g, w)
		}
	}
}
