package grain

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vectors reads the cases of a file that are marked as core, from testdata and, if it is there,
// from the whole set.
func vectors[T any](t *testing.T, name string, least int) []T {
	t.Helper()
	var all []T
	for _, dir := range []string{"../../testdata/grain/", "../../../shared/vectors/grain/"} {
		b, err := os.ReadFile(dir + name)
		if os.IsNotExist(err) {
			t.Logf("%s is absent", dir)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Vectors []json.RawMessage }
		if err := json.Unmarshal(b, &file); err != nil {
			t.Fatal(err)
		}
		for _, raw := range file.Vectors {
			var mark struct{ Core bool }
			var c T
			if err := json.Unmarshal(raw, &mark); err != nil {
				t.Fatal(err)
			}
			if !mark.Core {
				continue
			}
			if err := json.Unmarshal(raw, &c); err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
	}
	if len(all) < least {
		t.Fatalf("%s: %d cases", name, len(all))
	}
	return all
}

// number is an integer, or the text of one.
type number int64

func (n *number) UnmarshalJSON(b []byte) error {
	if len(b) > 1 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	*n = number(v)
	return err
}

func TestIndexShuffleVectors(t *testing.T) {
	type vector struct {
		N          number
		Seed       uint32
		Rounds     int
		Perm       []int64
		First      []int64
		SHA        string `json:"sha256_of_int64le"`
		Bijection  bool
		At, Values []number
		Call       *struct {
			Index  int64
			Most   int64 `json:"max_index"`
			Seed   int64
			Rounds int
		}
		Value *int64
		Error []string
	}
	for _, c := range vectors[vector](t, "index_shuffle.json", 60) {
		if c.Call != nil {
			if c.Call.Seed < 0 || c.Call.Seed >= 1<<32 {
				continue // the type excludes these
			}
			got, err := IndexShuffle(c.Call.Index, c.Call.Most, uint32(c.Call.Seed), c.Call.Rounds)
			if (err != nil) != (c.Error != nil) || c.Value != nil && got != *c.Value {
				t.Errorf("%+v: %d, %v", *c.Call, got, err)
			}
			continue
		}
		p, err := NewPermutation(int64(c.N), c.Seed, c.Rounds)
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range c.At {
			if got := p.At(int64(at)); got != int64(c.Values[i]) {
				t.Errorf("n %d, seed %d: %d is at %d, want %d", c.N, c.Seed, got, at, c.Values[i])
			}
		}
		if c.At != nil {
			continue
		}
		got, h := make([]int64, c.N), sha256.New()
		for i := range got {
			got[i] = p.At(int64(i))
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(got[i])))
		}
		want := append(c.Perm, c.First...)
		if d := cmp.Diff(want, got[:len(want)]); d != "" || hex.EncodeToString(h.Sum(nil)) != c.SHA || p.Bijective() != c.Bijection {
			t.Errorf("n %d, seed %d, %d rounds, bijective %t:\n%s", c.N, c.Seed, c.Rounds, p.Bijective(), d)
		}
	}
}

func TestSamplerVectors(t *testing.T) {
	type vector struct {
		Records    int64      `json:"num_records"`
		Index      int64      `json:"shard_index"`
		Count      int64      `json:"shard_count"`
		Drop       bool       `json:"drop_remainder"`
		Epochs     int64      `json:"num_epochs"`
		Shuffle    bool       `json:"shuffle"`
		Seed       uint32     `json:"seed"`
		Len        number     `json:"len"`
		Keys       [][2]int64 `json:"index_and_record_key"`
		Repr       string
		Sequential int64
		Call       map[string]any
	}
	for _, c := range vectors[vector](t, "index_sampler.json", 40) {
		if c.Call != nil || c.Sequential > 0 {
			continue // TestRefusals; Range
		}
		s, err := NewSampler(SamplerOptions{Records: c.Records, Shard: Shard{c.Index, c.Count, c.Drop}, Shuffle: c.Shuffle, Epochs: c.Epochs, Seed: &c.Seed})
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]int64, len(c.Keys)+1)
		n := s.Fill(0, ids)
		if length, ok := s.Len(); ok && (n != len(c.Keys) || length != int64(n)) {
			t.Errorf("%s: length %d and %d, want %d", s, length, n, len(c.Keys))
		}
		got := make([][2]int64, len(c.Keys))
		for pos := range got {
			got[pos] = [2]int64{s.Index(int64(pos)), ids[pos]}
		}
		if d := cmp.Diff(c.Keys, got); d != "" || s.String() != c.Repr || s.indices != int64(c.Len) {
			t.Errorf("%s, want %s:\n%s", s, c.Repr, d)
		}
	}
}

func TestDataLoaderVectors(t *testing.T) {
	type vector struct {
		N, Batch int64
		Shuffle  bool
		Index    int64 `json:"shard_index"`
		Count    int64 `json:"shard_count"`
		Epochs   int64 `json:"num_epochs"`
		Seed     uint32
		Batches  [][]int64
		States   []string
	}
	for _, c := range vectors[vector](t, "dataloader.json", 6) {
		s, err := NewSampler(SamplerOptions{Records: c.N, Shard: Shard{c.Index, c.Count, true}, Shuffle: c.Shuffle, Epochs: c.Epochs, Seed: &c.Seed})
		if err != nil {
			t.Fatal(err)
		}
		for k, text := range c.States {
			state, err := ParseLoaderState([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			pos, err := state.Position(s)
			if err != nil {
				t.Fatal(err)
			}
			if again := s.State(pos, state.DataSource); again.String() != text {
				t.Errorf("state %s, want %s", again, text)
			}
			var want []int64
			for _, batch := range c.Batches[k:] {
				want = append(want, batch...)
			}
			got := make([]int64, len(want)+1)
			got = got[:s.Fill(pos, got)]
			for i := range got {
				got[i] += 100 // the data source begins there
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s from state %d: %v, want %v", s, k, got, want)
			}
		}
	}
}

func TestElasticVectors(t *testing.T) {
	type vector struct {
		N, Repeat int64
		Seed      uint32          `json:"shuffle_seed"`
		Global    int64           `json:"global_batch_size"`
		Count     int64           `json:"shard_count"`
		First     [][][]int64     `json:"first_3_batches_by_shard"`
		State     json.RawMessage `json:"state_after_3"`
		Resumed   []struct {
			Count int64     `json:"shard_count"`
			Next  [][]int64 `json:"next_batch_by_shard"`
			Error []string
		}
	}
	for _, c := range vectors[vector](t, "elastic.json", 5) {
		m, err := Repeat(Shuffle(Range(0, c.N, 1), c.Seed), c.Repeat)
		if err != nil {
			t.Fatal(err)
		}
		check := func(next, shard, count int64, want [][]int64) {
			t.Helper()
			b, err := Elastic(m, c.Global, Shard{Index: shard, Count: count}, next)
			if err != nil {
				t.Fatal(err)
			}
			for i, batch := range want {
				got, _ := b.At(int64(i))
				if d := cmp.Diff(batch, got); d != "" {
					t.Errorf("%s, batch %d:\n%s", b, i, d)
				}
			}
		}
		for shard, want := range c.First {
			check(0, int64(shard), c.Count, want)
		}
		next, err := ParseNextIndex(c.State, "global_next_index")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Resumed {
			if r.Error != nil {
				if _, err := Elastic(m, c.Global, Shard{Count: r.Count}, next); err == nil {
					t.Errorf("%d shards, batch %d: no error", r.Count, c.Global)
				}
			}
			for shard, want := range r.Next {
				check(next, int64(shard), r.Count, [][]int64{want})
			}
		}
	}
}
