package streaming

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vectors reads the cases of a file, from testdata and, if it is there, from the whole set.
func vectors[T any](t *testing.T, name string, least int) []T {
	t.Helper()
	var all []T
	for _, dir := range []string{"../../testdata/streaming/", "../../../shared/vectors/streaming/"} {
		b, err := os.ReadFile(dir + name)
		if os.IsNotExist(err) {
			t.Logf("%s is absent", dir)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Vectors []T }
		if err := json.Unmarshal(b, &file); err != nil {
			t.Fatal(err)
		}
		all = append(all, file.Vectors...)
	}
	if len(all) < least {
		t.Fatalf("%s: %d cases", name, len(all))
	}
	return all
}

type shuffleCase struct {
	Shards []int64   `json:"shard_sizes"`
	Algo   Algorithm `json:"algo"`
	Nodes  int64     `json:"num_canonical_nodes"`
	Seed   int64     `json:"seed"`
	Epoch  int64     `json:"epoch"`
	Block  int64     `json:"block_size"`
}

func (c shuffleCase) shuffle() Shuffle {
	return Shuffle{Algorithm: c.Algo, Shards: c.Shards, CanonicalNodes: c.Nodes, Seed: c.Seed, Epoch: c.Epoch, Block: c.Block}
}

func TestShuffleVectors(t *testing.T) {
	type vector struct {
		shuffleCase
		Order []int64
		Error []string
	}
	for _, c := range vectors[vector](t, "shuffle.json", 60) {
		got, err := c.shuffle().Samples()
		if (err != nil) != (c.Error != nil) {
			t.Errorf("%s: error %v, want %q", c.shuffle(), err, c.Error)
		} else if d := cmp.Diff(c.Order, got); d != "" {
			t.Errorf("%s (-streaming +got):\n%s", c.shuffle(), d)
		}
	}
}

type splitCase struct {
	Algo    string `json:"algo"`
	Samples int64  `json:"num_samples"`
	Nodes   int64  `json:"num_canonical_nodes"`
	PN      int64  `json:"physical_nodes"`
	RPN     int64  `json:"ranks_per_node"`
	WPR     int64  `json:"workers_per_rank"`
	Batch   int64  `json:"batch_size"`
	Drop    int64  `json:"drop_first"`
	Initial int64  `json:"initial_physical_nodes"`
}

func (c splitCase) split() Split {
	s := Split{Samples: c.Samples, CanonicalNodes: c.Nodes, Nodes: c.PN, Ranks: c.RPN, Workers: max(c.WPR, 1), Batch: c.Batch, Drop: c.Drop}
	if c.Algo != "orig" {
		s.InitialNodes = c.Initial
	}
	return s
}

func TestPartitionVectors(t *testing.T) {
	type vector struct {
		splitCase
		Shape []int64
		Flat  []int64
		Error []string
	}
	for _, c := range vectors[vector](t, "partition.json", 90) {
		p, err := NewPartition(c.split())
		if (err != nil) != (c.Error != nil) {
			t.Errorf("%+v: error %v, want %q", c.split(), err, c.Error)
			continue
		}
		if err != nil {
			continue
		}
		shape, flat := flatten(p)
		if d := cmp.Diff([][]int64{c.Shape, c.Flat}, [][]int64{shape, flat}); d != "" {
			t.Errorf("%+v (-streaming +got):\n%s", c.split(), d)
		}
		checkOrders(t, p)
	}
}

// flatten returns the array that get_partitions returns.
func flatten(p *Partition) (shape, flat []int64) {
	s := p.Split()
	flat = []int64{}
	for node := range s.Nodes {
		for rank := range s.Ranks {
			for worker := range s.Workers {
				for batch := range p.Batches() {
					for place := range s.Batch {
						flat = append(flat, p.At(node, rank, worker, batch, place))
					}
				}
			}
		}
	}
	return []int64{s.Nodes, s.Ranks, s.Workers, p.Batches(), s.Batch}, flat
}

// checkOrders compares the orders of all ranks, and their joint order, with the partition.
func checkOrders(t interface {
	Helper()
	Errorf(string, ...any)
}, p *Partition) {
	t.Helper()
	s, epoch := p.Split(), Unshuffled(p.Split().Samples)
	var global []int64
	each := make([][]int64, s.Nodes*s.Ranks)
	for turn := range p.Batches() * s.Workers {
		for r := range each {
			for place := range s.Batch {
				id := p.At(int64(r)/s.Ranks, int64(r)%s.Ranks, turn%s.Workers, turn/s.Workers, place)
				if id >= 0 {
					each[r], global = append(each[r], id), append(global, id)
				}
			}
		}
	}
	o, err := epoch.Global(s)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	checkOrder(t, o, global)
	for r, want := range each {
		o, err := epoch.Rank(s, int64(r)/s.Ranks, int64(r)%s.Ranks)
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		checkOrder(t, o, want)
	}
}

func checkOrder(t interface {
	Helper()
	Errorf(string, ...any)
}, o *Order, want []int64) {
	t.Helper()
	if n, ok := o.Len(); n != int64(len(want)) || !ok {
		t.Errorf("%s: length %d, %t, want %d", o, n, ok, len(want))
		return
	}
	for pos := 0; pos <= len(want); pos += 1 + len(want)/5 {
		got := make([]int64, len(want)+3)
		if n := o.Fill(int64(pos), got); fmt.Sprint(got[:n]) != fmt.Sprint(want[pos:]) {
			t.Errorf("%s from %d: %v, want %v", o, pos, got[:n], want[pos:])
		}
	}
}

func TestElasticVectors(t *testing.T) {
	type vector struct {
		shuffleCase
		PN      int64     `json:"physical_nodes"`
		RPN     int64     `json:"ranks_per_node"`
		Batch   int64     `json:"batch_size"`
		Drop    int64     `json:"drop_first"`
		Initial int64     `json:"initial_physical_nodes"`
		Batches [][]int64 `json:"global_batches"`
	}
	for _, c := range vectors[vector](t, "elastic.json", 20) {
		shuffle := c.shuffle()
		shuffle.KeepEmpty = true // the cases call get_shuffle
		epoch, err := NewEpoch(shuffle)
		if err != nil {
			t.Fatal(err)
		}
		split := Split{CanonicalNodes: c.Nodes, Nodes: c.PN, Ranks: c.RPN, Workers: 1, Batch: c.Batch, Drop: c.Drop, InitialNodes: c.Initial}
		o, err := epoch.Global(split)
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		for _, batch := range c.Batches {
			for _, id := range batch {
				if id >= 0 {
					want = append(want, id)
				}
			}
		}
		checkOrder(t, o, want)
	}
}
