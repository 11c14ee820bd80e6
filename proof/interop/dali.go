package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A case of pipelines is a directory: data, which readers find there, pipe.bin,
// checkpoint.bin and truth.json, which says what the pipeline delivers from the
// beginning, and after which batch the checkpoint was taken.

// daliTruth is the contents of truth.json.
type daliTruth struct {
	After   int          `json:"after"` // the checkpoint
	Ops     []string     `json:"ops"`
	Batches [][]daliList `json:"batches"`
	// Fed are the names of the external sources that DALI has of ours, and the output that each
	// is; Batch is how many samples they give.
	Fed   map[string]int `json:"fed,omitempty"`
	Batch int            `json:"batch,omitempty"`
	// Idle are the operators, random ones of branches, to which no sample of the batch before
	// the checkpoint came. DALI's checkpoint has an older state of them, or cannot be taken.
	Idle []string `json:"idle,omitempty"`
	// Resumed is what DALI gives from its own checkpoint, where that is not what follows.
	Resumed [][]daliList `json:"resumed,omitempty"`
	// Untaken tells that DALI failed to take the checkpoint.
	Untaken bool `json:"untaken,omitempty"`
}

// daliList is an output of a batch.
type daliList struct {
	DType   string       `json:"dtype"`
	Layout  string       `json:"layout"`
	Samples []daliSample `json:"samples"`
}

type daliSample struct {
	Shape []int  `json:"shape"`
	Data  string `json:"data"` // hexadecimal
}

// batchesOf are what p delivers next.
func batchesOf(ctx context.Context, p *dali.Pipeline, n int) ([][]daliList, error) {
	var all [][]daliList
	for range n {
		b, err := p.Next(ctx)
		if err != nil {
			return nil, err
		}
		var lists []daliList
		for _, o := range b.Outputs {
			l := daliList{DType: o.DType.String(), Layout: o.Layout}
			for s := range o.NumSamples() {
				x := o.Sample(s)
				l.Samples = append(l.Samples, daliSample{Shape: append([]int{}, x.Shape...), Data: hex.EncodeToString(x.Data)})
			}
			lists = append(lists, l)
		}
		all = append(all, lists)
	}
	return all, nil
}

// writeDALI writes n random pipelines for DALI to run.
func writeDALI(ctx context.Context, dir string, seed uint64, n int) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for i := range n {
		at := filepath.Join(dir, fmt.Sprintf("%03d", i))
		if err := writeDALICase(ctx, at, rand.New(rand.NewPCG(seed, uint64(i)))); err != nil {
			return fmt.Errorf("pipeline %d: %w", i, err)
		}
	}
	return nil
}

// within runs do in a directory, which the paths of pipelines are relative to.
func within(dir string, do func() error) error {
	before, err := os.Getwd()
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(), os.Chdir(before))
}

// writeFiles makes the data of a case: files that contain their number.
func writeFiles(dir string, samples int) error {
	for k := range samples {
		name := filepath.Join(dir, "data", fmt.Sprintf("c%d", k*3/samples), fmt.Sprintf("f%05d.jpg", k))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "%07d", k), 0o666); err != nil {
			return err
		}
	}
	return nil
}

func writeDALICase(ctx context.Context, dir string, r *rand.Rand) error {
	samples := 3 + r.IntN(20)
	if err := writeFiles(dir, samples); err != nil {
		return err
	}
	return within(dir, func() error {
		m := &daliMaker{r: r, samples: samples, batch: 1 + r.IntN(6)}
		d, err := dali.Define(dali.PipelineOptions{
			Options:             pipeline.Options{BatchSize: m.batch, Seed: uint64(r.IntN(1 << 20)), Workers: 2},
			EnableCheckpointing: true,
		}, m.define)
		if err := errors.Join(m.failed, err); err != nil {
			return err
		}
		return record(ctx, d, m, 1+r.IntN(7))
	})
}

// feed notes the external sources: one for each output that something takes.
func (t *daliTruth) feed(d *dali.Definition) {
	g := d.Graph()
	edges := slices.Clone(g.Outputs)
	for _, n := range g.Nodes {
		edges = slices.Concat(edges, n.Inputs, n.Args)
	}
	t.Fed = map[string]int{}
	for _, e := range edges {
		if name := e.Node.Name; e.Node.Fed && len(e.Node.Specs) > 1 {
			t.Fed[name+"_"+strconv.Itoa(e.Output)] = e.Output
		} else if e.Node.Fed {
			t.Fed[name] = 0
		}
	}
}

