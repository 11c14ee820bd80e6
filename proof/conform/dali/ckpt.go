package dali

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ckptCase is a file of ckpt/pipeline: checkpoints of a pipeline and what comes after them.
type ckptCase struct {
	Name   string
	Params struct {
		Reader    string
		N         int
		BatchSize int `json:"batch_size"`
		Prefetch  int
		PipeSeed  *int64 `json:"pipe_seed"`
		Args      map[string]any
		Random    [][2]any // name and arguments
		Next      int
	}
	data      op.Args // of other readers than readers.file
	Positions []struct {
		K            int
		Checkpoint   []byte
		Next         []json.RawMessage // batches or "StopIteration"
		RestoredNext []json.RawMessage `json:"restored_next"`
		After        struct {
			Ops []struct {
				Name  string `json:"operator_name"`
				State string `json:"state_hex"`
			}
			External [][2]string `json:"external_ctx"`
		} `json:"checkpoint_after_next"`
	}
}

func ckptCases(set *dalivec.Set) ([]suite.Case, error) {
	files, err := filepath.Glob(set.Path("ckpt/pipeline/*.json"))
	if err != nil {
		return nil, err
	}
	var all []suite.Case
	for _, file := range files {
		c := &ckptCase{}
		if err := dalivec.ReadJSON(file, c); err != nil {
			return nil, err
		}
		name := path.Join("ckpt/pipeline", c.Name)
		var operators []string
		if c.isReader() {
			operators = append(operators, "readers."+c.Params.Reader)
		}
		for _, r := range c.Params.Random {
			operators = append(operators, randomOperator(r))
		}
		all = append(all, suite.Case{
			Name: name, Family: "ckpt", Path: name, Operators: operators,
			Run: func(ctx context.Context, r *suite.Report) {
				if c.isReader() && skipReader(r, c.Params.Reader) || skipOperator(r, operators...) {
					return
				}
				settle(r, dalivec.JudgeRun(nil, func() error { return c.run(ctx, set) }))
			},
		})
	}
	return all, nil
}

// isReader reports whether the case reads files.
func (c *ckptCase) isReader() bool {
	return c.Params.Reader != "none" && !strings.HasPrefix(c.Params.Reader, "ext_")
}

// run holds the case against pipelines: the checkpoint after k iterations, what comes
// then, and the same from a pipeline that begins at DALI's checkpoint.
func (c *ckptCase) run(ctx context.Context, set *dalivec.Set) error {
	dir := ""
	if c.isReader() {
		var err error
		if set, ok := dataSets[c.Params.Reader]; ok {
			c.data, err = set.checkpoints(ctx, c.Params.N)
		} else {
			dir, _, err = fileTree(ctx, c.Params.N, 3)
		}
		if err != nil {
			return err
		}
	}
	for i := range c.Positions {
		at := &c.Positions[i]
		if err := c.position(ctx, set, dir, i); err != nil {
			return fmt.Errorf("after %d iterations: %w", at.K, err)
		}
	}
	return nil
}

