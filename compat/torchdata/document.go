package torchdata

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/protocol"
)

// singleDoc is the state of a loader without workers.
type singleDoc struct {
	IndexSampler json.RawMessage `json:"_index_sampler_state"`
	Cursor       json.RawMessage `json:"_sampler_iter_state"`
	Drawn        int64           `json:"_sampler_iter_yielded"`
	Yielded      *int64          `json:"_num_yielded"`
	LenCalled    *int64          `json:"_IterableDataset_len_called"`
	SharedSeed   *int64          `json:"_shared_seed"` // of datapipes: always null here
	Fetcher      *fetcherDoc     `json:"fetcher_state"`
	Dataset      json.RawMessage `json:"dataset_state"`
	Finished     bool            `json:"_iterator_finished"`
}

// fetcherDoc is the state of the iterator of an iterable.
type fetcherDoc struct {
	Iterator json.RawMessage `json:"dataset_iter_state"`
	Ended    bool            `json:"fetcher_ended"`
}

// workersDoc is the state of a loader with workers.
type workersDoc struct {
	Snapshot *snapshotDoc `json:"_snapshot"`
	Since    int64        `json:"_steps_since_snapshot"`
	Finished bool         `json:"_iterator_finished"`
	// OutOfOrder is Bivouac's own member: torchdata's state has no place for batches that were
	// delivered ahead of their turn.
	OutOfOrder *outOfOrderDoc `json:"_out_of_order,omitempty"`
}

type snapshotDoc struct {
	Step    int64                 `json:"_snapshot_step"`
	Last    int                   `json:"_last_yielded_worker_id"`
	Main    json.RawMessage       `json:"_main_snapshot"`
	Workers map[string]*workerDoc `json:"_worker_snapshots"`
}

// mainDoc is the caller's part of the state, with the samplers.
type mainDoc struct {
	Workers      int             `json:"_num_workers"`
	Cursor       json.RawMessage `json:"_sampler_iter_state"`
	IndexSampler json.RawMessage `json:"_index_sampler_state"`
	Drawn        int64           `json:"_sampler_iter_yielded"`
	LenCalled    *int64          `json:"_IterableDataset_len_called"`
	SharedSeed   *int64          `json:"_shared_seed"`
	BaseSeed     *int64          `json:"_base_seed"`
}

type workerDoc struct {
	ID      int             `json:"worker_id"`
	Dataset json.RawMessage `json:"dataset_state"`
	Fetcher *fetcherDoc     `json:"fetcher_state"`
}

// outOfOrderDoc describes the batches that were delivered beyond the snapshot.
type outOfOrderDoc struct {
	// Ahead are the tasks after the snapshot that were delivered, counted from the snapshot.
	Ahead []int64 `json:"delivered_ahead"`
	// Items is how many items the iterator of each worker has yielded.
	Items []int64 `json:"items"`
}

// workerKey returns the name of a worker in a state.
func workerKey(i int) string { return "worker_" + strconv.Itoa(i) }

// fetcherOf returns the part of a lane state that belongs to its iterator.
func fetcherOf(of *protocol.Setup, s *protocol.LaneState) *fetcherDoc {
	if !of.Iterable {
		return nil
	}
	return &fetcherDoc{Iterator: embedded(s.Iterator), Ended: s.Ended && of.Batched}
}

// embedded returns a state as JSON, or null if there is no state.
func embedded(b []byte) json.RawMessage {
	if b == nil {
		return nil
	}
	return embed(b)
}

// extracted is the inverse of embedded.
func extracted(raw json.RawMessage) ([]byte, error) {
	if isNull(raw) {
		return nil, nil
	}
	return extract(raw)
}

// laneOf returns the lane state that a worker's state describes.
func (w *workerDoc) laneOf() (s protocol.LaneState, err error) {
	if s.Dataset, err = extracted(w.Dataset); err != nil {
		return s, err
	}
	if w.Fetcher != nil {
		s.Ended = w.Fetcher.Ended
		s.Iterator, err = extracted(w.Fetcher.Iterator)
	}
	return s, err
}

// parseSingle reads the state of a loader without workers.
func parseSingle(b []byte) (*singleDoc, error) {
	const op = "torchdata.SetState"
	d := &singleDoc{}
	if err := decode(op, b, d); err != nil {
		return nil, err
	}
	if d.Yielded == nil {
		return nil, noKey(op, "_num_yielded", "a state of a loader without workers")
	}
	if *d.Yielded < 0 || d.Drawn < 0 {
		return nil, corrupt(op, "counts of at least 0", fmt.Sprint(*d.Yielded, " and ", d.Drawn))
	}
	return d, nil
}

// parseWorkers reads the state of a loader with the given number of workers.
func parseWorkers(b []byte, workers int) (*workersDoc, *mainDoc, error) {
	const op = "torchdata.SetState"
	d, m := &workersDoc{}, &mainDoc{}
	if err := decode(op, b, d); err != nil {
		return nil, nil, err
	}
	if d.Snapshot == nil {
		return nil, nil, noKey(op, "_snapshot", "a state of a loader with workers")
	}
	if err := decode(op, d.Snapshot.Main, m); err != nil {
		return nil, nil, err
	}
	if m.Workers != workers || len(d.Snapshot.Workers) != workers {
		return nil, nil, &errs.Error{Kind: errs.Mismatch, Op: op, Subject: "_num_workers", Want: fmt.Sprint(workers),
			Got:    fmt.Sprint(m.Workers, " with ", len(d.Snapshot.Workers), " states"),
			Remedy: otherWorkers}
	}
	for i := range workers {
		if w := d.Snapshot.Workers[workerKey(i)]; w == nil || w.ID != i {
			return nil, nil, corrupt(op, "the state of "+workerKey(i), "none")
		}
	}
	if last := d.Snapshot.Last; last < 0 || last >= workers {
		return nil, nil, corrupt(op, "_last_yielded_worker_id below "+fmt.Sprint(workers), fmt.Sprint(last))
	}
	if d.Snapshot.Step < 0 || d.Since < 0 || m.Drawn < 0 || m.BaseSeed == nil {
		return nil, nil, corrupt(op, "counts of at least 0, and a _base_seed", clip(d.Snapshot.Main))
	}
	return d, m, nil
}

func noKey(op, key, want string) error {
	return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: key, Want: want, Got: "a state without that key",
		Remedy: otherWorkers}
}

func corrupt(op, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: op, Want: want, Got: got}
}

// otherWorkers is the remedy for a state of a loader with another number of workers.
const otherWorkers = "use the same number of workers (a state of torchdata is for one number), " +
	"or Bivouac's own states, which are for any number"