// record writes a pipeline, what it delivers and its checkpoint.
func record(ctx context.Context, d *dali.Definition, m *daliMaker, after int) error {
	b, err := dali.Serialize(d)
	if err != nil {
		return err
	}
	p, err := d.New(ctx, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	truth := daliTruth{After: after, Ops: m.used, Batch: m.batch}
	truth.feed(d)
	var checkpoint []byte
	if truth.Batches, checkpoint, truth.Idle, err = untilCheckpoint(ctx, p, after); err != nil {
		return err
	}
	more, err := batchesOf(ctx, p, 4)
	if err != nil {
		return err
	}
	truth.Batches = append(truth.Batches, more...)
	text, err := json.Marshal(truth)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile("pipe.bin", b, 0o666), os.WriteFile("checkpoint.bin", checkpoint, 0o666),
		os.WriteFile("truth.json", text, 0o666))
}

// compareDALI runs every pipeline below dir that DALI wrote, from the beginning
// and from its checkpoint, and prints the differences to w.
func compareDALI(ctx context.Context, dir string, w io.Writer) error {
	cases, err := fs.Glob(os.DirFS(dir), "*/truth.json")
	if err != nil || len(cases) == 0 {
		return fmt.Errorf("%s: no pipelines to compare: %w", dir, err)
	}
	used, failed := map[string]bool{}, 0
	for _, c := range cases {
		at := filepath.Join(dir, filepath.Dir(c))
		var truth daliTruth
		err := within(at, func() error { return compareDALICase(ctx, &truth) })
		for _, o := range truth.Ops {
			used[o] = true
		}
		if err != nil {
			failed++
			fmt.Fprintf(w, "%s: %v\n", at, err)
		}
	}
	fmt.Fprintf(w, "DALI's pipelines in Bivouac: %d of %d equal, with %d operators\n", len(cases)-failed, len(cases),
		len(used))
	if failed > 0 {
		return fmt.Errorf("%d pipelines differ", failed)
	}
	return nil
}

