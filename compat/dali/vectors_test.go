package dali

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
)

// sharedVectors holds what DALI itself delivered; a clone alone does not have it,
// and tests the copies in testdata.
const sharedVectors = "../../../shared/vectors/dali"

func vectorFiles(t *testing.T, own, shared string) []string {
	t.Helper()
	patterns := []string{filepath.Join("testdata", own)}
	if _, err := os.Stat(sharedVectors); err == nil {
		patterns = append(patterns, filepath.Join(sharedVectors, shared))
	} else {
		t.Log("shared vectors are absent, testdata alone is tested")
	}
	var files []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", p, err)
		}
		files = append(files, found...)
	}
	return files
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// readerArgs are the arguments of a reader in the vectors.
type readerArgs struct {
	RandomShuffle     bool     `json:"random_shuffle"`
	InitialFill       int      `json:"initial_fill"`
	Seed              *int64   `json:"seed"`
	NumShards         int      `json:"num_shards"`
	ShardID           int      `json:"shard_id"`
	StickToShard      bool     `json:"stick_to_shard"`
	PadLastBatch      bool     `json:"pad_last_batch"`
	ShuffleAfterEpoch bool     `json:"shuffle_after_epoch"`
	ShuffleSeed       *int64   `json:"shuffle_after_epoch_seed"`
	FileFilters       []string `json:"file_filters"`
	DirFilters        []string `json:"dir_filters"`
	CaseSensitive     bool     `json:"case_sensitive_filter"`
	SkipEmpty         bool     `json:"skip_empty"`
	Images            []string `json:"images"`
	Missing           string   `json:"missing_component_behavior"`
}

type readerParams struct {
	Name, Source  string
	N             int64
	PerShard      []int64 `json:"per_shard"`
	BatchSize     int     `json:"batch_size"`
	Checkpointing bool
	PipeSeed      *int64 `json:"pipe_seed"`
	Args          readerArgs
}

// options of a reader over that many samples.
func (p readerParams) options(reader string, samples int64) ReaderOptions {
	o := ReaderOptions{
		Samples: samples, BatchSize: p.BatchSize, RandomShuffle: p.Args.RandomShuffle, InitialFill: p.Args.InitialFill,
		NumShards: p.Args.NumShards, ShardID: p.Args.ShardID, StickToShard: p.Args.StickToShard,
		PadLastBatch:      p.Args.PadLastBatch,
		ShuffleAfterEpoch: p.Args.ShuffleAfterEpoch, ShuffleSeed: p.Args.ShuffleSeed, Checkpointing: p.Checkpointing,
		Container: slices.Contains([]string{"tfrecord", "mxnet", "webdataset"}, reader),
	}
	seed := int64(1)
	if p.PipeSeed != nil {
		seed = *p.PipeSeed
	}
	if o.Seed = int64(PipelineSeeds(seed)[0]); p.Args.Seed != nil {
		o.Seed = *p.Args.Seed
	}
	return o
}

// listed returns the samples of the data set in the order in which the reader
// lists them.
func (p readerParams) listed() []int64 {
	n := p.N
	for _, k := range p.PerShard {
		n += k
	}
	var list []int64
	for i := range n {
		list = append(list, i)
	}
	switch {
	case p.Source == "files" || p.Source == "file_list":
		slices.Reverse(list)
	case p.Source == "files_rel":
		return slices.DeleteFunc(list, func(i int64) bool { return i%2 == 0 })
	case len(p.Args.FileFilters)+len(p.Args.DirFilters) > 0:
		return slices.DeleteFunc(list, func(i int64) bool {
			dir, file := fmt.Sprintf("c%d", i*3/n), fmt.Sprintf("f%05d.jpg", i)
			return !matches(p.Args.DirFilters, dir, true) || !matches(p.Args.FileFilters, file, p.Args.CaseSensitive)
		})
	case p.Args.SkipEmpty: // every fourth image has no boxes
		return slices.DeleteFunc(list, func(i int64) bool { return i%4 == 0 })
	case p.Args.Images != nil:
		return []int64{3, 1, 2}
	case p.Args.Missing == "skip": // every third sample has no image
		return slices.DeleteFunc(list, func(i int64) bool { return i%3 == 2 })
	}
	return list
}