func (c *ckptCase) position(ctx context.Context, set *dalivec.Set, dir string, i int) error {
	at := &c.Positions[i]
	p, err := c.pipeline(ctx, set, dir, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	for range at.K {
		if _, err := runOrReset(ctx, p); err != nil {
			return err
		}
	}
	if err := sameCheckpoint(p, at.Checkpoint); err != nil {
		return err
	}
	if err := c.follow(ctx, set, p, at.Next); err != nil {
		return fmt.Errorf("continued, %w", err)
	}
	if err := c.sameAfter(p, i); err != nil {
		return err
	}
	q, err := c.pipeline(ctx, set, dir, at.Checkpoint)
	if err != nil {
		return fmt.Errorf("restored: %w", err)
	}
	defer q.Close()
	if err := sameCheckpoint(q, at.Checkpoint); err != nil {
		return fmt.Errorf("restored: %w", err)
	}
	next := at.Next
	if at.RestoredNext != nil {
		next = at.RestoredNext
	}
	if err := c.follow(ctx, set, q, next); err != nil {
		return fmt.Errorf("restored, %w", err)
	}
	return nil
}

// runOrReset runs one iteration; nil is the end of an epoch, behind which the next begins.
func runOrReset(ctx context.Context, p *dali.Pipeline) ([][]tensor.Tensor, error) {
	b, err := p.Run(ctx, nil)
	if errors.Is(err, io.EOF) {
		return nil, p.Reset()
	}
	if err != nil {
		return nil, err
	}
	return samplesOf(b), nil
}

// follow holds the next iterations against what is recorded.
func (c *ckptCase) follow(ctx context.Context, set *dalivec.Set, p *dali.Pipeline, want []json.RawMessage) error {
	for i, raw := range want {
		got, err := runOrReset(ctx, p)
		if err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
		if ended := string(raw) == `"StopIteration"`; ended || got == nil {
			if !ended || got != nil {
				return fmt.Errorf("iteration %d: end of epoch %t, want %t", i, got == nil, ended)
			}
			continue
		}
		var batch [][]dalivec.Value
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := dec.Decode(&batch); err != nil {
			return err
		}
		if err := c.compare(set, got, batch); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
	}
	return nil
}

// compare holds a batch against its record; outputs of random operators have their tolerances.
func (c *ckptCase) compare(set *dalivec.Set, got [][]tensor.Tensor, want [][]dalivec.Value) error {
	random := len(want) - len(c.Params.Random) // crop_gen alone has two outputs, and is the last
	if c.Params.Reader == "none" {
		random = 0
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d outputs, want %d", len(got), len(want))
	}
	for o := range want {
		subject := dalivec.Subject{Section: "ckpt"}
		if k := o - random; k >= 0 && k < len(c.Params.Random) {
			subject.Op, _ = c.Params.Random[k][0].(string)
		}
		if err := compareBatch(set, got[o:o+1], want[o:o+1], subject); err != nil {
			return fmt.Errorf("output %d of %d, %s: %w", o, len(want), subject.Op, err)
		}
	}
	return nil
}

// sameCheckpoint reports how p's checkpoint differs from DALI's.
func sameCheckpoint(p *dali.Pipeline, want []byte) error {
	got, err := p.AppendState(nil)
	if err != nil {
		return err
	}
	if bytes.Equal(got, want) {
		return nil
	}
	g, err := describeCheckpoint(got)
	if err != nil {
		return err
	}
	w, err := describeCheckpoint(want)
	if err != nil {
		return err
	}
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Errorf("checkpoint, entry %d: %s, want %s", i, g[i], w[i])
		}
	}
	return fmt.Errorf("checkpoint: %d entries in %d bytes, want %d in %d", len(g), len(got), len(w), len(want))
}

// describeCheckpoint renders the entries of a checkpoint.
func describeCheckpoint(b []byte) ([]string, error) {
	c, err := stateproto.Parse(b)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, o := range c.Ops {
		out = append(out, fmt.Sprintf("%s=%q", o.Name, o.State))
	}
	if c.External != nil {
		out = append(out, fmt.Sprintf("pipeline_data=%s iterator_data=%s", c.External.Pipeline, c.External.Iterator))
	}
	return out, nil
}

// sameAfter compares the checkpoint behind the recorded iterations, of which the
// vectors have the fields alone.
func (c *ckptCase) sameAfter(p *dali.Pipeline, i int) error {
	want := c.Positions[i].After
	b, err := p.AppendState(nil)
	if err != nil {
		return err
	}
	got, err := stateproto.Parse(b)
	if err != nil {
		return err
	}
	if len(got.Ops) != len(want.Ops) {
		return fmt.Errorf("checkpoint after the recorded iterations: %d entries, want %d", len(got.Ops), len(want.Ops))
	}
	for k, w := range want.Ops {
		if o := got.Ops[k]; o.Name != w.Name || fmt.Sprintf("%x", o.State) != w.State {
			return fmt.Errorf("checkpoint after the recorded iterations: %s=%x, want %s=%s", o.Name, o.State, w.Name, w.State)
		}
	}
	for _, w := range want.External {
		if w[0] == "pipeline_data" && string(got.External.Pipeline) != w[1] {
			return fmt.Errorf("checkpoint after the recorded iterations: pipeline_data %s, want %s", got.External.Pipeline, w[1])
		}
	}
	return nil
}

// pipeline makes the pipeline of the case, at a checkpoint or at the beginning.
func (c *ckptCase) pipeline(ctx context.Context, set *dalivec.Set, dir string, checkpoint []byte) (*dali.Pipeline, error) {
	o := daliOptions(c.Params.BatchSize, c.Params.PipeSeed)
	o.EnableCheckpointing, o.Prefetch, o.Checkpoint = true, c.Params.Prefetch, checkpoint
	return newPipeline(ctx, o, func(b *pipeline.Builder) ([]pipeline.Node, error) {
		g := &grapher{b: b}
		nodes, err := c.source(g, dir)
		if err != nil {
			return nil, err
		}
		for _, r := range c.Params.Random {
			out, err := c.random(g, r)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, nodesOf(out)...)
		}
		return nodes, nil
	})
}

