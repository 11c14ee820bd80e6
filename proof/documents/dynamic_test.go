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
	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// program is one of dynamic mode: a reader, a generator, external sources.
type program struct {
	reader    *readers.Reader
	generator *random.RNG
	squares   *dynamic.ExternalSource
	counter   *dynamic.ExternalSource
}

// stepping is a source with a state.
type stepping struct{ At int32 }

func (s *stepping) Read(context.Context) ([]dynamic.Value, error) {
	s.At++
	return []dynamic.Value{dynamic.TensorOf(tensor.FromSlice([]int32{s.At}, 1))}, nil
}
func (s *stepping) AppendState(b []byte) ([]byte, error) {
	text, err := json.Marshal(s)
	return append(b, text...), err
}
func (s *stepping) SetState(b []byte) error { return json.Unmarshal(b, s) }

func newProgram(t *testing.T, compat readers.Compat) *program {
	t.Helper()
	var p program
	var err error
	p.reader, err = readers.NewFile(opargs.ReadersFile{FileRoot: "data", RandomShuffle: true, Seed: op.Const(7)},
		readers.Options{EnableCheckpointing: true, Compat: compat})
	check(t, err)
	p.generator = random.New(42)
	p.squares, err = dynamic.SourceAt(func(_ context.Context, i int64) ([]dynamic.Value, error) {
		if i == 5 {
			return nil, io.EOF
		}
		return []dynamic.Value{dynamic.TensorOf(tensor.FromSlice([]int32{int32(i * i)}, 1))}, nil
	}, dynamic.SourceOptions{})
	check(t, err)
	p.counter, err = dynamic.SourceFrom(&stepping{}, dynamic.SourceOptions{})
	check(t, err)
	return &p
}

func (p *program) register(t *testing.T, c *checkpoint.Checkpoint) {
	t.Helper()
	for name, object := range map[string]checkpoint.Object{"reader": p.reader, "rng": p.generator, "squares": p.squares, "counter": p.counter} {
		_, err := c.Register(object, name)
		check(t, err)
	}
}

// steps returns what the program does in some steps.
func (p *program) steps(t *testing.T, n int) string {
	t.Helper()
	s := ""
	ctx := t.Context()
	for done := 0; done < n; {
		for batch, err := range p.reader.NextEpoch(ctx, 4) {
			check(t, err)
			for i := range batch[0].Len() {
				v, err := batch[0].At(i).Tensor(ctx)
				check(t, err)
				s += fmt.Sprintf(" %s", v.Data)
			}
			noise, err := random.Uniform(ctx, p.generator, random.UniformArgs{}).Tensor(ctx)
			check(t, err)
			s += fmt.Sprintf(" | %x |", noise.Data)
			for _, source := range []*dynamic.ExternalSource{p.squares, p.counter} {
				item, err := source.Next(ctx)
				if err == io.EOF {
					s += " end"
					continue
				}
				check(t, err)
				v, err := item[0].(*dynamic.Tensor).Tensor(ctx)
				check(t, err)
				s += fmt.Sprintf(" %x", v.Data)
			}
			s += "\n"
			if done++; done == n {
				break
			}
		}
	}
	return s
}

func (p *program) close(t *testing.T) {
	t.Helper()
	check(t, p.reader.Close())
	check(t, p.squares.Close())
	check(t, p.counter.Close())
}

func dynamicSpecimens() []specimen {
	var all []specimen
	add := func(name string, compat readers.Compat, o checkpoint.Options, before int) {
		all = append(all, specimen{
			name: "dynamic/" + name,
			write: func(t *testing.T, path string) {
				files(t, 17)
				p := newProgram(t, compat)
				defer p.close(t)
				c := checkpoint.NewWith(o)
				p.register(t, c)
				p.steps(t, before)
				check(t, c.Collect())
				saved, err := c.Save(t.Context(), filepath.Join(t.TempDir(), "state_{seq}.json"))
				check(t, err)
				check(t, os.WriteFile(path, readFile(t, saved), 0o666))
			},
			read: func(t *testing.T, path string) string {
				text := readFile(t, path)
				files(t, 17)
				c := checkpoint.New()
				check(t, c.Deserialize(string(text)))
				p := newProgram(t, compat)
				defer p.close(t)
				p.register(t, c)
				return p.steps(t, 7)
			},
		})
	}
	add("own.json", nil, checkpoint.Options{}, 3)
	add("own-second-epoch.json", nil, checkpoint.Options{}, 7)
	add("own-end-of-epoch.json", nil, checkpoint.Options{}, 5)
	add("own-with-a-checksum.json", nil, checkpoint.Options{Extend: true}, 3)
	add("dali.json", dali.Dynamic{}, checkpoint.Options{}, 3)
	add("dali-second-epoch.json", dali.Dynamic{}, checkpoint.Options{}, 7)
	add("dali-with-a-checksum.json", dali.Dynamic{}, checkpoint.Options{Extend: true}, 3)
	return all
}