func matches(filters []string, name string, exact bool) bool {
	return len(filters) == 0 || slices.ContainsFunc(filters, func(f string) bool {
		if !exact {
			f, name = strings.ToLower(f), strings.ToLower(name)
		}
		ok, err := path.Match(f, name)
		return ok && err == nil
	})
}

type orderCase struct {
	Name    string
	Params  readerParams
	Meta    ReaderMeta `json:"reader_meta"`
	Indices [][]int64
	Samples [][]json.RawMessage
	Error   *struct{ Message string }
}

func TestOrder(t *testing.T) {
	for _, file := range vectorFiles(t, "order/*.json", "order/*.json") {
		var f struct {
			Reader string
			Cases  []orderCase
		}
		readJSON(t, file, &f)
		var compared, refused int
		for _, c := range f.Cases {
			switch ok := c.check(t, f.Reader); {
			case c.Error != nil && ok:
				refused++
			case ok:
				compared++
			}
		}
		t.Logf("%s: %d of %d orders equal, %d refused", file, compared, len(f.Cases), refused)
		if compared+refused < len(f.Cases)-2 {
			t.Errorf("%s: only %d of %d cases can be compared", file, compared+refused, len(f.Cases))
		}
	}
}

// check reports whether the case could be compared.
func (c orderCase) check(t *testing.T, reader string) bool {
	t.Helper()
	list := c.Params.listed()
	if c.Error != nil {
		if reader != "file" {
			return false // payloads that DALI refuses
		}
		if _, err := NewReaderOrder(c.Params.options(reader, int64(len(list)))); err == nil {
			t.Errorf("%s: accepted, DALI says %s", c.Name, c.Error.Message)
		}
		return true
	}
	r, err := NewReaderOrder(c.Params.options(reader, int64(len(list))))
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return false
	}
	if diff := cmp.Diff(c.Meta, r.Meta()); diff != "" {
		t.Errorf("%s: reader_meta (-DALI +Bivouac):\n%s", c.Name, diff)
	}
	var want []int64
	for _, batch := range c.Indices {
		want = append(want, batch...)
	}
	for _, batch := range c.Samples {
		for _, sample := range batch {
			want = append(want, sampleIndex(t, reader, sample))
		}
	}
	got := make([]int64, len(want))
	r.Fill(0, got)
	for i := range got {
		if got[i] = list[got[i]]; want[i] < 0 {
			want[i] = got[i] // the payload does not tell
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %s:\n%v, want\n%v", c.Name, r, got, want)
	}
	return true
}

// sampleIndex finds the number of a sample in what was recorded of it, -1 if it
// is not there.
func sampleIndex(t *testing.T, reader string, b json.RawMessage) int64 {
	t.Helper()
	type array struct{ Data []float64 }
	var n float64
	var err error
	switch {
	case b[0] != '[' && b[0] != '{':
		err = json.Unmarshal(b, &n)
	case reader == "coco":
		var s []json.RawMessage
		if err = json.Unmarshal(b, &s); err == nil {
			err = json.Unmarshal(s[0], &n)
		}
	case reader == "mxnet":
		var s []json.RawMessage
		var label []float64
		if err = json.Unmarshal(b, &s); err == nil {
			err = json.Unmarshal(s[1], &label)
			n = label[0]
		}
	case reader == "numpy":
		var a array
		err = json.Unmarshal(b, &a)
		n = float64(int(a.Data[0]) / 100)
	case reader == "tfrecord":
		var s struct{ Label []float64 }
		err = json.Unmarshal(b, &s)
		n = s.Label[0]
	case reader == "webdataset":
		var s []string
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		text := strings.TrimPrefix(s[len(s)-1], "text ")
		if i := strings.LastIndex(text, "img"); i >= 0 {
			text = text[i+len("img"):]
		}
		if text == "" {
			return -1
		}
		n, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		t.Fatalf("%s: %s: %v", reader, b, err)
	}
	return int64(n)
}