// source appends the reader or the external source of the case.
func (c *ckptCase) source(g *grapher, dir string) ([]pipeline.Node, error) {
	if c.isReader() {
		args := op.Args{"name": "r", "file_root": dir}
		if c.data != nil {
			args = maps.Clone(c.data)
			args["name"] = "r"
		}
		for name, v := range c.Params.Args {
			var err error
			if args[name], err = dalivec.Constant(v); err != nil {
				return nil, err
			}
		}
		nodes := g.b.Op("readers."+c.Params.Reader, args)
		if recorded := dataSets[c.Params.Reader].recorded; recorded != nil && g.b.Err() == nil {
			var chosen []pipeline.Node
			for _, i := range recorded {
				chosen = append(chosen, nodes[i])
			}
			nodes = chosen
		}
		return nodes, g.b.Err()
	}
	var source pipeline.Source
	numbers := func(v ...int64) tensor.Tensor {
		narrow := make([]int32, len(v))
		for i := range v {
			narrow[i] = int32(v[i])
		}
		return tensor.FromSlice(narrow, len(v))
	}
	batch := func(of func(i pipeline.BatchInfo, j int64) tensor.Tensor) pipeline.Source {
		return pipeline.BatchFunc(func(_ context.Context, i pipeline.BatchInfo) ([]pipeline.Data, error) {
			var samples []tensor.Tensor
			for j := range c.Params.BatchSize {
				samples = append(samples, of(i, int64(j)))
			}
			return []pipeline.Data{samples}, nil
		})
	}
	switch c.Params.Reader {
	case "none":
		return nil, nil
	case "ext_iter":
		source = batch(func(i pipeline.BatchInfo, j int64) tensor.Tensor { return numbers(i.Iteration, j) })
	case "ext_batchinfo":
		source = batch(func(i pipeline.BatchInfo, j int64) tensor.Tensor { return numbers(i.Iteration, i.EpochIdx, j) })
	case "ext_sample":
		source = pipeline.SampleFunc(func(_ context.Context, i pipeline.SampleInfo) ([]tensor.Tensor, error) {
			if i.IdxInEpoch >= int64(c.Params.N) {
				return nil, io.EOF
			}
			return []tensor.Tensor{numbers(i.IdxInEpoch, i.IdxInBatch, i.Iteration, i.EpochIdx)}, nil
		})
	default:
		return nil, fmt.Errorf("unknown source %q", c.Params.Reader)
	}
	return pipeline.ExternalSource(g.b, source, pipeline.SourceOptions{}), g.b.Err()
}

// randomOperator is the operator of an entry of the case's random.
func randomOperator(r [2]any) string {
	name, _ := r[0].(string)
	switch name {
	case "uniform", "normal", "coin_flip", "choice", "beta":
		return "random." + name
	case "noise_sp":
		return "noise.salt_and_pepper"
	case "crop_gen":
		return "random_crop_generator"
	}
	return strings.Replace(name, "noise_", "noise.", 1)
}

// random appends an entry of the case's random, on the constants that the README gives.
func (c *ckptCase) random(g *grapher, r [2]any) (any, error) {
	args := map[string]any{}
	given, _ := r[1].(map[string]any)
	for name, v := range given {
		var err error
		if args[name], err = dalivec.Constant(v); err != nil {
			return nil, err
		}
	}
	var inputs []any
	switch r[0] {
	case "choice":
		inputs = []any{5}
	case "random_resized_crop", "noise_gaussian", "noise_shot", "noise_sp", "roi_random_crop", "crop_gen":
		inputs = imageInputs(g, r[0], args)
	}
	if err := g.b.Err(); err != nil {
		return nil, err
	}
	return g.operator(nil, randomOperator(r), inputs, args)
}

// imageInputs returns the inputs of an operator on a constant image, which is made for all of them,
// used or not: it counts in the names of the nodes. Arguments that are always the same are added.
func imageInputs(g *grapher, name any, args map[string]any) []any {
	image := tensor.New(tensor.Uint8, 20, 30, 3)
	for k := range image.Data {
		image.Data[k] = uint8(k) % 251
	}
	node := g.b.Constant(constantOf(image))
	corner := func(n pipeline.Node, size int) []any {
		return []any{n.Index(pipeline.Range{Stop: size}, pipeline.Range{Stop: size})}
	}
	switch name {
	case "random_resized_crop":
		args["size"], args["interp_type"], args["antialias"] = []int{4, 5}, op.InterpNN, false
		return []any{node}
	case "noise_gaussian", "noise_shot":
		return corner(g.b.Op("cast", op.Args{"dtype": tensor.Float32}, node)[0], 4)
	case "noise_sp":
		return corner(node, 6)
	case "roi_random_crop":
		args["crop_shape"], args["roi_start"] = []int{4, 5}, []int{2, 3}
		args["roi_shape"], args["in_shape"] = []int{8, 9}, []int{20, 30}
		return nil
	}
	return []any{tensor.FromSlice([]int64{20, 30, 3}, 3)}
}
