package torchdata

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// tdData is the description of a data set; the README of the vectors says what the
// members mean.
type tdData struct {
	Kind     string  `json:"kind"`
	N        int64   `json:"n"`
	Item     string  `json:"item"`
	Sizes    []int64 `json:"sizes"`
	Shard    string  `json:"shard"`
	Len      int64   `json:"len"`
	Epoch    bool    `json:"epoch"`
	Grow     bool    `json:"grow"`
	Periodic int64   `json:"periodic"`
	FailAt   []int64 `json:"fail_at"`
	Exc      string  `json:"exc"`
	FailInit bool    `json:"fail_init"`
	ExitAt   []int64 `json:"exit_at"`
	Slow     []int64 `json:"slow"`
	SlowMS   int64   `json:"slow_ms"`
}

// tdError is an exception of Python that the scenario asks for.
type tdError struct{ kind, text string }

func (e *tdError) Error() string { return e.text }

// trouble does what the scenario asks for when an item is read.
func (d *tdData) trouble(i int64) error {
	if slices.Contains(d.FailAt, i) {
		kind := d.Exc
		if kind == "" {
			kind = "ValueError"
		}
		return &tdError{kind, fmt.Sprintf("failing at %d", i)}
	}
	if slices.Contains(d.ExitAt, i) {
		runtime.Goexit() // the end of a worker without a word
	}
	return nil
}

// wait is the time that a slow item takes.
func (d *tdData) wait(ctx context.Context, i int64) {
	if !slices.Contains(d.Slow, i) {
		return
	}
	select {
	case <-time.After(time.Duration(d.SlowMS) * time.Millisecond):
	case <-ctx.Done():
	}
}

// tdMap is kind map. Each worker has a copy.
type tdMap struct {
	d     *tdData
	n     int64
	calls int64
}

func (m *tdMap) Len() int64 { return m.n }

func (m *tdMap) Clone(context.Context) (loader.Map[any], error) {
	c := *m
	return &c, nil
}

func (m *tdMap) At(ctx context.Context, i int64, _ loader.Random) (any, error) {
	m.d.wait(ctx, i)
	if err := m.d.trouble(i); err != nil {
		return nil, err
	}
	m.calls++
	if m.d.Item == "seed" {
		return tdSeeds(ctx)
	}
	return tdItem(m.d.Item, i)
}

// tdSeeds is an item of the seeds of its worker.
func tdSeeds(ctx context.Context) (any, error) {
	info, ok := loader.WorkerInfoOf(ctx)
	w, ok2 := torchdata.WorkerOf(ctx)
	if !ok || !ok2 {
		return nil, fmt.Errorf("there is no worker")
	}
	return map[string]any{
		"worker": info.ID, "num_workers": info.N, "seed": info.Seed, "torch": w.Torch.Seed(),
		"torch_i64": w.Torch.Int63(), "python_bits": w.Python.Uint32(), "numpy_u32": w.Numpy.Uint32(),
	}, nil
}

// tdItems make an item of each form.
var tdItems = map[string]func(i int64) any{
	"":    func(i int64) any { return i },
	"int": func(i int64) any { return i },
	"dict": func(i int64) any {
		return map[string]any{"id": i, "strid": fmt.Sprint("id_", i), "list": []any{i, i + 1, i + 2}, "half": float64(i) / 2}
	},
	"float":         func(i int64) any { return float64(i) + 0.5 },
	"str":           func(i int64) any { return fmt.Sprint("s", i) },
	"bytes":         func(i int64) any { return []byte{byte(i)} },
	"bool":          func(i int64) any { return i%2 == 0 },
	"tuple":         func(i int64) any { return tdTuple{i, fmt.Sprint("s", i)} },
	"list":          func(i int64) any { return []any{i, float64(i)} },
	"namedtuple":    func(i int64) any { return tdPair{i, -i} },
	"numpy":         func(i int64) any { return tensor.FromSlice([]float32{float32(i), float32(i) + 1, float32(i) + 2}, 3) },
	"numpy_scalar":  func(i int64) any { return tensor.ScalarOf(float64(i)) },
	"numpy_i16":     func(i int64) any { return tensor.FromSlice([]int16{int16(i)}, 1) },
	"tensor":        func(i int64) any { n := int32(i); return tensor.FromSlice([]int32{n, n, n, n}, 2, 2) },
	"scalar_tensor": func(i int64) any { return tensor.ScalarOf(float32(i)) },
	"ragged":        func(i int64) any { return slices.Repeat([]any{int64(0)}, int(1+i%2)) },
	"ragged_tensor": func(i int64) any { return tensor.FromSlice(make([]float32, 1+i%2), int(1+i%2)) },
	"nested": func(i int64) any {
		return map[string]any{"a": []any{tensor.FromSlice([]int64{i}, 1), map[string]any{"b": tdTuple{i, "x"}}}}
	},
	"none":   func(int64) any { return nil },
	"object": func(int64) any { return tdClass(func() {}) },
}

func tdItem(form string, i int64) (any, error) {
	make, ok := tdItems[form]
	if !ok {
		return nil, fmt.Errorf("unknown form of items %q", form)
	}
	return make(i), nil
}

// tdBulk is kind map_bulk.
type tdBulk struct{ tdMap }

func (m *tdBulk) Clone(context.Context) (loader.Map[any], error) {
	c := *m
	return &c, nil
}

func (m *tdBulk) AtAll(_ context.Context, ids []int64, _ func(int) loader.Random) ([]any, error) {
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = tdTuple{"bulk", int64(len(ids)), id}
	}
	return out, nil
}

// tdCalls is kind map_stateful: its state is how many items this copy has read.
type tdCalls struct{ tdMap }

func (m *tdCalls) Clone(context.Context) (loader.Map[any], error) {
	c := *m
	return &c, nil
}

func (m *tdCalls) AppendState(b []byte) ([]byte, error) {
	return fmt.Appendf(b, `{"calls":%d}`, m.calls), nil
}

func (m *tdCalls) SetState(b []byte) error {
	var s struct{ Calls int64 }
	err := json.Unmarshal(b, &s)
	m.calls = s.Calls
	return err
}

// growing is a data set whose length the script may change.
type growing interface{ grow(n int64) }

func (m *tdMap) grow(n int64) { m.n = n }

// mapped returns the map data set of a description, nil for an iterable.
func (d *tdData) mapped() loader.Map[any] {
	m := tdMap{d: d, n: d.N}
	switch d.Kind {
	case "map":
		return &m
	case "map_bulk":
		return &tdBulk{m}
	case "map_stateful":
		return &tdCalls{m}
	}
	return nil
}