func compareDALICase(ctx context.Context, truth *daliTruth) error {
	text, err := os.ReadFile("truth.json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, truth); err != nil {
		return err
	}
	want, err := os.ReadFile("checkpoint.bin")
	if err != nil {
		return err
	}
	d, err := dali.DeserializeFile("pipe.bin", nil)
	if err != nil {
		return err
	}
	p, err := d.New(ctx, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	begin, rest := truth.Batches[:truth.After], truth.Batches[truth.After:]
	batches, got, idle, err := untilCheckpoint(ctx, p, truth.After)
	if err != nil {
		return err
	}
	if err := sameBatches("from the beginning", batches, begin); err != nil {
		return err
	}
	if err := compareBatches(ctx, p, "going on", rest); err != nil {
		return err
	}
	if truth.Untaken {
		if len(idle) == 0 {
			return errors.New("DALI has no checkpoint, and every operator had samples")
		}
		return nil
	}
	if err := sameCheckpoint(got, want, idle); err != nil {
		return err
	}
	if truth.Resumed != nil {
		rest = truth.Resumed
	}
	q, err := d.New(ctx, &dali.PipelineOptions{Checkpoint: want})
	if err != nil {
		return err
	}
	defer q.Close()
	return compareBatches(ctx, q, "from DALI's checkpoint", rest)
}

// untilCheckpoint returns the batches up to a checkpoint, the checkpoint, and the operators whose
// state the last batch left as it was although they draw.
func untilCheckpoint(ctx context.Context, p *dali.Pipeline, after int) (batches [][]daliList, checkpoint []byte, idle []string, err error) {
	if batches, err = batchesOf(ctx, p, after-1); err != nil {
		return nil, nil, nil, err
	}
	before, err := p.AppendState(nil)
	if err != nil {
		return nil, nil, nil, err
	}
	last, err := batchesOf(ctx, p, 1)
	if err != nil {
		return nil, nil, nil, err
	}
	if checkpoint, err = p.AppendState(nil); err != nil {
		return nil, nil, nil, err
	}
	a, err := stateproto.Parse(before)
	if err != nil {
		return nil, nil, nil, err
	}
	b, err := stateproto.Parse(checkpoint)
	if err != nil {
		return nil, nil, nil, err
	}
	for i, o := range b.Ops {
		if _, draws := o.Snapshot().(stateproto.Random); draws && bytes.Equal(o.State, a.Ops[i].State) {
			idle = append(idle, o.Name)
		}
	}
	return append(batches, last...), checkpoint, idle, nil
}

// sameCheckpoint compares checkpoints: all bytes, but the states of idle operators.
func sameCheckpoint(got, want []byte, idle []string) error {
	if bytes.Equal(got, want) {
		return nil
	}
	a, err := stateproto.Parse(want)
	if err != nil {
		return err
	}
	b, err := stateproto.Parse(got)
	if err != nil {
		return err
	}
	for _, name := range idle {
		if x, y := a.Op(name), b.Op(name); x != nil && y != nil {
			y.State = x.State
		}
	}
	if !bytes.Equal(stateproto.Append(nil, b), want) {
		return fmt.Errorf("the checkpoint is %q, DALI's %q", got, want)
	}
	return nil
}

func compareBatches(ctx context.Context, p *dali.Pipeline, what string, want [][]daliList) error {
	got, err := batchesOf(ctx, p, len(want))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return sameBatches(what, got, want)
}

func sameBatches(what string, got, want [][]daliList) error {
	for i := range want {
		for k := range want[i] {
			a, b := got[i][k], want[i][k]
			same := a.DType == b.DType && a.Layout == b.Layout && slices.EqualFunc(a.Samples, b.Samples, func(x, y daliSample) bool {
				return x.Data == y.Data && slices.Equal(x.Shape, y.Shape)
			})
			if !same {
				return fmt.Errorf("%s: batch %d, output %d: %+v, DALI gives %+v", what, i, k, a, b)
			}
		}
	}
	return nil
}

// daliMaker makes random graphs of operators whose results are equal to the bit.
type daliMaker struct {
	r       *rand.Rand
	samples int
	used    []string
	p       *pipeline.Builder
	batch   int // samples of a batch
	fed     int // outputs of the external source; 0: no external source
	failed  error
}

// op appends an operator and returns its first output.
func (m *daliMaker) op(name string, args op.Args, inputs ...pipeline.Node) pipeline.Node {
	name = m.older(name)
	m.used = append(m.used, name)
	return m.p.Op(name, args, inputs...)[0]
}

// olderNames are names that DALI deprecates.
var olderNames = map[string]string{
	"random.coin_flip": "coin_flip", "random.uniform": "uniform", "readers.file": "file_reader",
}

// older returns the name, or now and then the older name of the same operator.
func (m *daliMaker) older(name string) string {
	if old, ok := olderNames[name]; ok && m.r.IntN(4) == 0 {
		return old
	}
	return name
}

func (m *daliMaker) flip() bool { return m.r.IntN(2) == 0 }

func (m *daliMaker) define(p *pipeline.Builder) []pipeline.Node {
	m.p = p
	var outputs []pipeline.Node
	if m.flip() {
		outputs = append(outputs, m.reader()...)
	}
	if m.r.IntN(5) == 0 {
		outputs = append(outputs, m.source(m.batch)...)
	}
	for range 1 + m.r.IntN(3) {
		if m.r.IntN(5) == 0 {
			outputs = append(outputs, m.twins()...)
			continue
		}
		if m.r.IntN(3) == 0 {
			n := m.branchy()
			if outputs = append(outputs, n); m.r.IntN(4) == 0 {
				outputs = append(outputs, n)
			}
			continue
		}
		make, change := m.numbers, m.change
		if m.flip() {
			make, change = m.image, m.changeImage
		}
		n := make()
		for range m.r.IntN(4) {
			n = change(n)
		}
		if m.r.IntN(4) == 0 {
			n = m.op("cast", op.Args{"dtype": []tensor.DType{tensor.Float16, tensor.Float64}[m.r.IntN(2)]}, n)
		}
		outputs = append(outputs, n)
	}
	m.r.Shuffle(len(outputs), func(i, j int) { outputs[i], outputs[j] = outputs[j], outputs[i] })
	return outputs
}

func (m *daliMaker) reader() []pipeline.Node {
	kind, a, err := m.data()
	if err != nil {
		m.failed = err
		return nil
	}
	kind = m.older(kind)
	m.used = append(m.used, kind)
	if m.flip() {
		a["random_shuffle"], a["initial_fill"] = true, 1+m.r.IntN(8)
	} else if s, err := op.Lookup(kind); err == nil && m.flip() {
		if _, takes := s.Param("shuffle_after_epoch"); takes {
			a["shuffle_after_epoch"] = true
		}
	} else if m.flip() {
		a["stick_to_shard"] = true
	}
	if m.flip() {
		shards := 1 + m.r.IntN(min(3, m.samples))
		a["num_shards"], a["shard_id"] = shards, m.r.IntN(shards)
	}
	if m.flip() {
		a["pad_last_batch"] = true
	}
	if m.flip() {
		a["name"] = "reader"
	}
	if m.flip() {
		a["seed"] = m.r.IntN(1000)
	}
	return m.p.Op(kind, a)
}

// numbers returns a node of shape [4 6] or [4 6 3].
func (m *daliMaker) numbers() pipeline.Node {
	shape := [][]int{{4, 6}, {4, 6, 3}}[m.r.IntN(2)]
	if m.flip() {
		return m.op("random.coin_flip", op.Args{"probability": float64(m.r.IntN(5)) / 4, "shape": shape})
	}
	return m.op("random.uniform", op.Args{"range": []float64{-4, float64(m.r.IntN(100))}, "shape": shape})
}

// change returns what an operator makes of a node; its shape may be another.
func (m *daliMaker) change(n pipeline.Node) pipeline.Node {
	r, ndim := m.r, len(n.Spec().Shape)
	switch r.IntN(9) {
	case 0:
		return m.op("cast", op.Args{"dtype": []tensor.DType{tensor.Uint8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Float32}[r.IntN(5)]}, n)
	case 1:
		return m.op("transpose", op.Args{"perm": r.Perm(ndim)}, n)
	case 2:
		return m.op("copy", nil, n)
	case 3:
		return m.op("pad", op.Args{"fill_value": 2.5, "align": 4, "axes": 0}, n)
	case 4:
		return m.op("reductions.max", op.Args{"axes": 0, "keep_dims": true}, n)
	case 5:
		m.used = append(m.used, "arithmetic")
		return n.Mul(2).Add(3)
	case 6:
		return m.op("cat", op.Args{"axis": ndim - 1}, n, n)
	case 7:
		m.used = append(m.used, "conditions")
		return m.p.If(m.op("random.coin_flip", nil), func() []pipeline.Node { return []pipeline.Node{n.Add(1)} }, func() []pipeline.Node { return []pipeline.Node{n.Sub(1)} })[0]
	}
	if ndim == 5 {
		return n
	}
	return m.op("expand_dims", op.Args{"axes": 0}, n)
}

// image returns a node of shape [20 30 3], uint8 and of layout HWC.
func (m *daliMaker) image() pipeline.Node {
	n := m.op("random.uniform", op.Args{"range": []float64{0, 255}, "shape": []int{20, 30, 3}, "dtype": tensor.Uint8})
	return m.op("reshape", op.Args{"layout": "HWC"}, n)
}

// changeImage returns what an operator makes of an image.
func (m *daliMaker) changeImage(n pipeline.Node) pipeline.Node {
	r := m.r
	switch r.IntN(5) {
	case 0:
		return m.op("flip", op.Args{"horizontal": m.op("random.coin_flip", nil), "vertical": r.IntN(2)}, n)
	case 1:
		return m.op("crop", op.Args{"crop": []int{2, 3},
			"crop_pos_x": m.op("random.uniform", op.Args{"range": []float64{0, 1}}), "crop_pos_y": 0.25}, n)
	case 2:
		return m.op("noise.salt_and_pepper", op.Args{"prob": 0.25}, n)
	case 3:
		return m.op("brightness_contrast", op.Args{"brightness": m.op("random.uniform",
			op.Args{"range": []float64{0.5, 1.5}}), "contrast": 1.25}, n)
	}
	return m.op("resize", op.Args{"size": []int{7, 5}, "interp_type": op.InterpNN, "antialias": false}, n)
}
