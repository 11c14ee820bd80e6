package grain

import (
	"encoding/json"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// Elastic returns the batches that ElasticIterator delivers to a shard from a global index on:
// m[next+Index::Count] in whole batches of global/Count. Every shard has the same state: the next
// global index. The error is of kind errs.Invalid unless Count divides global, and for maps that
// leave elements out.
func Elastic[T any](m Map[T], global int64, s Shard, next int64) (Map[[]T], error) {
	count := s.count()
	if global < 1 || global%count != 0 || s.Index < 0 || s.Index >= count || next < 0 || next > Endless-count {
		return nil, invalid("grain.Elastic",
			fmt.Sprintf("a global batch that %d shards divide, one of these shards, and an index of at least 0", count),
			fmt.Sprintf("batch %d, shard %d, index %d", global, s.Index, next))
	}
	own, err := Slice(m, next+s.Index, Endless, count)
	if err != nil {
		return nil, err
	}
	return Batch(own, global/count, true)
}

// ParseNextIndex reads the state of an iterator over a Map, {"next_index": n}, or of an
// ElasticIterator, {"global_next_index": n}. name is the name of the member. The error is of kind
// errs.Corrupt for any other text.
func ParseNextIndex(text []byte, name string) (int64, error) {
	var state map[string]*int64
	err := json.Unmarshal(text, &state)
	if n := state[name]; err == nil && len(state) == 1 && n != nil && *n >= 0 {
		return *n, nil
	}
	return 0, &errs.Error{Kind: errs.Corrupt, Op: "grain.ParseNextIndex", Want: fmt.Sprintf("{%q: n}", name), Err: err}
}

// LoaderState is the state of a DataLoader.
type LoaderState struct {
	Version         int64            `json:"version"`
	LastSeenIndices map[string]int64 `json:"last_seen_indices"` // by worker, over all shards
	LastWorkerIndex int64            `json:"last_worker_index"`
	WorkerCount     int64            `json:"worker_count"`
	Sampler         string           `json:"sampler"`
	DataSource      string           `json:"data_source"`
}

// ParseLoaderState reads the JSON of a state of version 2. The error is of kind
// errs.Corrupt.
func ParseLoaderState(text []byte) (LoaderState, error) {
	var s LoaderState
	err := json.Unmarshal(text, &s)
	if err == nil && s.Version == 2 && len(s.LastSeenIndices) > 0 && s.WorkerCount >= 0 {
		return s, nil
	}
	return LoaderState{}, &errs.Error{Kind: errs.Corrupt, Op: "grain.ParseLoaderState", Want: "the state of a DataLoader, version 2", Err: err}
}

// Position returns the next position of the sampler of a DataLoader without workers. The error is
// of kind errs.Mismatch if the state belongs to another sampler, of kind errs.Unsupported if
// workers shared its records, and of kind errs.Corrupt if the sampler cannot reach the position.
func (s LoaderState) Position(sampler *Sampler) (int64, error) {
	const op = "grain.LoaderState.Position"
	if s.Sampler != sampler.String() {
		return 0, &errs.Error{Kind: errs.Mismatch, Op: op, Want: sampler.String(), Got: s.Sampler}
	}
	last, found := s.LastSeenIndices["0"]
	if s.WorkerCount != 0 || len(s.LastSeenIndices) != 1 || !found {
		return 0, &errs.Error{Kind: errs.Unsupported, Op: op, Want: "a loader without workers",
			Got:    fmt.Sprintf("%d workers", s.WorkerCount),
			Remedy: "go on with grain.LoaderIter, which has workers"}
	}
	shard := sampler.options.Shard
	ahead := last - shard.Index + shard.count() // how far the last record is ahead of no record
	if last < -shard.count() || last >= min(sampler.indices, Endless-shard.count()) || ahead < 0 || ahead%shard.count() != 0 {
		return 0, &errs.Error{Kind: errs.Corrupt, Op: op, Want: fmt.Sprintf("an index of shard %d of %d", shard.Index, shard.count()), Got: fmt.Sprint(last)}
	}
	return ahead / shard.count(), nil
}

// State returns the state of a DataLoader without workers at a position of its sampler.
func (s *Sampler) State(pos int64, dataSource string) LoaderState {
	return LoaderState{Version: 2, LastSeenIndices: map[string]int64{"0": s.Index(pos - 1)}, LastWorkerIndex: -1, Sampler: s.String(), DataSource: dataSource}
}

// String returns the JSON of the state as Grain writes it, except letters beyond ASCII and the
// characters <, > and &, which are escaped differently.
func (s LoaderState) String() string {
	text, err := json.MarshalIndent(s, "", "    ")
	if err != nil {
		return ""
	}
	return string(text)
}
