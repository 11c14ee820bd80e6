package documents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// files makes a data set of n files in three classes, whose contents are their
// numbers, in the directory "data", which becomes the working directory's own.
func files(t *testing.T, n int) {
	t.Helper()
	dir := t.TempDir()
	for k := range n {
		class := filepath.Join(dir, "data", fmt.Sprintf("c%d", k*3/n))
		check(t, os.MkdirAll(class, 0o777))
		check(t, os.WriteFile(filepath.Join(class, fmt.Sprintf("f%03d.jpg", k)), fmt.Appendf(nil, "%03d", k), 0o666))
	}
	t.Chdir(dir)
}

// reading is a pipeline of files, labels and random numbers, some of them of samples
// that took a branch.
func reading(p *pipeline.Builder) []pipeline.Node {
	data, labels := fn.ReadersFile(p, fn.ReadersFileArgs{Name: "reader", FileRoot: "data", RandomShuffle: true})
	number := fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{0, 8})})
	flip := fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{})
	branch := p.If(number.Less(3),
		func() []pipeline.Node { return []pipeline.Node{number.Mul(2)} },
		func() []pipeline.Node { return []pipeline.Node{number} })[0]
	return []pipeline.Node{data, labels, number, flip, branch}
}

func ordered(p *pipeline.Builder) []pipeline.Node {
	data, labels := fn.ReadersFile(p, fn.ReadersFileArgs{Name: "reader", FileRoot: "data"})
	return []pipeline.Node{data, labels}
}

// squares is an external source whose data is a function of the number of a sample.
func squares(p *pipeline.Builder) []pipeline.Node {
	return pipeline.ExternalSource(p, pipeline.SampleFunc(func(_ context.Context, s pipeline.SampleInfo) ([]tensor.Tensor, error) {
		if s.IdxInEpoch == 10 {
			return nil, io.EOF
		}
		return []tensor.Tensor{tensor.FromSlice([]int32{int32(s.IdxInEpoch * s.IdxInEpoch)}, 1)}, nil
	}), pipeline.SourceOptions{})
}

// counter is an external source with a state.
type counter struct{ At int32 }

func (c *counter) ReadBatch(context.Context) ([]pipeline.Data, error) {
	c.At++
	return []pipeline.Data{tensor.FromSlice([]int32{c.At, 10 * c.At}, 2, 1)}, nil
}
func (c *counter) AppendState(b []byte) ([]byte, error) {
	text, err := json.Marshal(c)
	return append(b, text...), err
}
func (c *counter) SetState(b []byte) error { return json.Unmarshal(b, c) }

func counted(p *pipeline.Builder) []pipeline.Node {
	return append(pipeline.ExternalSource(p, pipeline.From(&counter{}), pipeline.SourceOptions{}),
		fn.RandomUniform(p, fn.RandomUniformArgs{}))
}

// noisy is a pipeline without readers and sources.
func noisy(p *pipeline.Builder) []pipeline.Node {
	return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{}),
		fn.RandomNormal(p, fn.RandomNormalArgs{Shape: op.Const([]int{2})})}
}

// decoding fails for files that are no images.
func decoding(p *pipeline.Builder) []pipeline.Node {
	data, labels := fn.ReadersFile(p, fn.ReadersFileArgs{Name: "reader", FileRoot: "data", RandomShuffle: true})
	return []pipeline.Node{fn.DecodersImage(p, data, fn.DecodersImageArgs{}), labels}
}

func openPipeline(t *testing.T, o pipeline.Options, define func(p *pipeline.Builder) []pipeline.Node) *pipeline.Pipeline {
	t.Helper()
	o.Workers = 1
	d, err := pipeline.Define(o, define)
	check(t, err)
	p, err := d.New(t.Context(), nil)
	check(t, err)
	return p
}

// openIterated opens the ordered pipeline with DALI's calls.
func openIterated(t *testing.T, o dali.PipelineOptions) *dali.Pipeline {
	t.Helper()
	o.Workers = 1
	d, err := dali.Define(o, ordered)
	check(t, err)
	p, err := d.New(t.Context(), nil)
	check(t, err)
	return p
}

// batchText is what a batch holds.
func batchText(b *pipeline.Batch) string {
	s := fmt.Sprint(b.Epoch, " ", b.Index, " ", b.Position, " ", b.IDs)
	for _, out := range b.Outputs {
		s += " |"
		for i := range out.NumSamples() {
			s += fmt.Sprintf(" %x", out.Sample(i).Data)
		}
	}
	return s
}