// Reader states of DALI's dynamic mode after every batch, and what restored
// readers delivered.
func TestDynamicStates(t *testing.T) {
	for _, file := range vectorFiles(t, "ckpt/reader_*.json", "ckpt/dynamic/reader_*.json") {
		var c struct {
			Params readerParams
			Epochs [][]struct {
				Indices json.RawMessage
				State   string `json:"reader_state"`
			}
			Restored []struct {
				AfterEpoch int                 `json:"after_epoch"`
				AfterBatch int                 `json:"after_batch"`
				NextEpochs [][]json.RawMessage `json:"next_epochs"`
				StateEnd   string              `json:"reader_state_end"`
			}
		}
		readJSON(t, file, &c)
		c.Params.Checkpointing = true
		o := c.Params.options("file", c.Params.N)
		if c.Params.Args.Seed == nil {
			o.Seed = -1
		}
		r, err := NewReaderOrder(o)
		if err != nil {
			t.Fatal(err)
		}
		pos := int64(0)
		for _, epoch := range c.Epochs {
			for _, batch := range epoch {
				pos = compareBatch(t, file, r, pos, batch.Indices)
				compareState(t, file, r, pos, batch.State)
			}
		}
		for _, restored := range c.Restored {
			r, err := NewReaderOrder(o)
			if err != nil {
				t.Fatal(err)
			}
			var s stateproto.Reader
			if err := s.UnmarshalText([]byte(c.Epochs[restored.AfterEpoch][restored.AfterBatch].State)); err != nil {
				t.Fatal(err)
			}
			pos, err := r.Position(s.Loader)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, epoch := range restored.NextEpochs {
				for _, batch := range epoch {
					pos = compareBatch(t, file, r, pos, batch)
				}
			}
			compareState(t, file, r, pos, restored.StateEnd)
		}
	}
}

func compareBatch(t *testing.T, name string, r *ReaderOrder, pos int64, b json.RawMessage) int64 {
	t.Helper()
	var want []int64
	if b[0] != '[' {
		b = json.RawMessage("[" + string(b) + "]")
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	got := make([]int64, len(want))
	r.Fill(pos, got)
	if !slices.Equal(got, want) {
		t.Errorf("%s: position %d: %v, want %v", name, pos, got, want)
	}
	return pos + int64(len(want))
}

func compareState(t *testing.T, name string, r *ReaderOrder, pos int64, want string) {
	t.Helper()
	s, err := r.State(pos)
	if err != nil {
		t.Fatal(err)
	}
	text, err := (&stateproto.Reader{Loader: s}).MarshalText()
	if err != nil || string(text) != want {
		t.Errorf("%s: state at %d is %s, want %s: %v", name, pos, text, want, err)
	}
	if back, err := r.Position(s); err != nil || back != pos {
		t.Errorf("%s: state of %d gives position %d: %v", name, pos, back, err)
	}
}

// Reader states in the checkpoints of DALI's pipelines of every reader.
func TestPipelineStates(t *testing.T) {
	if _, err := os.Stat(sharedVectors); err != nil {
		t.Skip("shared vectors are absent")
	}
	files, err := filepath.Glob(filepath.Join(sharedVectors, "ckpt/pipeline/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range files {
		var c struct {
			Params struct {
				readerParams
				Reader string
			}
			Positions []struct {
				K       int64
				Decoded struct {
					Ops []struct {
						OperatorName string `json:"operator_name"`
						StateHex     string `json:"state_hex"`
					}
				}
			}
		}
		readJSON(t, file, &c)
		if c.Params.Reader == "none" || strings.HasPrefix(c.Params.Reader, "ext_") {
			continue
		}
		c.Params.Checkpointing = true
		r, err := NewReaderOrder(c.Params.options(c.Params.Reader, c.Params.N))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Positions {
			s, err := r.State(p.K * int64(c.Params.BatchSize))
			if err != nil {
				t.Fatal(err)
			}
			b := (&stateproto.Reader{Loader: s}).AppendState(nil)
			if got, want := fmt.Sprintf("%x", b), p.Decoded.Ops[0].StateHex; got != want {
				t.Errorf("%s: after %d iterations: %s, want %s", file, p.K, got, want)
			}
			checked++
		}
	}
	if checked < 50 {
		t.Errorf("%d states", checked)
	}
}
