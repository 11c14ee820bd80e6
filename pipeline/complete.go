package pipeline

import (
	"fmt"
	"sync"

	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// completions caches a definition's graphs, completed by the first data of the external sources.
// Later pipelines of the same definition reuse them.
type completions struct {
	mu     sync.Mutex
	graphs map[string]*graph.Graph
}

// mostCompletions is the most graphs that are cached. Data of further kinds completes its graph
// each time.
const mostCompletions = 64

// of returns g, completed for inputs with these specs, and late nodes with these.
func (c *completions) of(
	g *graph.Graph, specs [][]tensor.Spec, late map[string][]tensor.Spec,
) (*graph.Graph, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := fmt.Sprintf("%#v %#v", specs, late)
	if known, ok := c.graphs[key]; ok {
		return known, nil
	}
	done, err := g.Specialize(specs, late)
	if err != nil {
		return nil, err
	}
	if c.graphs == nil || len(c.graphs) == mostCompletions {
		c.graphs = map[string]*graph.Graph{}
	}
	c.graphs[key] = done
	return done, nil
}