func pipelineSpecimens() []specimen {
	var all []specimen
	add := func(name string, o pipeline.Options, define func(p *pipeline.Builder) []pipeline.Node, before int) {
		open := func(t *testing.T) run {
			files(t, 17)
			return texts[*pipeline.Batch]{openPipeline(t, o, define), batchText}
		}
		all = append(all, resumed("pipeline/"+name, open, open, before, 7))
	}
	own := pipeline.Options{BatchSize: 4, Seed: 7}
	add("start.json", own, reading, 0)
	add("shuffled.json", own, reading, 3)
	add("end-of-epoch.json", own, reading, 5)
	add("third-epoch.json", own, reading, 13)
	add("ordered.json", own, ordered, 6)
	add("fill.json", pipeline.Options{BatchSize: 4, Seed: 7, Tail: order.Span}, reading, 6)
	add("drop.json", pipeline.Options{BatchSize: 4, Seed: 7, Tail: order.Drop}, reading, 6)
	add("squares.json", own, squares, 3)
	add("counter.json", pipeline.Options{BatchSize: 2, Seed: 7}, counted, 3)
	add("noise.json", own, noisy, 3)
	add("faults.json", pipeline.Options{BatchSize: 4, Seed: 7, OnError: map[string]faults.Action{"reader": faults.Skip}},
		decoding, 0)

	mode := pipeline.Options{BatchSize: 4, Seed: 7, Compat: dali.CheckpointMode()}
	add("dali-start.bin", mode, reading, 0)
	add("dali-shuffled.bin", mode, reading, 3)
	add("dali-third-epoch.bin", mode, reading, 13)
	add("dali-ordered.bin", mode, ordered, 6)
	add("dali-squares.bin", mode, squares, 2)
	add("dali-noise.bin", mode, noisy, 3)

	for name, o := range map[string]dali.PipelineOptions{
		"iterator.json":     {Options: pipeline.Options{BatchSize: 4, Seed: 7, Tail: order.Span}, Native: true},
		"dali-iterator.bin": {Options: mode},
	} {
		all = append(all, specimen{
			name: "pipeline/" + name,
			write: func(t *testing.T, path string) {
				files(t, 17)
				p := openIterated(t, o)
				defer p.Close()
				it, err := dali.NewIterator(t.Context(), []*dali.Pipeline{p},
					dali.IteratorOptions{ReaderName: "reader", AutoReset: true})
				check(t, err)
				for range 7 {
					if _, err := it.Next(t.Context()); err != io.EOF {
						check(t, err)
					}
				}
				states, err := it.Checkpoints()
				check(t, err)
				check(t, os.WriteFile(path, states[0], 0o666))
			},
			read: func(t *testing.T, path string) string {
				saved := readFile(t, path)
				files(t, 17)
				p := openIterated(t, o)
				defer p.Close()
				check(t, p.SetState(saved))
				it, err := dali.NewIterator(t.Context(), []*dali.Pipeline{p},
					dali.IteratorOptions{ReaderName: "reader", AutoReset: true})
				check(t, err)
				s := ""
				for range 7 {
					b, err := it.Next(t.Context())
					if err != nil {
						s += err.Error() + "\n"
						continue
					}
					s += batchText(b[0]) + "\n"
				}
				return s
			},
		})
	}

	all = append(all, definition("graph.yaml"), definition("graph.bin"))
	return all
}

// definition is a pipeline as DALI serializes it, and as YAML, which is run.
func definition(name string) specimen {
	return specimen{
		name: "pipeline/" + name,
		write: func(t *testing.T, path string) {
			d, err := dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: 4, Seed: 7}}, reading)
			check(t, err)
			p, err := dali.Proto(d)
			check(t, err)
			if dali.IsYAML(path) {
				b, err := pipeproto.MarshalYAML(p)
				check(t, err)
				check(t, os.WriteFile(path, b, 0o666))
				return
			}
			b, err := dali.Serialize(d)
			check(t, err)
			check(t, os.WriteFile(path, b, 0o666))
		},
		read: func(t *testing.T, path string) string {
			files(t, 17)
			d, err := dali.DeserializeFile(path, nil)
			check(t, err)
			p, err := d.New(t.Context(), nil)
			check(t, err)
			s := texts[*pipeline.Batch]{p, batchText}
			defer s.Close()
			return take(t, s, 6)
		},
	}
}
