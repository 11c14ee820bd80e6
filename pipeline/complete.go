package pipeline

import (
	"fmt"
	"sync"

	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// completions are a definition's graphs as the first data of external sources completed them: the
// pipelines that are made of it one after the other find them again.
type completions struct {
	mu     sync.Mutex
	graphs map[string]*graph.Graph
}

// mostCompletions bounds them; data of more kinds is completed again.
const mostCompletions = 64

// of returns g for inputs of those specs.
func (c *completions) of(g *graph.Graph, specs [][]tensor.Spec) (*graph.Graph, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := fmt.Sprintf("%#v", specs)
	if known, ok := c.graphs[key]; ok {
		return known, nil
	}
	done, err := g.Specialize(specs)
	if err != nil {
		return nil, err
	}
	if c.graphs == nil || len(c.graphs) == mostCompletions {
		c.graphs = map[string]*graph.Graph{}
	}
	c.graphs[key] = done
	return done, nil
}
