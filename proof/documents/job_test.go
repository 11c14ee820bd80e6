package documents_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/stream"
)

// model is the state of a job: what it has seen, in fields of several types.
type model struct {
	Seen  uint64
	Large uint64
	Sum   float64
	W     []float32
	Note  string
}

func (m *model) train(batch string) {
	for i, c := range []byte(batch) {
		m.Sum = math.Mod(m.Sum*31+float64(c), 1e9)
		m.W[i%len(m.W)] += float32(c) / 256
	}
	m.Seen++
	m.Large = math.MaxUint64 - m.Seen
	m.Note = fmt.Sprint("seen ", m.Seen)
}

func jobSpecimens() []specimen {
	var all []specimen
	add := func(name string, o bivouac.Options, steps int64, open func(t *testing.T) run) {
		job := func(t *testing.T, path string, m *model, o bivouac.Options, steps int64) (s string) {
			t.Helper()
			o.State, o.Steps = m, steps
			j, err := bivouac.Open(t.Context(), path, stream.Stream[string](open(t)), o)
			check(t, err)
			from, resumed := j.Resumed()
			s = fmt.Sprintln("resumed", from, resumed)
			for batch, err := range j.Steps(t.Context()) {
				check(t, err)
				m.train(batch)
				s += batch + "\n"
			}
			check(t, j.Close())
			return s + fmt.Sprintf("%+v\n", *m)
		}
		all = append(all, specimen{
			name: "job/" + name,
			write: func(t *testing.T, path string) {
				job(t, path, &model{W: make([]float32, 8)}, o, steps)
			},
			read: func(t *testing.T, path string) string {
				return job(t, path, &model{W: make([]float32, 8)}, o, steps+5)
			},
		})
	}
	pipe := func(t *testing.T) run {
		files(t, 17)
		return texts[*pipeline.Batch]{openPipeline(t, pipeline.Options{BatchSize: 4, Seed: 7}, reading), batchText}
	}
	add("pipeline", bivouac.Options{SaveEvery: 3, Keep: 2}, 8, pipe)
	add("pipeline-identity", bivouac.Options{SaveEvery: 4, Identity: "width 8"}, 8, pipe)
	add("loader", bivouac.Options{SaveEvery: 2}, 4, openLoader(numbers{n: 101, print: "numbers"},
		options{BatchSize: 4, Shuffle: true, Seed: 7}))
	add("nodes", bivouac.Options{SaveEvery: 2}, 2,
		func(*testing.T) run { return nodes.NewLoader(built["chain"](), nodes.LoaderOptions{}) })
	return all
}
