package torchdata

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/order"
)

// vectors is what torch itself computed: rng.json.
type vectors struct {
	Randperm []struct {
		Seed       string
		N          int64
		Perm       []int64
		SHA        string `json:"sha256_of_int64le"`
		StateAfter string `json:"state_after_sha256"`
	}
	States []struct {
		Seed       string
		Initial    blob
		AfterPerm  blob `json:"after_randperm_700"`
		AfterRandn blob `json:"after_randn_3"`
		AfterF64   blob `json:"after_randn_1_f64"`
	}
	Randint []struct {
		Seed, High string
		Values     []string
	}
	RandomInt64 []struct {
		Seed   string
		Values []string
	} `json:"random_int64"`
	Uniform []struct {
		Seed string
		F64  string `json:"f64_hex"`
	}
	Samplers    []samplerCase
	Distributed []struct {
		Seed        string
		N           int64
		NumReplicas int64 `json:"num_replicas"`
		Epoch       int64
		Shuffle     bool
		DropLast    bool      `json:"drop_last"`
		ByRank      [][]int64 `json:"by_rank"`
	}
	RandomSplit []struct {
		Seed    string
		N       int64
		Lengths []float64
		Indices [][]int64
	} `json:"random_split"`
	WorkerSeeds []struct {
		BaseSeed string `json:"base_seed"`
		Worker   int
		Torch    string    `json:"torch_and_python_seed"`
		Numpy    [4]uint32 `json:"numpy_seed_words"`
	} `json:"worker_seeds"`
}

type samplerCase struct {
	Kind, Seed  string
	N           int64
	Replacement *bool
	NumSamples  int64 `json:"num_samples"`
	Weights     []float64
	Indices     []int64
	Epochs      [][]int64
}

type blob struct{ Blob string }

// sharedVectors holds all that torch computed; a clone alone does not have it, and
// tests the excerpt in testdata.
const (
	sharedVectors = "../../../shared/vectors/torchdata"
	excerpt       = "../../testdata/torchdata"
)

// eachVectors runs a test on the excerpt and, where they are, on all vectors.
func eachVectors(t *testing.T, test func(t *testing.T, v *vectors)) {
	t.Helper()
	for _, dir := range []string{excerpt, sharedVectors} {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			var v vectors
			readJSON(t, filepath.Join(dir, "rng.json"), &v)
			test(t, &v)
		})
	}
}

func readJSON(t *testing.T, name string, to any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) && filepath.Dir(name) == sharedVectors {
		t.Skip("vectors are absent")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

// seeded returns the generator of a seed as Python writes it.
func seeded(t *testing.T, seed string) *Generator {
	t.Helper()
	g := NewGenerator(number(t, seed))
	return &g
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(n)
}

func stateHash(t *testing.T, g *Generator) string {
	t.Helper()
	b, err := g.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestRandperm(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.Randperm {
			g := seeded(t, c.Seed)
			got, err := Randperm(c.N, g)
			if err != nil {
				t.Fatal(err)
			}
			h := sha256.New()
			for _, id := range got {
				h.Write(binary.LittleEndian.AppendUint64(nil, uint64(id)))
			}
			if hex.EncodeToString(h.Sum(nil)) != c.SHA || c.Perm != nil && !cmp.Equal(got, c.Perm) {
				t.Errorf("randperm(%d) of seed %s", c.N, c.Seed)
			}
			if stateHash(t, g) != c.StateAfter {
				t.Errorf("state after randperm(%d) of seed %s", c.N, c.Seed)
			}
		}
		t.Log(len(v.Randperm), "permutations")
	})
}

func TestStates(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.States {
			g := seeded(t, c.Seed)
			if !hashIs(t, g, c.Initial) {
				t.Errorf("seed %s: state at first", c.Seed)
			}
			if _, err := Randperm(700, g); err != nil || !hashIs(t, g, c.AfterPerm) {
				t.Errorf("seed %s: state after randperm: %v", c.Seed, err)
			}
		}
	})
}

func hashIs(t *testing.T, g *Generator, b blob) bool { return stateHash(t, g)[:len(b.Blob)] == b.Blob }

// Whatever torch wrote, be it after randn, is read and written without a change.
func TestStatesOfTorch(t *testing.T) {
	for _, dir := range []string{excerpt, sharedVectors} {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			var blobs map[string]string
			readJSON(t, filepath.Join(dir, "blobs.json"), &blobs)
			states := 0
			for name, text := range blobs {
				b, err := hex.DecodeString(text)
				if err != nil {
					t.Fatal(err)
				}
				if len(b) != StateSize {
					continue
				}
				states++
				var g Generator
				if err := g.UnmarshalBinary(b); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if again, err := g.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
					t.Errorf("%s: is written otherwise: %v", name, err)
				}
			}
			if states < 4 {
				t.Errorf("%d states", states)
			}
			t.Log(states, "states")
		})
	}
}

