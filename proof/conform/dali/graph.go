package dali

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// graphCase is a folder of graph: a pipeline that DALI serialized, its drawings, and what it gives.
type graphCase struct {
	name       string
	serialized []byte
	Iterations [][]struct {
		Layout  string
		Samples []dalivec.Value
	}
	Properties map[string]string `json:"properties_after_deserialize"`
}

func graphCases(set *dalivec.Set) ([]suite.Case, error) {
	entries, err := os.ReadDir(set.Path("graph"))
	if err != nil {
		return nil, err
	}
	var all []suite.Case
	for _, e := range entries {
		c := &graphCase{name: e.Name()}
		if err := dalivec.ReadJSON(set.Path("graph/"+c.name+"/outputs.json"), c); err != nil {
			return nil, err
		}
		if c.serialized, err = os.ReadFile(set.Path("graph/" + c.name + "/pipe.bin")); err != nil {
			return nil, err
		}
		name := path.Join("graph", c.name)
		operators, err := c.operators()
		if err != nil {
			return nil, err
		}
		all = append(all, suite.Case{
			Name: name, Family: "graph", Path: name, Operators: operators,
			Run: func(ctx context.Context, r *suite.Report) {
				if !skipOperator(r, operators...) {
					settle(r, dalivec.JudgeRun(nil, func() error { return c.run(ctx, set) }))
				}
			},
		})
	}
	return all, nil
}

// deserialize reads a pipeline.
func deserialize(b []byte) (*dali.Definition, error) {
	return dali.Deserialize(b, &dali.DeserializeOptions{PipelineOptions: dali.PipelineOptions{Log: silent()}})
}

// operators are those that the pipeline uses.
func (c *graphCase) operators() ([]string, error) {
	p, err := pipeproto.Parse(c.serialized)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range p.Ops {
		name, ok := dali.Operator(p.Ops[i].Name)
		if !ok {
			name = p.Ops[i].Name
		}
		if p.Ops[i].Name == "ExternalSource" {
			name = "external_source"
		}
		if name != "external_source" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func (c *graphCase) run(ctx context.Context, set *dalivec.Set) error {
	p, err := pipeproto.Parse(c.serialized)
	if err != nil {
		return err
	}
	if again := pipeproto.Append(nil, p); !bytes.Equal(again, c.serialized) {
		return fmt.Errorf("pipe.bin: parsed and written it has %d other bytes", len(again))
	}
	def, err := deserialize(c.serialized)
	if err != nil {
		return err
	}
	for file, o := range map[string]pipeline.DotOptions{"graph.dot": {}, "graph_tensors.dot": {Tensors: true, Colors: true}} {
		want, err := os.ReadFile(set.Path("graph/" + c.name + "/" + file))
		if err != nil {
			return err
		}
		if got := def.DOT(o); !bytes.Equal(got, want) {
			return fmt.Errorf("%s: %s", file, firstDifference(got, want))
		}
	}
	if err := c.outputs(ctx, set, def); err != nil {
		return err
	}
	written, err := dali.Serialize(def)
	if err != nil {
		return err
	}
	if def, err = deserialize(written); err != nil {
		return fmt.Errorf("serialized again: %w", err)
	}
	if err := c.outputs(ctx, set, def); err != nil {
		return fmt.Errorf("serialized again: %w", err)
	}
	return nil
}

// outputs holds what the pipeline gives against the record. Its files are relative to the inputs.
func (c *graphCase) outputs(ctx context.Context, set *dalivec.Set, def *dali.Definition) error {
	return inFolder(set.Path("inputs"), func() error {
		p, err := def.New(ctx, nil)
		if err != nil {
			return err
		}
		defer p.Close()
		if err := c.properties(p); err != nil {
			return err
		}
		if err := c.feed(p); err != nil {
			return err
		}
		for i, want := range c.Iterations {
			b, err := p.Run(ctx, nil)
			if err != nil {
				return fmt.Errorf("iteration %d: %w", i, err)
			}
			got := samplesOf(b)
			if len(got) != len(want) {
				return fmt.Errorf("iteration %d: %d outputs, want %d", i, len(got), len(want))
			}
			for o, w := range want {
				if got := got[o][0].Layout; got != w.Layout {
					return fmt.Errorf("iteration %d, output %d: layout %q, want %q", i, o, got, w.Layout)
				}
				for s := range w.Samples {
					if err := compareSample(set, got[o][s], w.Samples[s], dalivec.Subject{Section: "graph", Graph: c.name}, o); err != nil {
						return fmt.Errorf("iteration %d, output %d, sample %d: %w", i, o, s, err)
					}
				}
			}
		}
		return nil
	})
}

// feed gives each external source [i, j] for sample j of iteration i, all before the first run.
func (c *graphCase) feed(p *dali.Pipeline) error {
	proto, err := pipeproto.Parse(c.serialized)
	if err != nil {
		return err
	}
	for i := range proto.Ops {
		if proto.Ops[i].Name != "ExternalSource" {
			continue
		}
		for it := range c.Iterations {
			var batch []tensor.Tensor
			for j := range len(c.Iterations[it][0].Samples) {
				batch = append(batch, tensor.FromSlice([]int32{int32(it), int32(j)}, 2))
			}
			if err := p.FeedInput(proto.Ops[i].Instance, batch, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// properties compares what a deserialized pipeline tells about itself. Whether it is
// pipelined is left out: DALI says of every deserialized pipeline that it is not.
func (c *graphCase) properties(p *dali.Pipeline) error {
	q := p.Properties()
	got := map[string]string{
		"max_batch_size": strconv.Itoa(q.MaxBatchSize), "num_threads": strconv.Itoa(q.NumThreads), "seed": fmt.Sprint(q.Seed), "device_id": "None",
		"prefetch_queue_depth": strconv.Itoa(q.PrefetchQueueDepth), "cpu_queue_size": strconv.Itoa(q.CPUQueueSize), "gpu_queue_size": strconv.Itoa(q.GPUQueueSize),
		"num_outputs": strconv.Itoa(q.NumOutputs),
	}
	if q.DeviceID != nil {
		got["device_id"] = strconv.Itoa(*q.DeviceID)
	}
	for name, g := range got {
		if want := c.Properties[name]; g != want {
			return fmt.Errorf("property %s: got %s, want %s", name, g, want)
		}
	}
	return nil
}

// inFolder calls f with another working directory.
func inFolder(dir string, f func() error) error {
	before, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	defer os.Chdir(before) //nolint:errcheck // it was there before
	return f()
}

// firstDifference shows where two texts part.
func firstDifference(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			return fmt.Sprintf("line %d: got %q, want %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