func TestDraws(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.Randint {
			g, high := seeded(t, c.Seed), int64(number(t, c.High))
			for i, want := range c.Values {
				if got := g.Int63n(high); uint64(got) != number(t, want) {
					t.Errorf("randint(%d) of seed %s: value %d is %d, want %s", high, c.Seed, i, got, want)
				}
			}
		}
		for _, c := range v.RandomInt64 {
			g := seeded(t, c.Seed)
			for i, want := range c.Values {
				if got := BaseSeed(g); uint64(got) != number(t, want) {
					t.Errorf("random_ of seed %s: value %d is %d, want %s", c.Seed, i, got, want)
				}
			}
		}
		for _, c := range v.Uniform {
			g := seeded(t, c.Seed)
			want, err := hex.DecodeString(c.F64)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(want); i += 8 {
				if got := g.Float64(); math.Float64bits(got) != binary.LittleEndian.Uint64(want[i:]) {
					t.Errorf("uniform of seed %s: value %d is %v", c.Seed, i/8, got)
				}
			}
		}
	})
}

// epochs is what all samplers have beside their order.
type epochs interface {
	order.Order
	EpochLen() int64
}

func (c *samplerCase) order(t *testing.T) epochs {
	t.Helper()
	g := seeded(t, c.Seed)
	replacement := c.Replacement != nil && *c.Replacement
	var o epochs
	var err error
	switch c.Kind {
	case "random", "torch_random":
		o, err = NewRandom(RandomOptions{N: c.N, Generator: g, Replacement: replacement, NumSamples: c.NumSamples,
			Torch: c.Kind == "torch_random"})
	case "weighted":
		o, err = NewWeighted(WeightedOptions{Weights: c.Weights, NumSamples: c.NumSamples,
			WithoutReplacement: c.Replacement != nil && !replacement, Generator: g})
	case "subset_random":
		o, err = NewSubsetRandom(c.Indices, g)
	default:
		t.Fatalf("sampler %q", c.Kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestSamplers(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		kinds := map[string]int{}
		for _, c := range v.Samplers {
			o := c.order(t)
			for epoch := len(c.Epochs) - 1; epoch >= 0; epoch-- { // backwards: no epoch needs those before
				got := make([]int64, o.EpochLen())
				o.Fill(int64(epoch)*o.EpochLen(), got)
				if d := cmp.Diff(c.Epochs[epoch], got); d != "" {
					t.Errorf("%+v, epoch %d: %s", c, epoch, d)
				}
			}
			kinds[c.Kind]++
		}
		for _, kind := range []string{"random", "torch_random", "weighted", "subset_random"} {
			if kinds[kind] == 0 {
				t.Errorf("no case of %s", kind)
			}
		}
		t.Log(kinds)
	})
}

func TestDistributed(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.Distributed {
			for rank, want := range c.ByRank {
				o, err := NewDistributed(DistributedOptions{N: c.N, Replicas: c.NumReplicas, Rank: int64(rank),
					Sequential: !c.Shuffle,
					Seed:       int64(number(t, c.Seed)), DropLast: c.DropLast})
				if err != nil {
					t.Fatal(err)
				}
				got := make([]int64, o.EpochLen())
				o.Fill(c.Epoch*o.EpochLen(), got)
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%+v, rank %d: %s", c, rank, d)
				}
			}
		}
		t.Log(len(v.Distributed), "samplers")
	})
}

func TestRandomSplit(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.RandomSplit {
			lengths := make([]int64, len(c.Lengths))
			fractions := false
			for i, l := range c.Lengths {
				lengths[i] = int64(l)
				fractions = fractions || l != math.Floor(l)
			}
			if fractions {
				var err error
				if lengths, err = SplitLengths(c.N, c.Lengths); err != nil {
					t.Fatal(err)
				}
			}
			got, err := RandomSplit(c.N, lengths, seeded(t, c.Seed))
			if d := cmp.Diff(c.Indices, got); d != "" || err != nil {
				t.Errorf("%+v: %v %s", c, err, d)
			}
		}
	})
}

func TestWorkerSeeds(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.WorkerSeeds {
			base := int64(number(t, c.BaseSeed))
			if got := WorkerSeed(base, c.Worker); got != number(t, c.Torch) {
				t.Errorf("%+v: %d", c, got)
			}
			if got := NumpySeed(base, c.Worker); got != c.Numpy {
				t.Errorf("%+v: %v", c, got)
			}
		}
	})
}

// The numbers that a worker's generator gives.
func TestNumbersOfWorkers(t *testing.T) {
	files, _ := filepath.Glob(sharedVectors + "/S26-worker-seed*-initNone.json")
	if len(files) == 0 {
		t.Skip("vectors are absent")
	}
	for _, file := range files {
		var c struct {
			Loader struct {
				NumWorkers int    `json:"num_workers"`
				Seed       uint64 `json:"generator_seed"`
			}
			Outcomes []struct {
				Batches []struct {
					Worker int
					Seed   uint64
					I64    int64 `json:"torch_i64"`
				}
			}
		}
		readJSON(t, file, &c)
		loader := NewGenerator(c.Loader.Seed)
		base := BaseSeed(&loader)
		workers := make([]Generator, c.Loader.NumWorkers)
		for w := range workers {
			workers[w] = NewGenerator(WorkerSeed(base, w))
		}
		for i, outcome := range c.Outcomes[2:5] { // next, state and drain: the first epoch
			for _, b := range outcome.Batches {
				g := &workers[b.Worker]
				if got := fmt.Sprint(g.Seed(), g.Int63()); got != fmt.Sprint(b.Seed, b.I64) {
					t.Errorf("%s, step %d: %s, want %+v", file, i+2, got, b)
				}
			}
		}
	}
	t.Log(len(files), "loaders")
}
